//! Opens the requested engine over a file or a volume of several files.

use halfpower_os::{RingForm, RunFile};
use halfpower_spec::{Bytes, EngineName};

use crate::config::{EngineConfig, EngineSettings};
use crate::io_uring::IoUring;
use crate::libaio::Libaio;
use crate::null::Null;
use crate::pool::Pool;
use crate::volume::Volume;
use crate::{BufferState, Engine, EngineError, mmap, reason, refusal, sync};

/// Most bytes in one request: the limit of a registered io_uring buffer, and half of what Linux moves in one call.
const MOST_BYTES: Bytes = Bytes(1 << 30);
/// Refuse a total of all slots from this many bytes on: no machine has so much memory.
const BEYOND_MEMORY: u64 = 1 << 48;

/// An engine, ready for requests.
pub struct Opened {
    /// How requests go out.
    pub engine: Box<dyn Engine>,
    /// Which engine it is: never [`EngineName::Auto`].
    pub name: EngineName,
    /// Requests that can really be in flight at once: the depth, or 1 if the engine carries them out one at a time.
    pub most_in_flight: u32,
    /// How its buffers lie in memory.
    pub buffers: BufferState,
}

/// Why the engine name of imported records cannot be used.
const ANOTHER_TOOL_S: &str = "it is another tool's: name one of halfpower's";

/// Why the engines of shares cannot be used for files.
const OF_A_SHARE: &str = "it belongs to a share, smb://server/share, nfs://server/export or s3://bucket";

/// Why commands cannot be sent to what is no namespace.
const TAKES_NO_COMMANDS: &str = "it is no NVMe namespace, or was not opened as one: name /dev/nvme0n1 or /dev/ng0n1";

/// Checks whether io_uring can be used here.
///
/// # Errors
/// A sentence that says why not and what would help.
pub fn io_uring_available() -> Result<(), String> {
    available(EngineName::IoUring, None)
}

/// Checks whether the engine `name` can be used here, over `file` in its mode if one is given. Without a file only the
/// kernel is checked.
///
/// # Errors
/// A sentence that says why not and what would help.
pub fn available(name: EngineName, file: Option<&RunFile>) -> Result<(), String> {
    let asked = match (name, file) {
        (EngineName::IoUring, _) => halfpower_os::io_uring_available(RingForm::Registered),
        (EngineName::Plain, _) => halfpower_os::io_uring_available(RingForm::Plain),
        (EngineName::Sqpoll, _) => halfpower_os::io_uring_available(RingForm::Sqpoll),
        (EngineName::Iopoll, None) => halfpower_os::io_uring_available(RingForm::Iopoll),
        (EngineName::Iopoll, Some(file)) => halfpower_os::polling::available(file, RingForm::Iopoll),
        (EngineName::Hybrid, None) => halfpower_os::io_uring_available(RingForm::Hybrid),
        (EngineName::Hybrid, Some(file)) => halfpower_os::polling::available(file, RingForm::Hybrid),
        (EngineName::Commands | EngineName::PolledCommands, Some(file)) if file.namespace().is_none() => {
            return Err(TAKES_NO_COMMANDS.to_string());
        }
        (EngineName::Commands, _) => halfpower_os::io_uring_available(RingForm::Commands),
        (EngineName::PolledCommands, None) => halfpower_os::io_uring_available(RingForm::PolledCommands),
        (EngineName::PolledCommands, Some(file)) => halfpower_os::polling::available(file, RingForm::PolledCommands),
        (EngineName::Libaio, _) => halfpower_os::aio::available(),
        (EngineName::Mmap, Some(file)) => halfpower_os::mapping::admits(file),
        (EngineName::Memory, _) => return Err("it has no requests for storage".to_string()),
        (EngineName::Simulated, _) => return Err("it belongs to a simulated target, sim:...".to_string()),
        (EngineName::Unknown, _) => return Err(ANOTHER_TOOL_S.to_string()),
        (EngineName::Smb | EngineName::Nfs | EngineName::S3, _) => return Err(OF_A_SHARE.to_string()),
        (EngineName::Auto | EngineName::Null | EngineName::Sync | EngineName::Pool | EngineName::Mmap, _) => Ok(()),
    };
    asked.map_err(reason)
}

/// Opens the engine `name` over `file`, with `depth` slots of `bs` bytes filled from `seed`. Without a file (target
/// `null:`) requests complete at once or are kernel no-ops.
///
/// `auto` selects io_uring if it is available, else a thread pool, or sync at depth 1; without a file it selects null.
///
/// # Errors
/// [`EngineError::Unavailable`] if that engine is not available here, or cannot carry such requests.
pub fn open(file: Option<RunFile>, name: EngineName, depth: u32, bs: Bytes, seed: u64) -> Result<Opened, EngineError> {
    open_volume(Volume::of(file), EngineSettings::new(name, depth, bs, seed))
}

/// As [`open`], over a volume, which may cut requests into pieces for its members.
///
/// # Errors
/// As [`open`].
pub fn open_volume(volume: Volume, settings: EngineSettings) -> Result<Opened, EngineError> {
    let EngineSettings { depth, bs, .. } = settings;
    let name = settle(settings.name, !volume.files.is_empty(), depth, || io_uring_available().is_ok());
    refuse_impossible(name, depth, bs)?;
    if name.polls_device() || name.sends_commands() {
        // Other engines report what is missing when they are opened; this one would fail in every request.
        volume.files.iter().try_for_each(|file| available(name, Some(file))).map_err(|why| refusal(name, why))?;
    }
    let most_in_flight = if carries_in_turn(name, &volume.files) { 1 } else { depth };
    let mut buffers = BufferState::default();
    let engine = volume.open(settings, |config| {
        let engine = bare(name, config)?;
        buffers = engine.buffers();
        Ok(engine)
    })?;
    Ok(Opened { engine, name, most_in_flight, buffers })
}

/// The bottom engine of that name, without a volume or verification on top.
fn bare(name: EngineName, config: EngineConfig) -> Result<Box<dyn Engine>, EngineError> {
    let has_file = !config.files.is_empty();
    Ok(match name {
        EngineName::Null => Box::new(Null::new(config.slots)),
        EngineName::IoUring => Box::new(IoUring::new(RingForm::Registered, config)?),
        EngineName::Plain => Box::new(IoUring::new(RingForm::Plain, config)?),
        EngineName::Sqpoll => Box::new(IoUring::new(RingForm::Sqpoll, config)?),
        EngineName::Iopoll if has_file => Box::new(IoUring::new(RingForm::Iopoll, config)?),
        EngineName::Hybrid if has_file => Box::new(IoUring::new(RingForm::Hybrid, config)?),
        EngineName::Commands if has_file => Box::new(IoUring::new(RingForm::Commands, config)?),
        EngineName::PolledCommands if has_file => Box::new(IoUring::new(RingForm::PolledCommands, config)?),
        EngineName::Libaio if has_file => Box::new(Libaio::new(config)?),
        EngineName::Mmap if has_file => mmap::open(config)?,
        EngineName::Sync if has_file => sync::open(config)?,
        EngineName::Pool if has_file => Box::new(Pool::new(config)?),
        EngineName::Sync
        | EngineName::Pool
        | EngineName::Libaio
        | EngineName::Mmap
        | EngineName::Iopoll
        | EngineName::Hybrid
        | EngineName::Commands
        | EngineName::PolledCommands => {
            return Err(refusal(name, "null: has no file; take --engine null or io_uring".to_string()));
        }
        EngineName::Memory => {
            return Err(refusal(name, "it runs a loop over memory: say which, such as --kernel memcpy".to_string()));
        }
        EngineName::Simulated | EngineName::Auto => {
            return Err(refusal(name, "it belongs to a simulated target, sim:...".to_string()));
        }
        EngineName::Unknown => return Err(refusal(name, ANOTHER_TOOL_S.to_string())),
        EngineName::Smb | EngineName::Nfs | EngineName::S3 => return Err(refusal(name, OF_A_SHARE.to_string())),
    })
}

/// Whether requests are carried out one at a time whatever the depth; slots that only wait must not count as depth.
fn carries_in_turn(name: EngineName, files: &[RunFile]) -> bool {
    let is_buffered = files.iter().any(|file| !file.mode().direct);
    name.is_in_turn() || name == EngineName::Libaio && is_buffered
}

/// Resolves `auto`.
fn settle(name: EngineName, has_file: bool, depth: u32, has_io_uring: impl Fn() -> bool) -> EngineName {
    match name {
        EngineName::Auto if !has_file => EngineName::Null,
        EngineName::Auto if has_io_uring() => EngineName::IoUring,
        EngineName::Auto if depth > 1 => EngineName::Pool,
        EngineName::Auto => EngineName::Sync,
        other => other,
    }
}

pub(crate) fn refuse_impossible(name: EngineName, depth: u32, bs: Bytes) -> Result<(), EngineError> {
    if depth == 0 {
        return Err(refusal(name, "depth 0 is no depth: one request at a time is 1".to_string()));
    }
    if bs.0 == 0 || bs > MOST_BYTES {
        return Err(refusal(name, format!("a request moves from 1 byte to {MOST_BYTES}, not {bs}")));
    }
    if u64::from(depth) * bs.0 >= BEYOND_MEMORY {
        return Err(refusal(
            name,
            format!("{depth} times {bs} is no memory: take a smaller block size, or less depth"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_the_best_there_is() {
        let auto = |has_file, depth, has_io_uring| settle(EngineName::Auto, has_file, depth, || has_io_uring);
        assert_eq!(auto(false, 8, true), EngineName::Null);
        assert_eq!(auto(true, 1, true), EngineName::IoUring);
        assert_eq!(auto(true, 2, false), EngineName::Pool);
        assert_eq!(auto(true, 1, false), EngineName::Sync);
        assert_eq!(settle(EngineName::Sync, true, 8, || true), EngineName::Sync);
    }
}
