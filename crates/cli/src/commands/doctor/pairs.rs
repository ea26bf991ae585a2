//! Measures pairs of slices under the old and the new setting in turns, until they decide.

use halfpower_analyse::TrialPairs;

/// Share of a device's bytes that others may move during a pair that counts.
const OTHERS: f64 = 0.1;
/// Most pairs that are left out; then the device is too busy for a trial.
const MOST_DISTURBED: u32 = 8;

/// Which of the two settings holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// As it was.
    Old,
    /// As it is tried.
    New,
}

/// What one slice gave.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// Bytes a second.
    pub rate: f64,
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

/// What all pairs of a trial gave.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The pairs that count.
    pub pairs: TrialPairs,
    /// Number of pairs that were left out.
    pub disturbed: u32,
    /// Bytes of others, and of all, in slices in which they are known.
    pub bytes: (f64, f64),
}

impl Seen {
    /// Share of the device's bytes that others moved; `None` if unknown.
    pub fn others_share(&self) -> Option<f64> {
        let (others, all) = self.bytes;
        (all > 0.0).then(|| others / all)
    }

    /// Whether so many pairs were left out that no more are made.
    pub fn is_too_disturbed(&self) -> bool {
        self.disturbed >= MOST_DISTURBED
    }

    fn add(&mut self, old: &Slice, new: &Slice) {
        for slice in [old, new] {
            if let Some(others) = slice.others_bytes {
                self.bytes = (self.bytes.0 + others, self.bytes.1 + others + slice.own_bytes);
            }
        }
        let is_quiet = !old.is_disturbed() && !new.is_disturbed();
        if !(is_quiet && self.pairs.add(old.rate, new.rate)) {
            self.disturbed += 1;
        }
    }
}

/// Measures pairs until they decide, `has_time` says no, or others disturb too many. `slice` measures one slice and is told
/// the setting, and the number of the pair from 1.
///
/// # Errors
/// Those of `slice`.
pub fn pairs<E>(
    mut slice: impl FnMut(Position, u32) -> Result<Slice, E>,
    has_time: impl Fn() -> bool,
) -> Result<Seen, E> {
    let mut seen = Seen::default();
    while !seen.pairs.is_over() && !seen.is_too_disturbed() && has_time() {
        let number = seen.pairs.len() as u32 + seen.disturbed + 1;
        if seen.pairs.begins_with_new() {
            let new = slice(Position::New, number)?;
            let old = slice(Position::Old, number)?;
            seen.add(&old, &new);
        } else {
            let old = slice(Position::Old, number)?;
            let new = slice(Position::New, number)?;
            seen.add(&old, &new);
        }
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
        Slice { rate, own_bytes: 1000.0, others_bytes }
    }

    /// All pairs of a setting that is `ratio` times as fast, and the settings in the order in which they were measured.
    fn seen(ratio: f64, others: impl Fn(u32) -> Option<f64>) -> (Seen, Vec<Position>) {
        let order = RefCell::new(Vec::new());
        let measure = |position: Position, number: u32| -> Result<Slice, Infallible> {
            order.borrow_mut().push(position);
            Ok(slice(if position == Position::New { ratio } else { 1.0 }, others(number)))
        };
        let Ok(seen) = pairs(measure, || true);
        (seen, order.into_inner())
    }

    #[test]
    fn the_order_is_abba_and_ends_when_decided() {
        use Position::{New, Old};
        let (seen, order) = seen(1.2, |_| None);
        assert_eq!(order, [Old, New, New, Old, Old, New, New, Old]);
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
        let fails = |position: Position, number: u32| {
            if number == 2 && position == Position::Old { Err("it broke") } else { Ok(slice(1.0, None)) }
        };
        assert_eq!(pairs(fails, || true).err(), Some("it broke"));
    }

    #[test]
    fn slices_without_a_rate_end_it_too() {
        let (nothing, _) = seen(0.0, |_| None);
        assert!(nothing.is_too_disturbed() && nothing.pairs.is_empty());
    }
}
