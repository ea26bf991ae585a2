//! Says how the buffers of an engine lie in memory.

/// How the buffers of a lane lie.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BufferState {
    /// Whether they were to be registered with the kernel and could not, so that each request costs more.
    pub unregistered: bool,
    /// In how many segments of the machine's memory each lies, on the average; `None` where that cannot be told.
    pub segments: Option<f64>,
}

impl BufferState {
    /// That of two lanes together: of the one whose buffers lie worse.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let segments = self.segments.zip(other.segments).map(|(own, other)| own.max(other));
        Self { unregistered: self.unregistered || other.unregistered, segments }
    }
}
