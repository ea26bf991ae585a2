//! Measures pairs of slices in turns, A B then B A, until they decide: of two targets, or under two settings of one.

use halfpower_analyse::{Looks, TrialPairs};

/// Share of a device's bytes that others may move during a pair that counts.
const OTHERS: f64 = 0.1;

/// Which of the two is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first target, or the setting as it was.
    A,
    /// The second target, or the setting that is tried.
    B,
}

impl Side {
    /// Its name in all that is shown.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// What one slice gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Bytes a second.
    pub rate: f64,
    /// Median latency in nanoseconds; 0 if there was no request, or it is not known.
    pub latency_ns_p50: f64,
    /// 99th percentile of latency in nanoseconds; 0 if there was no request, or it is not known.
    pub latency_ns_p99: f64,
    /// Bytes of our own requests.
    pub own_bytes: f64,
    /// Bytes that the device moved for others; `None` if unknown.
    pub others_bytes: Option<f64>,
}

impl Slice {
    fn is_disturbed(&self) -> bool {
        self.others_bytes.is_some_and(|others| others > OTHERS * (others + self.own_bytes))
    }
}

/// What all pairs gave.
#[derive(Debug, Clone, Default)]
pub struct SeenPairs {
    /// The pairs that count.
    pub pairs: TrialPairs,
    /// Number of pairs that were left out.
    pub disturbed: u32,
    /// Bytes of others, and of all, in slices in which they are known.
    pub bytes: (f64, f64),
}

impl SeenPairs {
    /// No pair yet; they will be looked at so.
    pub fn looked_at(looks: Looks) -> Self {
        Self { pairs: TrialPairs::looked_at(looks), ..Self::default() }
    }

    /// Share of the device's bytes that others moved; `None` if unknown.
    pub fn others_share(&self) -> Option<f64> {
        let (others, all) = self.bytes;
        (all > 0.0).then(|| others / all)
    }

    /// Whether so many pairs were left out that no more are made: half of the most that may count.
    pub fn is_too_disturbed(&self) -> bool {
        self.disturbed as usize >= self.pairs.looks().most_pairs() / 2
    }

    /// Whether a further pair may help.
    pub fn is_open(&self) -> bool {
        !self.pairs.is_over() && !self.is_too_disturbed()
    }

    /// Number of the next pair, from 1.
    pub fn number(&self) -> u32 {
        self.pairs.len() as u32 + self.disturbed + 1
    }

    /// Measures one pair, in the order whose turn it is; returns the slices of A and of B, if the pair counts.
    ///
    /// # Errors
    /// Those of `slice`.
    pub fn pair<E>(&mut self, mut slice: impl FnMut(Side) -> Result<Slice, E>) -> Result<Option<[Slice; 2]>, E> {
        let both = if self.pairs.begins_with_b() {
            let of_b = slice(Side::B)?;
            [slice(Side::A)?, of_b]
        } else {
            let of_a = slice(Side::A)?;
            [of_a, slice(Side::B)?]
        };
        Ok(self.add(&both).then_some(both))
    }

    /// Adds a pair; returns whether it counts.
    fn add(&mut self, both: &[Slice; 2]) -> bool {
        for slice in both {
            if let Some(others) = slice.others_bytes {
                self.bytes = (self.bytes.0 + others, self.bytes.1 + others + slice.own_bytes);
            }
        }
        let [a, b] = both;
        let is_quiet = !a.is_disturbed() && !b.is_disturbed();
        let counts = is_quiet && self.pairs.add(a.rate, b.rate);
        self.disturbed += u32::from(!counts);
        counts
    }
}

/// Measures pairs until they decide, `has_time` says no, or others disturb too many. `slice` measures one slice and is told
/// the side, and the number of the pair from 1.
///
/// # Errors
/// Those of `slice`.
pub fn pairs<E>(
    mut slice: impl FnMut(Side, u32) -> Result<Slice, E>,
    has_time: impl Fn() -> bool,
) -> Result<SeenPairs, E> {
    let mut seen = SeenPairs::default();
    while seen.is_open() && has_time() {
        let number = seen.number();
        seen.pair(|side| slice(side, number))?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use halfpower_record::TrialVerdict;

    use super::*;

    fn slice(rate: f64, others_bytes: Option<f64>) -> Slice {
        Slice { rate, latency_ns_p50: 1e5, latency_ns_p99: 2e5, own_bytes: 1000.0, others_bytes }
    }

    /// All pairs of a setting that is `ratio` times as fast, and the settings in the order in which they were measured.
    fn seen(ratio: f64, others: impl Fn(u32) -> Option<f64>) -> (SeenPairs, Vec<Side>) {
        let order = RefCell::new(Vec::new());
        let measure = |position: Side, number: u32| -> Result<Slice, Infallible> {
            order.borrow_mut().push(position);
            Ok(slice(if position == Side::B { ratio } else { 1.0 }, others(number)))
        };
        let Ok(seen) = pairs(measure, || true);
        (seen, order.into_inner())
    }

    #[test]
    fn the_order_is_abba_and_ends_when_decided() {
        use Side::{A, B};
        let (seen, order) = seen(1.2, |_| None);
        assert_eq!(order, [A, B, B, A, A, B, B, A]);
        assert_eq!((seen.pairs.verdict(), seen.disturbed, seen.others_share()), (TrialVerdict::Faster, 0, None));
    }

    #[test]
    fn pairs_that_others_disturb_do_not_count_and_too_many_end_it() {
        let (some, order) = seen(1.2, |number| Some(if number.is_multiple_of(2) { 1000.0 } else { 1.0 }));
        assert_eq!((some.pairs.verdict(), some.pairs.len(), some.disturbed), (TrialVerdict::Faster, 4, 3));
        assert_eq!(order.len(), 14);
        let (busy, order) = seen(1.2, |_| Some(1000.0));
        assert_eq!((busy.pairs.verdict(), busy.pairs.len()), (TrialVerdict::NotDecided, 0));
        assert!(busy.is_too_disturbed() && order.len() == 16);
        assert_eq!(busy.others_share(), Some(0.5));
    }

    #[test]
    fn time_and_errors_end_it() {
        let without_time = pairs(|_, _| -> Result<Slice, Infallible> { Ok(slice(1.0, None)) }, || false);
        assert!(without_time.is_ok_and(|seen| seen.pairs.is_empty()));
        let fails = |position: Side, number: u32| {
            if number == 2 && position == Side::A { Err("it broke") } else { Ok(slice(1.0, None)) }
        };
        assert_eq!(pairs(fails, || true).err(), Some("it broke"));
    }

    #[test]
    fn slices_without_a_rate_end_it_too() {
        let (nothing, _) = seen(0.0, |_| None);
        assert!(nothing.is_too_disturbed() && nothing.pairs.is_empty());
    }
}
