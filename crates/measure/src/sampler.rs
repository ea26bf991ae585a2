//! Takes samples of what a lane counted, at the ends of steps of its window.

use halfpower_record::{Sample, Samples};

/// Shortest stretch between two samples.
const SHORTEST_NS: u64 = 100_000_000;
/// Most stretches of a window.
const MOST: u64 = 4_000;

/// What a lane has counted since its window opened: reads, and all others.
pub(crate) type Counts = [Sample; 2];

/// The samples of one lane. A stretch is a whole number of the window's steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampler {
    /// Steps of a stretch, and those that are still to come in the running one.
    steps: u64,
    left: u64,
    before: Counts,
    taken: Vec<Counts>,
}

impl Sampler {
    /// For a window of `runtime_ns` in steps of `step_ns`; all room is allocated here.
    pub(crate) fn new(runtime_ns: u64, step_ns: u64) -> Self {
        let steps = SHORTEST_NS.max(runtime_ns / MOST).div_ceil(step_ns.max(1)).max(1);
        let room = (runtime_ns / steps.saturating_mul(step_ns).max(1)).min(MOST) as usize;
        Self { steps, left: steps, before: Counts::default(), taken: Vec::with_capacity(room) }
    }

    /// Ends a step; `so_far` is what was counted until then.
    pub(crate) fn end_step(&mut self, so_far: Counts) {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 || self.taken.len() == self.taken.capacity() {
            return;
        }
        self.taken.push([so_far[0].since(self.before[0]), so_far[1].since(self.before[1])]);
        self.before = so_far;
        self.left = self.steps;
    }

    /// The samples, with steps of this length.
    pub(crate) fn samples(&self, step_ns: u64) -> Samples {
        let side = |side: usize| self.taken.iter().map(|taken| taken[side]).collect();
        Samples { step_ns: self.steps.saturating_mul(step_ns), reads: side(0), writes: side(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_was_counted_in_its_stretch() {
        let mut sampler = Sampler::new(1_000_000_000, 10_000_000);
        for step in 1..=25 {
            let read = Sample { ios: step, bytes: 4096 * step, latency_ns: 500 * step };
            sampler.end_step([read, Sample::default()]);
        }
        let samples = sampler.samples(10_000_000);
        assert_eq!((samples.step_ns, samples.reads.len(), samples.writes.len()), (100_000_000, 2, 2));
        assert_eq!(samples.reads[1], Sample { ios: 10, bytes: 40_960, latency_ns: 5_000 });
        // A window shorter than a stretch has none, and needs no room.
        assert!(Sampler::new(50_000_000, 1_000_000).samples(1_000_000).is_empty());
    }
}
