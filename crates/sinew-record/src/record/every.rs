//! A recorder that forwards every n-th frame.

use sinew_fem::{Frame, OutputFigures, RecordError, Recorder};

/// Forwards every `every`-th frame, and the first, to another recorder.
pub struct Every<R> {
    inner: R,
    every: usize,
    seen: usize,
}

impl<R: Recorder> Every<R> {
    /// `every` is at least one.
    pub fn new(every: usize, inner: R) -> Every<R> {
        Every { inner, every: every.max(1), seen: 0 }
    }
}

impl<R: Recorder> Recorder for Every<R> {
    fn frame(&mut self, frame: &Frame<'_>) -> Result<(), RecordError> {
        let is_due = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if is_due { self.inner.frame(frame) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.inner.finish()
    }

    fn finish_watched(&mut self, watch: &mut dyn FnMut(usize, usize)) -> Result<(), RecordError> {
        self.inner.finish_watched(watch)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn figures(&self) -> Vec<OutputFigures> {
        self.inner.figures()
    }
}
