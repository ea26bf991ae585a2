//! Says how a subject is watched.

use crate::fold::Recording;

/// How a subject is watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Whether the kernel's events are taken; else counters are read alone.
    pub trace: bool,
    /// Most that the watch may cost, here and of those who are watched, as a share of one processor.
    pub most_cost: f64,
    /// What is kept of the operations themselves; `None` keeps none.
    pub record: Option<Recording>,
    /// Whether a few single requests are sent beside the application, as long as they do not disturb it.
    pub probe: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { trace: true, most_cost: 0.01, record: None, probe: false }
    }
}
