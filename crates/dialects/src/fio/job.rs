//! Collects the options of one job, and converts the job into a run.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use halfpower_record::DepthSearch;
use halfpower_spec::{BlockSizes, Bytes, Direction, FlushCall, IoPriority, IoSize, Nanos, Pattern, Processors, Rw};

use super::amounts::{Amounts, End};
use super::engines::{self, Ring};
use super::flushes::Flushes;
use super::logs::LogOptions;
use super::printed::{self, Formats};
use super::rates::{Rate, Rates, Requests};
use super::replay::Replay;
use super::sizes::{self, ByDirection};
use super::steady::Steady;
use crate::{Ends, RunWords};

/// Most files that are laid out for the jobs of a section.
const MOST_FILES: u32 = 64;

/// fio's switches of a job that change what becomes of its other options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Switches {
    pub(super) time_based: bool,
    /// Whether random requests may reach a block again before they have reached all (`norandommap`).
    pub(super) repeats_blocks: bool,
    /// Whether each run draws other offsets (`randrepeat=0`).
    pub(super) reseeds: bool,
    /// Whether the page cache is left as it is (`invalidate=0`).
    pub(super) keeps_cache: bool,
    /// Whether files are read before the run (`pre_read`).
    pub(super) reads_before: bool,
    /// Whether a run that writes ends with a flush (`end_fsync`).
    pub(super) flushes_at_end: bool,
    /// Whether nothing may be written (`readonly`).
    pub(super) only_reads: bool,
    /// Whether requests do not wait for those before (`io_submit_mode=offload`).
    pub(super) offloads: bool,
    /// Whether its end ends others (`exitall`).
    pub(super) ends_others: bool,
    /// Whether a group of results begins with it (`new_group`).
    pub(super) begins_group: bool,
    /// Whether a thread thinks after so many requests that went out, and not that are done (`thinktime_blocks_type`).
    pub(super) counts_issued: bool,
    /// Whether it goes on when a depth was found that keeps a latency (`latency_run`).
    pub(super) goes_on_at_depth: bool,
    /// Whether zeros are written (`zero_buffers`), unless a share of them is asked for.
    pub(super) writes_zeros: bool,
}

/// When random requests jump; between two jumps each follows the one before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jumps {
    /// After so many requests (`rw=randread:8`).
    pub(super) every: Option<u64>,
    /// This share of them (`percentage_random`), if it is not all.
    pub(super) percent: Option<u32>,
}

/// fio's `prioclass`, `prio` and `priohint`, as far as given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Priority {
    pub(super) class: Option<u32>,
    pub(super) level: Option<u32>,
    pub(super) hint: Option<u32>,
}

impl Priority {
    /// The priority that fio gives a job's threads; `None` if none of the options is given.
    fn asked(self) -> Result<Option<IoPriority>, String> {
        let Self { class, level, hint } = self;
        if class.or(level).or(hint).is_none() {
            return Ok(None);
        }
        // As in fio, no class is best effort.
        let class = class.filter(|class| *class > 0).unwrap_or(2);
        IoPriority::of_numbers(class, level.unwrap_or(0), hint.unwrap_or(0)).map(Some)
    }
}

/// One job: a section of a job file, or the options of a command line.
#[derive(Debug, Clone, Default)]
pub struct Job {
    pub(super) run: RunWords,
    pub(super) directory: Option<PathBuf>,
    /// fio's name for the engine.
    pub(super) engine: Option<String>,
    pub(super) ring: Ring,
    pub(super) switches: Switches,
    pub(super) amounts: Amounts,
    /// Request sizes that differ between directions.
    pub(super) by_direction: Option<ByDirection>,
    /// What random requests begin at multiples of (`blockalign`).
    pub(super) alignment: Option<Bytes>,
    pub(super) rates: Rates,
    pub(super) priority: Priority,
    pub(super) steady: Steady,
    pub(super) flushes: Flushes,
    pub(super) jumps: Jumps,
    /// Zeros in what is written, in percent (`buffer_compress_percentage`).
    pub(super) compress_percent: u32,
    pub(super) replay: Replay,
    /// Bytes that sequential requests leave out between them (`rw=read:8k`).
    pub(super) skip: Option<Bytes>,
    /// Bytes that they go back from the end of the one before (`rw=read:-8k`).
    pub(super) back: Option<Bytes>,
    /// fio's `numjobs` and `nrfiles`; 0 is not given.
    pub(super) jobs: u32,
    pub(super) files_each: u32,
    /// Whether it waits for earlier jobs.
    pub(super) waits: bool,
    /// The job that it waits for.
    pub(super) waits_for: Option<String>,
    /// Which jobs its end ends (`exit_what`), if it ends others.
    pub(super) ends: Ends,
    /// Whether the line names its target as fio does, so that fio's defaults apply.
    pub(super) has_fio_defaults: bool,
    /// Whether its words are to be printed, and nothing measured.
    pub(super) only_shows: bool,
    /// What is printed and logged.
    pub(super) formats: Formats,
    pub(super) logs: LogOptions,
    /// Whether fio would report its threads together.
    pub(super) is_grouped: bool,
    pub(super) wants_sections: Vec<String>,
}

/// Passes the value unchanged to a halfpower flag.
pub fn set(job: &mut Job, flag: &'static str, value: &str) -> Result<(), String> {
    job.run.set(flag, value);
    Ok(())
}

impl Job {
    /// Converts the job into a run.
    ///
    /// # Errors
    /// A sentence about options that cannot be combined.
    pub(super) fn finished(mut self) -> Result<RunWords, String> {
        if let Some(log) = self.replay.log.take() {
            return self.replayed(log);
        }
        let end = self.end();
        self.name_by_section();
        self.place_files()?;
        self.choose_engine()?;
        if self.has_fio_defaults {
            self.fill_in();
        }
        self.set_sizes();
        self.set_alignment();
        self.set_jumps()?;
        self.set_stride()?;
        self.set_rate()?;
        self.set_priority()?;
        self.set_steady_state()?;
        self.set_depth_search();
        self.set_bursts();
        self.refuse_writes()?;
        let files = self.count_files()?;
        self.set_amounts(files, end)?;
        self.set_order();
        self.set_flushes()?;
        self.set_caches();
        self.set_content();
        self.drop_what_is_of_writes();
        self.run.jobs = self.jobs;
        self.say_what_differs();
        self.run.finish()?;
        Ok(self.run)
    }

    /// What ends the job. As in fio, `time_based` counts only beside a runtime.
    fn end(&mut self) -> End {
        let is_own_runtime = |word: &OsString| word.as_bytes().starts_with(b"-d");
        let has_runtime = self.run.get("--runtime").is_some() || self.run.own.iter().any(is_own_runtime);
        match (self.switches.time_based, self.has_fio_defaults) {
            (true, _) if has_runtime => End::Time,
            (_, false) => End::Said,
            (is_alone, true) => {
                if is_alone {
                    self.run.note("time_based: without runtime it has no effect, as in fio: the run ends by its size");
                }
                End::Size
            }
        }
    }

    /// What the run does; fio's and halfpower's default is to read.
    fn rw(&self) -> Rw {
        self.run.get("--rw").and_then(|rw| rw.parse().ok()).unwrap_or(Rw::Read)
    }

    /// Whether the run reads, and whether it writes.
    fn directions(&self) -> (bool, bool) {
        let direction = self.rw().direction();
        (direction != Some(Direction::Write), direction != Some(Direction::Read))
    }

    /// What the run's limits of rates are those of.
    fn requests(&self) -> Requests {
        match (self.rw(), self.directions()) {
            (Rw::Trim | Rw::Randtrim, _) => Requests::Trims,
            (_, (true, true)) => Requests::Mixed,
            (_, (true, false)) => Requests::Reads,
            _ => Requests::Writes,
        }
    }

    /// Whether nothing is written: fio then takes no notice of what only writes have.
    fn only_reads_or_trims(&self) -> bool {
        let rw = self.rw();
        self.has_fio_defaults && (!rw.writes() || matches!(rw, Rw::Trim | Rw::Randtrim))
    }

    fn is_buffered(&self) -> bool {
        match self.run.get("--direct") {
            Some(direct) => direct == "0",
            None => self.run.get("--sync").is_some(),
        }
    }

    /// Whether the target is one that has no file of this machine.
    fn is_elsewhere(&self) -> bool {
        self.run.files.iter().chain(&self.run.own).any(|word| RunWords::is_scheme(word))
    }

    /// Sets fio's defaults for missing options.
    fn fill_in(&mut self) {
        let is_target = |word: &OsString| RunWords::is_scheme(word) || Path::new(word).exists();
        if self.run.files.is_empty() && !self.run.own.iter().any(is_target) {
            self.run.files.push(".".into());
        }
        for (flag, value) in [("--rw", "read"), ("--bs", "4k"), ("--iodepth", "1")] {
            self.run.unless_set(flag, value);
        }
        if self.run.get("--sync").is_none() {
            self.run.unless_set("--direct", "0");
        }
    }

    /// Chooses the size of the direction that the run has, or draws reads and writes from sizes of their own.
    fn set_sizes(&mut self) {
        let Some(ByDirection { read, write, trim }) = self.by_direction.take() else { return };
        match self.directions() {
            _ if self.rw().trims() => self.run.set("--bs", trim),
            (true, true) if read != write => self.run.set("--bssplit", format!("{read},{write}")),
            (true, _) => self.run.set("--bs", read),
            (false, _) => self.run.set("--bs", write),
        }
    }

    /// Lets random requests begin at other places than at multiples of their size.
    fn set_alignment(&mut self) {
        let (block, _) = self.block_bytes();
        let usual = self.drawn_sizes().map_or(Bytes(block), BlockSizes::smallest);
        let other = self.alignment.filter(|asked| asked.0 > 0 && *asked != usual);
        if let Some(asked) = other.filter(|_| self.rw().pattern() == Pattern::Random) {
            self.run.set("--blockalign", asked);
        }
    }

    /// The sizes from which requests are drawn, if there are several.
    fn drawn_sizes(&self) -> Option<BlockSizes> {
        let sizes: BlockSizes = self.run.get("--bssplit")?.parse().ok()?;
        Some(sizes.in_use(self.rw()))
    }

    /// The largest bytes of a request, and the mean bytes of reads and of writes.
    fn block_bytes(&self) -> (u64, (f64, f64)) {
        let one = self.run.get("--bs").and_then(|bs| bs.parse().ok()).unwrap_or(sizes::USUAL);
        self.drawn_sizes().map_or((one.0, (one.0 as f64, one.0 as f64)), |sizes| {
            (sizes.largest().0, (sizes.mean_bytes(1.0), sizes.mean_bytes(0.0)))
        })
    }

    /// Says when random requests jump.
    fn set_jumps(&mut self) -> Result<(), String> {
        match (self.jumps.every, self.jumps.percent) {
            (None, None) => {}
            (Some(every), None) => self.run.set("--jump", every),
            (None, Some(share)) => self.run.set("--jump", format!("{share}%")),
            (Some(every), Some(_)) => {
                return Err(format!(
                    "percentage_random: `:{every}` of rw says when requests jump; leave one of them out"
                ));
            }
        }
        Ok(())
    }

    /// Sets the distance between sequential requests that go backwards or leave something out between them.
    fn set_stride(&mut self) -> Result<(), String> {
        if let Some(back) = self.back {
            return self.go_back(back);
        }
        let Some(Bytes(skip)) = self.skip.filter(|skip| skip.0 > 0) else { return Ok(()) };
        let (block, _) = self.block_bytes();
        if self.drawn_sizes().is_some() || !skip.is_multiple_of(block) {
            return Err(format!(
                "rw: requests leave out whole blocks: `:{skip}` is no multiple of the block size, {block}; write one"
            ));
        }
        self.run.set("--stride", Bytes(block.saturating_add(skip)));
        Ok(())
    }

    /// Lets sequential requests go backwards, each `back` from the end of the one before.
    fn go_back(&mut self, back: Bytes) -> Result<(), String> {
        let (block, _) = self.block_bytes();
        if self.drawn_sizes().is_some() || back.0 <= block || !back.0.is_multiple_of(block) {
            return Err(format!(
                "rw: requests go back by whole blocks from the end of the one before: `:-{}` is no multiple of the block \
                 size, {block}, from twice on; write one",
                back.0
            ));
        }
        self.run.set("--backwards", "");
        if back.0 > 2 * block {
            self.run.set("--stride", Bytes(back.0 - block));
        }
        self.run.note(format!(
            "rw: requests go from the last block on to the first; fio's first one is at the beginning, and the next {back} \
             before the end"
        ));
        Ok(())
    }

    fn set_rate(&mut self) -> Result<(), String> {
        let (_, means) = self.block_bytes();
        match self.rates.of(self.requests(), means).map_err(|why| format!("rate: {why}"))? {
            None => {}
            Some(Rate::Bytes(bytes)) => self.run.set("--rate", bytes),
            Some(Rate::Iops(iops)) => self.run.set("--rate-iops", iops),
            Some(Rate::Mixed { iops, reads_percent }) => {
                self.run.set("--rate-iops", iops);
                self.run.set("--rwmixread", reads_percent);
                self.run.note(format!(
                    "rate: reads and writes have rates of their own, so that {reads_percent}% of the requests are reads"
                ));
            }
        }
        Ok(())
    }

    fn set_priority(&mut self) -> Result<(), String> {
        if let Some(priority) = self.priority.asked().map_err(|why| format!("prioclass, prio, priohint: {why}"))? {
            self.run.set("--io-priority", priority);
        }
        Ok(())
    }

    fn set_steady_state(&mut self) -> Result<(), String> {
        match self.steady.asked().map_err(|why| format!("steadystate: {why}"))? {
            Some(state) => self.run.set("--steady-state", state),
            None if self.steady.is_without_time() => {
                self.run.note("steadystate: nothing is judged without steadystate_duration, as in fio");
            }
            None => {}
        }
        Ok(())
    }

    /// Lets a job that looks for a depth, and has no time of its own, end with a window at that depth, as fio's does when it
    /// has found it.
    fn set_depth_search(&mut self) {
        if self.run.get("--latency-target").is_none() {
            ["--latency-percentile", "--latency-window"].iter().for_each(|flag| self.run.unset(flag));
            return;
        }
        let window = self.run.get("--latency-window");
        let window = window.map_or_else(|| DepthSearch::USUAL_WINDOW.to_string(), str::to_string);
        if self.switches.goes_on_at_depth {
            self.run.note("latency_run: the job is measured at the depth that was found; fio goes on to adjust it");
        } else {
            self.run.unless_set("--runtime", &window);
        }
        self.run.note(format!(
            "latency_target: depths are tried by halving, for {window} each, and the job is then measured at the greatest that \
             holds"
        ));
    }

    /// Drops the size of bursts where a thread never thinks, as fio does, and says how long they are.
    fn set_bursts(&mut self) {
        if self.run.get("--thinktime-blocks").is_none() {
            return;
        }
        let time = self.run.get("--thinktime").and_then(|time| time.parse::<Nanos>().ok());
        if time.is_none_or(|time| time == Nanos(0)) {
            return self.run.unset("--thinktime-blocks");
        }
        let is_deep = self.run.get("--iodepth").is_some_and(|depth| depth != "1");
        if is_deep && !self.switches.counts_issued {
            self.run.note(
                "thinktime_blocks: a burst has exactly so many requests, as with thinktime_blocks_type=issue; fio counts what \
                 is done, and lets others go out meanwhile",
            );
        }
    }

    fn refuse_writes(&self) -> Result<(), String> {
        let rw = self.rw();
        if self.switches.only_reads && (rw.writes() || self.run.get("--verify").is_some()) {
            return Err(format!("readonly: the job writes (rw={rw}); leave one of them out"));
        }
        Ok(())
    }

    /// Gives each of fio's jobs its files, as fio has them without `filename`; the files of one job become one target
    /// that requests go through in turn. Returns how many files a job has.
    fn count_files(&mut self) -> Result<u32, String> {
        let named = self.run.files.len() as u32;
        let jobs = self.jobs.max(1);
        let is_folder = |file: &OsString| Path::new(file).is_dir();
        if self.is_elsewhere() || !self.has_fio_defaults || named == 0 {
            return Ok(1);
        }
        if named > 1 || !is_folder(&self.run.files[0]) {
            self.go_from_file_to_file(named.into());
            return Ok(named);
        }
        let each = self.files_each.max(1);
        if each > MOST_FILES {
            return Err(format!("nrfiles: {each} files are more than halfpower lays out ({MOST_FILES}); write fewer"));
        }
        match each.saturating_mul(jobs) {
            1 => {}
            all if all > MOST_FILES => {
                self.run.copies = each as usize;
                self.go_from_file_to_file(each.into());
                self.run.note(format!(
                    "numjobs: the {jobs} jobs share what fio lays out for one of them, since {all} files are more than \
                     halfpower lays out"
                ));
            }
            all if each > 1 => {
                self.run.copies = all as usize;
                self.go_from_file_to_file(all.into());
                if jobs > 1 {
                    self.run.note(format!("nrfiles: the {jobs} jobs go through all {all} files together"));
                }
            }
            // As many single files: each has a thread.
            all => {
                self.run.copies = all as usize;
                self.run.unset("--threads");
            }
        }
        Ok(each)
    }

    /// Lets requests go from one file to the next, block by block, as those of fio's jobs do.
    fn go_from_file_to_file(&mut self, count: u64) {
        let (block, _) = self.block_bytes();
        let is_plain =
            |file: &OsString| file.to_str().is_some_and(|file| !file.contains(',') && !file.starts_with("chunk="));
        if count < 2 {
            return;
        }
        if block % 512 == 0 && self.drawn_sizes().is_none() && !self.rw().trims() && self.run.files.iter().all(is_plain)
        {
            self.run.stripe_chunk = Some(Bytes(block));
        } else {
            self.run.note("filename: each file has threads and a depth of its own; fio's job goes from file to file");
        }
    }

    fn set_amounts(&mut self, count: u32, end: End) -> Result<(), String> {
        let (block, (reads, writes)) = self.block_bytes();
        let mean = match self.directions() {
            (true, true) => {
                let share = self.run.get("--rwmixread").and_then(|share| share.parse().ok()).unwrap_or(50.0) / 100.0;
                share * reads + (1.0 - share) * writes
            }
            (true, false) => reads,
            _ => writes,
        };
        let own: Vec<OsString> = self.run.own.iter().filter(|word| Path::new(word).exists()).cloned().collect();
        let files = if self.run.files.is_empty() { &own } else { &self.run.files };
        self.refuse_unknown_size(files)?;
        if self.run.copies > 1 && self.amounts.increment.is_some() {
            return Err(
                "offset_increment: each of numjobs has a file of its own; name one, or leave it out".to_string()
            );
        }
        let together = self.amounts.together(self.jobs, end)?;
        let amounts = together.resolved((files, count), (block, mean), end)?;
        self.run.size = amounts.size;
        self.run.offset = amounts.offset;
        if let Some(io_size) = amounts.io_size {
            self.run.set("--io-size", self.of_a_thread(io_size, count));
        }
        Ok(())
    }

    /// What each thread moves of what a job of `count` files moves.
    fn of_a_thread(&self, of_a_job: IoSize, count: u32) -> IoSize {
        let count = u64::from(count.max(1));
        let copies = self.run.copies.max(1) as u64;
        match of_a_job {
            // Files with threads of their own share what a job moves.
            IoSize::Bytes(Bytes(bytes)) if self.run.stripe_chunk.is_none() => {
                IoSize::Bytes(Bytes(bytes.div_ceil(count)))
            }
            // Threads that go through the files of all jobs each move what one job has.
            IoSize::Percent(percent) if self.run.stripe_chunk.is_some() && copies > count => match self.run.size {
                Some(Bytes(each)) => IoSize::Bytes(Bytes(of_a_job.of(each.saturating_mul(count)))),
                None => IoSize::Percent((u64::from(percent) * count / copies).max(1) as u32),
            },
            other => other,
        }
    }

    /// Refuses to lay out a file that is named, is not there, and has no size, as fio does.
    fn refuse_unknown_size(&self, files: &[OsString]) -> Result<(), String> {
        let is_known = self.amounts.size.is_some() || self.amounts.filesize.is_some();
        let is_missing = |file: &&OsString| !RunWords::is_scheme(file) && !Path::new(file).exists();
        let missing = files.iter().find(is_missing).filter(|file| !RunWords::is_of_devices(Path::new(file)));
        match missing.filter(|_| self.has_fio_defaults && !is_known) {
            None => Ok(()),
            Some(file) => Err(format!(
                "filename: {} is not there; name a file that is, or give size= to have one of that size laid out",
                file.display()
            )),
        }
    }

    /// Lets random requests reach every block once before one comes again, as fio's do, and seeds them anew if asked.
    fn set_order(&mut self) {
        let rw = self.rw();
        let is_random = rw.pattern() == Pattern::Random;
        let orders = ["--random-distribution", "--jump", "--blockalign"];
        let has_own_order = orders.iter().any(|flag| self.run.get(flag).is_some());
        if self.has_fio_defaults && is_random && !self.switches.repeats_blocks && !has_own_order {
            if self.drawn_sizes().is_none_or(BlockSizes::are_multiples) {
                self.run.set("--random-distribution", "shuffled");
            } else {
                self.run.note(
                    "bssplit: not all sizes are multiples of the smallest, so that requests begin anywhere, and one block \
                     may come twice",
                );
            }
        }
        if self.has_fio_defaults && !is_random {
            ["--random-distribution", "--jump"].iter().for_each(|flag| self.run.unset(flag));
        }
        if self.switches.reseeds && self.run.get("--seed").is_none() {
            let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let seed = since_1970.map_or(1, |time| time.as_nanos() as u64 >> 10);
            self.run.set("--seed", seed);
            self.run.note(format!(
                "randrepeat: the seed is {seed} this time; randseed={seed} gives the same offsets again"
            ));
        }
    }

    /// Sets the call that flushes between writes.
    fn set_flushes(&mut self) -> Result<(), String> {
        if self.only_reads_or_trims() {
            return Ok(());
        }
        let Some((call, writes)) = self.flushes.asked()? else { return Ok(()) };
        if call != FlushCall::Fdatasync {
            self.run.set("--flush-by", call);
        }
        self.run.set("--fdatasync", writes);
        Ok(())
    }

    /// Sets how much of what is written is zeros.
    fn set_content(&mut self) {
        match (self.compress_percent, self.switches.writes_zeros) {
            (0, false) => {}
            (0, true) => self.run.set("--compressible", 100),
            (share, _) => self.run.set("--compressible", share),
        }
    }

    /// Sets the state of the page cache, and the flush at the end.
    fn set_caches(&mut self) {
        let Switches { keeps_cache, reads_before, flushes_at_end, .. } = self.switches;
        let rw = self.rw();
        if (keeps_cache || reads_before) && self.is_buffered() && !self.is_elsewhere() {
            self.run.set("--page-cache", "warm");
            if !reads_before {
                self.run.note("invalidate: all of the target is in the page cache when the run begins");
            }
        }
        if !self.is_buffered() {
            // fio takes no notice of it there either.
            self.run.unset("--uncached");
        }
        let is_flushed = self.is_buffered() || self.run.get("--fdatasync").is_some();
        if flushes_at_end && !is_flushed && rw.writes() && !matches!(rw, Rw::Trim | Rw::Randtrim) {
            self.run.set("--end-flush", "");
        }
    }

    /// Drops what only writes have, in a job that writes nothing.
    fn drop_what_is_of_writes(&mut self) {
        if !self.only_reads_or_trims() {
            return;
        }
        ["--durable-by", "--atomic"].iter().for_each(|flag| self.run.unset(flag));
        if self.run.get("--verify").is_none() {
            self.run.unset("--compressible");
        }
    }

    /// Says what is otherwise in results and logs.
    fn say_of_output(&mut self) {
        let is_simulated = |file: &OsString| file.to_str().is_some_and(|file| file.starts_with("sim:"));
        let is_told_together = self.rw().trims() || self.run.files.iter().chain(&self.run.own).any(is_simulated);
        let run = &mut self.run;
        if self.jobs > 1 && !self.is_grouped && self.formats.for_programs() {
            run.has_entries_of_threads = !is_told_together;
            run.note(if is_told_together { printed::TOGETHER } else { printed::APART });
        }
        if self.logs.wants_each_request() {
            run.note(
                "log_avg_msec: a log has an average every 500 ms, and not each request; set it to have another time",
            );
        }
    }

    fn say_what_differs(&mut self) {
        self.say_of_output();
        let run = &mut self.run;
        let sequential = run.get("--rw").is_some_and(|rw| ["read", "write", "rw"].contains(&rw));
        let is_apart = self.amounts.increment.is_some();
        if sequential && !is_apart && run.get("--threads").is_some_and(|threads| threads != "1") {
            run.note(
                "numjobs: each thread goes through a part of its own, as with offset_increment; fio's jobs all begin at the \
                 first byte",
            );
        }
        if !sequential && is_apart && self.jobs > 1 {
            run.note(
                "offset_increment: random requests of each thread go to all of the range, and not to its part alone",
            );
        }
        let has_rate = run.get("--rate").is_some() || run.get("--rate-iops").is_some();
        if has_rate && !self.switches.offloads {
            run.note(
                "rate: requests come at this rate whether or not earlier ones are done, as with io_submit_mode=offload; \
                 latency counts from when one was due",
            );
        }
        if run.get("--ramp-time").is_some() && run.get("--io-size").is_some() {
            run.note("ramp_time: the run moves its --io-size after it; in fio, what is moved in it counts too");
        }
        let list = run.get("--processors").and_then(|list| list.parse::<Processors>().ok());
        if list.is_some_and(|list| list.numbers().count() > 1) {
            run.note("cpus_allowed, numa_cpu_nodes: each thread stays on one of these processors, in turn, as with cpus_allowed_policy=split");
        }
    }

    /// Takes the job's name as its file if nothing else names one and such a file or device exists, as fio does.
    fn name_by_section(&mut self) {
        let is_named = !self.run.files.is_empty() || !self.run.own.is_empty() || self.directory.is_some();
        let is_there = Path::new(&self.run.name).metadata().is_ok_and(|data| !data.is_dir());
        if !is_named && !self.run.name.is_empty() && is_there {
            self.run.files = vec![self.run.name.clone().into()];
        }
    }

    /// Joins each file with its directory; a directory without files is itself the target.
    ///
    /// # Errors
    /// If it is no directory: its parent would be measured.
    pub(super) fn place_files(&mut self) -> Result<(), String> {
        let Some(directory) = self.directory.take() else { return Ok(()) };
        if !directory.is_dir() {
            return Err(format!("directory: `{}` is no directory; make it, or name another", directory.display()));
        }
        if self.run.files.is_empty() {
            self.run.files.push(directory.into());
        } else {
            self.run.files.iter_mut().for_each(|file| *file = directory.join(&*file).into());
        }
        Ok(())
    }

    /// Sets the halfpower engine that corresponds to fio's.
    fn choose_engine(&mut self) -> Result<(), String> {
        let usual = self.has_fio_defaults.then(|| "psync".to_string());
        let Some(engine) = self.engine.take().or(usual) else { return Ok(()) };
        let ours = match engines::ours(&engine, self.ring).map_err(|why| format!("ioengine: {why}"))? {
            Some(ours) => ours,
            None => {
                self.run.files = vec!["null:".into()];
                "auto"
            }
        };
        let ours = if engine == "io_uring_cmd" { self.of_commands(ours)? } else { self.that_trims(ours) };
        self.run.set("--engine", ours);
        Ok(())
    }

    /// The engine of commands, whose run is direct whatever `direct` says, as in fio.
    ///
    /// # Errors
    /// What it asks for that commands do not have.
    fn of_commands(&mut self, engine: &'static str) -> Result<&'static str, String> {
        if self.run.get("--rw").is_some_and(|rw| rw.contains("trim")) {
            return Err("rw: trims are no commands here; name the block device, with ioengine=psync".to_string());
        }
        if self.run.get("--sync").is_some_and(|sync| sync != "none") {
            return Err(
                "sync: a command carries no flag of an open file; write writefua=1 for durable writes".to_string()
            );
        }
        self.run.set("--direct", "1");
        if self.ring.forces_writes {
            self.run.set("--sync", "dsync");
        }
        Ok(engine)
    }

    /// The engine for trims, each of which is a system call: in fio it blocks the submitting thread, here a thread of a
    /// pool.
    fn that_trims(&mut self, engine: &'static str) -> &'static str {
        let trims = self.run.get("--rw").is_some_and(|rw| rw.contains("trim"));
        if !trims || matches!(engine, "sync" | "pool" | "auto") {
            return engine;
        }
        self.run
            .note(format!("ioengine: a trim is a call of its own, so that a pool of threads makes them, not {engine}"));
        "pool"
    }

    /// Takes the files of a `filename`, separated by colons; `\:` is a literal colon.
    pub(super) fn name_files(&mut self, value: &OsStr) -> Result<(), String> {
        self.has_fio_defaults = true;
        let text = value.to_str().unwrap_or_default();
        if RunWords::is_scheme(value) || value.to_str().is_none() {
            self.run.files = vec![value.to_os_string()];
            return Ok(());
        }
        let marked = text.replace("\\:", "\0");
        let files: Vec<OsString> = marked.split(':').map(|file| file.replace('\0', ":").into()).collect();
        if files.iter().any(|file| file.is_empty()) {
            return Err(format!("`{text}` names an empty file"));
        }
        self.run.files = files;
        Ok(())
    }
}
