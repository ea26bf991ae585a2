//! Names the forms of a ring.

/// How a ring submits transfers and learns of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingForm {
    /// File and buffers are registered with the kernel once, and interrupts signal completions.
    Registered,
    /// Nothing is registered.
    Plain,
    /// As registered, and a kernel thread polls the queue: submitting needs no call.
    Sqpoll,
    /// As registered, and the waiting thread polls the device; the file must be direct, and its device must support
    /// polling.
    Iopoll,
}
