//! Represents a moment of virtual time, in picoseconds from the clock's zero.
//!
//! Picoseconds, because whole nanoseconds would round the pace of a fast path by up to one percent; integers, because
//! the order of events must be the same on every machine. Sums saturate at the end of time (213 days), so no constants
//! overflow.

use halfpower_spec::Nanos;

const PS_PER_NS: u64 = 1000;

/// A point of virtual time; it never exceeds [`Moment::END`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The last moment: 213 days from the clock's zero.
    pub const END: Self = Self(u64::MAX);

    /// The moment `ps` picoseconds from the clock's zero.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds from the clock's zero.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// The moment `span_ps` picoseconds later, at most the end of time.
    #[must_use]
    pub const fn after_ps(self, span_ps: u64) -> Self {
        Self(self.0.saturating_add(span_ps))
    }

    /// The moment as a clock shows it: whole nanoseconds that have passed.
    pub const fn nanos(self) -> Nanos {
        Nanos(self.0 / PS_PER_NS)
    }
}

impl From<Nanos> for Moment {
    fn from(instant: Nanos) -> Self {
        Self(instant.0.saturating_mul(PS_PER_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_shows_whole_nanoseconds_that_have_passed() {
        let moment = Moment::from(Nanos(7)).after_ps(1999);
        assert_eq!((moment.ps(), moment.nanos()), (8999, Nanos(8)));
    }

    #[test]
    fn time_ends_and_does_not_wrap() {
        assert_eq!(Moment::from(Nanos(u64::MAX)), Moment::END);
        assert_eq!(Moment::END.after_ps(1), Moment::END);
    }
}
