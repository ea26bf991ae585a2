//! Adds up counts that were read from a file.

/// The sum, or `u64::MAX` on overflow: counts in a study file may be impossible.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn what_is_too_much_is_the_greatest_count() {
        assert_eq!(total([1, 2, 3]), 6);
        assert_eq!(total([u64::MAX, 2, 3]), u64::MAX);
    }
}
