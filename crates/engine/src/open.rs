//! Which engine carries the requests? A file or a volume of several, a wish, a depth and a block size enter; an engine
//! leaves.

use os::{OsError, RunFile};
use spec::{Bytes, EngineName};

use crate::io_uring::IoUring;
use crate::null::Null;
use crate::outfit::Outfit;
use crate::pool::Pool;
use crate::sync::Sync;
use crate::volume::Volume;
use crate::{Engine, EngineError};

/// Most bytes in one request: what io_uring registers as one buffer, and half of what Linux moves in one call.
const MOST_BYTES: Bytes = Bytes(1 << 30);
/// Bytes of all slots together that no machine has.
const BEYOND_MEMORY: u64 = 1 << 48;

/// An engine, ready for requests.
pub struct Opened {
    /// How requests go out.
    pub engine: Box<dyn Engine>,
    /// Which engine it is: never [`EngineName::Auto`].
    pub name: EngineName,
    /// Requests that can really be under way at once: the depth, but 1 where they are carried out in turn.
    pub most_in_flight: u32,
}

/// Whether io_uring can be used here; if not, why, and what would help.
///
/// # Errors
/// A sentence.
pub fn io_uring_available() -> Result<(), String> {
    os::io_uring_available().map_err(|error| error.to_string())
}

/// The engine called `name` over `file`, with `depth` slots of `bs` bytes filled from `seed`. No file stands for the
/// target that is nothing: requests complete at once, or are the kernel's no-ops.
///
/// `auto` is io_uring where it can be had, else a pool of threads, or sync at depth 1; without a file it is null.
///
/// # Errors
/// [`EngineError::Unavailable`] where that engine cannot be had here, or cannot carry such requests.
pub fn open(file: Option<RunFile>, name: EngineName, depth: u32, bs: Bytes, seed: u64) -> Result<Opened, EngineError> {
    open_volume(Volume::of(file), name, depth, bs, seed)
}

/// The same over a volume, whose requests may be cut into pieces for its members.
///
/// # Errors
/// As [`open`].
pub fn open_volume(volume: Volume, name: EngineName, depth: u32, bs: Bytes, seed: u64) -> Result<Opened, EngineError> {
    let name = settle(name, !volume.files.is_empty(), depth, || io_uring_available().is_ok());
    refuse_impossible(name, depth, bs)?;
    let engine = volume.open(depth, bs, seed, |outfit| bare(name, outfit))?;
    let most_in_flight = if name == EngineName::Sync { 1 } else { depth };
    Ok(Opened { engine, name, most_in_flight })
}

/// The engine of that name, as it stands under all others.
fn bare(name: EngineName, outfit: Outfit) -> Result<Box<dyn Engine>, EngineError> {
    let has_file = !outfit.files.is_empty();
    Ok(match name {
        EngineName::Null => Box::new(Null::new(outfit.slots)),
        EngineName::IoUring => Box::new(IoUring::new(outfit)?),
        EngineName::Sync if has_file => Box::new(Sync::new(outfit)?),
        EngineName::Pool if has_file => Box::new(Pool::new(outfit)?),
        EngineName::Sync | EngineName::Pool => {
            return Err(refusal(name, "null: has no file; take --engine null or io_uring".to_string()));
        }
        EngineName::Plain
        | EngineName::Sqpoll
        | EngineName::Iopoll
        | EngineName::Libaio
        | EngineName::Mmap
        | EngineName::Memory => return Err(refusal(name, "it is not built in".to_string())),
        EngineName::Simulated | EngineName::Auto => {
            return Err(refusal(name, "it belongs to a simulated target, sim:...".to_string()));
        }
    })
}

/// What `auto` means here.
fn settle(name: EngineName, has_file: bool, depth: u32, has_io_uring: impl Fn() -> bool) -> EngineName {
    match name {
        EngineName::Auto if !has_file => EngineName::Null,
        EngineName::Auto if has_io_uring() => EngineName::IoUring,
        EngineName::Auto if depth > 1 => EngineName::Pool,
        EngineName::Auto => EngineName::Sync,
        other => other,
    }
}

fn refuse_impossible(name: EngineName, depth: u32, bs: Bytes) -> Result<(), EngineError> {
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

fn refusal(name: EngineName, why: String) -> EngineError {
    EngineError::Unavailable { engine: name.word(), why }
}

/// How an engine says that the system refused what it needs.
pub(crate) fn unavailable(engine: &'static str) -> impl Fn(OsError) -> EngineError {
    move |error| {
        let why = match error {
            OsError::IoUring { why } => why,
            other => other.to_string(),
        };
        EngineError::Unavailable { engine, why }
    }
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
