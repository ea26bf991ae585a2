//! Holds what diskspd's layouts show of the command line.

/// What the layouts show of the command line.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The line as it was typed, after the program's name.
    pub line: String,
    /// Whether latencies were asked for.
    pub latency: bool,
    /// Whether the result is XML.
    pub xml: bool,
    /// Seconds before the window opens.
    pub warm_up_s: u32,
    /// Seconds after the window closed.
    pub cool_down_s: u32,
}
