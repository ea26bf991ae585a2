//! Runs RocksDB's own benchmark, db_bench, on a disk.

use std::path::PathBuf;
use std::process::Command;

use crate::disks::{Disk, done};

/// Keys of a store, and bytes of a value: 64 MB without the log. A block lies in one page, so that a lookup that misses is
/// one read of 4 KiB; little of the store fits into the cache of blocks.
const STORE: &str = "--num=131072 --key_size=16 --value_size=500 --compression_type=none --block_align=true \
                     --cache_size=1048576";

/// A store on a disk, which no program has open.
pub struct Store<'a> {
    disk: &'a Disk,
    folder: PathBuf,
}

/// What a benchmark printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Time of an operation of one thread in microseconds.
    pub us: f64,
    /// Operations of all threads a second.
    pub per_second: f64,
}

impl<'a> Store<'a> {
    /// Makes one by this name, with all its keys.
    ///
    /// # Errors
    /// That db_bench is missing.
    pub fn new(disk: &'a Disk, name: &str) -> Result<Self, String> {
        let store = Self { disk, folder: disk.folder().join(name) };
        store.unlimited(&["--benchmarks=fillseq,flush", "--disable_wal=true"])?;
        Ok(store)
    }

    /// Compacts all of it by these flags, so that no benchmark compacts what an earlier one left, or what was made by others.
    pub fn settle(&self, flags: &[String]) {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let compact = ["--benchmarks=compact,waitforcompaction", "--use_existing_db=true"];
        self.unlimited(&[&compact[..], &flags].concat()).unwrap();
    }

    /// Runs db_bench with these flags; nothing limits it.
    fn unlimited(&self, flags: &[&str]) -> Result<String, String> {
        let mut command = Command::new("db_bench");
        command.arg(format!("--db={}", self.folder.display())).args(flags);
        done(command.args(STORE.split_whitespace()).current_dir("/"))
    }

    /// Runs a benchmark by so many threads for so many seconds behind the limits of the disk, with further flags.
    pub fn bench(&self, benchmark: &str, threads: u32, seconds: u32, flags: &[String]) -> Rates {
        let words = format!(
            "db_bench --db='{}' --benchmarks={benchmark} --threads={threads} --duration={seconds} --use_existing_db=true \
             --ops_between_duration_checks=10 {STORE} {}",
            self.folder.display(),
            flags.join(" ")
        );
        let printed = done(&mut self.disk.shell(&words)).unwrap();
        Rates::parsed(&printed, benchmark).unwrap_or_else(|| panic!("{words}: {printed}"))
    }
}

impl Rates {
    /// Such as `overwrite    :     447.846 micros/op 2232 ops/sec 1.343 seconds 2999 operations;    1.1 MB/s`.
    fn parsed(printed: &str, benchmark: &str) -> Option<Self> {
        let figures = printed.lines().find_map(|line| line.strip_prefix(benchmark)?.trim_start().strip_prefix(':'))?;
        let words: Vec<&str> = figures.split_whitespace().collect();
        let number = |place: usize| -> Option<f64> { words.get(place)?.parse().ok() };
        Some(Self { us: number(0)?, per_second: number(2)? })
    }
}

#[test]
fn the_figures_of_db_bench_are_read() {
    let printed = "DB path: [/tmp/db]\nreadrandom   :      56.844 micros/op 17590 ops/sec 1.023 seconds 17999 operations;    8.7 \
                   MB/s (17999 of 17999 found)\n";
    assert_eq!(Rates::parsed(printed, "readrandom"), Some(Rates { us: 56.844, per_second: 17_590.0 }));
    assert_eq!(Rates::parsed(printed, "overwrite"), None);
}
