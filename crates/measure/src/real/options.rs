//! Says what is wanted of a real target.

use super::host_part::HostPart;
use halfpower_spec::{Bytes, EngineName, Nanos};

/// How long a target may be silent beyond a run's window where nothing else is said.
pub const USUAL_SILENCE: Nanos = Nanos(60_000_000_000);

/// What is wanted of a real target.
#[derive(Debug, Clone)]
pub struct RealTargetOptions {
    /// Bytes to use.
    pub size: Option<Bytes>,
    /// Whether these bytes lie in pieces over all of the target.
    pub spread: bool,
    /// Whether anything will be written.
    pub writes: bool,
    /// Whether a file or device that is not ours may be written.
    pub overwrite: bool,
    /// Whether a file or device that somebody else uses may be written.
    pub force_in_use: bool,
    /// Whether all page caches of the machine are dropped before each run, which takes root.
    pub drop_caches: bool,
    /// Which part is this process's, where several measure the target together; `None` where it is alone.
    pub host_part: Option<HostPart>,
    /// How requests are to be issued.
    pub engine: EngineName,
    /// Seed of the payload.
    pub seed: u64,
    /// How long laying out a file may take; it ends up smaller then.
    pub layout_limit: Nanos,
    /// How long the target may be silent beyond a run's window before the run is given up.
    pub silence: Nanos,
}
