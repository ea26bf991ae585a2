//! Describes a load that threads of their own issue beside a workload, in the same window, and reads it from text.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Cache, Direction, EngineName, FlushCall, Nanos, ParseError, Rw, cache_named, microseconds};

/// A load beside a workload. Its requests are counted apart from those of the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Access pattern.
    pub rw: Rw,
    /// Share of reads in percent; only meaningful if `rw` is mixed.
    pub rwmixread: u8,
    /// Bytes per request.
    pub bs: Bytes,
    /// Requests kept outstanding by each thread.
    pub iodepth: u32,
    /// Submitting threads.
    pub threads: u32,
    /// The caches in use.
    pub cache: Cache,
    /// How requests are issued.
    pub engine: EngineName,
    /// Number of writes after which a thread flushes and waits; 0 means never.
    pub fdatasync: u32,
    /// The call that flushes.
    pub flush_by: FlushCall,
    /// Time that a thread waits after completions, and after a flush, before it submits again.
    pub thinktime: Nanos,
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            rw: Rw::Read,
            rwmixread: 50,
            bs: Bytes(64 * 1024),
            iodepth: 8,
            threads: 1,
            cache: Cache::Device,
            engine: EngineName::Auto,
            fdatasync: 0,
            flush_by: FlushCall::Fdatasync,
            thinktime: Nanos(0),
        }
    }
}

/// Most threads of the load, and most requests outstanding in each of them.
const MOST_THREADS: u32 = 256;
const MOST_DEPTH: u32 = 1024;
/// Most bytes of a request.
const MOST_BYTES: u64 = 1 << 30;

const KEYS: &str = "after the access pattern come KEY=VALUE with commas: bs, iodepth, threads, cache, engine, rwmixread, \
     fdatasync, flush-by, thinktime";

impl Beside {
    /// Requests outstanding over all its threads.
    pub fn total_depth(&self) -> u32 {
        self.iodepth * self.threads
    }

    /// Why no such load can go on beside another for as long as it takes, without full stop; `None` if it can.
    pub fn misfit(&self) -> Option<&'static str> {
        if self.rw.trims() {
            Some("a load beside another reads and writes, and does not trim")
        } else if self.fdatasync > 0 && !self.rw.writes() {
            Some("a load that writes nothing has nothing to flush: leave fdatasync out")
        } else if self.rw.direction() == Some(Direction::Write) || self.cache.direct() {
            None
        } else {
            Some(
                "what a load reads again and again through the page cache, memory answers soon: let it read past it, \
                 with cache device",
            )
        }
    }
}

/// The access pattern, then its settings with commas between them; those with their defaults are left out, except for what
/// every workload says.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rw, rwmixread, bs, iodepth, threads, cache, engine, fdatasync, flush_by, thinktime } = self;
        let usual = Self::default();
        write!(f, "{rw},bs={bs},iodepth={iodepth},threads={threads},cache={cache}")?;
        if *engine != usual.engine {
            write!(f, ",engine={engine}")?;
        }
        if *rwmixread != usual.rwmixread {
            write!(f, ",rwmixread={rwmixread}")?;
        }
        if *fdatasync != usual.fdatasync {
            write!(f, ",fdatasync={fdatasync}")?;
        }
        if *flush_by != usual.flush_by {
            write!(f, ",flush-by={flush_by}")?;
        }
        if *thinktime != usual.thinktime {
            write!(f, ",thinktime={thinktime}")?;
        }
        Ok(())
    }
}

impl FromStr for Beside {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut load = Self::default();
        let mut next = 0;
        for (nth, part) in text.split(',').enumerate() {
            let at = next;
            next += part.len() + 1;
            if nth == 0 {
                load.rw = part.parse::<Rw>().map_err(|error| error.within(text, at))?;
                continue;
            }
            let Some((key, value)) = part.split_once('=') else { return Err(ParseError::new(text, at, KEYS)) };
            let set = load.set(key, value);
            let is_key = set.map_err(|error| error.within(text, at + key.len() + 1))?;
            if !is_key {
                return Err(ParseError::new(text, at, KEYS));
            }
        }
        load.misfit().map_or(Ok(load), |why| Err(ParseError::new(text, 0, why)))
    }
}

impl Beside {
    /// Sets what this key names; whether there is such a key.
    fn set(&mut self, key: &str, value: &str) -> Result<bool, ParseError> {
        match key {
            "bs" => self.bs = size(value)?,
            "iodepth" => self.iodepth = count(value, 1, MOST_DEPTH)?,
            "threads" => self.threads = count(value, 1, MOST_THREADS)?,
            "cache" => self.cache = cache_named(value)?,
            "engine" => self.engine = engine(value)?,
            "rwmixread" => self.rwmixread = count(value, 0, 100)? as u8,
            "fdatasync" => self.fdatasync = count(value, 0, u32::MAX)?,
            "flush-by" => self.flush_by = value.parse()?,
            "thinktime" => self.thinktime = microseconds(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn count(text: &str, least: u32, most: u32) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(ParseError::new(text, 0, format!("write a whole number from {least} to {most}"))),
    }
}

fn size(text: &str) -> Result<Bytes, ParseError> {
    let bytes: Bytes = text.parse()?;
    match (1..=MOST_BYTES).contains(&bytes.0) {
        true => Ok(bytes),
        false => Err(ParseError::new(text, 0, "write a size from 1 byte to 1GiB")),
    }
}

/// An engine that reaches files; the others come with their target.
fn engine(text: &str) -> Result<EngineName, ParseError> {
    let engine: EngineName = text.parse()?;
    match engine == EngineName::Auto || engine.is_for_storage() {
        true => Ok(engine),
        false => Err(ParseError::new(text, 0, "this engine comes with its target; leave it out")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_back_from_its_own_text() {
        let checkpoint = "randwrite,bs=8KiB,iodepth=1,threads=1,cache=both,fdatasync=32,flush-by=sync_file_range";
        for text in [
            checkpoint,
            "read,bs=128KiB,iodepth=2,threads=4,cache=device",
            "randrw,bs=4KiB,iodepth=16,threads=1,cache=none,engine=pool,rwmixread=70,thinktime=100ms",
        ] {
            assert_eq!(text.parse::<Beside>().unwrap().to_string(), text);
        }
        let load: Beside = checkpoint.parse().unwrap();
        assert_eq!((load.rw, load.bs, load.fdatasync, load.total_depth()), (Rw::Randwrite, Bytes(8192), 32, 1));
    }

    #[test]
    fn a_bare_number_of_thinktime_is_microseconds_as_that_of_the_flag() {
        let pause = |text: &str| text.parse::<Beside>().unwrap().thinktime;
        assert_eq!(pause("randwrite,thinktime=100"), Nanos(100_000));
        assert_eq!(pause("randwrite,thinktime=100ms"), Nanos(100_000_000));
    }

    #[test]
    fn what_is_no_load_is_refused_at_its_character() {
        for (text, at, what) in [
            ("sideways", 0, "randread"),
            ("randread,8k", 9, "KEY=VALUE"),
            ("randread,depth=3", 9, "KEY=VALUE"),
            ("randread,bs=8q", 13, "unit"),
            ("randread,iodepth=0", 17, "1 to 1024"),
            ("read,engine=null", 12, "comes with its target"),
            ("trim", 0, "does not trim"),
            ("read,fdatasync=1", 0, "nothing to flush"),
            ("randread,cache=buffered", 0, "memory answers"),
        ] {
            let error = text.parse::<Beside>().unwrap_err();
            assert!(error.at == at && error.message.contains(what), "{text}: {error:?}");
        }
    }
}
