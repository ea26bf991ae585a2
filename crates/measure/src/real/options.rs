//! Defines the options for opening a real target.

use super::host_part::HostPart;
use halfpower_spec::{Bytes, EngineName, Nanos};

/// Default of [`RealTargetOptions::silence`]: one minute.
pub const USUAL_SILENCE: Nanos = Nanos(60_000_000_000);

/// Default of [`RealTargetOptions::layout_limit`]: one minute.
pub const USUAL_LAYOUT: Nanos = Nanos(60_000_000_000);

/// Options for opening a real target. By default it is only read, alone, and keeps what it has.
#[derive(Debug, Clone)]
pub struct RealTargetOptions {
    /// Bytes to use; `None` leaves the size to the target.
    pub size: Option<Bytes>,
    /// Whether these bytes are spread in pieces over the whole target.
    pub spread: bool,
    /// Whether anything will be written.
    pub writes: bool,
    /// Whether a file or device that is not ours may be written.
    pub overwrite: bool,
    /// Whether a file or device that is in use may be written.
    pub force_in_use: bool,
    /// Whether a device that holds a file system, a partition table or a swap area may be written.
    pub force_content: bool,
    /// Whether to drop the page cache of the whole machine before each run, which needs root.
    pub drop_caches: bool,
    /// What writes carry, again and again; `None` is random bytes.
    pub payload: Option<&'static [u8]>,
    /// The part of this process, if several measure the target together; `None` if it is alone.
    pub host_part: Option<HostPart>,
    /// The engine that issues requests.
    pub engine: EngineName,
    /// Seed of the payload.
    pub seed: u64,
    /// Time limit of laying out a file; if it is reached, the file stays smaller.
    pub layout_limit: Nanos,
    /// How long the target may be silent after a run's window before the run is given up.
    pub silence: Nanos,
}

impl Default for RealTargetOptions {
    fn default() -> Self {
        Self {
            size: None,
            spread: false,
            writes: false,
            overwrite: false,
            force_in_use: false,
            force_content: false,
            drop_caches: false,
            payload: None,
            host_part: None,
            engine: EngineName::Auto,
            seed: 1,
            layout_limit: USUAL_LAYOUT,
            silence: USUAL_SILENCE,
        }
    }
}
