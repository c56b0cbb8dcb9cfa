//! `sinew play`: shows a recording in the terminal, as pictures if possible, else as numbers.

mod blocks;
mod kitty;
mod sixel;
mod summary;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sinew_fem::Interrupt;
use sinew_record::convert::matching_probes;
use sinew_record::still::Player;
use sinew_store::{Recording, StoreError, StoredFrame};

use super::console::{self, Console};
use super::{Failure, Status};
use terminal::Graphics;
pub(super) use terminal::restore as restore_terminal;

/// Plays a recording in the terminal, or prints its key figures
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Recording (.sinew), or the folder of a run
    #[arg(value_name = "RECORDING|RUNFOLDER")]
    pub recording: PathBuf,

    /// Width and height of pictures in pixels; for --blocks in columns and twice the rows
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<[usize; 2]>,

    /// Maximum number of pictures per second; slow terminals show fewer
    #[arg(long, value_name = "N", default_value_t = 24.0, value_parser = positive)]
    pub fps: f64,

    /// Speed: 0.1 is slow motion
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = positive)]
    pub speed: f64,

    /// Repeats until Ctrl-C
    #[arg(long = "loop")]
    pub repeat: bool,

    /// Shows one frame; -1 is the last
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub frame: Option<i64>,

    /// Shows pictures in the kitty protocol (kitty, WezTerm, Ghostty)
    #[arg(long, group = "graphics")]
    pub kitty: bool,

    /// Shows pictures as sixels (foot, mlterm, xterm -ti vt340)
    #[arg(long, group = "graphics")]
    pub sixel: bool,

    /// Shows pictures as colored half blocks
    #[arg(long, group = "graphics")]
    pub blocks: bool,

    /// Prints a table instead of pictures
    #[arg(long, group = "graphics")]
    pub plain: bool,

    /// Probes in the columns of the table [default: some of the recording]
    #[arg(long = "probe", value_name = "NAME")]
    pub probes: Vec<String>,

    /// Prints all frames with all probes as one JSON object on stdout
    #[arg(long, conflicts_with = "graphics")]
    pub json: bool,
}

fn size(text: &str) -> Result<[usize; 2], String> {
    let wrong = || "must be width x height in pixels, such as 640x480".to_string();
    let (width, height) = text.split_once(['x', 'X', '×']).ok_or_else(wrong)?;
    let side =
        |text: &str| text.trim().parse::<usize>().ok().filter(|side| (2..=4096).contains(side)).ok_or_else(wrong);
    Ok([side(width)?, side(height)?])
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("must be positive".into()) }
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let path = recording_of(&arguments.recording)?;
    let failed = |error: StoreError| Failure::Other(format!("{}: {error}", path.display()));
    let recording = Recording::open(&path).map_err(failed)?;
    if recording.lost_bytes() > 0 {
        console.note(&format!(
            "note: the recording is truncated; it plays up to its last complete frame ({} bytes are skipped)",
            recording.lost_bytes()
        ));
    }
    matching_probes(&recording.header().probe_names, &arguments.probes)
        .map_err(|error| Failure::Other(error.to_string()))?;
    if arguments.json {
        console::print(&format!("{:#}\n", summary::to_json(&recording).map_err(failed)?))?;
        return Ok(Status::Done);
    }
    let requested = [
        (arguments.kitty, Graphics::Kitty),
        (arguments.sixel, Graphics::Sixel),
        (arguments.blocks, Graphics::Blocks),
        (arguments.plain, Graphics::Plain),
    ];
    let requested = requested.into_iter().find(|(is_set, _)| *is_set).map(|(_, graphics)| graphics);
    let graphics = requested.unwrap_or_else(terminal::detect);
    let has_pictures = !recording.shown_frames().is_empty();
    if graphics == Graphics::Plain || !has_pictures {
        if requested.is_some_and(|requested| requested != Graphics::Plain) {
            console.note("note: the recording has probes only, no pictures");
        }
        console::print(
            &summary::to_text(&recording, &arguments.probes, arguments.frame, console.details).map_err(failed)?,
        )?;
        return Ok(Status::Done);
    }
    let player = Player::new(&recording).map_err(failed)?;
    let stage = Stage { player, canvas: Canvas::new(graphics, arguments.size) };
    let shown = match arguments.frame {
        Some(frame) => {
            let number = chosen(frame, &recording)?;
            stage.show_one(number)
        }
        None => stage.play(arguments),
    };
    match shown {
        Ok(()) => Ok(Status::Done),
        Err(Stopped::Store(error)) => Err(failed(error)),
        Err(Stopped::Output(failure)) => Err(failure),
    }
}

/// The recording: the file itself, or the one in a run folder.
pub(super) fn recording_of(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return match path.exists() {
            true => Ok(path.into()),
            false => Err(Failure::Other(format!(
                "{} does not exist\nhint: `sinew status` lists the runs below out/",
                path.display()
            ))),
        };
    }
    let entries =
        std::fs::read_dir(path).map_err(|error| Failure::Other(format!("cannot read {}: {error}", path.display())))?;
    let is_recording = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sinew");
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_recording).collect();
    // Recordings that a later run has renamed come last.
    let is_previous =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("previous-"));
    found.sort_by_key(|path| (is_previous(path), path.clone()));
    let none =
        || format!("{} has no recording (.sinew)\nhint: `recording = true` under [record] writes one", path.display());
    found.into_iter().next().ok_or_else(|| Failure::Other(none()))
}

/// The picture of a frame, by its number in the run.
fn chosen(frame: i64, recording: &Recording) -> Result<usize, Failure> {
    let shown = recording.shown_frames();
    let last = recording.frame_count() as i64 - 1;
    let wanted = if frame < 0 { last + 1 + frame } else { frame };
    let missing =
        || Failure::Other(format!("there is no picture of frame {frame}: the recording has frames 0 to {last}"));
    let wanted = usize::try_from(wanted).map_err(|_| missing())?;
    shown.iter().position(|&number| number == wanted).ok_or_else(missing)
}

enum Stopped {
    Store(StoreError),
    Output(Failure),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Stopped::Store(error)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Output(failure)
    }
}

/// Format and size of pictures in the terminal.
struct Canvas {
    graphics: Graphics,
    /// Width and height \[pixels\].
    size: [usize; 2],
    /// Rows of text per picture.
    rows: usize,
    columns: usize,
}

impl Canvas {
    fn new(graphics: Graphics, requested: Option<[usize; 2]>) -> Canvas {
        let [columns, rows] = terminal::size();
        // Leave room for the caption and the command line.
        let free = rows.saturating_sub(3).max(2);
        match graphics {
            Graphics::Blocks => {
                let size = requested.unwrap_or_else(|| {
                    // Characters are about twice as high as wide, so half blocks are square. Pictures are 4 : 3.
                    let width = columns.min(free * 2 * 4 / 3).clamp(2, 160);
                    [width, (width * 3 / 4).max(2)]
                });
                Canvas { graphics, size, rows: size[1].div_ceil(2), columns: size[0] }
            }
            _ => {
                let size = requested.unwrap_or([640, 480]);
                // The size of characters is unknown, but rarely below 7 × 14 pixels.
                let rows = size[1].div_ceil(14).min(free);
                Canvas { graphics, size, rows, columns: (rows * 2 * size[0]).div_ceil(size[1]).min(columns) }
            }
        }
    }

    fn encode(&self, image: &sinew_raster::Image) -> String {
        match self.graphics {
            Graphics::Kitty => kitty::encode(image, self.columns, self.rows),
            Graphics::Sixel => sixel::encode(image),
            Graphics::Blocks => blocks::encode(image),
            Graphics::Plain => String::new(),
        }
    }
}

struct Stage<'a> {
    player: Player<'a>,
    canvas: Canvas,
}

impl Stage<'_> {
    fn caption(&self, frame: &StoredFrame) -> String {
        format!("frame {}  t = {:.3} s", frame.index, frame.time)
    }

    fn show_one(&self, number: usize) -> Result<(), Stopped> {
        let frame = self.player.stored(number)?;
        let picture = self.canvas.encode(&self.player.draw(&frame, self.canvas.size));
        let below = if self.canvas.graphics == Graphics::Kitty { "\n".repeat(self.canvas.rows) } else { String::new() };
        Ok(console::print(&format!("{picture}{below}\n{}\n", self.caption(&frame)))?)
    }

    /// Plays in real time, times the speed. Skips late pictures.
    fn play(&self, arguments: &Arguments) -> Result<(), Stopped> {
        let count = self.player.frame_count();
        let times: Vec<f64> =
            (0..count).map(|number| self.player.stored(number).map(|frame| frame.time)).collect::<Result<_, _>>()?;
        let begin = times.first().copied().unwrap_or(0.0);
        let stop = Interrupt::ambient();
        let screen = terminal::Screen::open(self.canvas.rows)?;
        let interval = Duration::from_secs_f64(1.0 / arguments.fps.clamp(0.01, 1000.0));
        let mut result = Ok(());
        'all: loop {
            let start = Instant::now();
            let mut shown = None;
            loop {
                let now = Instant::now();
                let time = begin + (now - start).as_secs_f64() * arguments.speed;
                // Show the first picture at once, and always show the last.
                let number = times.partition_point(|known| *known <= time).max(1) - 1;
                if shown != Some(number) {
                    let drawn = self.player.stored(number).map_err(Stopped::from).and_then(|frame| {
                        let picture = self.canvas.encode(&self.player.draw(&frame, self.canvas.size));
                        Ok(screen.picture(&picture, &self.caption(&frame))?)
                    });
                    shown = Some(number);
                    if drawn.is_err() {
                        result = drawn;
                        break 'all;
                    }
                }
                if stop.is_wanted() {
                    break 'all;
                }
                if number + 1 >= count {
                    break;
                }
                let due =
                    Duration::try_from_secs_f64((times[number + 1] - begin) / arguments.speed).unwrap_or(Duration::MAX);
                wait_until(now + interval.max(due.saturating_sub(now - start)), &stop);
            }
            if !arguments.repeat {
                break;
            }
            wait_until(Instant::now() + Duration::from_millis(400), &stop);
        }
        drop(screen);
        result
    }
}

/// Sleeps in short pieces to react to Ctrl-C.
fn wait_until(end: Instant, stop: &Interrupt) {
    const PIECE: Duration = Duration::from_millis(20);
    while !stop.is_wanted() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(PIECE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers() {
        assert_eq!(size("640x480"), Ok([640, 480]));
        for wrong in ["640", "0x5", "ax3", "99999x2", ""] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
