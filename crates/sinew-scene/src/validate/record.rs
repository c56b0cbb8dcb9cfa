//! Checks of `[record]`: outputs and their names.

use super::Checker;
use std::path::Path;

use crate::output::{FilmFormat, OutputPlan, SkinFormat, UsdEncoding};
use crate::spec::record::{Background, Output};
use crate::value::format_number;

impl Checker<'_> {
    pub(super) fn check_record(&mut self) {
        self.check_skins();
        self.check_shutter();
        let record = &self.scene.record;
        if let Some([low, high]) = record.range
            && low >= high
        {
            let problem = self.at("record.range", "the color range must increase");
            self.report(problem.label(format!("from {} to {}", format_number(low), format_number(high))));
        }
        if record.camera.eye.is_some() && record.camera.eye == record.camera.target {
            let problem = self.at("record.camera.target", "the camera cannot look at itself");
            self.report(problem.label("is the same as `eye`"));
        }
        let camera = &record.camera;
        let automatic = [
            ("view", camera.view.is_some()),
            ("azimuth", camera.azimuth.is_some()),
            ("elevation", camera.elevation.is_some()),
        ];
        for (key, _) in automatic.into_iter().filter(|(_, is_set)| *is_set && camera.eye.is_some()) {
            let problem = self.at(&format!("record.camera.{key}"), "the camera has a position already");
            self.report(problem.hint(format!("leave out `eye` or `{key}`")));
        }
        if let (Output::Named(name), Some(_)) = (&record.usd, record.clips)
            && UsdEncoding::of(Path::new(name)) != UsdEncoding::Text
        {
            let problem = self.at("record.clips", format!("`{name}` is not split into clips"));
            self.report(
                problem.hint("leave out `clips`, or write .usda: readers of .usdc load single frames by themselves"),
            );
        }
        self.check_films();
    }

    fn check_films(&mut self) {
        let record = &self.scene.record;
        for (k, file) in record.films.iter().enumerate() {
            let path = format!("record.films[{k}]");
            match FilmFormat::of(Path::new(file)) {
                None => {
                    let message = format!("`{file}`: the format of a film must be .gif, .apng, .mp4 or .webm");
                    let problem = self.at(&path, message);
                    self.report(problem);
                }
                Some(FilmFormat::Mp4) if record.background == Background::Transparent => {
                    let problem = self.at(&path, ".mp4 files have no transparency");
                    self.report(problem.hint("write .webm, .apng or .gif, or set `background = \"white\"`"));
                }
                Some(_) => {}
            }
        }
    }

    /// Characters need certain formats, and the scene must have one.
    fn check_skins(&mut self) {
        let scene = self.scene;
        let has_glb = scene.record.skin.iter().any(|file| SkinFormat::of(file) == Some(SkinFormat::Glb));
        if scene.record.correctives.is_some() && !has_glb {
            let problem = self.at("record.correctives", "no .glb file of a character takes corrective shapes");
            self.report(problem.hint("add one to `skin`, such as `skin = [\"hero.glb\"]`"));
        }
        if scene.record.skin_maps.is_some() && scene.record.skin.is_empty() {
            let problem = self.at("record.skin_maps", "no file of a character takes wrinkle and stretch maps");
            self.report(problem.hint("add one to `skin`, such as `skin = [\"hero.usda\"]`"));
        }
        for (k, file) in scene.record.skin.iter().enumerate() {
            let path = format!("record.skin[{k}]");
            if SkinFormat::of(file).is_none() {
                let problem = self.at(
                    &path,
                    format!("`{file}`: the format of a character must be .usda, .usdc, .usdz, .pc2 or .glb"),
                );
                self.report(problem);
            }
            if scene.body.iter().all(|body| body.rig.is_none()) {
                let problem = self.at(&path, "no body has a skeleton");
                self.report(problem.hint("give a body `rig`, or use `usd`, `pc2` or `glb`"));
            }
        }
    }

    /// The frames of a character that are written, and the shutter times between them.
    fn check_shutter(&mut self) {
        let (scene, record) = (self.scene, &self.scene.record);
        if let Some([open, close]) = record.skin_shutter {
            if !(open <= 0.0 && close >= 0.0 && open < close) {
                let problem = self.at("record.skin_shutter", "a shutter opens before the frame and closes after it");
                self.report(problem.hint("[0, 0.5] is open for half a frame, [-0.25, 0.25] around its middle"));
            }
            if record.every < 2 {
                let problem = self.at("record.skin_shutter", "nothing is simulated while the shutter is open");
                let (rate, every) = (format_number(4.0 * scene.frame_rate), 4);
                self.report(problem.hint(format!("simulate more: `frame_rate = {rate}` and `every = {every}`")));
            }
        }
        let Some([first, last]) = record.skin_frames else { return };
        if first > last {
            let problem = self.at("record.skin_frames", "the last frame comes before the first");
            self.report(problem);
            return;
        }
        let rate = scene.frame_rate / record.every as f64;
        for rig in scene.body.iter().filter_map(|body| body.rig.as_ref()) {
            // A thousandth of a frame is rounding.
            let begins = (rig.start * rate - 1e-3).ceil();
            let ends = ((rig.start + scene.duration - rig.preroll) * rate + 1e-3).floor();
            if (first as f64) < begins || last as f64 > ends {
                let problem = self.at("record.skin_frames", "these frames are not all simulated");
                let label = format!("frames {} to {} are", format_number(begins), format_number(ends));
                self.report(
                    problem.label(label).hint("`start`, `preroll` and `duration` determine the simulated frames"),
                );
            }
        }
    }

    /// Two outputs with one name would overwrite each other.
    pub(super) fn check_file_names(&mut self) {
        for clash in OutputPlan::of(self.scene).clashes() {
            // If the scene names one of the two, the mistake is there.
            let other = clash.other.as_deref().filter(|_| self.scene.source.node(&clash.key).is_none());
            let name = |key: &str| format!("`{}`", key.trim_start_matches("record."));
            let message = match &clash.other {
                Some(other) => format!("{} and {} would write the same file", name(&clash.key), name(other)),
                None => format!("{} has the name of a file that every run writes", name(&clash.key)),
            };
            let problem = self.at(other.unwrap_or(&clash.key), message);
            self.report(problem.label(format!("writes `{}`", clash.file)).hint("choose another name"));
        }
    }
}
