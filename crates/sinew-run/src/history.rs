//! Values of all probes at all frames of a run.

/// A table with one row per frame and one column per probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeHistory {
    names: Vec<String>,
    times: Vec<f64>,
    /// One value per name, frame after frame.
    values: Vec<f64>,
}

impl ProbeHistory {
    /// A history without frames.
    pub fn new(names: &[String]) -> Self {
        Self { names: names.to_vec(), ..Self::default() }
    }

    /// A history from the names of its columns, the times, and all values frame after frame; `None` if their lengths do
    /// not match.
    pub fn from_parts(names: Vec<String>, times: Vec<f64>, values: Vec<f64>) -> Option<Self> {
        (values.len() == times.len() * names.len()).then_some(Self { names, times, values })
    }

    /// All values, frame after frame.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Adds a frame; excess values are ignored, missing ones become NaN.
    pub fn push(&mut self, time: f64, values: &[f64]) {
        self.times.push(time);
        self.values.extend((0..self.names.len()).map(|i| values.get(i).copied().unwrap_or(f64::NAN)));
    }

    /// Names of the probes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Times of the frames \[s\].
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.times.len()
    }

    /// All values of a probe, if it exists.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let column = self.names.iter().position(|known| known == name)?;
        Some(self.values.chunks_exact(self.names.len()).map(|row| row[column]).collect())
    }

    /// The last value of a probe.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.column(name)?.last().copied()
    }

    /// The frame nearest to a time; of two equally near ones the earlier.
    pub fn nearest_frame(&self, time: f64) -> Option<usize> {
        let distance = |frame: usize| (self.times[frame] - time).abs();
        (0..self.times.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)))
    }

    /// Longest distance between two frames \[s\]; 0 with fewer than two.
    pub fn spacing(&self) -> f64 {
        self.times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::ProbeHistory;

    #[test]
    fn columns_and_nearest_frames_are_found() {
        let mut history = ProbeHistory::new(&["a".into(), "b".into()]);
        history.push(0.0, &[1.0, 2.0]);
        history.push(0.5, &[3.0]);
        assert_eq!(history.column("a"), Some(vec![1.0, 3.0]));
        assert!(history.last("b").is_some_and(f64::is_nan), "a missing value is NaN, never an old one");
        assert_eq!(history.column("c"), None);
        assert_eq!((history.nearest_frame(0.2), history.nearest_frame(0.26)), (Some(0), Some(1)));
        assert_eq!(history.nearest_frame(0.25), Some(0));
    }
}
