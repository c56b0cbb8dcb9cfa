//! Settings of the outputs of a conversion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinew_fem::Frame;
use sinew_raster::UpAxis;
use sinew_scene::output::{FilmFormat, UsdEncoding};
use sinew_scene::spec::record::{Background, Record};
use sinew_scene::spec::{Scene, Up};
use sinew_scene::{Override, SceneError};
use sinew_store::Header;

use super::{ConvertError, ConvertOptions, OutputFormat, PlannedOutput};
use crate::costume::Wardrobe;
use crate::record::{
    ColorField, CsvRecorder, Estimate, FileRecorder, GlbParams, GlbRecorder, MAX_MORPH_TARGETS, NpzRecorder,
    ObjRecorder, PictureParams, PictureRecorder, PlotRecorder, PlyRecorder, PointCache, PointCacheRecorder,
    UsdRecorder, VtuRecorder, picture_params, size, up_axis,
};

/// Settings of the outputs: those of the scene, replaced by the given options.
pub(super) struct Settings {
    title: Option<String>,
    pub up: UpAxis,
    fields: Option<Vec<String>>,
    /// Whether plots show chosen probes, and not how steps converged.
    has_choice: bool,
    clips: Option<usize>,
    morph_targets: usize,
    pictures: PictureParams,
    has_textures: bool,
}

impl Settings {
    /// The settings, or all mistakes in the options.
    pub fn new(
        header: &Header,
        options: &ConvertOptions,
        notes: &mut Vec<String>,
    ) -> Result<Settings, Vec<ConvertError>> {
        let mut problems: Vec<ConvertError> = options.overrides.iter().filter_map(|set| no_effect(set)).collect();
        let old = Presentation::of(header, &[]).ok();
        if old.is_none() {
            let name = &header.scene_name;
            notes.push(format!(
                "the recorded text of {name} can no longer be read: z is taken as up, and pictures use the default view"
            ));
        }
        let old_color = old.as_ref().and_then(|old| old.record.color.clone());
        let empty = Header::default();
        let header = if old.is_some() { header } else { &empty };
        let (title, up, mut record) = match Presentation::of(header, &options.overrides) {
            Ok(new) => (new.title, new.up, new.record),
            Err(error) => {
                problems.push(error.into());
                (None, Up::Z, Record::default())
            }
        };
        if let Some(color) = &options.color {
            record.color = Some(color.clone());
        }
        // The range of the scene belongs to its own field.
        if record.color != old_color && !options.overrides.iter().any(|set| keys(set).eq(["record", "range"])) {
            record.range = None;
        }
        record.size = options.size.or(record.size);
        let morph_targets = options.morph_targets.unwrap_or(record.morph_targets);
        let pictures = picture_params(&record, up, title.as_deref()).map_err(|error| problems.push(error.into()));
        let Some(mut pictures) = pictures.ok().filter(|_| problems.is_empty()) else { return Err(problems) };
        // Whoever asks for a size gets it in films too.
        if options.size.is_some() || options.overrides.iter().any(|set| keys(set).eq(["record", "size"])) {
            pictures.animation_size = pictures.size;
        }
        Ok(Settings {
            pictures,
            has_textures: record.textures,
            title,
            up: up_axis(up),
            fields: options.fields.clone().or(record.fields),
            has_choice: !options.probes.is_empty(),
            clips: options.clips.or(record.clips),
            morph_targets: morph_targets.min(MAX_MORPH_TARGETS),
        })
    }

    /// Whether pictures show materials of characters.
    pub fn has_materials(&self) -> bool {
        self.has_textures && self.pictures.color.is_none()
    }

    /// Sets the materials of characters.
    pub fn wear(&mut self, wardrobe: Wardrobe) {
        self.pictures.wardrobe = Arc::new(wardrobe);
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
        let has_pictures = formats.iter().any(|format| *format == OutputFormat::Png || format.is_film());
        if has_pictures && self.pictures.color == Some(ColorField::VonMises) {
            return Err(ConvertError::NoStress { what: "the color `von_mises`".into() });
        }
        Ok(())
    }

    /// Films that cannot have the transparent background that is asked for.
    pub fn check_opacity(&self, outputs: &[PathBuf]) -> Vec<ConvertError> {
        let is_clear = self.pictures.background == Background::Transparent;
        let is_opaque = |path: &&PathBuf| is_clear && FilmFormat::of(path) == Some(FilmFormat::Mp4);
        outputs.iter().filter(is_opaque).map(|path| ConvertError::Opaque { path: path.clone() }).collect()
    }

    /// Files that clips are asked for, although they are never split.
    pub fn check_clips(&self, outputs: &[PathBuf], formats: &[OutputFormat]) -> Vec<ConvertError> {
        let usd = outputs.iter().zip(formats).filter(|(_, format)| **format == OutputFormat::Usd);
        let whole = usd.filter(|(path, _)| self.clips.is_some() && UsdEncoding::of(path) != UsdEncoding::Text);
        whole.map(|(path, _)| ConvertError::NoClips { path: path.clone() }).collect()
    }

    pub fn estimate(
        &self,
        path: &Path,
        format: OutputFormat,
        frame: &Frame<'_>,
        frames: usize,
    ) -> Result<Estimate, ConvertError> {
        Ok(match format {
            OutputFormat::Vtu => size::of_vtu(frame, frames, self.fields.clone())?,
            OutputFormat::Usd => size::of_usd(frame, frames, UsdEncoding::of(path)),
            OutputFormat::Glb => size::of_glb(frame, frames, self.morph_targets),
            OutputFormat::Obj => size::of_obj(frame, frames, self.up),
            OutputFormat::Ply => size::of_ply(frame, frames, self.up),
            OutputFormat::Pc2 => size::of_point_caches(frame, frames, PointCache::Pc2, self.up),
            OutputFormat::Mdd => size::of_point_caches(frame, frames, PointCache::Mdd, self.up),
            OutputFormat::Csv => size::of_csv(frame, frames),
            OutputFormat::Npz => size::of_npz(frame, frames),
            OutputFormat::Png => size::of_stills(frames, self.pictures.size),
            // Text of both files.
            OutputFormat::Svg => size::of_plots(frame, frames),
            OutputFormat::Mp4 | OutputFormat::Webm => size::of_video(frames, self.pictures.size),
            OutputFormat::Apng | OutputFormat::Gif => {
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
            OutputFormat::Svg => Box::new(PlotRecorder::create(path).with_convergence(!self.has_choice)),
            OutputFormat::Png => self.pictures(Some(path.clone()), Vec::new())?,
            OutputFormat::Apng | OutputFormat::Gif | OutputFormat::Mp4 | OutputFormat::Webm => {
                self.pictures(None, vec![path.clone()])?
            }
        })
    }

    pub fn pictures(
        &self,
        stills: Option<PathBuf>,
        films: Vec<PathBuf>,
    ) -> Result<Box<dyn FileRecorder>, ConvertError> {
        let params = PictureParams { stills, films, ..self.pictures.clone() };
        Ok(Box::new(PictureRecorder::create(params)?))
    }
}

/// The keys of an override, such as `record`, `camera` and `eye`.
fn keys(set: &str) -> impl Iterator<Item = &str> {
    let path = set.split_once('=').map_or(set, |(path, _)| path);
    path.split(['.', '[', ']', ' ']).filter(|key| !key.is_empty())
}

/// Why an override has no effect on the files of a recording; `None` if it has one.
fn no_effect(set: &str) -> Option<ConvertError> {
    /// Keys of `[record]` that say what a run records and writes.
    #[rustfmt::skip]
    const OUTPUTS: [&str; 26] = [
        "correctives", "skin_maps", "vtu", "usd", "glb", "obj", "ply", "pc2", "mdd", "skin", "skin_frames", "skin_shutter", "npz", "csv", "png", "apng",
        "films", "plots", "report", "recording", "error", "stress", "contacts", "checkpoint", "every", "pictures",
    ];
    let (first, second) = (keys(set).next()?, keys(set).nth(1));
    let reason = match (first, second) {
        ("title" | "up", None) => return None,
        ("record", Some(key)) if OUTPUTS.contains(&key) => "it says what a run writes; here `-o` does",
        // The decoder knows which keys there are.
        ("record", _) => return None,
        _ => "the frames are computed; only `record.KEY`, `title` and `up` say how they look",
    };
    Some(ConvertError::NoEffect { text: set.into(), reason })
}

/// The part of a scene that says how its files look.
struct Presentation {
    title: Option<String>,
    up: Up,
    record: Record,
}

impl Presentation {
    /// That of the scene in a recording, with some values replaced; an error if the scene can no longer be read.
    ///
    /// Everything else is ignored: its mesh files may be gone, and names of materials may have changed.
    fn of(header: &Header, overrides: &[String]) -> Result<Presentation, SceneError> {
        const KEPT: [&str; 3] = ["title", "up", "record"];
        const SKIN: &str = "skin";
        // Angles replace a position.
        let is_automatic = |set: &String| {
            let path: Vec<&str> = keys(set).collect();
            matches!(path[..], ["record", "camera", "view" | "azimuth" | "elevation"])
        };
        let is_moved = overrides.iter().any(is_automatic);
        const PLACED: [&str; 3] = ["eye", "target", "up"];
        let Ok(mut table) = header.scene_text.parse::<toml::Table>() else {
            let scene = Scene::from_text(&header.scene_text, &header.scene_name, ".", &[])?;
            return Ok(Presentation { title: scene.title, up: scene.up, record: scene.record });
        };
        table.retain(|key, _| KEPT.contains(&key));
        table.insert("duration".into(), "1 s".into());
        if let Some(record) = table.get_mut("record").and_then(toml::Value::as_table_mut) {
            // Skins are written during the run only, and belong to bodies that are ignored here.
            record.retain(|key, _| !key.starts_with(SKIN));
            if let (true, Some(camera)) = (is_moved, record.get_mut("camera").and_then(toml::Value::as_table_mut)) {
                camera.retain(|key, _| !PLACED.contains(&key));
            }
        }
        // A table that was read can be written.
        let text = toml::to_string(&table).unwrap_or_default();
        let concerns = |set: &&String| {
            let path: Vec<&str> = keys(set).collect();
            let is_placed = matches!(path[..], ["record", "camera", key] if PLACED.contains(&key));
            let is_skin = path.get(1).is_some_and(|key| key.starts_with(SKIN));
            path.first().is_some_and(|key| KEPT.contains(key)) && !is_skin && !(is_moved && is_placed)
        };
        let sets = header.overrides.iter().filter(concerns).chain(overrides.iter().filter(|set| {
            // Others are reported already.
            keys(set).next().is_some_and(|key| KEPT.contains(&key))
        }));
        let overrides: Vec<Override> = sets.map(|set| Override::from(set.as_str())).collect();
        let scene = Scene::from_text(&text, &header.scene_name, ".", &overrides)?;
        Ok(Presentation { title: scene.title, up: scene.up, record: scene.record })
    }
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
        let Presentation { title, up, record } = Presentation::of(&header(text, &sets), &[]).unwrap();
        assert_eq!((title.as_deref(), up, record.size), (Some("T"), Up::Y, Some([64, 32])));
        assert_eq!(record.color.as_deref(), Some("J"));
        // Nor do the characters whose skins were written.
        let text = "up = \"y\"\n[record]\nsize = [100, 50]\nskin = [\"a.usda\"]\nskin_frames = [1, 2]\n";
        let Presentation { up, record, .. } =
            Presentation::of(&header(text, &["record.skin=[\"b.usda\"]"]), &[]).unwrap();
        assert_eq!((up, record.size), (Up::Y, Some([100, 50])));
        let mut notes = Vec::new();
        let settings =
            Settings::new(&header("[record]\nnew_key = 1", &[]), &ConvertOptions::default(), &mut notes).unwrap();
        assert_eq!((settings.up, notes.len()), (UpAxis::Z, 1));
    }

    /// A direction of view replaces the position of the scene; another field drops its range.
    #[test]
    fn overrides_replace_what_the_scene_says() {
        let text = "[record]\ncolor = \"J\"\nrange = [0.5, 1.5]\ncamera = { eye = [1, 2, 3], fov = \"20 deg\" }\n";
        let settings = |sets: &[&str], color: Option<&str>| {
            let overrides = sets.iter().map(|set| set.to_string()).collect();
            let options = ConvertOptions { overrides, color: color.map(String::from), ..ConvertOptions::default() };
            Settings::new(&header(text, &[]), &options, &mut Vec::new())
        };
        let plain = settings(&[], None).ok().unwrap().pictures;
        assert_eq!((plain.eye, plain.range), (Some([1.0, 2.0, 3.0]), Some([0.5, 1.5])));
        let sets = ["record.camera.view=\"top\"", "record.size=[900, 300]"];
        let top = settings(&sets, Some("speed")).ok().unwrap().pictures;
        assert_eq!((top.eye, top.range, top.animation_size), (None, None, [900, 300]));
        assert!(
            (top.fit.elevation - std::f32::consts::FRAC_PI_2).abs() < 1e-3
                && (top.fit.field_of_view - 0.349).abs() < 1e-3
        );
        let problems =
            settings(&["body.0.density=3", "record.vtu=true", "record.range=[2, 1]", "record.siz=1"], Some("x"));
        let texts: Vec<String> = problems.err().unwrap().iter().map(ConvertError::report).collect();
        assert_eq!(texts.len(), 4, "{texts:?}");
        for (text, word) in texts.iter().zip(["frames are computed", "here `-o` does", "must increase", "no field `x`"])
        {
            assert!(text.contains(word), "{text}");
        }
        assert!(texts[2].contains("unknown key `siz`"), "{}", texts[2]);
    }
}
