//! Settings of the outputs of a conversion.

use std::path::Path;

use sinew_raster::UpAxis;
use sinew_scene::Override;
use sinew_scene::spec::record::Record;
use sinew_scene::spec::{Scene, Up};
use sinew_store::{Header, StoredFrame};

use super::{ConvertError, ConvertOptions, OutputFormat, PlannedOutput};
use crate::record::{
    ColorField, CsvRecorder, Estimate, FileRecorder, GlbParams, GlbRecorder, MAX_MORPH_TARGETS, NpzRecorder,
    ObjRecorder, PictureParams, PictureRecorder, PlyRecorder, PointCache, PointCacheRecorder, UsdRecorder, VtuRecorder,
    picture_params, size, up_axis,
};

/// Settings of the outputs: those of the scene, replaced by the given options.
pub(super) struct Settings {
    title: Option<String>,
    pub up: UpAxis,
    fields: Option<Vec<String>>,
    clips: Option<usize>,
    morph_targets: usize,
    pictures: PictureParams,
}

impl Settings {
    pub fn new(header: &Header, options: &ConvertOptions, notes: &mut Vec<String>) -> Result<Settings, ConvertError> {
        let scene = presentation(header);
        if scene.is_none() {
            let name = &header.scene_name;
            notes.push(format!(
                "the recorded text of {name} can no longer be read: z is taken as up, and pictures use the default view"
            ));
        }
        let (title, up, mut record) = scene.unwrap_or((None, Up::Z, Record::default()));
        if let Some(color) = &options.color {
            // The range of the scene belongs to its own field.
            if record.color.as_ref() != Some(color) {
                record.range = None;
            }
            record.color = Some(color.clone());
        }
        record.size = options.size.or(record.size);
        let morph_targets = options.morph_targets.unwrap_or(record.morph_targets);
        Ok(Settings {
            pictures: picture_params(&record, up, title.as_deref())?,
            title,
            up: up_axis(up),
            fields: options.fields.clone().or(record.fields),
            clips: options.clips.or(record.clips),
            morph_targets: morph_targets.min(MAX_MORPH_TARGETS),
        })
    }

    pub fn check_stress(&self, header: &Header, formats: &[OutputFormat]) -> Result<(), ConvertError> {
        if header.has_stress {
            return Ok(());
        }
        let fields = self.fields.iter().flatten();
        let field = fields.into_iter().find(|name| matches!(name.as_str(), "cauchy_stress" | "von_mises"));
        if let (Some(field), true) = (field, formats.contains(&OutputFormat::Vtu)) {
            return Err(ConvertError::NoStress { what: format!("the field `{field}`") });
        }
        let has_pictures = formats.iter().any(|format| matches!(format, OutputFormat::Png | OutputFormat::Apng));
        if has_pictures && self.pictures.color == Some(ColorField::VonMises) {
            return Err(ConvertError::NoStress { what: "the color `von_mises`".into() });
        }
        Ok(())
    }

    pub fn estimate(
        &self,
        format: OutputFormat,
        sample: &StoredFrame,
        header: &Header,
        frames: usize,
    ) -> Result<Estimate, ConvertError> {
        let frame = &sample.view(header);
        Ok(match format {
            OutputFormat::Vtu => size::of_vtu(frame, frames, self.fields.clone())?,
            OutputFormat::Usd => size::of_usd(frame, frames),
            OutputFormat::Glb => size::of_glb(frame, frames, self.morph_targets),
            OutputFormat::Obj => size::of_obj(frame, frames, self.up),
            OutputFormat::Ply => size::of_ply(frame, frames, self.up),
            OutputFormat::Pc2 => size::of_point_caches(frame, frames, PointCache::Pc2, self.up),
            OutputFormat::Mdd => size::of_point_caches(frame, frames, PointCache::Mdd, self.up),
            OutputFormat::Csv => size::of_csv(frame, frames),
            OutputFormat::Npz => size::of_npz(frame, frames),
            OutputFormat::Png => size::of_stills(frames, self.pictures.size),
            OutputFormat::Apng => {
                size::of_animation(frames.min(self.pictures.animation_frames), self.pictures.animation_size)
            }
        })
    }

    pub fn recorder(&self, output: &PlannedOutput, header: &Header) -> Result<Box<dyn FileRecorder>, ConvertError> {
        let path = &output.path;
        Ok(match output.format {
            OutputFormat::Vtu => Box::new(VtuRecorder::create(path.with_extension("pvd"), self.fields.clone())?),
            OutputFormat::Usd => {
                Box::new(UsdRecorder::create(path, self.up, header.frame_rate)?.with_clips(self.clips))
            }
            OutputFormat::Glb => {
                let params = GlbParams { up: self.up, morph_targets: self.morph_targets, title: self.title.clone() };
                Box::new(GlbRecorder::create(path, params)?)
            }
            OutputFormat::Obj => Box::new(ObjRecorder::create(path, self.up)?),
            OutputFormat::Ply => Box::new(PlyRecorder::create(path, self.up)?),
            OutputFormat::Pc2 => Box::new(PointCacheRecorder::create(path, PointCache::Pc2, self.up)?),
            OutputFormat::Mdd => Box::new(PointCacheRecorder::create(path, PointCache::Mdd, self.up)?),
            OutputFormat::Csv => Box::new(CsvRecorder::create(path)?),
            OutputFormat::Npz => Box::new(NpzRecorder::create(path)?),
            OutputFormat::Png => self.pictures(Some(path), None)?,
            OutputFormat::Apng => self.pictures(None, Some(path))?,
        })
    }

    pub fn pictures(
        &self,
        stills: Option<&Path>,
        animation: Option<&Path>,
    ) -> Result<Box<dyn FileRecorder>, ConvertError> {
        let path = |path: Option<&Path>| path.map(Path::to_path_buf);
        let params = PictureParams { stills: path(stills), animation: path(animation), ..self.pictures.clone() };
        Ok(Box::new(PictureRecorder::create(params)?))
    }
}

/// Title, up axis and `[record]` of the scene in a recording; `None` if the scene can no longer be read.
///
/// Everything else is ignored: its mesh files may be gone, and names of materials may have changed.
fn presentation(header: &Header) -> Option<(Option<String>, Up, Record)> {
    const KEPT: [&str; 3] = ["title", "up", "record"];
    const SKIN: &str = "skin";
    let mut table: toml::Table = header.scene_text.parse().ok()?;
    table.retain(|key, _| KEPT.contains(&key));
    table.insert("duration".into(), "1 s".into());
    // Skins are written during the run only, and belong to bodies that are ignored here.
    if let Some(record) = table.get_mut("record").and_then(toml::Value::as_table_mut) {
        record.retain(|key, _| !key.starts_with(SKIN));
    }
    let text = toml::to_string(&table).ok()?;
    let concerns = |set: &&String| {
        let mut keys = set.split(['.', '=', '[', ' ']).filter(|key| !key.is_empty());
        keys.next().is_some_and(|key| KEPT.contains(&key)) && !keys.next().is_some_and(|key| key.starts_with(SKIN))
    };
    let sets = header.overrides.iter().filter(concerns);
    let overrides: Vec<Override> = sets.map(|set| Override::from(set.as_str())).collect();
    let scene = Scene::from_text(&text, &header.scene_name, ".", &overrides).ok()?;
    Some((scene.title, scene.up, scene.record))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(scene_text: &str, overrides: &[&str]) -> Header {
        let overrides = overrides.iter().map(|set| set.to_string()).collect();
        Header { scene_text: scene_text.into(), overrides, ..Header::default() }
    }

    /// Missing meshes and outdated materials have no effect.
    #[test]
    fn view_of_the_scene_outlives_its_bodies() {
        let text = "up = \"y\"\ntitle = \"T\"\n[[body]]\nmesh = { file = \"gone.vtu\" }\nmaterial = { type = \"unheard of\" }\n\
                    [record]\nsize = [100, 50]\ncolor = \"J\"\n";
        let sets = ["body.0.name=x", "record.size=[64, 32]", "update=3"];
        let (title, up, record) = presentation(&header(text, &sets)).unwrap();
        assert_eq!((title.as_deref(), up, record.size), (Some("T"), Up::Y, Some([64, 32])));
        assert_eq!(record.color.as_deref(), Some("J"));
        // Nor do the characters whose skins were written.
        let text = "up = \"y\"\n[record]\nsize = [100, 50]\nskin = [\"a.usda\"]\nskin_frames = [1, 2]\n";
        let (_, up, record) = presentation(&header(text, &["record.skin=[\"b.usda\"]"])).unwrap();
        assert_eq!((up, record.size), (Up::Y, Some([100, 50])));
        let mut notes = Vec::new();
        let settings =
            Settings::new(&header("[record]\nnew_key = 1", &[]), &ConvertOptions::default(), &mut notes).unwrap();
        assert_eq!((settings.up, notes.len()), (UpAxis::Z, 1));
    }
}
