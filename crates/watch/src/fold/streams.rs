//! Recognises what continues where something before it ended, also of several such streams at once.

/// Streams that are followed at once.
const STREAMS: usize = 6;

/// Where the last streams ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    ends: [u64; STREAMS],
    oldest: u8,
}

impl Default for Streams {
    fn default() -> Self {
        Self { ends: [u64::MAX; STREAMS], oldest: 0 }
    }
}

impl Streams {
    /// Records a step from one place to another; whether it continues a stream.
    pub(crate) fn step(&mut self, from: u64, to: u64) -> bool {
        if let Some(end) = self.ends.iter_mut().find(|end| **end == from) {
            *end = to;
            return true;
        }
        self.ends[usize::from(self.oldest)] = to;
        self.oldest = (self.oldest + 1) % STREAMS as u8;
        false
    }

    /// Moves the end of a stream that was recorded as ending at `from`.
    pub(crate) fn lengthen(&mut self, from: u64, to: u64) {
        if let Some(end) = self.ends.iter_mut().find(|end| **end == from) {
            *end = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_alternate_are_told_from_jumps() {
        let mut streams = Streams::default();
        let mut steps = 0;
        for block in 0..10 {
            for stream in 0..4 {
                let from = stream * 1_000_000 + block * 4096;
                steps += u64::from(streams.step(from, from + 4096));
            }
        }
        assert_eq!(steps, 4 * 9);
        assert!((1..100).all(|jump| !streams.step(jump * 7_777_777, jump * 7_777_777 + 4096)));
    }

    #[test]
    fn an_end_that_is_known_later_counts() {
        let mut streams = Streams::default();
        assert!(!streams.step(100, 100));
        streams.lengthen(100, 300);
        assert!(streams.step(300, 300));
    }
}
