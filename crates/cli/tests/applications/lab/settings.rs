//! Compares PostgreSQL with its defaults and with the settings that `study --for postgres` prints, in turns.

use std::time::Duration;

use super::turns::{BETTER, NEVER_WORSE, judge_lines, lines};
use super::{disk, figure_on, there};
use crate::disks::{Disk, Nature};
use crate::postgres::Cluster;
use crate::throttled::MIB;

const STUDY: &str = "--for postgres --size 64m --budget 90s";
/// How long pgbench runs in each turn, by how many clients, and when it has to bear a checkpoint.
const RUNS: u32 = 6;
const CLIENTS: u32 = 8;
const CHECKPOINT: Duration = Duration::from_secs(2);
/// A table of 32 MiB, a row a page, whose order is not that of its key.
const TABLE: [&str; 6] = [
    "CREATE TABLE pages (key int, filler text)",
    "ALTER TABLE pages ALTER filler SET STORAGE PLAIN",
    "INSERT INTO pages SELECT i * 1597 % 4096, repeat('x', 6000) FROM generate_series(0, 4095) i",
    "CREATE INDEX ON pages (key)",
    "VACUUM ANALYZE pages",
    "CHECKPOINT",
];
/// Asks for three quarters of its rows, 24 MiB of pages.
const QUERY: &str = "SELECT count(filler) FROM pages WHERE key < 3072";
const LEAST_READ: u64 = 20 * MIB;

/// The lines for PostgreSQL 15 that a study of the disk prints.
fn lines_of(disk: &Disk) -> Vec<String> {
    lines(disk, STUDY, &["18 and later"])
}

/// Commits a second of clients who have to bear a checkpoint.
fn commits_per_second(cluster: &Cluster, lines: &[String]) -> f64 {
    let postgres = cluster.start(lines).unwrap();
    let pgbench = postgres.pgbench(CLIENTS, RUNS);
    std::thread::sleep(CHECKPOINT);
    postgres.ask(&["CHECKPOINT"]);
    pgbench.commits_per_second()
}

/// Compares commits until the evidence decides.
fn judge_commits(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(cluster) = there(Cluster::new(&disk)) else { return };
    let lines = lines_of(&disk);
    let name = figure_on(nature, "pgbench of 8 with the lines of --for postgres over the defaults");
    judge_lines(name, NEVER_WORSE, &lines, |lines| commits_per_second(&cluster, lines));
}

/// Queries a second that find nothing cached; NaN if they found most of the table.
fn queries_per_second(disk: &Disk, cluster: &Cluster, lines: &[String]) -> f64 {
    disk.forget_cached().unwrap();
    let postgres = cluster.start(lines).unwrap();
    let before = disk.bytes_read();
    let seconds = postgres.seconds(QUERY);
    let read = disk.bytes_read() - before;
    println!("{seconds:.2} s, {} MiB read", read / MIB);
    if read < LEAST_READ { f64::NAN } else { 1.0 / seconds }
}

/// Compares a query that finds nothing cached, until the evidence decides.
fn judge_query(nature: Nature, least: f64) {
    let Some(disk) = disk(nature) else { return };
    let Some(cluster) = there(Cluster::new(&disk)) else { return };
    cluster.start(&[]).unwrap().ask(&TABLE);
    let lines = lines_of(&disk);
    let name = figure_on(nature, "speed of a query with the lines of --for postgres over the defaults");
    judge_lines(name, least, &lines, |lines| queries_per_second(&disk, &cluster, lines));
}

#[test]
#[ignore = "lab: runs pgbench with two configurations, in turns"]
fn commits_behind_few_requests_are_no_worse_with_what_is_advised() {
    judge_commits(Nature::FewRequests);
}

#[test]
#[ignore = "lab: runs pgbench with two configurations, in turns"]
fn commits_behind_few_bytes_are_no_worse_with_what_is_advised() {
    judge_commits(Nature::FewBytes);
}

#[test]
#[ignore = "lab: runs pgbench with two configurations, in turns"]
fn commits_with_a_slow_flush_are_no_worse_with_what_is_advised() {
    judge_commits(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: runs pgbench with two configurations, in turns"]
fn commits_one_at_a_time_are_no_worse_with_what_is_advised() {
    judge_commits(Nature::OneAtATime);
}

#[test]
#[ignore = "lab: runs pgbench with two configurations, in turns"]
fn commits_on_the_real_disk_are_no_worse_with_what_is_advised() {
    judge_commits(Nature::Real);
}

/// A page at random costs as much as one in order: the defaults assume four times as much.
#[test]
#[ignore = "lab: runs a query with two configurations, in turns"]
fn a_query_behind_few_bytes_is_faster_with_what_is_advised() {
    judge_query(Nature::FewBytes, BETTER);
}

/// A page at random costs as much as sixteen in order.
#[test]
#[ignore = "lab: runs a query with two configurations, in turns"]
fn a_query_behind_few_requests_is_no_slower_with_what_is_advised() {
    judge_query(Nature::FewRequests, NEVER_WORSE);
}
