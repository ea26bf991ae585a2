//! Sorts short lists by code that is compiled once.
//!
//! Each `sort_by` of the standard library with a type or a comparison of its own is compiled into a sort of its own, of some
//! 7 KB. Here places are sorted, by a comparison behind a pointer, and then the values change places: a few times slower, of
//! which lists of cells, rows and findings show nothing. Long lists (operations, events) are sorted by the standard library.

use std::cmp::Ordering;

/// Stable sorts of a short list.
pub trait InOrder<T> {
    /// Sorts by this comparison.
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// Sorts by a key, which is made anew for each comparison.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let places = sorted_places(self.len(), &|one, other| compare(&self[one], &self[other]));
        take_places(self, places);
    }

    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.order_by(|one, other| key(one).cmp(&key(other)));
    }
}

/// The places of a list in the order of what stands there.
fn sorted_places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Moves the values so that each place has what stood at `from[place]`.
fn take_places<T>(list: &mut [T], mut from: Vec<usize>) {
    for first in 0..list.len() {
        let mut place = first;
        while from[place] != first {
            let next = std::mem::replace(&mut from[place], place);
            list.swap(place, next);
            place = next;
        }
        from[place] = place;
    }
}

#[cfg(test)]
mod tests {
    use super::InOrder;

    /// All lists of up to six values from 0 to 3, each value with its place.
    fn lists() -> Vec<Vec<(u8, usize)>> {
        let keys =
            |count: u32| (0..4_u32.pow(count)).map(move |code| (0..count).map(move |at| (code >> (2 * at) & 3) as u8));
        (0..=6).flat_map(keys).map(|keys| keys.zip(0..).collect()).collect()
    }

    #[test]
    fn the_order_is_that_of_the_standard_library() {
        for list in lists() {
            let mut expected = list.clone();
            expected.sort_by_key(|value| value.0);
            let mut ordered = list.clone();
            ordered.order_by_key(|value| value.0);
            assert_eq!(ordered, expected, "{list:?}");
            expected.sort_by(|one, other| other.0.cmp(&one.0));
            ordered.order_by(|one, other| other.0.cmp(&one.0));
            assert_eq!(ordered, expected, "{list:?}");
        }
    }
}
