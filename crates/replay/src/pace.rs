//! Says how a capture is asked again: after pauses or at set times, and how many times as fast.

/// How a capture is asked again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Whether a step is due at its own time after the beginning of the round (open loop), and not a pause after the end of
    /// the step before (closed loop). Its latency then counts from the time at which it was due.
    pub open: bool,
    /// Times as fast: pauses, or times at which steps are due, are divided by it.
    pub speed: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { open: false, speed: 1.0 }
    }
}

impl Pace {
    /// Each step as soon as the one before it in its lane has ended.
    pub const WITHOUT_PAUSES: Self = Self { open: false, speed: f64::INFINITY };

    /// Whether there are any pauses.
    pub fn has_pauses(self) -> bool {
        self.speed.is_finite()
    }

    /// A pause, or the time at which a step is due, at this speed.
    pub fn shortened_ns(self, ns: u64) -> u64 {
        // A float holds no long time to the nanosecond.
        if self.speed == 1.0 { ns } else { (ns as f64 / self.speed).round() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_divides_times() {
        let long = (1 << 60) - 1;
        assert_eq!(Pace::default().shortened_ns(long), long);
        assert_eq!(Pace { speed: 2.0, ..Pace::default() }.shortened_ns(5), 3);
        assert_eq!(Pace::WITHOUT_PAUSES.shortened_ns(long), 0);
        assert!(Pace::default().has_pauses() && !Pace::WITHOUT_PAUSES.has_pauses());
    }
}
