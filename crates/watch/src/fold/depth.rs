//! Integrates how many operations are in progress at once, from when each began and ended.

/// Changes that are kept unsettled; an operation whose end was lost must not hold them back forever.
const MOST_UNSETTLED: usize = 1 << 20;

/// The depth of operations over time. Operations are added when they end, in any order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Depth {
    /// Beginnings (1) and ends (-1) that are not settled yet.
    changes: Vec<(u64, i8)>,
    in_progress: u32,
    settled_to_ns: u64,
    busy_ns: u64,
    together_ns: u64,
    deepest: u32,
}

impl Depth {
    /// Adds an operation.
    pub(crate) fn add(&mut self, from_ns: u64, to_ns: u64) {
        if to_ns > from_ns {
            self.together_ns += to_ns - from_ns;
            self.changes.push((from_ns, 1));
            self.changes.push((to_ns, -1));
        }
    }

    /// Settles what lies before this time: no operation that is added later may begin earlier.
    pub(crate) fn settle(&mut self, before_ns: u64) {
        // An end sorts before a beginning at the same time: one after the other is one deep.
        self.changes.sort();
        let is_full = self.changes.len() > MOST_UNSETTLED;
        let settled = self.changes.partition_point(|(at_ns, _)| is_full || *at_ns < before_ns);
        for (at_ns, change) in self.changes.drain(..settled) {
            let at_ns = at_ns.max(self.settled_to_ns);
            if self.in_progress > 0 {
                self.busy_ns += at_ns - self.settled_to_ns;
            }
            self.settled_to_ns = at_ns;
            self.in_progress = self.in_progress.saturating_add_signed(i32::from(change));
            self.deepest = self.deepest.max(self.in_progress);
        }
    }

    /// Everything that was added, as if nothing else came.
    pub(crate) fn whole(&self) -> Self {
        let mut whole = self.clone();
        whole.settle(u64::MAX);
        whole
    }

    /// Mean number in progress while at least one was; 0 if none ever was.
    pub(crate) fn while_busy(&self) -> f64 {
        self.together_ns as f64 / self.busy_ns.max(1) as f64
    }

    /// Mean number in progress over a time.
    pub(crate) fn over(&self, span_ns: u64) -> f64 {
        self.together_ns as f64 / span_ns.max(1) as f64
    }

    /// Most in progress at once.
    pub(crate) fn deepest(&self) -> u32 {
        self.deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_operations_are_counted_whenever_they_are_settled() {
        let spans = [(10, 30), (0, 20), (30, 40), (35, 45), (60, 70), (5, 5)];
        let mut once = Depth::default();
        let mut often = Depth::default();
        for (from_ns, to_ns) in spans {
            once.add(from_ns, to_ns);
        }
        for (from_ns, to_ns) in [spans[1], spans[0]] {
            often.add(from_ns, to_ns);
        }
        often.settle(30);
        for (from_ns, to_ns) in &spans[2..] {
            often.add(*from_ns, *to_ns);
        }
        for depth in [once.whole(), often.whole()] {
            assert_eq!((depth.busy_ns, depth.together_ns, depth.deepest()), (55, 70, 2));
            assert!((depth.while_busy() - 70.0 / 55.0).abs() < 1e-12 && (depth.over(140) - 0.5).abs() < 1e-12);
        }
        assert!(Depth::default().whole().while_busy().abs() < 1e-12);
    }

    #[test]
    fn one_after_the_other_is_one_deep() {
        let mut depth = Depth::default();
        depth.add(20, 30);
        depth.add(10, 20);
        assert_eq!(depth.whole().deepest(), 1);
    }
}
