//! Joins the parts of a run that several processes made, field by field, and adds up counts.
//!
//! Only one process of each computer reports what concerns the whole computer, so these sums, `cpu.span_ns` included,
//! are over computers, and shares of them are means over computers.

use std::collections::BTreeMap;
use std::ops::Add;

/// A figure, or a group of figures, of which several processes each have a part.
pub trait Join {
    /// The figure of both parts together.
    #[must_use]
    fn joined(self, other: Self) -> Self;
}

impl<T: Join> Join for Box<T> {
    fn joined(self, other: Self) -> Self {
        Self::new((*self).joined(*other))
    }
}

/// Declares a struct; after each field stands the rule by which two parts of it join, a function of this file. A rule
/// may take another one, `of_known(sum)`, or the weights of both parts, `mean by ios`.
///
/// With fields in brackets after its name, it has a constructor `empty` that takes these; all others have their defaults.
macro_rules! joined {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                pub $field:ident: $type:ty => $rule:ident $(($inner:ident))? $(by $weight:ident)?,
            )*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::Join for $name {
            fn joined(self, other: Self) -> Self {
                let own = self;
                Self {
                    $($field: $rule(own.$field, other.$field $(, $inner)? $(, [own.$weight, other.$weight])?),)*
                }
            }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident($($given:ident: $given_type:ty),*) $fields:tt) => {
        $crate::joined::joined! {
            $(#[$meta])*
            pub struct $name $fields
        }

        impl $name {
            /// Nothing observed yet: these values, zeros, and nothing known.
            pub fn empty($($given: $given_type),*) -> Self {
                $crate::joined::joined!(@empty $fields)
            }
        }
    };
    (@empty {
        $(
            $(#[$field_meta:meta])*
            pub $field:ident: $type:ty => $rule:ident $(($inner:ident))? $(by $weight:ident)?,
        )*
    }) => {
        Self { $($field: $crate::joined::joined!(@value $field $rule),)* }
    };
    (@value $field:ident given) => { $field };
    (@value $field:ident $rule:ident) => { Default::default() };
}
pub(crate) use joined;

/// The same in all parts.
pub(crate) fn given<T>(own: T, _other: T) -> T {
    own
}

/// The value of the first process.
pub(crate) fn first<T>(own: T, _other: T) -> T {
    own
}

/// The value that both have; `None` if they differ.
pub(crate) fn same<T: PartialEq>(own: Option<T>, other: Option<T>) -> Option<T> {
    if own == other { own } else { None }
}

pub(crate) fn sum<T: Add<Output = T>>(own: T, other: T) -> T {
    own + other
}

pub(crate) fn greatest<T: PartialOrd>(own: T, other: T) -> T {
    if own >= other { own } else { other }
}

pub(crate) fn least<T: PartialOrd>(own: T, other: T) -> T {
    if own <= other { own } else { other }
}

/// The least value above 0; 0 means that it is not known.
pub(crate) fn least_above_zero(own: u64, other: u64) -> u64 {
    [own, other].into_iter().filter(|value| *value > 0).min().unwrap_or(0)
}

/// The time per request of two that work at once: their rates add.
pub(crate) fn rates_added(own_ns: f64, other_ns: f64) -> f64 {
    1.0 / (1.0 / own_ns + 1.0 / other_ns)
}

/// The mean by these weights; the plain mean if both are 0.
pub(crate) fn mean(own: f64, other: f64, weights: [u64; 2]) -> f64 {
    let [of_own, of_other] = weights.map(|weight| weight as f64);
    let sum = of_own + of_other;
    if sum > 0.0 { (own * of_own + other * of_other) / sum } else { (own + other) / 2.0 }
}

/// The mean by these weights, without what lies behind the point.
pub(crate) fn whole_mean(own: u64, other: u64, weights: [u64; 2]) -> u64 {
    mean(own as f64, other as f64, weights) as u64
}

/// Joins what both know; what only one knows is its value.
pub(crate) fn of_known<T>(own: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    match (own, other) {
        (Some(own), Some(other)) => Some(join(own, other)),
        (own, other) => own.or(other),
    }
}

/// Joins what both know; `None` if one does not know it.
pub(crate) fn if_both_know<T>(own: Option<T>, other: Option<T>, join: impl FnOnce(T, T) -> T) -> Option<T> {
    own.zip(other).map(|(own, other)| join(own, other))
}

/// Groups of figures join by their own rules.
pub(crate) fn parts<T: Join>(own: T, other: T) -> T {
    own.joined(other)
}

/// Joins the first with the first, the second with the second; those that only one has are kept.
pub(crate) fn one_by_one<T: Join>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
    let mut other = other.into_iter();
    let mut joined: Vec<T> = Vec::with_capacity(own.len().max(other.len()));
    for own in own {
        joined.push(match other.next() {
            Some(other) => own.joined(other),
            None => own,
        });
    }
    joined.extend(other);
    joined
}

/// One list after the other.
pub(crate) fn chained<T>(mut own: Vec<T>, other: Vec<T>) -> Vec<T> {
    own.extend(other);
    own
}

/// Adds counts by name.
pub(crate) fn counts(mut own: BTreeMap<String, u64>, other: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    for (name, count) in other {
        *own.entry(name).or_default() += count;
    }
    own
}

/// The sum, or `u64::MAX` on overflow: counts in a study file may be impossible.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LaneSide;

    #[test]
    fn what_one_part_does_not_know_is_joined_as_the_rule_says() {
        assert_eq!(of_known(Some(2), None, sum), Some(2));
        assert_eq!(of_known(Some(2), Some(3), sum), Some(5));
        assert_eq!(if_both_know(Some(2), None, sum), None);
        assert_eq!(if_both_know(Some(2), Some(3), sum), Some(5));
        assert_eq!(same(Some(2), Some(3)), None);
        assert_eq!(least_above_zero(0, 3), 3);
    }

    #[test]
    fn means_follow_their_weights() {
        assert_eq!(mean(1.0, 4.0, [2, 1]), 2.0);
        assert_eq!(mean(1.0, 4.0, [0, 0]), 2.5);
        assert_eq!(whole_mean(1, 4, [1, 1]), 2);
        assert_eq!(rates_added(2.0, 2.0), 1.0);
    }

    #[test]
    fn the_deviation_of_two_lanes_is_that_of_all_their_requests() {
        let of = |mean: f64| LaneSide { ios: 2, bytes: 8, latency_ns_mean: mean, latency_ns_deviation: 1.0 };
        let all = of(10.0).joined(of(14.0));
        assert_eq!(all, LaneSide { ios: 4, bytes: 16, latency_ns_mean: 12.0, latency_ns_deviation: 5.0_f64.sqrt() });
        assert_eq!(one_by_one(vec![of(10.0)], vec![of(14.0), of(1.0)]), [all, of(1.0)]);
    }

    #[test]
    fn what_is_too_much_is_the_greatest_count() {
        assert_eq!(total([1, 2, 3]), 6);
        assert_eq!(total([u64::MAX, 2, 3]), u64::MAX);
    }
}
