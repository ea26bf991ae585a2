//! Parses and prints a simulated disk: `fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s`, or the same keys as TOML.
//!
//! The faults that it injects are part of the text: `errors=1%,short=1%,stall=0.1%:100ms,lost=1%`.

use std::fmt;

use serde::Deserialize;

use crate::quantity::share;
use crate::{Bytes, Nanos, ParseError, Rate, Switch};

/// The constants of a simulated storage path. `model` says how they become completions.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedDisk {
    /// Time that a disk spends on each request, whatever its size.
    pub fixed: Nanos,
    /// Transfer rate of one disk, in bytes a second.
    pub rate: Rate,
    /// Disks that serve requests side by side; a request goes to the one that is free first.
    pub disks: u32,
    /// Rate that all disks share on the path to the host, in bytes a second.
    pub shared: Option<Rate>,
    /// Requests a second that the whole path accepts (a cloud volume's I/O limit).
    pub iops: Option<f64>,
    /// Burst of bytes that `shared` lets through after a rest (a cloud volume's burst credit).
    pub credit: Bytes,
    /// Burst of requests that `iops` lets through after a rest.
    pub credit_ios: u64,
    /// Time slice in which both limits release requests; 0 releases them evenly (a control group's slice is 100 ms).
    pub slice: Nanos,
    /// Bytes of writes that the path takes at its own rate before they go on at `sustained` (an SSD's cache that fills); 0
    /// if it has no such part. It empties while no write is under way, and what it holds lasts over runs.
    pub fast_part: Bytes,
    /// Rate of all writes together while the fast part is full, in bytes a second.
    pub sustained: Option<Rate>,
    /// Rate at which the fast part empties, in bytes a second; `None` is `sustained`.
    pub drain: Option<Rate>,
    /// Relative standard deviation from run to run: the same for all requests of a run.
    pub noise: f64,
    /// Relative standard deviation from request to request within a run.
    pub jitter: f64,
    /// Autocorrelation of that jitter from one request to the next, from 0 to below 1.
    pub correlation: f64,
    /// Processor time of each request, whatever its size.
    pub cpu_fixed: Nanos,
    /// Processor time that each KiB adds.
    pub cpu_per_kib: Nanos,
    /// Share of that processor time that is charged to no process (interrupts, kernel threads).
    pub unseen: f64,
    /// Whether a thread's requests wait for the processor time of those before them, as they do on one core.
    pub core_bound: bool,
    /// Processors of the host.
    pub cpus: u32,
    /// Capacity in bytes.
    pub size: Bytes,
    /// Time of a flush of the device, which makes durable what is done when it begins. The device flushes once at a
    /// time, and each flush serves all that wait for one when it begins. `None`: a flush takes as long as a request
    /// without bytes, after all requests before it, and serves no other.
    pub flush: Option<Nanos>,
    /// Most waiting flushes that one flush of the device serves; 0 is all.
    pub flush_group: u32,
    /// Time of an operation on a small file (creating, looking at, renaming or removing one, or listing a folder), the time
    /// under the folder's lock included. `None`: it has no files.
    pub file_op: Option<Nanos>,
    /// Time for which an operation that changes a folder holds its lock.
    pub folder_lock: Nanos,
    /// Seed of all randomness in it.
    pub seed: u64,
    /// Injected faults; drawn separately, so that they change nothing else.
    pub faults: Faults,
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self {
            fixed: Nanos(80_000),
            rate: Rate(500e6),
            disks: 1,
            shared: None,
            iops: None,
            credit: Bytes(0),
            credit_ios: 0,
            slice: Nanos(0),
            fast_part: Bytes(0),
            sustained: None,
            drain: None,
            noise: 0.0,
            jitter: 0.0,
            correlation: 0.0,
            cpu_fixed: Nanos(5_000),
            cpu_per_kib: Nanos(50),
            unseen: 0.25,
            core_bound: false,
            cpus: 2,
            size: Bytes(1 << 30),
            flush: None,
            flush_group: 0,
            file_op: None,
            folder_lock: Nanos(0),
            seed: 1,
            faults: Faults::default(),
        }
    }
}

/// The keys, as an error lists them.
const KEYS: &str = "fixed, rate, disks, shared, iops, credit, credit_ios, slice, fast_part, sustained, drain, noise, jitter, \
     correlation, cpu_fixed, cpu_per_kib, unseen, core_bound, cpus, size, flush, flush_group, file_op, folder_lock, seed";

/// Longest slice of a limit.
const MOST_SLICE: Nanos = Nanos(10_000_000_000);
/// Longest flush.
const MOST_FLUSH: Nanos = Nanos(10_000_000_000);
/// Longest operation on a file.
const MOST_FILE_OP: Nanos = Nanos(10_000_000_000);
/// Most disks of a simulated path.
const MOST_DISKS: u32 = 1024;
/// Most processors of a simulated host; each record has an entry for every one.
const MOST_CPUS: u32 = 4096;

impl SimulatedDisk {
    /// Parses `key=value,key=value`; every key is optional.
    pub fn from_constants(text: &str) -> Result<Self, ParseError> {
        let mut disk = Self::default();
        let mut offset = 0;
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (key, value) = item
                .split_once('=')
                .ok_or_else(|| ParseError::new(text, offset, format!("write key=value; {}", keys())))?;
            disk.set(key, value).map_err(|error| {
                let start = if error.text == key { offset } else { offset + key.len() + 1 };
                error.within(text, start)
            })?;
            offset += item.len() + 1;
        }
        disk.checked(text)
    }

    /// Parses the same keys from TOML; errors call the text `name`.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ParseError> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Constants(toml::Table);
        let Constants(table) =
            toml::from_str(text).map_err(|error| ParseError::new(name, 0, error.message().to_string()))?;
        let mut disk = Self::default();
        for (key, value) in &table {
            let value = match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            disk.set(key, &value)
                .map_err(|error| ParseError::new(name, 0, format!("{key} = {value}: {}", error.message)))?;
        }
        disk.checked(name)
    }

    /// Changes one constant.
    ///
    /// # Errors
    /// If the key does not exist, the value is invalid, or the resulting disk is inconsistent.
    pub fn with(mut self, key: &str, value: &str) -> Result<Self, ParseError> {
        self.set(key, value)?;
        self.checked(value)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ParseError> {
        match key {
            "fixed" => self.fixed = value.parse()?,
            "rate" => self.rate = value.parse()?,
            "disks" => self.disks = whole(value)?,
            "shared" => self.shared = Some(value.parse()?),
            "iops" => self.iops = Some(number(value)?),
            "credit" => self.credit = value.parse()?,
            "credit_ios" => self.credit_ios = whole(value)?,
            "slice" => self.slice = value.parse()?,
            "fast_part" => self.fast_part = value.parse()?,
            "sustained" => self.sustained = Some(value.parse()?),
            "drain" => self.drain = Some(value.parse()?),
            "noise" => self.noise = share(value)?,
            "jitter" => self.jitter = share(value)?,
            "correlation" => self.correlation = share(value)?,
            "cpu_fixed" => self.cpu_fixed = value.parse()?,
            "cpu_per_kib" => self.cpu_per_kib = value.parse()?,
            "unseen" => self.unseen = share(value)?,
            "core_bound" => self.core_bound = value.parse::<Switch>()? == Switch::On,
            "cpus" => self.cpus = whole(value)?,
            "size" => self.size = value.parse()?,
            "flush" => self.flush = Some(value.parse()?),
            "flush_group" => self.flush_group = whole(value)?,
            "file_op" => self.file_op = Some(value.parse()?),
            "folder_lock" => self.folder_lock = value.parse()?,
            "seed" => self.seed = whole(value)?,
            _ if self.faults.set(key, value)? => {}
            _ => return Err(ParseError::new(key, 0, format!("there is no such key; {}", keys()))),
        }
        Ok(())
    }

    fn checked(self, text: &str) -> Result<Self, ParseError> {
        let complaint = if !(1..=MOST_DISKS).contains(&self.disks) {
            "disks must be from 1 to 1024"
        } else if !(1..=MOST_CPUS).contains(&self.cpus) {
            "cpus must be from 1 to 4096"
        } else if self.size < Bytes(1 << 20) {
            "size must be at least 1MiB"
        } else if self.credit > Bytes(0) && self.shared.is_none() {
            "a credit in bytes belongs to a limit on them: add shared=50MB/s"
        } else if self.credit_ios > 0 && self.iops.is_none() {
            "a credit in requests belongs to a limit on them: add iops=1000"
        } else if self.fast_part > Bytes(0) && self.sustained.is_none() {
            "a fast part of writes has a rate after it: add sustained=200MB/s"
        } else if self.fast_part == Bytes(0) && (self.sustained.is_some() || self.drain.is_some()) {
            "sustained and drain belong to a fast part of writes: add fast_part=2GiB"
        } else if self.flush_group > 0 && self.flush.is_none() {
            "flush_group belongs to a flush of known time: add flush=1ms"
        } else if self.flush.is_some_and(|flush| flush > MOST_FLUSH) {
            "flush must be at most 10s"
        } else if self.file_op.is_some_and(|file_op| file_op == Nanos(0) || file_op > MOST_FILE_OP) {
            "file_op must be above 0 and at most 10s"
        } else if self.folder_lock > self.file_op.unwrap_or_default() {
            "folder_lock is a part of the time of an operation on a file: add file_op=20us, or a longer one"
        } else if self.slice > MOST_SLICE {
            "slice must be at most 10s"
        } else if self.has_buckets() && self.faults.any() {
            "a disk with faults has no fast part, and limits without credit or slices: leave either out"
        } else if self.correlation >= 1.0 {
            "correlation must be below 1"
        } else if self.fixed == Nanos(0) && self.rate.0 >= 1e15 {
            "a request must take some time; raise fixed or lower rate"
        } else if let Some(complaint) = self.faults.complaint() {
            complaint
        } else {
            return Ok(self);
        };
        Err(ParseError::new(text, 0, complaint))
    }
}

impl SimulatedDisk {
    /// Whether one run leaves a state to the next: what its limits have of their credit, or what its fast part holds.
    pub fn has_buckets(&self) -> bool {
        self.credit > Bytes(0) || self.credit_ios > 0 || self.slice > Nanos(0) || self.fast_part > Bytes(0)
    }
}

fn keys() -> String {
    format!("the keys are {KEYS}, and of faults {}", Faults::KEYS)
}

fn whole<T: std::str::FromStr>(text: &str) -> Result<T, ParseError> {
    text.parse().map_err(|_| ParseError::new(text, 0, "write a whole number"))
}

fn number(text: &str) -> Result<f64, ParseError> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err(ParseError::new(text, 0, "write a number above 0")),
    }
}

/// Every constant, so that equal text means an equal disk.
impl fmt::Display for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fixed={},rate={},disks={}", self.fixed, self.rate, self.disks)?;
        if let Some(shared) = self.shared {
            write!(f, ",shared={shared}")?;
        }
        if let Some(iops) = self.iops {
            write!(f, ",iops={iops}")?;
        }
        if self.credit > Bytes(0) {
            write!(f, ",credit={}", self.credit)?;
        }
        if self.credit_ios > 0 {
            write!(f, ",credit_ios={}", self.credit_ios)?;
        }
        if self.slice > Nanos(0) {
            write!(f, ",slice={}", self.slice)?;
        }
        if self.fast_part > Bytes(0) {
            write!(f, ",fast_part={}", self.fast_part)?;
        }
        if let Some(sustained) = self.sustained {
            write!(f, ",sustained={sustained}")?;
        }
        if let Some(drain) = self.drain {
            write!(f, ",drain={drain}")?;
        }
        write!(f, ",noise={},jitter={},correlation={}", self.noise, self.jitter, self.correlation)?;
        write!(f, ",cpu_fixed={},cpu_per_kib={},unseen={}", self.cpu_fixed, self.cpu_per_kib, self.unseen)?;
        if self.core_bound {
            write!(f, ",core_bound=on")?;
        }
        write!(f, ",cpus={},size={}", self.cpus, self.size)?;
        if let Some(flush) = self.flush {
            write!(f, ",flush={flush}")?;
        }
        if self.flush_group > 0 {
            write!(f, ",flush_group={}", self.flush_group)?;
        }
        if let Some(file_op) = self.file_op {
            write!(f, ",file_op={file_op}")?;
        }
        if self.folder_lock > Nanos(0) {
            write!(f, ",folder_lock={}", self.folder_lock)?;
        }
        write!(f, ",seed={}{}", self.seed, self.faults)
    }
}

/// Shares of requests with each kind of fault; a request has at most one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Requests that fail with EIO.
    pub errors: f64,
    /// Reads and writes that move fewer bytes than asked.
    pub short: f64,
    /// Requests that complete late.
    pub stall: f64,
    /// Delay of a late completion.
    pub stall_time: Nanos,
    /// Reads that return one flipped bit.
    pub flip: f64,
    /// Writes that report success, although only their beginning reaches the medium.
    pub torn: f64,
    /// Writes that report success, although nothing reaches the medium.
    pub lost: f64,
    /// Writes that reach another place of the medium.
    pub misdirect: f64,
}

/// Longest allowed delay of a completion.
const LONGEST_STALL: Nanos = Nanos(60_000_000_000);

impl Default for Faults {
    fn default() -> Self {
        Self {
            errors: 0.0,
            short: 0.0,
            stall: 0.0,
            stall_time: Nanos(100_000_000),
            flip: 0.0,
            torn: 0.0,
            lost: 0.0,
            misdirect: 0.0,
        }
    }
}

impl Faults {
    /// The keys, as an error lists them.
    pub(crate) const KEYS: &str = "errors, short, stall, flip, torn, lost, misdirect";

    /// Whether any fault is ever injected.
    pub fn any(&self) -> bool {
        self.shares().iter().any(|(_, share)| *share > 0.0)
    }

    fn shares(&self) -> [(&'static str, f64); 7] {
        let Self { errors, short, stall, flip, torn, lost, misdirect, .. } = *self;
        [
            ("errors", errors),
            ("short", short),
            ("stall", stall),
            ("flip", flip),
            ("torn", torn),
            ("lost", lost),
            ("misdirect", misdirect),
        ]
    }

    /// Changes one share; `false` if `key` is not the key of a fault.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, ParseError> {
        let place = match key {
            "errors" => &mut self.errors,
            "short" => &mut self.short,
            "stall" => return self.set_stall(value).map(|()| true),
            "flip" => &mut self.flip,
            "torn" => &mut self.torn,
            "lost" => &mut self.lost,
            "misdirect" => &mut self.misdirect,
            _ => return Ok(false),
        };
        *place = share(value)?;
        Ok(true)
    }

    /// Reads `SHARE` or `SHARE:TIME`.
    fn set_stall(&mut self, value: &str) -> Result<(), ParseError> {
        let (text, time) = value.split_once(':').map_or((value, None), |(text, time)| (text, Some(time)));
        self.stall = share(text).map_err(|error| error.within(value, 0))?;
        let Some(time) = time else { return Ok(()) };
        let at = text.len() + 1;
        let time: Nanos = time.parse().map_err(|error: ParseError| error.within(value, at))?;
        if time == Nanos(0) || time > LONGEST_STALL {
            return Err(ParseError::new(value, at, format!("a stall takes up to {LONGEST_STALL}, and some time")));
        }
        // Without stalls the time has no meaning, and Display does not write it.
        if self.stall > 0.0 {
            self.stall_time = time;
        }
        Ok(())
    }

    /// What is wrong with the shares as a whole; `None` if nothing is.
    pub(crate) fn complaint(&self) -> Option<&'static str> {
        let sum: f64 = self.shares().iter().map(|(_, share)| share).sum();
        (sum > 1.0).then_some("a request meets one fault at most: let the shares of all faults add up to 100% or less")
    }
}

/// The faults with a share, each after a comma.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, share) in self.shares().into_iter().filter(|(_, share)| *share > 0.0) {
            write!(f, ",{key}={share}")?;
            if key == "stall" {
                write!(f, ":{}", self.stall_time)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_in_place_and_in_toml_are_the_same_disk() {
        let line = "fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,noise=3%,seed=7";
        let file = "fixed='80us'\nrate='500MB/s'\ndisks=4\nshared='1200MB/s'\nnoise='3%'\nseed=7\n";
        let disk = SimulatedDisk::from_constants(line).unwrap();
        assert_eq!(disk, SimulatedDisk::from_toml("disk.toml", file).unwrap());
        assert_eq!((disk.disks, disk.shared, disk.noise), (4, Some(Rate(1200e6)), 0.03));
        assert_eq!(disk, SimulatedDisk::from_constants(&disk.to_string()).unwrap());
    }

    #[test]
    fn a_credit_belongs_to_a_limit() {
        let bucket = "fixed=10us,rate=1GB/s,shared=50MB/s,credit=100MiB,slice=100ms";
        let disk = SimulatedDisk::from_constants(bucket).unwrap();
        assert_eq!(disk, SimulatedDisk::from_constants(&disk.to_string()).unwrap());
        for constants in ["credit=1MiB", "credit_ios=5", "slice=11s", "shared=1MB/s,credit=1MiB,errors=1%"] {
            assert!(SimulatedDisk::from_constants(constants).is_err(), "{constants}");
        }
    }

    #[test]
    fn the_lock_of_a_folder_is_a_part_of_an_operation_on_a_file() {
        let disk = SimulatedDisk::from_constants("file_op=20us,folder_lock=15us").unwrap();
        assert_eq!((disk.file_op, disk.folder_lock), (Some(Nanos(20_000)), Nanos(15_000)));
        assert_eq!(SimulatedDisk::from_constants(&disk.to_string()), Ok(disk));
        let usual = SimulatedDisk::default().to_string();
        assert!(
            !usual.contains("file_op") && !usual.contains("folder_lock"),
            "earlier studies keep the name of their disk"
        );
        for constants in ["folder_lock=1us", "file_op=10us,folder_lock=11us", "file_op=0", "file_op=11s"] {
            assert!(SimulatedDisk::from_constants(constants).is_err(), "{constants}");
        }
    }

    #[test]
    fn a_fast_part_has_a_rate_after_it() {
        let text = "fixed=10us,rate=2GB/s,fast_part=2GiB,sustained=300MB/s,drain=500MB/s";
        let disk = SimulatedDisk::from_constants(text).unwrap();
        assert_eq!((disk.fast_part, disk.sustained), (Bytes(2 << 30), Some(Rate(300e6))));
        assert!(disk.has_buckets(), "what it holds lasts over runs");
        assert_eq!(SimulatedDisk::from_constants(&disk.to_string()), Ok(disk));
        let usual = SimulatedDisk::default().to_string();
        assert!(
            !usual.contains("fast_part") && !usual.contains("sustained"),
            "earlier studies keep the name of their disk"
        );
        for constants in
            ["fast_part=1GiB", "sustained=1MB/s", "drain=1MB/s", "fast_part=1GiB,sustained=1MB/s,errors=1%"]
        {
            assert!(SimulatedDisk::from_constants(constants).is_err(), "{constants}");
        }
    }

    #[test]
    fn a_flush_of_known_time_is_read_and_written_back() {
        let disk = SimulatedDisk::from_constants("fixed=20us,flush=1ms,flush_group=16").unwrap();
        assert_eq!((disk.flush, disk.flush_group), (Some(Nanos(1_000_000)), 16));
        assert_eq!(SimulatedDisk::from_constants(&disk.to_string()), Ok(disk));
        assert!(!SimulatedDisk::default().to_string().contains("flush"), "earlier studies keep the name of their disk");
        for constants in ["flush_group=4", "flush=11s"] {
            assert!(SimulatedDisk::from_constants(constants).is_err(), "{constants}");
        }
    }

    #[test]
    fn a_wrong_key_or_value_is_pointed_at() {
        assert_eq!(SimulatedDisk::from_constants("fixed=80us,speed=1").unwrap_err().at, 11);
        assert_eq!(SimulatedDisk::from_constants("fixed=80us,rate=5x").unwrap_err().at, 17);
        for constants in ["disks=0", "disks=1000000000", "cpus=0", "cpus=1000000000"] {
            assert!(SimulatedDisk::from_constants(constants).is_err(), "{constants}");
        }
        assert!(SimulatedDisk::from_toml("d.toml", "disks = 'many'").unwrap_err().to_string().contains("disks"));
    }

    #[test]
    fn faults_are_read_and_written_back() {
        let disk = SimulatedDisk::from_constants("errors=1%,stall=0.5%:20ms,lost=0.25,seed=3").unwrap();
        let faults = disk.faults;
        assert_eq!((faults.errors, faults.stall, faults.lost, faults.torn), (0.01, 0.005, 0.25, 0.0));
        assert_eq!(faults.stall_time, Nanos(20_000_000));
        assert!(disk.to_string().ends_with(",seed=3,errors=0.01,stall=0.005:20ms,lost=0.25"), "{disk}");
        assert_eq!(SimulatedDisk::from_constants(&disk.to_string()), Ok(disk));
        let never = SimulatedDisk::from_constants("errors=1%,stall=0%:10s").unwrap();
        assert_eq!(SimulatedDisk::from_constants(&never.to_string()), Ok(never));
        let without = SimulatedDisk::from_constants("seed=3").unwrap();
        assert!(!without.faults.any() && without.to_string().ends_with(",seed=3"), "{without}");
    }

    #[test]
    fn faults_that_cannot_be_are_refused_where_they_stand() {
        for (text, at, word) in [
            ("errors=2", 7, "share"),
            ("errors=-1%", 7, "share"),
            ("flip=NaN", 5, "share"),
            ("stall=1%:0s", 9, "some time"),
            ("stall=1%:2h", 9, "up to 60s"),
            ("stall=1%:", 9, "number"),
            ("errors=60%,short=60%", 0, "add up"),
        ] {
            let error = SimulatedDisk::from_constants(text).unwrap_err();
            assert!(error.at == at && error.message.contains(word), "{text}: {error}");
        }
    }
}
