//! Holds what SQLIO's layout shows of the command line.

/// What the layout shows of the command line.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Whether latencies were asked for.
    pub latency: bool,
    /// The size that the parameter file gave, in MiB.
    pub size_mib: Option<u64>,
    /// The parameter file.
    pub parameter_file: Option<String>,
}
