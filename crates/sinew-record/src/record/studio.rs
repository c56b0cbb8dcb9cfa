//! Draws pictures on another core while a run goes on.
//!
//! The studio keeps the snapshots that pictures are drawn from. Its worker thread draws those that fit the view of the
//! frames so far. When the view changes, all pictures are drawn again; so the worker waits until it is steady. At the
//! end, all cores draw what is left. Pictures do not depend on who draws them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sinew_fem::{Interrupt, RecordError};
use sinew_math::parallel::prelude::*;

use super::painter::{Cast, Drawing, Painter, Snapshot, Stage};

/// Number of pictures that are drawn at the same time: a few megabytes each.
const BATCH: usize = 8;

/// Frames after which a view may last: that of a body that starts to fall changes with almost every one. A picture drawn
/// in vain takes little beside a worker that waits, and leaves all pictures of a short run to its end.
const STEADY: usize = 1;

/// The worker waits while pictures of so many bytes wait for the end.
const DRAWN_BYTES: usize = 256 << 20;

/// Time of a frame of a usual film \[s\].
const USUAL: f64 = 0.04;

/// Snapshots and their pictures.
pub(super) struct Studio {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    album: Mutex<Album>,
    changed: Condvar,
}

#[derive(Default)]
struct Album {
    pages: Vec<Page>,
    cast: Arc<Cast>,
    stage: Option<Arc<Stage>>,
    /// Frames since the view changed.
    steady: usize,
    /// The painter of the worker, for the end.
    painter: Option<Arc<Painter>>,
    /// Index of the frame that the worker draws.
    at_work: Option<usize>,
    /// Interval between the frames that the worker draws.
    interval: usize,
    is_closed: bool,
}

struct Page {
    snapshot: Arc<Snapshot>,
    /// The picture in the present view.
    drawing: Option<Drawing>,
}

impl Shared {
    fn album(&self) -> MutexGuard<'_, Album> {
        self.album.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Album {
    /// The next snapshot for the worker. A view that has just changed may change again.
    fn next(&self) -> Option<(Arc<Stage>, Arc<Snapshot>)> {
        let bytes: usize = self.pages.iter().filter_map(|page| page.drawing.as_ref()).map(Drawing::bytes).sum();
        if self.steady <= (self.pages.len() / 8).max(STEADY) || bytes > DRAWN_BYTES {
            return None;
        }
        let is_due = |page: &&Page| page.drawing.is_none() && page.snapshot.order.is_multiple_of(self.interval.max(1));
        let page = self.pages.iter().find(is_due)?;
        Some((self.stage.clone()?, page.snapshot.clone()))
    }

    /// Keeps a picture, unless the view has changed or the snapshot is gone.
    fn put(&mut self, drawing: Drawing, stage: &Arc<Stage>) {
        let is_current = self.stage.as_ref().is_some_and(|current| Arc::ptr_eq(current, stage));
        let page = self.pages.iter_mut().find(|page| page.snapshot.index == drawing.index);
        if let Some(page) = page.filter(|_| is_current) {
            page.drawing = Some(drawing);
        }
    }
}

impl Studio {
    /// A studio with a worker, unless there is only one core or thread.
    pub fn new() -> Studio {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared::default());
        let of_worker = shared.clone();
        let spawn = || std::thread::Builder::new().name("pictures".into()).spawn(move || work(&of_worker));
        // Without the thread, all pictures are drawn at the end.
        let worker = if cores.min(rayon::current_num_threads()) > 1 { spawn().ok() } else { None };
        Studio { shared, worker }
    }

    /// Has the worker draw only every `interval`-th frame.
    pub fn set_interval(&self, interval: usize) {
        self.shared.album().interval = interval;
    }

    #[cfg(test)]
    pub fn has_worker(&self) -> bool {
        self.worker.is_some()
    }

    /// Indices of the kept frames.
    #[cfg(test)]
    pub fn frames(&self) -> Vec<usize> {
        self.shared.album().pages.iter().map(|page| page.snapshot.index).collect()
    }

    /// Number of snapshots.
    pub fn len(&self) -> usize {
        self.shared.album().pages.len()
    }

    /// Mean time between snapshots \[s\]; that of a usual film if there is no second one.
    pub fn seconds_per_frame(&self) -> f64 {
        let album = self.shared.album();
        let [Some(first), Some(last)] = [album.pages.first(), album.pages.last()] else { return USUAL };
        let span = last.snapshot.time - first.snapshot.time;
        if span > 0.0 { span / (album.pages.len() - 1) as f64 } else { USUAL }
    }

    /// Changes the view: pictures in another one are drawn again.
    pub fn set_stage(&self, cast: &Arc<Cast>, stage: Stage) {
        let mut album = self.shared.album();
        if album.stage.as_deref() != Some(&stage) {
            (album.stage, album.steady, album.cast) = (Some(Arc::new(stage)), 0, cast.clone());
            album.pages.iter_mut().for_each(|page| page.drawing = None);
        }
    }

    /// Adds a snapshot; `stage` is the view that fits all of them.
    pub fn add(&self, cast: &Arc<Cast>, snapshot: Snapshot, stage: Stage) {
        self.set_stage(cast, stage);
        let mut album = self.shared.album();
        album.steady += 1;
        album.pages.push(Page { snapshot: Arc::new(snapshot), drawing: None });
        self.shared.changed.notify_one();
    }

    /// Removes every second snapshot.
    pub fn thin(&self) {
        let mut number = 0;
        self.shared.album().pages.retain(|_| {
            number += 1;
            number % 2 == 1
        });
    }

    /// Puts out all pictures in order, a few at a time; `watch` sees how many are done.
    pub fn finish(
        &mut self,
        cast: &Arc<Cast>,
        interrupt: &Interrupt,
        watch: &mut dyn FnMut(usize, usize),
        put: &mut dyn FnMut(Drawing) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        self.draw_beside_worker(interrupt)?;
        self.close();
        let mut album = std::mem::take(&mut *self.shared.album());
        let Some(stage) = album.stage.take() else { return Ok(()) };
        let painter = album.painter.take().filter(|painter| Arc::ptr_eq(&painter.stage, &stage));
        let painter = painter.unwrap_or_else(|| Arc::new(Painter::new(cast, &stage)));
        let all = album.pages.len();
        let mut done = album.pages.iter().filter(|page| page.drawing.is_some()).count();
        for batch in album.pages.chunks_mut(BATCH) {
            let mut missing: Vec<&mut Page> = batch.iter_mut().filter(|page| page.drawing.is_none()).collect();
            done += missing.len();
            // Several at a time: drawing is parallel inside a picture too, but compression is not.
            missing.par_iter_mut().try_for_each(|page| {
                if interrupt.is_wanted() {
                    return Err(RecordError::Interrupted);
                }
                page.drawing = Some(painter.draw(&page.snapshot));
                Ok(())
            })?;
            if !missing.is_empty() {
                watch(done, all);
            }
            batch.iter_mut().filter_map(|page| page.drawing.take()).try_for_each(&mut *put)?;
        }
        Ok(())
    }

    /// Draws some pictures while the worker draws its last one.
    fn draw_beside_worker(&self, interrupt: &Interrupt) -> Result<(), RecordError> {
        let mut album = self.shared.album();
        album.is_closed = true;
        let (Some(painter), Some(stage), Some(busy)) = (album.painter.clone(), album.stage.clone(), album.at_work)
        else {
            return Ok(());
        };
        let is_missing = |page: &&Page| page.drawing.is_none() && page.snapshot.index != busy;
        let missing = album.pages.iter().filter(is_missing).take(BATCH);
        let missing: Vec<Arc<Snapshot>> = missing.map(|page| page.snapshot.clone()).collect();
        drop(album);
        if !Arc::ptr_eq(&painter.stage, &stage) {
            return Ok(());
        }
        missing.par_iter().try_for_each(|snapshot| {
            if interrupt.is_wanted() {
                return Err(RecordError::Interrupted);
            }
            let drawing = painter.draw(snapshot);
            self.shared.album().put(drawing, &stage);
            Ok(())
        })
    }

    /// Waits until the worker has ended, at most for one picture.
    fn close(&mut self) {
        self.shared.album().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.close();
    }
}

/// Draws until the studio is closed.
fn work(shared: &Shared) {
    // On this thread only: the other threads belong to the run.
    let Ok(_alone) = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() else { return };
    let mut album = shared.album();
    while !album.is_closed {
        let Some((stage, snapshot)) = album.next() else {
            album = shared.changed.wait(album).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let (cast, known) = (album.cast.clone(), album.painter.take());
        album.at_work = Some(snapshot.index);
        drop(album);
        let known = known.filter(|painter| Arc::ptr_eq(&painter.stage, &stage));
        let painter = known.unwrap_or_else(|| Arc::new(Painter::new(&cast, &stage)));
        shared.album().painter = Some(painter.clone());
        let drawing = painter.draw(&snapshot);
        album = shared.album();
        album.at_work = None;
        album.put(drawing, &stage);
    }
}
