//! From excitation to activation: $`\dot a = (u - a) / \tau`$, with $`\tau`$ short while activation rises and long
//! while it decays \[Zajac89, Thelen03\].
//!
//! Calcium floods a fiber faster than it is pumped back, so a muscle tenses faster than it relaxes. One short pulse
//! gives a twitch; pulses that follow faster than the decay fuse to a tetanus.

/// Transition of the rate between rise and decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Switch {
    /// $`\tau`$ is the rise time for $`u > a`$ and the decay time otherwise. Activation never crosses a constant
    /// excitation, so steps are exact.
    Plain,
    /// $`1/\tau`$ blends from one to the other as $`\tanh((u - a) / w)`$: derivatives with respect to excitation are
    /// continuous, as optimization over excitations needs.
    Smooth {
        /// Difference $`w > 0`$ of excitation and activation over which the transition takes place.
        width: f64,
    },
}

/// First-order dynamics of activation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivationDynamics {
    /// Time constant of rise \[s\] > 0.
    pub rise_secs: f64,
    /// Time constant of decay \[s\] > 0.
    pub decay_secs: f64,
    /// Transition between the two.
    pub switch: Switch,
}

impl Default for ActivationDynamics {
    /// 10 ms and 40 ms, the usual values for human muscle \[Thelen03, Millard13\].
    fn default() -> Self {
        ActivationDynamics { rise_secs: 0.010, decay_secs: 0.040, switch: Switch::Plain }
    }
}

/// Why constants are invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActivationError {
    /// A time constant or a width that is not positive.
    #[error("{name} is {value}; it must be above zero and finite")]
    NotPositive {
        /// Field of [`ActivationDynamics`] or [`Switch`].
        name: &'static str,
        /// Its value.
        value: f64,
    },
}

impl ActivationDynamics {
    /// Checks the constants.
    pub fn check(&self) -> Result<(), ActivationError> {
        let width = match self.switch {
            Switch::Plain => 1.0,
            Switch::Smooth { width } => width,
        };
        for (name, value) in [("rise_secs", self.rise_secs), ("decay_secs", self.decay_secs), ("width", width)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(ActivationError::NotPositive { name, value });
            }
        }
        Ok(())
    }

    /// $`1/\tau`$ \[1/s\].
    fn rate(&self, excitation: f64, activation: f64) -> f64 {
        let (rise, decay) = (1.0 / self.rise_secs, 1.0 / self.decay_secs);
        let difference = excitation - activation;
        match self.switch {
            Switch::Plain => {
                if difference > 0.0 {
                    rise
                } else {
                    decay
                }
            }
            Switch::Smooth { width } => decay + (rise - decay) * 0.5 * (1.0 + (difference / width).tanh()),
        }
    }

    /// $`\dot a`$ \[1/s\].
    pub fn derivative(&self, excitation: f64, activation: f64) -> f64 {
        (excitation - activation) * self.rate(excitation, activation)
    }

    /// Activation after `dt` seconds of constant excitation:
    ///
    /// ```math
    /// a(t + \Delta t) = u + (a - u)\, e^{-\Delta t / \tau}
    /// ```
    ///
    /// Exact for the plain switch, second order for the smooth one, whose rate is evaluated at the midpoint. The result
    /// stays between activation and excitation for any step size.
    pub fn advance(&self, activation: f64, excitation: f64, dt: f64) -> f64 {
        let relax = |rate: f64, dt: f64| excitation + (activation - excitation) * (-dt * rate).exp();
        let rate = self.rate(excitation, activation);
        match self.switch {
            Switch::Plain => relax(rate, dt),
            Switch::Smooth { .. } => relax(self.rate(excitation, relax(rate, 0.5 * dt)), dt),
        }
    }

    /// Activation at time `to` under pulses, from a given activation at `from`; steps end at pulse edges, so the plain
    /// switch stays exact.
    pub fn advance_through(&self, pulses: &PulseTrain, activation: f64, from: f64, to: f64) -> f64 {
        let (mut now, mut activation) = (from, activation);
        while now < to {
            let next = pulses.next_change(now).min(to);
            activation = self.advance(activation, pulses.excitation(now), next - now);
            now = next;
        }
        activation
    }
}

/// Equal pulses of excitation: one for a twitch, many for a tetanus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PulseTrain {
    /// Start of the first pulse \[s\].
    pub start_secs: f64,
    /// Duration of a pulse \[s\], above zero and at most the period.
    pub width_secs: f64,
    /// Time from the start of a pulse to that of the next \[s\].
    pub period_secs: f64,
    /// Number of pulses.
    pub count: u32,
    /// Excitation during a pulse, from 0 to 1; zero in between.
    pub height: f64,
}

impl PulseTrain {
    /// One pulse of full excitation at time zero.
    pub fn twitch(width_secs: f64) -> PulseTrain {
        PulseTrain { start_secs: 0.0, width_secs, period_secs: width_secs, count: 1, height: 1.0 }
    }

    /// Pulses of full excitation from time zero, `frequency` \[1/s\] per second.
    pub fn tetanus(width_secs: f64, frequency: f64, count: u32) -> PulseTrain {
        PulseTrain { start_secs: 0.0, width_secs, period_secs: 1.0 / frequency, count, height: 1.0 }
    }

    /// Excitation at a time; pulses include their start but not their end.
    pub fn excitation(&self, time: f64) -> f64 {
        let pulse = self.pulse_at(time);
        let is_inside = (0.0..f64::from(self.count)).contains(&pulse) && time < self.end_of(pulse);
        if is_inside { self.height } else { 0.0 }
    }

    /// The next time after `time` at which a pulse begins or ends; infinity after the last.
    pub fn next_change(&self, time: f64) -> f64 {
        let pulse = self.pulse_at(time);
        let last = f64::from(self.count) - 1.0;
        if pulse < 0.0 {
            return if self.count > 0 { self.start_secs } else { f64::INFINITY };
        }
        if pulse <= last && time < self.end_of(pulse) {
            return self.end_of(pulse);
        }
        if pulse < last { self.start_of(pulse + 1.0) } else { f64::INFINITY }
    }

    /// The pulse that began last; negative before the first.
    fn pulse_at(&self, time: f64) -> f64 {
        let guess = ((time - self.start_secs) / self.period_secs).floor();
        // The division may round to the wrong side of a pulse start, and a walk from change to change would never get
        // past it.
        if self.start_of(guess + 1.0) <= time {
            guess + 1.0
        } else if self.start_of(guess) > time {
            guess - 1.0
        } else {
            guess
        }
    }

    fn start_of(&self, pulse: f64) -> f64 {
        self.start_secs + pulse * self.period_secs
    }

    fn end_of(&self, pulse: f64) -> f64 {
        self.start_of(pulse) + self.width_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ActivationDynamics = ActivationDynamics { rise_secs: 0.010, decay_secs: 0.040, switch: Switch::Plain };
    const SMOOTH: ActivationDynamics = ActivationDynamics { switch: Switch::Smooth { width: 0.1 }, ..PLAIN };

    /// One step or many: a = u + (a₀ − u) exp(−t/τ).
    #[test]
    fn constant_excitation_gives_exponentials_for_any_step() {
        for (start, excitation, tau) in [(0.0, 1.0, 0.010), (0.2, 0.9, 0.010), (1.0, 0.0, 0.040), (0.7, 0.3, 0.040)] {
            let exact = excitation + (start - excitation) * (-0.03f64 / tau).exp();
            for steps in [1, 7, 300] {
                let a = (0..steps).fold(start, |a, _| PLAIN.advance(a, excitation, 0.03 / f64::from(steps)));
                assert!((a - exact).abs() < 1e-14, "{a} {exact}");
            }
        }
    }

    #[test]
    fn no_step_leaves_the_way_from_activation_to_excitation() {
        for dynamics in [PLAIN, SMOOTH] {
            for (a, u) in [(0.0, 1.0), (1.0, 0.0), (0.4, 0.5), (0.5, 0.5)] {
                for dt in [0.0, 1e-9, 1e-3, 1.0, 1e9] {
                    let next = dynamics.advance(a, u, dt);
                    assert!(next >= f64::min(a, u) && next <= f64::max(a, u));
                }
                assert!((dynamics.advance(a, u, 1e9) - u).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn derivative_is_the_limit_of_a_step() {
        for dynamics in [PLAIN, SMOOTH] {
            for (a, u) in [(0.1, 0.9), (0.9, 0.2), (0.45, 0.5)] {
                let difference = (dynamics.advance(a, u, 1e-8) - a) / 1e-8;
                assert!((difference - dynamics.derivative(u, a)).abs() < 1e-4, "{difference}");
            }
        }
    }

    /// Halving the step of the smooth switch quarters the error.
    #[test]
    fn smooth_switch_is_second_order() {
        let run = |steps: u32| (0..steps).fold(0.1, |a, _| SMOOTH.advance(a, 0.3, 0.02 / f64::from(steps)));
        let exact = run(1 << 14);
        let [coarse, fine] = [32, 64].map(|steps| (run(steps) - exact).abs());
        assert!((3.5..4.5).contains(&(coarse / fine)), "{}", coarse / fine);
    }

    /// After a pulse of width w: (1 − exp(−w/τ_rise)) exp(−(t − w)/τ_decay).
    #[test]
    fn twitch_rises_and_decays() {
        let pulse = PulseTrain::twitch(0.005);
        let a = |t| PLAIN.advance_through(&pulse, 0.0, -0.1, t);
        assert_eq!(a(-0.01), 0.0);
        assert!((a(0.005) - (1.0 - (-0.5f64).exp())).abs() < 1e-15);
        assert!((a(0.065) - (1.0 - (-0.5f64).exp()) * (-1.5f64).exp()).abs() < 1e-15);
    }

    /// Peaks under a long train converge to (1 − p) / (1 − p q) with p, q the decays within and between pulses; faster
    /// pulses fuse.
    #[test]
    fn pulse_trains_settle_at_their_closed_form_and_fuse() {
        let ripple = |frequency: f64| {
            let train = PulseTrain::tetanus(0.005, frequency, 400);
            let last = 300.0 / frequency;
            let valley = PLAIN.advance_through(&train, 0.0, 0.0, last);
            let peak = PLAIN.advance_through(&train, valley, last, last + 0.005);
            let (p, q) = ((-0.5f64).exp(), (-(1.0 / frequency - 0.005) / 0.040).exp());
            assert!((peak - (1.0 - p) / (1.0 - p * q)).abs() < 1e-12, "{frequency}: {peak}");
            assert!((valley - peak * q).abs() < 1e-12);
            (peak, peak - valley)
        };
        let [slow, middle, fast] = [5.0, 40.0, 120.0].map(ripple);
        assert!(slow.0 < middle.0 && middle.0 < fast.0 && fast.0 > 0.85);
        assert!(slow.1 > 0.38 && fast.1 < 0.08, "{slow:?} {fast:?}");
    }

    /// Every pulse is visited once, even if its start is not representable.
    #[test]
    fn every_pulse_begins_and_ends_once() {
        let train =
            PulseTrain { start_secs: 0.1, width_secs: 0.003, period_secs: 1.0 / 30.0, count: 1000, height: 0.5 };
        let (mut now, mut changes, mut excited) = (-1.0, 0, 0.0);
        loop {
            let next = train.next_change(now);
            if next == f64::INFINITY {
                break;
            }
            assert!(next > now);
            excited += train.excitation(now) * (next - now);
            (now, changes) = (next, changes + 1);
        }
        assert_eq!(changes, 2000);
        assert!((excited - 0.5 * 0.003 * 1000.0).abs() < 1e-9);
        let none = PulseTrain { count: 0, ..train };
        assert!(
            none.next_change(-1.0) == f64::INFINITY
                && none.next_change(1.0) == f64::INFINITY
                && none.excitation(0.1) == 0.0
        );
    }

    #[test]
    fn constants_must_be_positive() {
        assert!(ActivationDynamics::default().check().is_ok());
        let wrong = ActivationDynamics { rise_secs: 0.0, ..PLAIN };
        assert_eq!(wrong.check(), Err(ActivationError::NotPositive { name: "rise_secs", value: 0.0 }));
        assert!(ActivationDynamics { decay_secs: f64::NAN, ..PLAIN }.check().is_err());
        assert!(ActivationDynamics { switch: Switch::Smooth { width: -1.0 }, ..PLAIN }.check().is_err());
    }
}
