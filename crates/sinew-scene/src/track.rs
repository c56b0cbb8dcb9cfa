//! Values over time: piecewise interpolation between points, constant before the first and after the last.

words! {
    /// Interpolation between the points of a track.
    pub enum Interpolation {
        /// Straight lines.
        "linear" => Linear,
        /// Smooth steps 3s² − 2s³: the rate is zero at every point, so that motions start and stop smoothly.
        "smooth" => Smooth,
        /// Each value holds until the next point.
        "step" => Step,
    }
}

/// A value over time.
///
/// ```math
/// v(t) = v_i + s\,(v_{i+1} - v_i),\quad s = w\left(\frac{t - t_i}{t_{i+1} - t_i}\right)
/// ```
///
/// Here w is the identity, 3s² − 2s³ or 0. Outside the points the nearest value holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Track<T> {
    points: Vec<(f64, T)>,
    interpolation: Interpolation,
}

/// Values that a track can have: numbers, vectors and matrices.
pub trait TrackValue: Clone {
    /// `self + s (to - self)`.
    fn blend(&self, to: &Self, s: f64) -> Self;

    /// `s (to - self)`.
    fn difference(&self, to: &Self, s: f64) -> Self;
}

impl TrackValue for f64 {
    fn blend(&self, to: &Self, s: f64) -> Self {
        // This form returns both ends exactly.
        (1.0 - s) * self + s * to
    }

    fn difference(&self, to: &Self, s: f64) -> Self {
        s * (to - self)
    }
}

impl<T: TrackValue, const N: usize> TrackValue for [T; N] {
    fn blend(&self, to: &Self, s: f64) -> Self {
        std::array::from_fn(|i| self[i].blend(&to[i], s))
    }

    fn difference(&self, to: &Self, s: f64) -> Self {
        std::array::from_fn(|i| self[i].difference(&to[i], s))
    }
}

impl<T> Track<T> {
    /// The same value at all times.
    pub fn constant(value: T) -> Self {
        Self { points: vec![(0.0, value)], interpolation: Interpolation::Linear }
    }

    /// Points with increasing times \[s\]; there must be at least one.
    pub fn new(points: Vec<(f64, T)>, interpolation: Interpolation) -> Self {
        debug_assert!(!points.is_empty(), "a track needs a point");
        Self { points, interpolation }
    }

    /// The points: time \[s\] and value.
    pub fn points(&self) -> &[(f64, T)] {
        &self.points
    }

    /// The interpolation between the points.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// Whether the value never changes.
    pub fn is_constant(&self) -> bool {
        self.points.len() == 1
    }

    /// The last time at which the value changes \[s\].
    pub fn end(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.0)
    }

    /// The track with every value replaced.
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> Track<U> {
        Track {
            points: self.points.iter().map(|(time, value)| (*time, change(value))).collect(),
            interpolation: self.interpolation,
        }
    }
}

impl<T: TrackValue> Track<T> {
    /// The value at a time \[s\].
    pub fn at(&self, time: f64) -> T {
        match self.segment(time) {
            Err(nearest) => self.points[nearest].1.clone(),
            Ok((i, s)) => {
                let (from, to) = (&self.points[i].1, &self.points[i + 1].1);
                match self.interpolation {
                    Interpolation::Linear => from.blend(to, s),
                    Interpolation::Smooth => from.blend(to, s * s * (3.0 - 2.0 * s)),
                    Interpolation::Step => from.clone(),
                }
            }
        }
    }

    /// The rate of change at a time \[1/s\]; at a point, the rate of the segment that begins there.
    pub fn rate(&self, time: f64) -> T {
        let still = |value: &T| value.difference(value, 0.0);
        match self.segment(time) {
            Err(nearest) => still(&self.points[nearest].1),
            Ok((i, s)) => {
                let (from, to) = (&self.points[i], &self.points[i + 1]);
                let slope = match self.interpolation {
                    Interpolation::Linear => 1.0,
                    Interpolation::Smooth => 6.0 * s * (1.0 - s),
                    Interpolation::Step => return still(&from.1),
                };
                from.1.difference(&to.1, slope / (to.0 - from.0))
            }
        }
    }

    /// The segment of a time and the fraction of it that has passed; outside, the index of the nearest point.
    fn segment(&self, time: f64) -> Result<(usize, f64), usize> {
        let after = self.points.partition_point(|point| point.0 <= time);
        if after == 0 {
            return Err(0);
        }
        if after == self.points.len() {
            return Err(after - 1);
        }
        let (from, to) = (self.points[after - 1].0, self.points[after].0);
        Ok((after - 1, (time - from) / (to - from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_tracks_meet_their_points_and_hold_outside() {
        let track = Track::new(vec![(1.0, 10.0), (2.0, 20.0), (4.0, 0.0)], Interpolation::Linear);
        for (time, value, rate) in
            [(0.0, 10.0, 0.0), (1.0, 10.0, 10.0), (1.5, 15.0, 10.0), (3.0, 10.0, -10.0), (9.0, 0.0, 0.0)]
        {
            assert_eq!((track.at(time), track.rate(time)), (value, rate), "t = {time}");
        }
    }

    #[test]
    fn step_tracks_hold_until_the_next_point() {
        let track = Track::new(vec![(0.0, [0.0, 1.0]), (1.0, [2.0, 3.0])], Interpolation::Step);
        assert_eq!((track.at(0.999), track.at(1.0)), ([0.0, 1.0], [2.0, 3.0]));
        assert_eq!(track.rate(0.5), [0.0, 0.0]);
    }

    /// d/dt (3s² − 2s³) = (6s − 6s²)/T, compared with a central difference (error h² ≈ 1e-10).
    #[test]
    fn rate_of_a_smooth_track_is_the_derivative_of_its_value() {
        let track = Track::new(vec![(0.0, 1.0), (2.0, 5.0)], Interpolation::Smooth);
        for i in 1..20 {
            let (t, h) = (0.1 * f64::from(i), 1e-5);
            let difference = (track.at(t + h) - track.at(t - h)) / (2.0 * h);
            assert!((track.rate(t) - difference).abs() < 1e-8, "t = {t}");
        }
        assert_eq!(track.rate(0.0), 0.0);
    }
}
