//! Compares commits and reads of one run with what `pg_test_fsync` and ioping find on the same disk, in turns.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use halfpower_lab::{Figure, judge};

use super::{LAB, TOLERANCE, disk, figure_on, number};
use crate::disks::{Disk, Nature, done};
use crate::postgres::PROGRAMS;
use crate::program::skip;
use crate::throttled::MIB;

/// How long each measures.
const SECONDS: u32 = 3;

/// Commits a second of one write of 8 KiB each, by open_datasync and by fdatasync, as `pg_test_fsync` finds them.
fn of_pg_test_fsync(disk: &Disk) -> [f64; 2] {
    let file = disk.folder().join("pg_test_fsync");
    let words = format!("{PROGRAMS}/pg_test_fsync -s {SECONDS} -f '{}'", file.display());
    let mut child = disk.shell(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut found = [f64::NAN; 2];
    for line in lines.by_ref() {
        let mut words = line.split_whitespace();
        let name = words.next();
        let rate = words.next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
        match name {
            Some("open_datasync") => found[0] = rate,
            Some("fdatasync") => {
                found[1] = rate;
                break;
            }
            _ => {}
        }
    }
    // What it would try next is not asked for. It removes its file before it ends.
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status();
    let _ = child.wait();
    let _ = std::fs::remove_file(&file);
    found
}

/// Mean time of a read of 4 KiB at random in nanoseconds, as ioping finds it.
fn of_ioping(disk: &Disk, file: &Path) -> f64 {
    let words = format!("ioping -D -B -i 0 -w {SECONDS} -s 4k -S 64m '{}'", file.display());
    let printed = done(&mut disk.shell(&words)).unwrap();
    printed.split_whitespace().nth(5).and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

/// Compares until the evidence decides.
fn beside(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    if let Err(why) = done(Command::new("ioping").arg("-v")) {
        return skip(&why);
    }
    let blocks = disk.folder().join("blocks");
    let mut written = File::create(&blocks).unwrap();
    std::io::copy(&mut File::open("/dev/urandom").unwrap().take(64 * MIB), &mut written).unwrap();
    written.sync_all().unwrap();
    let figures = [
        "commits of 8 KiB by fdatasync over those of pg_test_fsync",
        "commits of 8 KiB by open_datasync over those of pg_test_fsync",
        "mean time of a read of 4 KiB over that of ioping",
    ];
    let figures = figures.map(|what| Figure::near(figure_on(nature, what), 1.0, "", TOLERANCE));
    let commit = format!("run DIR --rw write --bs 8k --iodepth 1 --size 16m --runtime {SECONDS}s");
    judge(LAB, figures.into_iter().collect(), || {
        let [open_datasync, fdatasync] = of_pg_test_fsync(&disk);
        let ours_fdatasync =
            number(&disk.halfpower(&format!("{commit} --cache buffered --fdatasync 1"))["sync"]["per_second"]);
        // Past the page cache and by plain calls, as pg_test_fsync does: behind a limit of a control group the flush of such a
        // write counts if its own thread asks for it, and not if a worker of the kernel does, as with io_uring.
        let ours_datasync = number(&disk.halfpower(&format!("{commit} --cache none --engine sync"))["iops"]);
        let ioping_ns = of_ioping(&disk, &blocks);
        let read = format!("run '{}' --rw randread --bs 4k --iodepth 1 --runtime {SECONDS}s", blocks.display());
        let ours_ns = number(&disk.halfpower(&read)["latency_ns"]["mean"]);
        println!(
            "fdatasync {ours_fdatasync:.0} and {fdatasync:.0}, open_datasync {ours_datasync:.0} and {open_datasync:.0} \
             a second, a read {ours_ns:.0} and {ioping_ns:.0} ns"
        );
        Some(vec![ours_fdatasync / fdatasync, ours_datasync / open_datasync, ours_ns / ioping_ns])
    });
}

#[test]
#[ignore = "lab: measures commits and reads beside pg_test_fsync and ioping"]
fn commits_and_reads_behind_few_requests_are_those_of_other_tools() {
    beside(Nature::FewRequests);
}

#[test]
#[ignore = "lab: measures commits and reads beside pg_test_fsync and ioping"]
fn commits_and_reads_behind_few_bytes_are_those_of_other_tools() {
    beside(Nature::FewBytes);
}

#[test]
#[ignore = "lab: measures commits and reads beside pg_test_fsync and ioping"]
fn commits_and_reads_of_a_slow_flush_are_those_of_other_tools() {
    beside(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: measures commits and reads beside pg_test_fsync and ioping"]
fn commits_and_reads_one_at_a_time_are_those_of_other_tools() {
    beside(Nature::OneAtATime);
}

#[test]
#[ignore = "lab: measures commits and reads beside pg_test_fsync and ioping"]
fn commits_and_reads_of_the_real_disk_are_those_of_other_tools() {
    beside(Nature::Real);
}
