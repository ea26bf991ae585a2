//! Describes how the buffers of an engine lie in memory.

/// How the buffers of a lane lie.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BufferState {
    /// Whether the buffers should be registered with the kernel but could not be, which makes each request cost more.
    pub unregistered: bool,
    /// Number of physically contiguous segments that a buffer lies in, on average; `None` if it is unknown.
    pub segments: Option<f64>,
}

impl BufferState {
    /// The state of two lanes together: that of the lane with the worse buffers.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let segments = self.segments.zip(other.segments).map(|(own, other)| own.max(other));
        Self { unregistered: self.unregistered || other.unregistered, segments }
    }
}
