//! Names the forms in which a ring works.

/// In which form a ring works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingForm {
    /// The kernel is told of file and buffers once, and interrupts tell it of completions.
    Registered,
    /// The kernel is told of nothing beforehand.
    Plain,
    /// As registered, and a thread of the kernel polls the queue: no call submits.
    Sqpoll,
    /// As registered, and whoever waits polls the device; the file is direct, and its device can be polled.
    Iopoll,
}
