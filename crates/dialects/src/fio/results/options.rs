//! Reads the options that fio repeats in its results.

use std::collections::BTreeMap;

use halfpower_spec::{Cache, EngineName, Rw, Workload, WorkloadOptions};
use serde_json::Value;

use crate::fio::sizes;
use crate::fio::take::{KbBase, on, same_for_all, seconds, size_by};

/// Options that define the workload; [`Options::settings`] reads them.
const READ: [&str; 28] = [
    "kb_base",
    "bs",
    "blocksize",
    "bssplit",
    "iodepth",
    "numjobs",
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "direct",
    "buffered",
    "sync",
    "ioengine",
    "size",
    "runtime",
    "timeout",
    "time_based",
    "filename",
    "directory",
    "name",
    "fixedbufs",
    "registerfiles",
    "hipri",
    "cmd_type",
    "writefua",
    "sqthread_poll",
    "group_reporting",
];

/// Options that change neither the workload nor the meaning of its figures.
const HARMLESS: [&str; 52] = [
    "description",
    "thread",
    "invalidate",
    "norandommap",
    "random_generator",
    "randrepeat",
    "allrandrepeat",
    "randseed",
    "refill_buffers",
    "scramble_buffers",
    "end_fsync",
    "fsync_on_close",
    "create_on_open",
    "create_serialize",
    "create_fsync",
    "create_only",
    "fallocate",
    "fadvise_hint",
    "unlink",
    "unlink_each_loop",
    "overwrite",
    "ramp_time",
    "startdelay",
    "start_delay",
    "stonewall",
    "wait_for_previous",
    "wait_for",
    "new_group",
    "exitall",
    "exitall_on_error",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "significant_figures",
    "disable_slat",
    "disable_clat",
    "disable_lat",
    "disable_bw_measurement",
    "gtod_reduce",
    "clocksource",
    "bwavgtime",
    "iopsavgtime",
    "per_job_logs",
    "uid",
    "gid",
    "filesize",
    "loops",
    "continue_on_error",
    "error_dump",
    "ignore_error",
    "allow_mounted_write",
];

/// The options of a job; its own override the global ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options<'a> {
    own: &'a BTreeMap<String, Value>,
    of_all: &'a BTreeMap<String, Value>,
}

/// The settings that the options define.
pub struct Settings {
    pub workload: Workload,
    pub span_bytes: Option<u64>,
    pub runtime_ns: Option<u64>,
    /// Options that workloads here cannot express, as they were written.
    pub special: Vec<String>,
}

impl Settings {
    /// The same on each of several servers at once; as they are for none or one.
    ///
    /// # Errors
    /// If there would be more requests at once than can be counted.
    pub fn on_servers(mut self, servers: usize) -> Result<Self, String> {
        let count = u32::try_from(servers.max(1)).unwrap_or(u32::MAX);
        let threads = self.workload.threads.checked_mul(count);
        match threads.filter(|threads| threads.checked_mul(self.workload.iodepth).is_some()) {
            Some(threads) => self.workload.threads = threads,
            None => return Err(format!("{count} servers with {} threads each are no load", self.workload.threads)),
        }
        self.span_bytes = self.span_bytes.map(|bytes| bytes.saturating_mul(u64::from(count)));
        Ok(self)
    }
}

impl<'a> Options<'a> {
    pub fn of(of_all: &'a BTreeMap<String, Value>, own: &'a BTreeMap<String, Value>) -> Self {
        Self { own, of_all }
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        let of = |options: &BTreeMap<String, Value>| names.iter().find_map(|name| options.get(*name)).map(written);
        of(self.own).or_else(|| of(self.of_all))
    }

    fn is_on(&self, name: &str) -> Result<bool, String> {
        self.text(&[name]).map_or(Ok(false), |value| on(&value).map_err(|why| format!("{name}: {why}")))
    }

    fn count(&self, name: &str) -> Result<Option<u32>, String> {
        let value = self.text(&[name]).map(|value| value.parse().map_err(|_| format!("{name}: `{value}` is no count")));
        value.transpose()
    }

    /// Threads of the job; 1 if the option is invalid, which [`Self::settings`] reports.
    pub fn threads(&self) -> u32 {
        self.count("numjobs").ok().flatten().unwrap_or(1)
    }

    /// The files, or their directory.
    pub fn target(&self) -> Option<String> {
        let folder = self.text(&["directory"]);
        match (folder, self.text(&["filename"])) {
            (Some(folder), Some(file)) => Some(format!("{}/{file}", folder.trim_end_matches('/'))),
            (folder, file) => file.or(folder),
        }
    }

    /// The settings; missing options have fio's defaults.
    ///
    /// # Errors
    /// The reason why no record can hold them.
    pub fn settings(&self) -> Result<Settings, String> {
        if let Some(key) = ["bsrange", "blocksize_range", "bs_unaligned"].iter().find(|key| self.has(key)) {
            return Err(format!("its block size varies ({key}), and a cell of a study has one"));
        }
        let mut special = Vec::new();
        let rw = self.rw(&mut special)?;
        let base = if self.text(&["kb_base"]).as_deref() == Some("1000") { KbBase::Of1000 } else { KbBase::Of1024 };
        let bssplit = self.text(&["bssplit"]).map(|value| sizes::split(&value, base));
        let bssplit = bssplit.transpose().map_err(|why| format!("bssplit: {why}"))?;
        let bs = self.text(&["bs", "blocksize"]).unwrap_or_else(|| "4k".to_string());
        let bs = same_for_all(&bs).and_then(|bs| size_by(bs, base)).map_err(|why| format!("bs: {why}"));
        let bssplit = bssplit.map(|sizes| sizes.in_use(rw));
        let bs = bssplit.map_or(bs, |sizes| Ok(sizes.largest()))?;
        if bs.0 == 0 || u32::try_from(bs.0).is_err() {
            return Err(format!("bs: {bs} is no size of a request"));
        }
        let mix = match (self.count("rwmixread")?, self.count("rwmixwrite")?) {
            (Some(read), _) => read,
            (None, Some(write)) => 100_u32.saturating_sub(write),
            (None, None) => 50,
        };
        let engine = self.engine()?;
        let asked = self.count("iodepth")?.unwrap_or(1).max(1);
        // These engines carry out one request at a time, whatever depth was asked for.
        let depth = if matches!(engine, EngineName::Sync | EngineName::Mmap) { 1 } else { asked };
        let threads = self.count("numjobs")?.unwrap_or(1).max(1);
        if depth.checked_mul(threads).is_none() {
            return Err(format!("{depth} requests of {threads} threads are no depth"));
        }
        let workload = Workload {
            rwmixread: mix.min(100) as u8,
            iodepth: depth,
            threads,
            cache: self.cache()?,
            rw,
            bs,
            engine,
            options: WorkloadOptions { bssplit, ..WorkloadOptions::default() },
            ..Workload::default()
        };
        special.extend(self.special());
        let span_bytes = self.text(&["size"]).and_then(|value| size_by(&value, base).ok()).map(|bytes| bytes.0);
        let runtime_ns = self.text(&["runtime", "timeout"]).and_then(|value| seconds(&value).ok()).map(|time| time.0);
        Ok(Settings { workload, span_bytes, runtime_ns: runtime_ns.filter(|ns| *ns > 0), special })
    }

    fn has(&self, name: &str) -> bool {
        self.own.contains_key(name) || self.of_all.contains_key(name)
    }

    fn rw(&self, special: &mut Vec<String>) -> Result<Rw, String> {
        let written = self.text(&["rw", "readwrite"]).unwrap_or_else(|| "read".to_string());
        let (word, jump) = written.split_once(':').map_or((written.as_str(), None), |(word, jump)| (word, Some(jump)));
        if word.contains("trim") {
            return Err(format!("it discards blocks ({word}), and no record has discards"));
        }
        if jump.is_some() {
            special.push(format!("rw={written}"));
        }
        let word = if word == "readwrite" { "rw" } else { word };
        // Our own exports may hold imported results whose order is unknown.
        let unknown = [Rw::UnknownRead, Rw::UnknownWrite, Rw::UnknownMixed].into_iter().find(|rw| rw.word() == word);
        unknown.map_or_else(|| word.parse(), Ok).map_err(|_| format!("rw: there is no `{word}` in fio"))
    }

    fn cache(&self) -> Result<Cache, String> {
        // Commands pass the page cache by, and carry no flag of an open file.
        if self.engine()?.sends_commands() {
            return Ok(if self.is_on("writefua")? { Cache::None } else { Cache::Device });
        }
        let direct = self.is_on("direct")? || (self.has("buffered") && !self.is_on("buffered")?);
        let sync = self.text(&["sync"]).unwrap_or_default();
        let durable = self.has("sync") && !matches!(sync.as_str(), "0" | "none" | "false");
        Ok(match (direct, durable) {
            (true, false) => Cache::Device,
            (true, true) => Cache::None,
            (false, true) => Cache::Os,
            (false, false) => Cache::Both,
        })
    }

    fn engine(&self) -> Result<EngineName, String> {
        let name = self.text(&["ioengine"]).unwrap_or_else(|| "psync".to_string());
        Ok(match name.as_str() {
            "libaio" => EngineName::Libaio,
            "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => EngineName::Sync,
            "mmap" => EngineName::Mmap,
            "posixaio" => EngineName::Pool,
            "null" => EngineName::Null,
            "io_uring" if self.is_on("sqthread_poll")? => EngineName::Sqpoll,
            "io_uring" if self.is_on("hipri")? => EngineName::Iopoll,
            "io_uring" if self.is_on("fixedbufs")? && self.is_on("registerfiles")? => EngineName::IoUring,
            "io_uring" => EngineName::Plain,
            "io_uring_cmd" if self.text(&["cmd_type"]).is_some_and(|kind| kind != "nvme") => EngineName::Unknown,
            "io_uring_cmd" if self.is_on("hipri")? => EngineName::PolledCommands,
            "io_uring_cmd" => EngineName::Commands,
            _ => EngineName::Unknown,
        })
    }

    /// Options that workloads here cannot express.
    fn special(&self) -> Vec<String> {
        let known = |key: &str| {
            let beginnings = ["write_", "log_"];
            READ.contains(&key) || HARMLESS.contains(&key) || beginnings.iter().any(|begin| key.starts_with(begin))
        };
        let inherited = self.of_all.iter().filter(|(key, _)| !self.own.contains_key(*key));
        let all = self.own.iter().chain(inherited);
        // halfpower's exports include how requests were issued: these are its present and earlier defaults. One request
        // per call is also fio's default.
        let is_default =
            |key: &str, value: &str| matches!((key, value), ("iomem", "mmap") | ("iodepth_batch_submit", "0" | "1"));
        all.filter(|(key, value)| !known(key) && !is_default(key, &written(value)))
            .map(|(key, value)| match written(value) {
                value if value.is_empty() => key.clone(),
                value => format!("{key}={value}"),
            })
            .collect()
    }
}

/// An option's value as text: fio writes strings, other programs also numbers.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
