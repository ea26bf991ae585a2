//! Says how long a lane pauses in virtual time, and how much of its pauses is computing.

use crate::Pace;

/// How much of each pause is computing, in nanoseconds: all of it up to a bound, and something beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Computing {
    most_ns: f64,
    beside_ns: f64,
}

impl Computing {
    /// What makes `whole_ns` of all these pauses. A thread that computes pauses, so short pauses are all computing and long ones
    /// begin with as much as the others; what fits into no pause is spread evenly over them.
    pub fn of(mut pauses_ns: Vec<u64>, whole_ns: f64) -> Self {
        pauses_ns.sort_unstable();
        let mut left_ns = whole_ns;
        let mut count = pauses_ns.len() as f64;
        for pause_ns in pauses_ns.iter().map(|ns| *ns as f64) {
            if pause_ns * count >= left_ns {
                return Self { most_ns: left_ns / count, beside_ns: 0.0 };
            }
            left_ns -= pause_ns;
            count -= 1.0;
        }
        Self { most_ns: f64::INFINITY, beside_ns: left_ns / pauses_ns.len().max(1) as f64 }
    }

    /// The computing of a pause, and the part of it that fits into the pause.
    pub fn within(self, pause_ns: u64) -> (f64, f64) {
        let fits_ns = (pause_ns as f64).min(self.most_ns);
        (fits_ns + self.beside_ns, fits_ns)
    }
}

/// The pauses of lanes: at their pace, and as much longer as computing takes.
#[derive(Debug, Clone)]
pub(super) struct Thinking {
    pub pace: Pace,
    /// How much of a pause is computing, how many times its own length that takes more than when it was captured, and the share of
    /// it that is left at least.
    computing: Option<(Computing, f64, f64)>,
    /// Processor time of all pauses so far, in nanoseconds.
    used_ns: f64,
    /// The pauses so far, as captured, and whether each belongs to a lane's first pass; `None` if nobody asks.
    seen: Option<Vec<(u64, bool)>>,
}

impl Thinking {
    /// Pauses last as long as they did.
    pub fn as_captured(pace: Pace) -> Self {
        Self { pace, computing: None, used_ns: 0.0, seen: None }
    }

    /// Computing takes `more` times its own length more than when it was captured, or less if that is below 0.
    pub fn sharing(pace: Pace, computing: Computing, more: f64) -> Self {
        Self { computing: Some((computing, more, 1.0)), ..Self::as_captured(pace) }
    }

    /// Computing, and waiting for a processor for `waited` times as long, take no time.
    pub fn without_computing(pace: Pace, computing: Computing, waited: f64) -> Self {
        Self { computing: Some((computing, -1.0 - waited, 0.0)), ..Self::as_captured(pace) }
    }

    /// Pauses last as long as they did, and are kept.
    pub fn noting() -> Self {
        Self { seen: Some(Vec::new()), ..Self::as_captured(Pace::default()) }
    }

    /// How long a captured pause of a lane lasts, in its first pass or a later one.
    pub fn pause_ns(&mut self, captured_ns: u64, pass: u64) -> u64 {
        let lasts_ns = self.lasts_ns(captured_ns, pass, self.pace.speed);
        self.pace.shortened_ns(lasts_ns)
    }

    /// How long an operation lasts that needs no disk, likewise: it computes as a pause does, but knows no pace.
    pub fn work_ns(&mut self, captured_ns: u64, pass: u64) -> u64 {
        self.lasts_ns(captured_ns, pass, 1.0)
    }

    fn lasts_ns(&mut self, captured_ns: u64, pass: u64, speed: f64) -> u64 {
        if let Some(seen) = &mut self.seen {
            seen.push((captured_ns, pass == 0));
        }
        let Some((computing, more, least)) = self.computing else { return captured_ns };
        let (whole_ns, fits_ns) = computing.within(captured_ns);
        self.used_ns += whole_ns / speed;
        // A float holds no long time to the nanosecond.
        if more == 0.0 {
            captured_ns
        } else {
            (captured_ns as f64 + more * whole_ns).max(least * fits_ns).round() as u64
        }
    }

    /// Processor time of all pauses so far, in nanoseconds.
    pub fn used_ns(&self) -> f64 {
        self.used_ns
    }

    /// The pauses that were kept.
    pub fn into_seen(self) -> Vec<(u64, bool)> {
        self.seen.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pauses_are_all_computing_and_long_ones_begin_with_it() {
        let computing = Computing::of(vec![1000, 10, 1000, 10], 220.0);
        assert_eq!(computing, Computing { most_ns: 100.0, beside_ns: 0.0 });
        assert_eq!(computing.within(10), (10.0, 10.0));
        assert_eq!(computing.within(5000), (100.0, 100.0));
        // More than all pauses hold: it ran within operations, too.
        let computing = Computing::of(vec![10, 30], 100.0);
        assert_eq!(computing.within(30), (60.0, 30.0));
        assert_eq!(Computing::of(vec![0, 0], 0.0).within(7), (0.0, 0.0));
    }

    #[test]
    fn a_pause_grows_and_shrinks_by_its_computing_alone() {
        let computing = Computing { most_ns: 100.0, beside_ns: 0.0 };
        let pause = |more: f64, ns: u64| Thinking::sharing(Pace::default(), computing, more).pause_ns(ns, 0);
        assert_eq!([pause(0.0, 1000), pause(0.5, 1000), pause(0.5, 40)], [1000, 1050, 60]);
        // What is computed alone still takes its own time.
        assert_eq!([pause(-0.5, 1000), pause(-0.5, 40), pause(-3.0, 1000)], [950, 40, 700]);
        let mut free = Thinking::without_computing(Pace::default(), computing, 0.5);
        assert_eq!([free.pause_ns(1000, 0), free.pause_ns(120, 0), free.work_ns(40, 0)], [850, 0, 0]);
        let mut fast = Thinking::sharing(Pace { speed: 2.0, ..Pace::default() }, computing, 0.5);
        assert_eq!((fast.pause_ns(1000, 0), fast.used_ns()), (525, 50.0));
    }
}
