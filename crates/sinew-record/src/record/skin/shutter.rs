//! The frames of a run in which a character is written: whole ones, and those in between while the shutter is open.

use super::SkinFormat;

/// Fraction of a frame within which two times are equal.
const SLACK: f64 = 1e-6;
/// Times this close to a simulated frame, in whole frames, are meant to be that frame: keys in files have single
/// precision, which at frame 10 000 is half of this.
const SAME: f64 = 1e-3;

/// Frames that are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shutter {
    /// Simulated frames per second.
    pub frame_rate: f64,
    /// Simulated frames from one whole frame to the next.
    pub every: usize,
    /// First and last whole frame, counted from time 0 of the animation; `None` for all.
    pub frames: Option<[usize; 2]>,
    /// Opening and closing time of the shutter relative to each whole frame, in whole frames; `None` without a shutter.
    pub open: Option<[f64; 2]>,
}

impl Shutter {
    /// Whole frames per second.
    pub fn rate(&self) -> f64 {
        self.frame_rate / self.every as f64
    }

    /// Whether a simulated frame is a whole one.
    pub fn is_whole(&self, index: usize) -> bool {
        index.is_multiple_of(self.every)
    }

    /// The time code of a simulated frame, rounded to remove floating-point noise; `None` if it is not written. `time`
    /// is that of the animation \[s\], which begins at `start`.
    pub fn code(&self, index: usize, time: f64, start: f64, format: SkinFormat) -> Option<f64> {
        if time < start - SLACK / self.frame_rate {
            return None;
        }
        let exact = time * self.rate();
        let frame = (exact * self.every as f64).round() / self.every as f64;
        // Otherwise, rounding to six digits keeps the written text short.
        let code = if (exact - frame).abs() < SAME { frame } else { (exact * 1e6).round() / 1e6 };
        let is_shown = |code: f64| match self.frames {
            Some([first, last]) => code >= first as f64 - SLACK && code <= last as f64 + SLACK,
            None => true,
        };
        if self.is_whole(index) {
            return is_shown(code).then_some(code);
        }
        let [open, close] = self.open?;
        let after = (index % self.every) as f64 / self.every as f64;
        let (before, step) = (1.0 - after, 1.0 / self.every as f64);
        let [last, next] = [code - after, code + before].map(is_shown);
        // One sample beyond if the shutter moves between two samples: values are interpolated to its ends.
        let is_seen = |part: f64, end: f64| part < end + step - SLACK && end > 0.0;
        let is_written = match format {
            SkinFormat::Usd => last && is_seen(after, close) || next && is_seen(before, -open),
            // Samples at even times.
            SkinFormat::Pc2 => last && (next || is_seen(after, close)),
            SkinFormat::Glb => false,
        };
        is_written.then_some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames written for a run at 96 Hz that begins at frame 2 of 24 Hz.
    fn codes(frames: Option<[usize; 2]>, open: Option<[f64; 2]>, format: SkinFormat) -> Vec<f64> {
        let shutter = Shutter { frame_rate: 96.0, every: 4, frames, open };
        let start = 2.0 / 24.0;
        (0..24).filter_map(|index| shutter.code(index, start + (index as f64 - 8.0) / 96.0, start, format)).collect()
    }

    #[test]
    fn frames_between_are_written_while_the_shutter_is_open() {
        use SkinFormat::{Glb, Pc2, Usd};
        assert_eq!(codes(None, None, Usd), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(codes(Some([3, 4]), None, Pc2), [3.0, 4.0]);
        let forward = Some([0.0, 0.5]);
        assert_eq!(codes(Some([3, 4]), forward, Usd), [3.0, 3.25, 3.5, 4.0, 4.25, 4.5]);
        assert_eq!(codes(Some([3, 4]), Some([0.0, 0.3]), Usd), [3.0, 3.25, 3.5, 4.0, 4.25, 4.5]);
        assert_eq!(codes(Some([3, 4]), Some([-0.25, 0.25]), Usd), [2.75, 3.0, 3.25, 3.75, 4.0, 4.25]);
        assert_eq!(codes(Some([3, 4]), forward, Pc2), [3.0, 3.25, 3.5, 3.75, 4.0, 4.25, 4.5]);
        assert_eq!(codes(Some([3, 4]), forward, Glb), [3.0, 4.0]);
    }
}
