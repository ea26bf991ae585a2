//! Compares what `study --for rocksdb` says of synced writes and lookups with those of db_bench on the same disk, and db_bench
//! with its defaults and with the settings that the study prints.

use halfpower_lab::{Figure, judge};

use super::turns::{NEVER_WORSE, judge_lines, lines};
use super::{LAB, TOLERANCE, disk, figure_on, number, per_second_of, there};
use crate::disks::{Disk, Nature};
use crate::rocksdb::Store;

const STUDY: &str = "--for rocksdb --size 64m --budget 60s";
/// Lookups one at a time, as the shape `get` has them at once.
const READS: &str = "run DIR --rw randread --bs 4k --iodepth 1 --cache direct --size 64m --runtime 4s";
/// How long db_bench does one thing.
const SECONDS: u32 = 4;
/// Threads that look up at once, as many as the shape `get` has requests.
const MANY: u32 = 16;
const PAST_THE_PAGE_CACHE: &str = "--use_direct_reads=true";
const SYNCED: &str = "--sync=true";
/// A write that is compared with an append alone.
const UNCOMPACTED: &str = "--disable_auto_compactions=true";
/// Settings are compared by so many threads, for so many seconds each turn.
const WRITERS: u32 = 8;
const READERS: u32 = 4;
const TURN: u32 = 6;
/// A writer of 200 kB a second, whose writes are flushed and compacted all the time.
const BESIDE_WRITES: [&str; 4] = [
    "--benchmark_write_rate_limit=200000",
    "--write_buffer_size=262144",
    "--target_file_size_base=1048576",
    "--max_bytes_for_level_base=4194304",
];

/// Compares until the evidence decides.
fn beside(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    // What is written would have lookups search more than one file.
    let Some(lookups) = there(Store::new(&disk, "lookups")) else { return };
    let Some(writes) = there(Store::new(&disk, "writes")) else { return };
    // Elsewhere the processors limit so many threads, and not the disk.
    let has_limit = matches!(nature, Nature::FewRequests | Nature::FewBytes);
    let mut figures = vec![
        "an append to the log over a synced write of db_bench",
        "a read of 4 KiB over what it adds to a lookup of db_bench",
    ];
    if has_limit {
        figures.push("reads of 4 KiB, 16 at once, over lookups of 16 threads of db_bench");
    }
    let figures = figures.into_iter().map(|what| Figure::near(figure_on(nature, what), 1.0, "", TOLERANCE)).collect();
    let direct = [PAST_THE_PAGE_CACHE.to_string()];
    judge(LAB, figures, || {
        let study = disk.studied(STUDY, "rocksdb.halfpower");
        let read_us = number(&disk.halfpower(READS)["latency_ns"]["mean"]) / 1e3;
        let append_us = 1e6 / per_second_of(&study, "log");
        let write = writes.bench("overwrite", 1, SECONDS, &[SYNCED, UNCOMPACTED].map(str::to_string));
        let lookup = lookups.bench("readrandom", 1, SECONDS, &direct);
        // The rest is db_bench's own work, which a block out of memory costs, too.
        disk.read_files().unwrap();
        let in_memory = lookups.bench("readrandom", 1, SECONDS, &[]);
        println!(
            "an append {append_us:.0} and {:.0} us, a read {read_us:.0} us, and a lookup {:.0}, out of memory {:.0} us",
            write.us, lookup.us, in_memory.us
        );
        let mut found = vec![append_us / write.us, read_us / (lookup.us - in_memory.us)];
        if has_limit {
            // What the limit lets through at first beyond its rate counts little in so long a time.
            let many = lookups.bench("readrandom", MANY, 4 * SECONDS, &direct).per_second;
            let ours = per_second_of(&study, "get");
            println!("{MANY} at once: {ours:.0} and {many:.0} lookups a second");
            found.push(ours / many);
        }
        Some(found)
    });
}

/// The lines of a study of the disk as flags of db_bench, which has their names.
fn flags_of(disk: &Disk) -> Vec<String> {
    lines(disk, "--for rocksdb --size 64m --budget 90s", &[]).iter().map(|line| format!("--{line}")).collect()
}

/// Compares synced writes until the evidence decides.
fn judge_writes(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(store) = there(Store::new(&disk, "writes")) else { return };
    let flags = flags_of(&disk);
    let name = figure_on(nature, "synced writes of 8 with the lines of --for rocksdb over the defaults");
    judge_lines(name, NEVER_WORSE, &flags, |flags| {
        let all: Vec<String> = flags.iter().cloned().chain([SYNCED.to_string()]).collect();
        store.settle(&all);
        store.bench("overwrite", WRITERS, TURN, &all).per_second
    });
}

/// Compares lookups beside writes, of which nothing is cached at first, until the evidence decides.
fn judge_lookups(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(store) = there(Store::new(&disk, "lookups")) else { return };
    let flags = flags_of(&disk);
    let name = figure_on(nature, "lookups beside writes with the lines of --for rocksdb over the defaults");
    judge_lines(name, NEVER_WORSE, &flags, |flags| {
        let all: Vec<String> = flags.iter().cloned().chain(BESIDE_WRITES.map(str::to_string)).collect();
        store.settle(&all);
        disk.forget_cached().unwrap();
        store.bench("readwhilewriting", READERS, TURN, &all).per_second
    });
}

#[test]
#[ignore = "lab: runs db_bench beside a study"]
fn writes_and_lookups_behind_few_requests_are_those_of_db_bench() {
    beside(Nature::FewRequests);
}

#[test]
#[ignore = "lab: runs db_bench beside a study"]
fn writes_and_lookups_behind_few_bytes_are_those_of_db_bench() {
    beside(Nature::FewBytes);
}

#[test]
#[ignore = "lab: runs db_bench beside a study"]
fn writes_and_lookups_with_a_slow_flush_are_those_of_db_bench() {
    beside(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: runs db_bench beside a study"]
fn writes_and_lookups_of_the_real_disk_are_those_of_db_bench() {
    beside(Nature::Real);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn writes_of_db_bench_behind_few_requests_are_no_worse_with_what_is_advised() {
    judge_writes(Nature::FewRequests);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn writes_of_db_bench_behind_few_bytes_are_no_worse_with_what_is_advised() {
    judge_writes(Nature::FewBytes);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn writes_of_db_bench_with_a_slow_flush_are_no_worse_with_what_is_advised() {
    judge_writes(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn writes_of_db_bench_on_the_real_disk_are_no_worse_with_what_is_advised() {
    judge_writes(Nature::Real);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn lookups_of_db_bench_behind_few_requests_are_no_worse_with_what_is_advised() {
    judge_lookups(Nature::FewRequests);
}

#[test]
#[ignore = "lab: runs db_bench with two configurations, in turns"]
fn lookups_of_db_bench_behind_few_bytes_are_no_worse_with_what_is_advised() {
    judge_lookups(Nature::FewBytes);
}
