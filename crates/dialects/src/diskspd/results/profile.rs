//! Describes the settings of a time span, and reads them from diskspd's profile.

use halfpower_spec::{Bytes, Cache, Direction, EngineName, Pattern, Rw, Workload};

use super::tree::Element;
use crate::foreign_run::FileError;

/// The settings of a time span.
#[derive(Default)]
pub struct Span {
    /// Threads that share all targets; 0 means each target has its own.
    pub threads: u32,
    /// Outstanding requests of each such thread over all targets; 0 means each target's own number.
    pub requests: u32,
    pub runtime_ns: u64,
    pub targets: Vec<Target>,
}

/// The settings of a target.
pub struct Target {
    pub path: String,
    pub rw: Rw,
    pub write_percent: u8,
    pub bs: u64,
    pub base_offset: u64,
    /// 0 is the whole file.
    pub max_size: u64,
    pub requests: u32,
    pub threads: u32,
    pub cache: Cache,
    /// Unknown, unless halfpower measured it.
    pub engine: EngineName,
    /// Settings that workloads here cannot express, as they were written.
    pub special: Vec<String>,
}

impl Span {
    pub fn of(span: &Element<'_>) -> Result<Self, FileError> {
        let targets = span.child("Targets").map_or_else(Vec::new, |targets| targets.children("Target").collect());
        Ok(Self {
            threads: count(span, "ThreadCount")?,
            requests: count(span, "RequestCount")?,
            runtime_ns: span.scaled("Duration", 1e9)?,
            targets: targets.iter().map(Target::of).collect::<Result<_, _>>()?,
        })
    }

    /// The workload on `targets` with the same settings; `all` if these are all targets of the time span.
    pub fn workload(&self, targets: &[&Target], all: bool) -> Workload {
        let first = targets[0];
        let count = targets.len() as u32;
        let (threads, iodepth) = match (self.threads, self.requests) {
            (0, _) => (first.threads.saturating_mul(count), first.requests),
            (threads, 0) => (threads, first.requests.saturating_mul(count)),
            (threads, requests) if all => (threads, requests),
            (threads, _) => (threads, first.requests),
        };
        let most = u32::MAX / threads.max(1);
        Workload {
            rw: first.rw,
            rwmixread: 100 - first.write_percent,
            bs: Bytes(first.bs),
            iodepth: iodepth.clamp(1, most),
            threads: threads.max(1),
            cache: first.cache,
            engine: first.engine,
            ..Workload::default()
        }
    }
}

impl Target {
    fn of(target: &Element<'_>) -> Result<Self, FileError> {
        let bs = target.whole("BlockSize")?;
        if bs == 0 || u32::try_from(bs).is_err() {
            return Err(target.trouble(format!("<BlockSize>: {bs} is no size of a request")));
        }
        let write_percent = target.or_zero("WriteRatio")?.min(100) as u8;
        let random = target.child("Random").is_some();
        let partly = target.child("RandomRatio").is_some();
        let pattern = match (random, partly) {
            (true, false) => Pattern::Random,
            (true, true) => Pattern::Unknown,
            (false, _) => Pattern::Sequential,
        };
        Ok(Self {
            path: target.text("Path").unwrap_or_default(),
            rw: rw_of(pattern, write_percent),
            write_percent,
            bs,
            base_offset: target.or_zero("BaseFileOffset")?,
            max_size: target.or_zero("MaxFileSize")?,
            requests: count(target, "RequestCount")?,
            threads: count(target, "ThreadsPerFile")?,
            cache: cache_of(target.is_true("DisableOSCache"), target.is_true("WriteThrough")),
            engine: EngineName::Unknown,
            special: special(target, bs)?,
        })
    }

    /// Whether another target has the same settings.
    pub fn is_like(&self, other: &Self) -> bool {
        let load =
            |target: &Self| (target.rw, target.write_percent, target.bs, target.requests, target.threads, target.cache);
        load(self) == load(other) && self.special == other.special
    }

    /// Bytes in use of a file of `size` bytes.
    pub fn span_of(&self, size: u64) -> u64 {
        let end = if self.max_size > 0 { size.min(self.max_size) } else { size };
        end.saturating_sub(self.base_offset)
    }
}

/// The access pattern with this share of writes.
pub fn rw_of(pattern: Pattern, write_percent: u8) -> Rw {
    match (write_percent, pattern) {
        (0, _) => Rw::of(pattern, Direction::Read),
        (100, _) => Rw::of(pattern, Direction::Write),
        (_, Pattern::Random) => Rw::Randmixed,
        (_, Pattern::Sequential) => Rw::Mixed,
        (_, Pattern::Unknown) => Rw::UnknownMixed,
    }
}

/// The caches in use.
pub fn cache_of(is_direct: bool, is_durable: bool) -> Cache {
    match (is_direct, is_durable) {
        (true, true) => Cache::None,
        (true, false) => Cache::Device,
        (false, true) => Cache::Os,
        (false, false) => Cache::Both,
    }
}

fn count(of: &Element<'_>, name: &'static str) -> Result<u32, FileError> {
    let value = of.or_zero(name)?;
    u32::try_from(value).map_err(|_| of.trouble(format!("<{name}>: {value} is more than anybody sets")))
}

/// Settings that workloads here cannot express.
fn special(target: &Element<'_>, bs: u64) -> Result<Vec<String>, FileError> {
    let numbers = ["RandomRatio", "ThinkTime", "BurstSize", "Throughput"];
    // The last one is halfpower's own.
    let flags = ["InterlockedSequential", "ParallelAsyncIO", "MemoryMappedIo", "DisableLocalCache", "Backwards"];
    let mut special = Vec::new();
    for name in numbers {
        if target.or_zero(name)? > 0 {
            special.push(format!("{name} {}", target.text(name).unwrap_or_default()));
        }
    }
    special.extend(flags.iter().filter(|name| target.is_true(name)).map(|name| (*name).to_string()));
    for name in ["Random", "StrideSize"] {
        let aligned = target.or_zero(name)?;
        if aligned > 0 && aligned != bs {
            special.push(format!("{name} {aligned}"));
        }
    }
    if target.child("Distribution").is_some() {
        special.push("Distribution".to_string());
    }
    Ok(special)
}
