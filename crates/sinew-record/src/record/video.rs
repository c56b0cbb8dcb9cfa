//! Films by the program `ffmpeg`: pictures go into its standard input, one after the other.

use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use sinew_fem::RecordError;
use sinew_raster::Image;
use sinew_scene::output::FilmFormat;

use super::atomic::AtomicFile;

/// The program.
const PROGRAM: &str = "ffmpeg";

/// Most frames per second of a film: what screens show.
pub(super) const MAX_PER_SECOND: f64 = 60.0;

/// Pictures of a film.
#[derive(Clone, Copy, Debug)]
pub(super) struct VideoParams {
    pub format: FilmFormat,
    /// Width and height of the pictures \[pixels\]; odd ones lose their last column or row.
    pub size: [usize; 2],
    pub seconds_per_frame: f64,
    /// Whether the background is clear.
    pub is_clear: bool,
}

impl VideoParams {
    /// Video formats store colors in blocks of 2 × 2 pixels.
    fn even_size(&self) -> [usize; 2] {
        self.size.map(|side| (side & !1).max(2))
    }

    /// Arguments of the program before the name of the file.
    fn arguments(&self) -> Vec<String> {
        let [width, height] = self.even_size();
        let rate = 1.0 / self.seconds_per_frame;
        let pixels = if self.is_clear { "rgba" } else { "rgb24" };
        let mut words: Vec<String> = ["-y", "-loglevel", "error", "-f", "rawvideo", "-pixel_format", pixels]
            .into_iter()
            .map(String::from)
            .chain(["-video_size".into(), format!("{width}x{height}"), "-framerate".into(), format!("{rate:.6}")])
            .chain(["-i", "-", "-an"].map(String::from))
            .collect();
        if rate > MAX_PER_SECOND {
            words.extend(["-r".into(), MAX_PER_SECOND.to_string()]);
        }
        let codec: &[&str] = match (self.format, self.is_clear) {
            // Nearly without loss; the index in front, for web pages.
            (FilmFormat::Mp4, _) => {
                &["-c:v", "libx264", "-crf", "17", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4"]
            }
            (_, true) => &["-c:v", "libvpx-vp9", "-crf", "20", "-b:v", "0", "-pix_fmt", "yuva420p", "-f", "webm"],
            (_, false) => &["-c:v", "libvpx-vp9", "-crf", "20", "-b:v", "0", "-pix_fmt", "yuv420p", "-f", "webm"],
        };
        words.extend(codec.iter().map(|word| word.to_string()));
        words
    }
}

/// A film in the making. It appears complete or not at all.
pub(super) struct Video {
    params: VideoParams,
    /// `None` after the end.
    program: Option<Child>,
    file: Option<AtomicFile>,
}

/// Whether the program can be started, for the film at `path`.
pub(super) fn check_program(path: &Path) -> Result<(), RecordError> {
    let mut command = Command::new(PROGRAM);
    let result = command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    result.map(|_| ()).map_err(|error| RecordError::Io { path: path.into(), source: explained(error) })
}

fn explained(error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return Error::new(error.kind(), format!("`{PROGRAM}` does not start: {error}"));
    }
    let text = format!(
        "this format needs the program `{PROGRAM}`, which is not on the PATH\n\
         hint: install it (`apt install ffmpeg`, `brew install ffmpeg`, `winget install ffmpeg`), \
         or write .gif or .apng, which need no other program"
    );
    Error::new(ErrorKind::NotFound, text)
}

impl Video {
    pub fn start(path: &Path, params: VideoParams) -> Result<Video, RecordError> {
        let file = AtomicFile::create(path)?;
        let mut command = Command::new(PROGRAM);
        command.args(params.arguments()).arg(file.temporary());
        let started = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let program = started.map_err(|error| file.error(explained(error)))?;
        Ok(Video { params, program: Some(program), file: Some(file) })
    }

    /// Adds a picture.
    pub fn put(&mut self, image: &Image) -> Result<(), RecordError> {
        let [width, height] = self.params.even_size();
        let (bytes, channels) = if self.params.is_clear { (image.rgba(), 4) } else { (image.pixels.clone(), 3) };
        let Some(input) = self.program.as_mut().and_then(|program| program.stdin.as_mut()) else { return Ok(()) };
        let mut rows = bytes.chunks_exact(channels * image.width).take(height);
        match rows.try_for_each(|row| input.write_all(&row[..channels * width])) {
            Ok(()) => Ok(()),
            // The program ended: its own words say why.
            Err(_) => self.finish(),
        }
    }

    /// Waits for the program and puts the file in its place.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        let (Some(mut program), Some(file)) = (self.program.take(), self.file.take()) else { return Ok(()) };
        drop(program.stdin.take());
        let mut words = String::new();
        if let Some(mut stderr) = program.stderr.take() {
            // Words that are not text are not worth an error of their own.
            let _ = stderr.read_to_string(&mut words);
        }
        let status = program.wait().map_err(|source| file.error(source))?;
        if !status.success() {
            let words = words.trim();
            let why = if words.is_empty() { status.to_string() } else { words.to_string() };
            return Err(file.error(Error::other(format!("`{PROGRAM}` gave up: {why}"))));
        }
        file.commit()
    }
}

impl Drop for Video {
    fn drop(&mut self) {
        if let Some(mut program) = self.program.take() {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_size_rate_and_codec() {
        let params =
            VideoParams { format: FilmFormat::Mp4, size: [961, 721], seconds_per_frame: 1.0 / 24.0, is_clear: false };
        let line = params.arguments().join(" ");
        assert!(line.contains("-pixel_format rgb24 -video_size 960x720 -framerate 24.000000 -i -"), "{line}");
        assert!(line.contains("libx264") && line.ends_with("-f mp4") && !line.contains("-r "), "{line}");
        let fast = VideoParams { format: FilmFormat::Webm, seconds_per_frame: 1e-3, is_clear: true, ..params };
        let line = fast.arguments().join(" ");
        assert!(line.contains("rgba") && line.contains("yuva420p") && line.contains(" -r 60 "), "{line}");
    }
}
