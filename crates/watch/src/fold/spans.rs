//! Cuts stretches of time out of others, so that what lies over one another is counted once.

/// A stretch of time, in nanoseconds of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Span {
    pub(crate) fn new(from_ns: u64, to_ns: u64) -> Self {
        Self { from_ns, to_ns }
    }

    pub(crate) fn length_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// A time of which parts are taken, layer by layer. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    left: Vec<Span>,
    spare: Vec<Span>,
    cover: Vec<Span>,
}

impl Layers {
    /// Begins with these spans, which rise and do not overlap.
    pub(crate) fn begin(&mut self, whole: &[Span]) {
        self.left.clear();
        self.left.extend_from_slice(whole);
    }

    /// Takes what these spans cover of what is left, and says how much that was, in nanoseconds.
    pub(crate) fn take(&mut self, cover: impl Iterator<Item = Span>) -> u64 {
        if self.left.is_empty() {
            return 0;
        }
        self.cover.clear();
        self.cover.extend(cover);
        if self.cover.is_empty() {
            return 0;
        }
        self.cover.sort_unstable();
        self.cover.dedup_by(|later, first| {
            let touches = later.from_ns <= first.to_ns;
            if touches {
                first.to_ns = first.to_ns.max(later.to_ns);
            }
            touches
        });
        self.spare.clear();
        let mut taken_ns = 0;
        let mut next = 0;
        for span in &self.left {
            let mut from_ns = span.from_ns;
            while self.cover.get(next).is_some_and(|cover| cover.to_ns <= from_ns) {
                next += 1;
            }
            let over = self.cover[next..].iter().take_while(|cover| cover.from_ns < span.to_ns);
            for cover in over {
                let begins_ns = cover.from_ns.max(from_ns);
                let ends_ns = cover.to_ns.min(span.to_ns);
                if ends_ns <= begins_ns {
                    continue;
                }
                if begins_ns > from_ns {
                    self.spare.push(Span::new(from_ns, begins_ns));
                }
                taken_ns += ends_ns - begins_ns;
                from_ns = ends_ns;
            }
            if from_ns < span.to_ns {
                self.spare.push(Span::new(from_ns, span.to_ns));
            }
        }
        std::mem::swap(&mut self.left, &mut self.spare);
        taken_ns
    }

    /// What nothing has covered, in nanoseconds.
    pub(crate) fn left_ns(&self) -> u64 {
        self.left.iter().map(|span| span.length_ns()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(all: &[(u64, u64)]) -> impl Iterator<Item = Span> + '_ {
        all.iter().map(|(from_ns, to_ns)| Span::new(*from_ns, *to_ns))
    }

    #[test]
    fn each_layer_takes_only_what_is_left() {
        let mut layers = Layers::default();
        let whole: Vec<Span> = spans(&[(0, 100), (200, 300)]).collect();
        layers.begin(&whole);
        assert_eq!(layers.take(spans(&[(50, 60), (10, 20), (15, 30), (90, 210)])), 10 + 20 + 10 + 10);
        assert_eq!(layers.take(spans(&[(0, 25), (205, 215)])), 10 + 5);
        assert_eq!(layers.take(spans(&[(400, 500), (7, 7), (9, 3)])), 0);
        assert_eq!(layers.left_ns(), 200 - 50 - 15);
        assert_eq!(layers.take(spans(&[(0, 1000)])), 135);
        assert_eq!((layers.left_ns(), layers.take(spans(&[(0, 1000)]))), (0, 0));
    }

    proptest::proptest! {
        #[test]
        fn what_is_taken_and_what_is_left_are_the_whole(
            lengths in proptest::collection::vec((1_u64..50, 0_u64..50), 0..20),
            covers in proptest::collection::vec(proptest::collection::vec((0_u64..900, 0_u64..200), 0..20), 0..6),
        ) {
            let mut at_ns = 0;
            let mut whole = Vec::new();
            for (gap_ns, length_ns) in lengths {
                whole.push(Span::new(at_ns + gap_ns, at_ns + gap_ns + length_ns));
                at_ns += gap_ns + length_ns;
            }
            let whole_ns: u64 = whole.iter().map(|span| span.length_ns()).sum();
            let mut layers = Layers::default();
            layers.begin(&whole);
            let mut taken_ns = 0;
            for cover in &covers {
                taken_ns += layers.take(cover.iter().map(|(from_ns, length_ns)| Span::new(*from_ns, from_ns + length_ns)));
            }
            assert_eq!(taken_ns + layers.left_ns(), whole_ns);
        }
    }
}
