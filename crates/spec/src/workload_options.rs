//! Declares the options of a workload beyond pattern, block size, depth, threads, cache and engine, one row each.

use std::fmt::{self, Formatter};
use std::ops::Range;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Affinity, Beside, BlockSizes, Bytes, DurableBy, Fadvise, FileOperation, FlushCall, Folders, Hosts, IoPriority,
    IoSize, Jump, Kernel, Layout, Nanos, PageCache, ParseError, Processors, RandomDistribution, Region, Sealing,
    SteadyState, Switch, ThinktimeFrom, VolumeLayout, Way, microseconds,
};

/// Parses a value of a type with its own text form.
pub(crate) fn word<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, ParseError> {
    text.parse()
}

/// Parses a whole number from `LEAST` to `MOST`.
pub(crate) fn count<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(number) if (LEAST..=MOST).contains(&number) => Ok(number),
        _ => Err(ParseError::new(text, 0, format!("write a whole number from {LEAST} to {MOST}"))),
    }
}

/// Parses a share in percent.
pub(crate) fn percent(text: &str) -> Result<u8, ParseError> {
    count::<0, 100>(text).map(|percent| percent as u8)
}

/// Most bytes of a file that writes carry again and again (`--payload-size`).
pub const MOST_PAYLOAD: Bytes = Bytes(16 << 20);

/// Generates `WorkloadOptions`, `WorkloadOption` and `OPTIONS` from the rows. A value is read as `one` (it has a
/// default),
/// `perhaps` (it may be unset) or `switch` (the flag alone turns it on).
macro_rules! options {
    ($(
        $(#[$meta:meta])*
        $option:ident $field:ident: $type:ty = $default:expr;
            $kind:ident($($reader:expr)?), $flag:literal pinned $pinned:literal $(alias $alias:literal)? $(takes $value:literal)?;
            $help:expr;
    )*) => {
        /// Options of a workload that usually keep their defaults. Each is a flag of `halfpower run`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct WorkloadOptions {
            $($(#[$meta])* pub $field: $type,)*
        }

        impl Default for WorkloadOptions {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        /// The name of an option: a field of [`WorkloadOptions`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum WorkloadOption {
            $(#[doc = $help] $option,)*
        }

        /// All options, in the order of their fields.
        pub static OPTIONS: &[OptionRow] = &[$(
            OptionRow {
                option: WorkloadOption::$option,
                flag: $flag,
                pinned: $pinned,
                alias: options!(@given $($alias)?),
                value_name: options!(@given $($value)?),
                help: $help,
                is_switch: options!(@is_switch $kind),
                text: options!(@text $kind $field),
                read: options!(@read $kind $field $($reader)?),
                usual: options!(@usual $kind $field),
            },
        )*];
    };
    (@given) => { None };
    (@given $given:literal) => { Some($given) };
    (@is_switch switch) => { true };
    (@is_switch $kind:ident) => { false };
    (@text one $field:ident) => {
        |options| (options.$field != WorkloadOptions::default().$field).then(|| options.$field.to_string())
    };
    (@text perhaps $field:ident) => { |options| options.$field.map(|value| value.to_string()) };
    (@text switch $field:ident) => { |options| options.$field.then(String::new) };
    (@read one $field:ident $reader:expr) => {
        |options, text| {
            options.$field = $reader(text)?;
            Ok(())
        }
    };
    (@read perhaps $field:ident $reader:expr) => {
        |options, text| {
            options.$field = Some($reader(text)?);
            Ok(())
        }
    };
    (@read switch $field:ident) => {
        |options, _| {
            options.$field = true;
            Ok(())
        }
    };
    (@usual one $field:ident) => { || Some(WorkloadOptions::default().$field.to_string()) };
    (@usual $kind:ident $field:ident) => { || None };
}

// A row: the option's name; its field with its meaning, type and default; how its value is read; its flag, and how its
// identity spells it, which no release changes; what the help says of it. The order is that of the fields in a record
// and of the flags in a line. What each target backend makes of it: `measure/src/option_answers.rs`.
options! {
    /// State of the file when the run begins.
    Layout layout: Layout = Layout::Written;
        one(word), "layout" pinned "layout";
        "Prepare the file this way before the run: written, new, append, last-first, fallocated, truncated";
    /// Offset in bytes by which every request is shifted off a multiple of its size.
    #[serde(alias = "shift")]
    Misalign misalign: Bytes = Bytes(0);
        one(word), "misalign" pinned "shift";
        "Shift each request by this many bytes off a multiple of its size";
    /// The part of the target in use; `None` is all of it.
    Region region: Option<Region> = None;
        perhaps(word), "region" pinned "region" takes "FROM+LENGTH";
        "Use only a part of the target, given by its first byte and its length, such as 1GiB+64MiB";
    /// Number of writes after which a thread calls fdatasync and waits; 0 means never.
    Fdatasync fdatasync: u32 = 0;
        one(count::<0, { u32::MAX }>), "fdatasync" pinned "fdatasync" takes "WRITES";
        "Call fdatasync after this many writes of a thread; 0 flushes only at the end";
    /// The call that flushes, between writes and at the end.
    FlushBy flush_by: FlushCall = FlushCall::Fdatasync;
        one(word), "flush-by" pinned "flush-by";
        "Flush with this call, after --fdatasync writes and at the end: fdatasync, fsync, sync_file_range (the pages \
         alone: no promise that they are durable)";
    /// What makes each write durable with the cache settings `os` and `none`.
    DurableBy durable_by: DurableBy = DurableBy::Odsync;
        one(word), "durable-by" pinned "durable-by";
        "Make each write durable (--cache os or none) by this: o_dsync, o_sync, rwf_dsync";
    /// Time that a thread waits after completions before it submits again.
    Thinktime thinktime: Nanos = Nanos(0);
        one(microseconds), "thinktime" pinned "thinktime";
        "Wait this long after completions before submitting again; a bare number is microseconds, as in fio";
    /// Which processors the submitting threads may use.
    Affinity affinity: Affinity = Affinity::All;
        one(word), "affinity" pinned "affinity";
        "Submit from these processors: all, one, interrupt (the one that takes the device's interrupts), other \
         (any but that one), near (one of the device's memory node), far (one of another node)";
    /// Sequential streams that each thread serves in turn, each in its own part of the target; 1 is a single stream.
    Streams streams: u32 = 1;
        one(count::<1, 1024>), "streams" pinned "streams";
        "Issue this many sequential streams in turn from each thread";
    /// Additional threads that read 8 KiB blocks at random, one request at a time; their requests are counted
    /// separately.
    #[serde(alias = "randoms")]
    RandomReaders random_readers: u32 = 0;
        one(count::<0, 1024>), "random-readers" pinned "randoms";
        "Add this many threads that read 8 KiB blocks at random; their requests are counted separately";
    /// State of the page cache when a buffered run begins.
    PageCache page_cache: PageCache = PageCache::Empty;
        one(word), "page-cache" pinned "page-cache";
        "Begin a buffered run with the target's pages in this state: empty (each block is read once) or warm (all \
         blocks are cached and read repeatedly, which measures the page cache itself)";
    /// Advice to the kernel on the order of reads.
    Fadvise fadvise: Fadvise = Fadvise::Normal;
        one(word), "fadvise" pinned "fadvise";
        "Advise the kernel on the order of reads: normal, sequential, random";
    /// Setting of the device's write cache (WCE, write cache enable) for this run; `None` leaves it unchanged.
    #[serde(alias = "wce")]
    WriteCache write_cache: Option<Switch> = None;
        perhaps(word), "write-cache" pinned "wce" takes "on|off";
        "Switch the device's write cache on or off for this run, and restore it afterwards";
    /// Number of members of the target in use, counted from the first; 0 is all.
    Members members: u32 = 0;
        one(count::<0, { u32::MAX }>), "members" pinned "members";
        "Use only this many members of the target, counted from the first; 0 uses all";
    /// How the members make one target; `None` is as the target's name says.
    #[serde(alias = "join")]
    VolumeLayout volume_layout: Option<VolumeLayout> = None;
        perhaps(word), "volume-layout" pinned "join";
        "Combine the members as each, stripe or mirror, whatever the target's name says";
    /// The memory kernel, for the engine `memory`.
    Kernel kernel: Option<Kernel> = None;
        perhaps(word), "kernel" pinned "kernel";
        "Choose the memory kernel, for --engine memory";
    /// Whether each block carries its number, the seed and a checksum, which every read checks.
    Verify verify: bool = false;
        switch(), "verify" pinned "verify";
        "Write blocks with their number, the seed and a checksum, and verify every block that is read";
    /// How random requests are distributed over blocks.
    #[serde(skip_serializing_if = "is_even")]
    RandomDistribution random_distribution: RandomDistribution = RandomDistribution::Even;
        one(word), "random-distribution" pinned "random-distribution" alias "random_distribution";
        "Distribute random requests over the blocks: random (evenly), shuffled, zipf:S, pareto:H, zoned:..., \
         zoned_abs:...\n\nshuffled reaches \
         every block once before one comes again, as fio does without norandommap. zipf:1.2 gives the k-th \
         block a frequency proportional to 1 / k^1.2. pareto:0.2 sends 80% of the requests to 20% of the blocks. \
         Frequent blocks are scattered over the target. zoned:90/10:0/10:10/80 sends 90% of the requests to the first 10% of \
         the bytes in use, none to the next 10%, and 10% to the rest; zoned_abs:90/1GiB:10/ has sizes, and its last zone \
         is all that is left. Zones beyond the end get none, and the others theirs in proportion.";
    /// When random requests jump to another place; in between, each follows the one before.
    #[serde(skip_serializing_if = "is_every_request")]
    Jump jump: Jump = Jump::Every(1);
        one(word), "jump" pinned "jump" takes "REQUESTS|PERCENT";
        "Let random requests jump each time that this many have gone out, such as 8, or with this chance, such as 30%; \
         in between, each follows the one before\n\n8 is fio's rw=randread:8, and 30% its percentage_random=30 and \
         diskspd's -rs30.";
    /// Distance in bytes from where a sequential request begins to where the next one does; 0 is the block size, so that
    /// nothing lies between them.
    #[serde(skip_serializing_if = "is_block_size")]
    Stride stride: Bytes = Bytes(0);
        one(word), "stride" pinned "stride" takes "SIZE";
        "Let each sequential request begin so many bytes after the one before, a multiple of --bs; 0 leaves nothing out \
         between them\n\nAt the end of the target they go on at its beginning. fio's rw=read:8k with bs=4k is --stride 12k, \
         and diskspd's -s12K is that too.";
    /// Whether sequential requests go from the end of the bytes in use to their beginning.
    #[serde(skip_serializing_if = "is_off")]
    Backwards backwards: bool = false;
        switch(), "backwards" pinned "backwards";
        "Let sequential requests begin with the last block and go towards the first, each --stride before the one before\n\nAt \
         the beginning of the target they go on at its end. fio's rw=read:-8k with bs=4k is that.";
    /// What each thread moves before the run ends; `None` lets the run end by its time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    IoSize io_size: Option<IoSize> = None;
        perhaps(word), "io-size" pinned "io-size" alias "io_size" takes "SIZE|PERCENT";
        "End the run when each thread has moved this much: bytes, or a share of those in use such as 100%; or earlier, \
         at the end of --runtime, if that is given\n\nWhat is in flight then is waited for and counts. 200% goes through \
         twice. Where each block is used once, as in a buffered read with an empty page cache, the run ends with the \
         last block.";
    /// Whether the run ends with a flush that counts in its time even if nothing else makes it flush.
    #[serde(skip_serializing_if = "is_off")]
    EndFlush end_flush: bool = false;
        switch(), "end-flush" pinned "end-flush";
        "End with a flush inside the run's time also if the run is direct (fio's end_fsync); a buffered run that \
         writes always does";
    /// Share of zeros in what is written, in percent.
    #[serde(skip_serializing_if = "is_zero")]
    Compressible compressible: u8 = 0;
        one(percent), "compressible" pinned "compressible" takes "PERCENT";
        "Let this share of each 512 bytes that are written be zeros, so that they can be compressed; 100 writes zeros \
         alone\n\nThe default is incompressible, and no two blocks are equal: devices and file systems shorten what they \
         can. A file that halfpower lays out is always incompressible.";
    /// Processors that the submitting threads run on, in turn; `None` is as `affinity` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    Processors processors: Option<Processors> = None;
        perhaps(word), "processors" pinned "processors" takes "LIST";
        "Run each submitting thread on one of these processors, in turn, such as 0-3,8";
    /// Time for which requests are issued before the window opens (fio's ramp_time, diskspd's warm-up).
    #[serde(skip_serializing_if = "is_nothing")]
    RampTime ramp_time: Nanos = Nanos(0);
        one(word), "ramp-time" pinned "ramp-time" alias "ramp_time";
        "Issue requests for this long before measuring begins";
    /// Sizes from which each request's size is drawn (fio's bssplit); the workload's `bs` is then the largest. `None`
    /// gives all requests the size `bs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    Bssplit bssplit: Option<BlockSizes> = None;
        perhaps(word), "bssplit" pinned "bssplit" takes "SIZE/PERCENT:...";
        "Draw each request's size from these sizes with their shares in percent, such as 4k/60:64k/40; --bs is \
         then the largest\n\nSizes without a share divide the rest equally. A second list is for writes: \
         4k/60:64k/40,8k. Random requests begin at multiples of the smallest size of their direction; each sequential \
         request begins where the previous one ends.";
    /// Connections to a file server over which each thread's requests are spread.
    #[serde(skip_serializing_if = "is_single")]
    Connections connections: u32 = 1;
        one(count::<1, 64>), "connections" pinned "connections";
        "Spread each thread's requests over this many connections to a file server, smb:// or nfs://";
    /// Whether messages to a file server are signed or encrypted.
    #[serde(skip_serializing_if = "is_as_asked")]
    Sealing sealing: Sealing = Sealing::AsAsked;
        one(word), "sealing" pinned "sealing";
        "Sign or encrypt messages to a file server: as-asked (as the server asks), signed, encrypted (SMB \
         only)\n\nGuests can use neither. Encryption needs SMB 3. halfpower refuses to measure if the server does \
         not offer it.";
    /// Path of the requests: from here, or from the far end if a witness measures there.
    #[serde(skip_serializing_if = "is_over_the_wire")]
    Way way: Way = Way::Wire;
        one(word), "way" pinned "way";
        "Measure from here (wire), or at the far end if its witness offers it: bypassing the share (local) or \
         through it (same-machine)";
    /// Processes that take part in a run on many hosts; `None` is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    Hosts hosts: Option<Hosts> = None;
        perhaps(word), "hosts" pinned "hosts" takes "RANKS";
        "On many hosts, use only the processes with these ranks, such as 0-3 or 5";
    /// Threads that flush after `fdatasync` writes, counted from the first; the others write without. 0 is all.
    #[serde(skip_serializing_if = "is_none_counted")]
    FlushingThreads flushing_threads: u32 = 0;
        one(count::<0, 1024>), "flushing-threads" pinned "flushing-threads" takes "THREADS";
        "Let only this many threads flush (--fdatasync), counted from the first; the others write beside them without; 0 \
         lets all";
    /// Whether each thread writes to a file of its own, made for the run.
    #[serde(skip_serializing_if = "is_off")]
    OwnFiles own_files: bool = false;
        switch(), "own-files" pinned "own-files";
        "Let each thread write to a file of its own in the folder, made for the run";
    /// Time for which the target is left alone right before the run.
    #[serde(skip_serializing_if = "is_nothing")]
    Rest rest: Nanos = Nanos(0);
        one(word), "rest" pinned "rest" takes "TIME";
        "Leave the target alone for this long right before the run, so that a cache can empty";
    /// What each request does with a small file; `None` moves bytes of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    FileOperation file_operation: Option<FileOperation> = None;
        perhaps(word), "file-operation" pinned "file-operation" takes "OPERATION";
        "Do this with small files of --bs bytes in a folder of our own, one for each request: create, stat, list (all \
         names of the folder), rename, remove\n\nThe files are made through the page cache: add --cache both, or --cache os \
         to wait until each change is durable. Take --rw write or randwrite for changes, read or randread for stat and \
         list. Only create moves bytes: the MB/s of the others are the sizes of their files. What can be done only once \
         with a file ends the run with the last one. All is removed after the run.";
    /// Where the threads have their small files.
    #[serde(skip_serializing_if = "are_own")]
    Folders folders: Folders = Folders::Own;
        one(word), "folders" pinned "folders" takes "own|shared";
        "With --file-operation, let each thread have its files in a folder of its own, or all in one: own, shared";
    /// Small files of each thread.
    #[serde(skip_serializing_if = "is_usual_count")]
    FileCount file_count: u32 = FILE_COUNT;
        one(count::<1, 65_536>), "file-count" pinned "file-count" takes "FILES";
        "With --file-operation, let each thread have so many files";
    /// A load that threads of their own issue beside the workload; its requests are counted apart. `None` is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    Beside beside: Option<Beside> = None;
        perhaps(word), "beside" pinned "beside" takes "LOAD";
        "Let threads of their own issue another load in the same window, such as \
         randwrite,bs=8k,iodepth=32,cache=device; its requests are counted apart\n\nFirst its access pattern, then what \
         differs from the defaults: bs, iodepth, threads, cache (both, os, device, none), engine, rwmixread, fdatasync, \
         flush-by, thinktime. It reaches the file that is laid out, also where the workload has a file of its own, and \
         goes on until the workload ends. What it reads, it reads past the page cache.";
    /// Whether the pages of buffered requests are dropped from the page cache after use (`RWF_DONTCACHE`).
    #[serde(skip_serializing_if = "is_off")]
    Uncached uncached: bool = false;
        switch(), "uncached" pinned "uncached";
        "Let the kernel drop the pages of buffered requests (--cache both or os) from the page cache after \
         use\n\nEach request carries RWF_DONTCACHE, of Linux 6.14: a read drops its pages once they are copied, a write \
         begins to write its pages back at once and drops them then. Pages that were there before stay. XFS, ext4 and btrfs \
         take it; a target that does not is refused.";
    /// Whether each write is on the medium whole or not at all, also if power fails (`RWF_ATOMIC`).
    #[serde(skip_serializing_if = "is_off")]
    Atomic atomic: bool = false;
        switch(), "atomic" pinned "atomic";
        "Let each write be on the medium whole or not at all, also if power fails: direct writes of a power of two, in the \
         sizes that the target offers\n\nEach write carries RWF_ATOMIC, of Linux 6.11. The drive and the file system must \
         both offer it: a target that does not is refused, and so is a size that it does not take.";
    /// Requests of a thread between two of its pauses (`thinktime`), which go out as fast as its depth lets them.
    #[serde(skip_serializing_if = "is_single")]
    ThinktimeBlocks thinktime_blocks: u32 = 1;
        one(count::<1, { u32::MAX }>), "thinktime-blocks" pinned "thinktime-blocks" alias "thinktime_blocks"
            takes "REQUESTS";
        "With --thinktime, let so many requests of a thread go out before it waits: bursts\n\n1 waits after each \
         completion. From 2 on, a thread waits when all of a burst are done (fio's thinktime_blocks), or by \
         --thinktime-from issued.";
    /// From when a thread's pause lasts.
    #[serde(skip_serializing_if = "is_done")]
    ThinktimeFrom thinktime_from: ThinktimeFrom = ThinktimeFrom::Done;
        one(word), "thinktime-from" pinned "thinktime-from" takes "done|issued";
        "With --thinktime, count the time from when the last request is done, or was issued\n\nissued lets bursts go out at \
         even distances, whether or not those before are done, as diskspd's -i and -j do.";
    /// Random requests begin at multiples of so many bytes; 0 is their size, or the smallest of several.
    #[serde(skip_serializing_if = "is_own_size")]
    Blockalign blockalign: Bytes = Bytes(0);
        one(word), "blockalign" pinned "blockalign" takes "SIZE";
        "Let random requests begin at multiples of this size, and not of their own: with --bs 64k and 4k they overlap, and \
         with a larger one they leave something out\n\n0 is the size of the requests, or the smallest of --bssplit. fio's \
         blockalign, and diskspd's -r4K.";
    /// Whether each request that a thread keeps outstanding goes through the same blocks by itself.
    #[serde(skip_serializing_if = "is_off")]
    SameBlocks same_blocks: bool = false;
        switch(), "same-blocks" pinned "same-blocks";
        "Let each sequential request that a thread keeps outstanding go through the same blocks by itself: with --iodepth 4, \
         each block comes four times, about at once\n\ndiskspd's -p is that. A buffered read does not end after one pass then.";
    /// The steady state at which the run ends before its time is over; `None` lets it go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    SteadyState steady_state: Option<SteadyState> = None;
        perhaps(word), "steady-state" pinned "steady-state" takes "FIGURE:LIMIT:TIME[:AFTER[:EVERY]]";
        "End the run as soon as it is steady, at the latest at the end of --runtime: such as iops:10%:30s, when none of the \
         last 30 seconds is further than 10% from their mean\n\nFigures are iops, bw (bytes a second) and lat (mean latency in \
         ns), and their slopes by least squares, iops_slope, bw_slope and lat_slope; a limit without % is in their unit. AFTER \
         passes before, and EVERY is an interval other than a second: lat:5%:300s:60s:10s. fio's steadystate.";
    /// I/O priority of the submitting threads (`ioprio_set`); `None` leaves what the process has.
    #[serde(skip_serializing_if = "Option::is_none")]
    IoPriority io_priority: Option<IoPriority> = None;
        perhaps(word), "io-priority" pinned "io-priority" takes "CLASS[:LEVEL[:HINT]]";
        "Give the submitting threads this I/O priority: idle, best-effort:4, realtime:0, with a level from 0, the highest, to \
         7\n\nThe schedulers bfq and mq-deadline go by it, and drives that take priorities or limits on their time (the hint); \
         with the scheduler none most drives do not. What a buffered run writes is written back by the kernel, without it. \
         realtime needs CAP_SYS_NICE or CAP_SYS_ADMIN.";
    /// The block device that is read in place of the target, counted from the one next beneath it; 0 is the target itself.
    #[serde(skip_serializing_if = "is_none_counted")]
    Layer layer: u32 = 0;
        one(count::<0, 64>), "layer" pinned "layer" takes "N";
        "Read the target's bytes where they lie on the N-th block device beneath it: 1 is the one next beneath, 0 the target \
         itself\n\nRandom direct reads of one target alone; halfpower plan TARGET --experiments layers lists the devices. Opening \
         one needs the rights of root or of the group disk. Of devices side by side, as under a stripe, the first is read.";
}

/// Small files of each thread, unless another number is asked for.
const FILE_COUNT: u32 = 1024;

/// One option of a workload: its names, its help, and how its value becomes text and back.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// Which option it is.
    pub option: WorkloadOption,
    /// Its flag, without the dashes.
    pub flag: &'static str,
    /// Its spelling in the identity of a workload, which must never change.
    pub pinned: &'static str,
    /// fio's spelling, if it differs.
    pub alias: Option<&'static str>,
    /// Name of its value in the help; `None` is the flag in capitals.
    pub value_name: Option<&'static str>,
    /// Its help: a sentence, and optional details after an empty line.
    pub help: &'static str,
    /// Whether the flag takes no value.
    pub is_switch: bool,
    pub(crate) text: fn(&WorkloadOptions) -> Option<String>,
    pub(crate) read: fn(&mut WorkloadOptions, &str) -> Result<(), ParseError>,
    pub(crate) usual: fn() -> Option<String>,
}

impl OptionRow {
    /// Its value as the flag accepts it, empty for a switch; `None` for the default.
    pub fn text(&self, options: &WorkloadOptions) -> Option<String> {
        (self.text)(options)
    }

    /// Sets the option from the text of its flag.
    ///
    /// # Errors
    /// If the text is not a valid value of this option.
    pub fn read(&self, options: &mut WorkloadOptions, text: &str) -> Result<(), ParseError> {
        (self.read)(options, text)
    }

    /// Its default as the flag accepts it; `None` if it is unset by default.
    pub fn usual(&self) -> Option<String> {
        (self.usual)()
    }

    /// Writes it after a space under this name.
    pub(crate) fn write(&self, f: &mut Formatter<'_>, name: &str, value: &str) -> fmt::Result {
        if self.is_switch { write!(f, " --{name}") } else { write!(f, " --{name} {value}") }
    }
}

/// Whether the field is left out, so that records of workloads without it stay unchanged.
fn is_even(distribution: &RandomDistribution) -> bool {
    *distribution == RandomDistribution::Even
}

fn is_single(count: &u32) -> bool {
    *count == 1
}

fn is_as_asked(sealing: &Sealing) -> bool {
    *sealing == Sealing::AsAsked
}

fn is_over_the_wire(way: &Way) -> bool {
    *way == Way::Wire
}

fn is_every_request(jump: &Jump) -> bool {
    *jump == Jump::default()
}

fn is_block_size(stride: &Bytes) -> bool {
    *stride == Bytes(0)
}

fn is_own_size(alignment: &Bytes) -> bool {
    *alignment == Bytes(0)
}

fn is_zero(percent: &u8) -> bool {
    *percent == 0
}

fn is_done(from: &ThinktimeFrom) -> bool {
    *from == ThinktimeFrom::Done
}

fn is_none_counted(count: &u32) -> bool {
    *count == 0
}

fn is_off(switch: &bool) -> bool {
    !switch
}

fn are_own(folders: &Folders) -> bool {
    *folders == Folders::Own
}

fn is_usual_count(files: &u32) -> bool {
    *files == FILE_COUNT
}

fn is_nothing(time: &Nanos) -> bool {
    *time == Nanos(0)
}

impl WorkloadOptions {
    /// The bytes of a target of `span` bytes that are in use: the part of the region within the target.
    pub fn used(&self, span: u64) -> Range<u64> {
        let Some(Region { from, bytes }) = self.region else { return 0..span };
        from.0.min(span)..from.0.saturating_add(bytes.0).min(span)
    }

    /// The bytes that requests can reach: those in use from the shift on, where counting of blocks begins.
    pub fn reached(&self, span: u64) -> Range<u64> {
        let Range { start, end } = self.used(span);
        start.saturating_add(self.misalign.0).min(end)..end
    }

    /// Requests that others than the workload's threads keep outstanding: random readers, and the load beside it.
    pub fn background_depth(&self) -> u32 {
        self.random_readers + self.beside.map_or(0, |load| load.total_depth())
    }

    /// What each thread moves of a target of `span` bytes before the run ends; `None` if only its time ends it.
    pub fn most_bytes(&self, span: u64) -> Option<u64> {
        let Range { start, end } = self.reached(span);
        self.io_size.map(|size| size.of(end - start))
    }

    /// The options that differ from their defaults, each with its value as its flag takes it; switches come last.
    pub fn given(&self) -> impl Iterator<Item = (&'static OptionRow, String)> + use<> {
        let options = *self;
        let [valued, switches] = [false, true].map(|switch| OPTIONS.iter().filter(move |row| row.is_switch == switch));
        valued.chain(switches).filter_map(move |row| Some((row, row.text(&options)?)))
    }

    /// Whether every option has its default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The flags of the options that differ from their defaults, each after a space.
impl fmt::Display for WorkloadOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.given().try_for_each(|(row, value)| row.write(f, row.flag, &value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_options_print_no_flag() {
        assert_eq!(WorkloadOptions::default().to_string(), "");
        let options = WorkloadOptions {
            layout: Layout::Append,
            misalign: Bytes(512),
            members: 3,
            volume_layout: Some(VolumeLayout::Stripe),
            ..WorkloadOptions::default()
        };
        assert_eq!(options.to_string(), " --layout append --misalign 512 --members 3 --volume-layout stripe");
        assert!(!options.is_default());
    }

    #[test]
    fn a_shift_moves_the_first_block_and_not_the_end() {
        let region = Some(Region { from: Bytes(1000), bytes: Bytes(500) });
        let options = WorkloadOptions { region, misalign: Bytes(100), ..WorkloadOptions::default() };
        assert_eq!((options.used(1200), options.reached(1200)), (1000..1200, 1100..1200));
        assert_eq!(options.reached(1050), 1050..1050);
    }

    #[test]
    fn every_row_reads_back_what_it_writes_and_refuses_what_is_none() {
        for row in OPTIONS {
            assert!(row.help.split("\n\n").next().is_some_and(|first| !first.is_empty()), "{}", row.flag);
            let mut options = WorkloadOptions::default();
            assert!(row.is_switch || row.read(&mut options, "no such value").is_err(), "{}", row.flag);
            if let Some(usual) = row.usual() {
                row.read(&mut options, &usual).unwrap();
                assert!(options.is_default(), "{} is {usual} by default", row.flag);
            }
        }
        let mut options = WorkloadOptions::default();
        for (flag, value) in
            [("region", "1GiB+64MiB"), ("thinktime", "20"), ("atomic", ""), ("verify", ""), ("streams", "4")]
        {
            OPTIONS.iter().find(|row| row.flag == flag).unwrap().read(&mut options, value).unwrap();
        }
        assert_eq!(options.to_string(), " --region 1GiB+64MiB --thinktime 20us --streams 4 --verify --atomic");
        let uncached = WorkloadOptions { uncached: true, ..WorkloadOptions::default() };
        assert_eq!(uncached.to_string(), " --uncached");
        let streams = OPTIONS.iter().find(|row| row.option == WorkloadOption::Streams).unwrap();
        assert!(streams.read(&mut options, "1025").unwrap_err().message.contains("1 to 1024"));
    }
}
