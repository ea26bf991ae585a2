//! Compares what `study --for mysql` says of commits and reads with those of a MariaDB on the same disk, and MariaDB with its
//! defaults and with the settings that the study prints.

use std::time::{Duration, Instant};

use halfpower_lab::{Figure, judge};

use super::turns::{NEVER_WORSE, judge_lines, lines};
use super::{LAB, TOLERANCE, disk, figure_on, number, per_second_of, there};
use crate::disks::Nature;
use crate::mariadb::{Instance, MariaDb};

const STUDY: &str = "--for mysql --size 64m --budget 60s";
/// Reads of pages one at a time, as the shape `page_reads` has them at once.
const READS: &str = "run DIR --rw randread --bs 16k --iodepth 1 --cache direct --size 64m --runtime 4s";
/// How long MariaDB does one thing.
const SECONDS: u32 = 4;
/// How long what a limit saved up may be spent.
const AT_FIRST: Duration = Duration::from_secs(2);
/// Rows of 64 MiB of pages, and a server that holds an eighth of these.
const ROWS: u32 = 8192;
const LITTLE_MEMORY: &str = "innodb_buffer_pool_size = 8M";
/// Pages that this server misses come out of the page cache.
const THROUGH_THE_PAGE_CACHE: &str = "innodb_flush_method = fsync";
/// Clients who look up at once, as many as the shape `page_reads` has requests.
const MANY: u32 = 32;
/// Settings are compared by so many clients who change rows of 16 MiB of pages, for so many seconds each turn.
const CLIENTS: u32 = 8;
const CHANGED_ROWS: u32 = 2048;
const TURN: u32 = 6;

/// What a flush adds to a commit of one client, in microseconds.
fn flush_us(mariadb: &MariaDb) -> f64 {
    let commits = || mariadb.per_second("commits", 1, SECONDS, 1);
    let flushed = commits();
    mariadb.flush_each_commit(false);
    let not_flushed = commits();
    mariadb.flush_each_commit(true);
    1e6 / flushed - 1e6 / not_flushed
}

/// What a page that is missed adds to a lookup of one client, in microseconds.
fn missed_us(mariadb: &MariaDb) -> f64 {
    let found_us = 1e6 / mariadb.per_second("lookups", 1, SECONDS, 1);
    let before = mariadb.pages_read();
    let lookups = mariadb.per_second("lookups", 1, SECONDS, ROWS);
    let pages = (mariadb.pages_read() - before) / f64::from(SECONDS);
    (1e6 - lookups * found_us) / pages
}

/// Pages that many clients read a second, some time after they began: a limit lets more through at first.
fn pages_per_second(mariadb: &MariaDb) -> f64 {
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| mariadb.per_second("lookups", MANY, 2 * SECONDS, ROWS));
        std::thread::sleep(AT_FIRST);
        let (before, begun) = (mariadb.pages_read(), Instant::now());
        std::thread::sleep(Duration::from_secs(SECONDS.into()));
        let pages = mariadb.pages_read() - before;
        let seconds = begun.elapsed().as_secs_f64();
        clients.join().unwrap();
        pages / seconds
    })
}

/// Compares until the evidence decides.
fn beside(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(instance) = there(Instance::new(&disk, ROWS)) else { return };
    // Elsewhere the processors limit so many clients, and not the disk.
    let has_limit = matches!(nature, Nature::FewRequests | Nature::FewBytes);
    let mut figures = vec![
        "a commit of the redo log over what it adds to one of MariaDB",
        "a read of 16 KiB over what it adds to a lookup of MariaDB",
    ];
    if has_limit {
        figures.push("reads of 16 KiB, 32 at once, over those of 32 clients of MariaDB");
    }
    let figures = figures.into_iter().map(|what| Figure::near(figure_on(nature, what), 1.0, "", TOLERANCE)).collect();
    judge(LAB, figures, || {
        let study = disk.studied(STUDY, "mysql.halfpower");
        let ours_read_us = number(&disk.halfpower(READS)["latency_ns"]["mean"]) / 1e3;
        // MariaDB's default is past the page cache.
        let ours_flush_us = 1e6 / per_second_of(&study, "redo_direct");
        let flush_us = flush_us(&instance.start(&[]).unwrap());
        let in_memory_us = {
            let mariadb = instance.start(&[LITTLE_MEMORY, THROUGH_THE_PAGE_CACHE].map(str::to_string)).unwrap();
            disk.read_files().unwrap();
            missed_us(&mariadb)
        };
        let mariadb = instance.start(&[LITTLE_MEMORY.to_string()]).unwrap();
        // Half of what it adds may be the server's own work, which a page out of memory costs, too.
        let read_us = missed_us(&mariadb) - in_memory_us;
        println!("a page out of memory {in_memory_us:.0} us");
        println!("a commit {ours_flush_us:.0} and {flush_us:.0} us, a read {ours_read_us:.0} and {read_us:.0} us");
        let mut found = vec![ours_flush_us / flush_us, ours_read_us / read_us];
        if has_limit {
            let pages = pages_per_second(&mariadb);
            let ours = per_second_of(&study, "page_reads");
            println!("{MANY} at once: {ours:.0} and {pages:.0} reads a second");
            found.push(ours / pages);
        }
        Some(found)
    });
}

/// Compares changes of rows until the evidence decides.
fn judge_updates(nature: Nature) {
    let Some(disk) = disk(nature) else { return };
    let Some(instance) = there(Instance::new(&disk, CHANGED_ROWS)) else { return };
    let lines = lines(&disk, "--for mysql --size 64m --budget 90s", &[]);
    let name = figure_on(nature, "updates of 8 with the lines of --for mysql over the defaults");
    judge_lines(name, NEVER_WORSE, &lines, |lines| {
        instance.start(lines).unwrap().per_second("updates", CLIENTS, TURN, CHANGED_ROWS)
    });
}

#[test]
#[ignore = "lab: measures commits and reads of MariaDB beside a study"]
fn commits_and_reads_behind_few_requests_are_those_of_mariadb() {
    beside(Nature::FewRequests);
}

#[test]
#[ignore = "lab: measures commits and reads of MariaDB beside a study"]
fn commits_and_reads_behind_few_bytes_are_those_of_mariadb() {
    beside(Nature::FewBytes);
}

#[test]
#[ignore = "lab: measures commits and reads of MariaDB beside a study"]
fn commits_and_reads_with_a_slow_flush_are_those_of_mariadb() {
    beside(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: measures commits and reads of MariaDB beside a study"]
fn commits_and_reads_of_the_real_disk_are_those_of_mariadb() {
    beside(Nature::Real);
}

#[test]
#[ignore = "lab: runs mariadb-slap with two configurations, in turns"]
fn updates_of_mariadb_behind_few_requests_are_no_worse_with_what_is_advised() {
    judge_updates(Nature::FewRequests);
}

#[test]
#[ignore = "lab: runs mariadb-slap with two configurations, in turns"]
fn updates_of_mariadb_behind_few_bytes_are_no_worse_with_what_is_advised() {
    judge_updates(Nature::FewBytes);
}

#[test]
#[ignore = "lab: runs mariadb-slap with two configurations, in turns"]
fn updates_of_mariadb_with_a_slow_flush_are_no_worse_with_what_is_advised() {
    judge_updates(Nature::SlowFlush);
}

#[test]
#[ignore = "lab: runs mariadb-slap with two configurations, in turns"]
fn updates_of_mariadb_on_the_real_disk_are_no_worse_with_what_is_advised() {
    judge_updates(Nature::Real);
}
