//! Watches PostgreSQL whose limit was planted, and PostgreSQL that nothing limits.

use halfpower_analyse::{OperationGroup, WatchStop};
use halfpower_lab::{Figure, judge};

use super::healthy::names_no_limit;
use super::planted::{SYNCS, is_limit, is_neighbour, stop};
use super::{Case, alone, judge_all};
use crate::postgres::{DISK, laid_out, read_all, serve};
use crate::program::skip;
use crate::subjects::{Running, Site, burners};
use crate::throttled::MIB;

/// Each flush of a slow disk, in microseconds.
const SLOW_FLUSH_US: u32 = 4000;
/// Each request of the disk beneath a database that is larger than its memory.
const SLOW_READ_US: u32 = 1000;
/// Memory of a server whose database is some 80 MB.
const LITTLE_MEMORY: u64 = 48 * MIB;

fn usual() -> Result<Site, String> {
    laid_out(Site::of_size(DISK)?.formatted()?)
}

fn with_slow_flush() -> Result<Site, String> {
    laid_out(Site::paced(DISK, 0, SLOW_FLUSH_US)?.formatted()?)
}

fn with_write_limit() -> Result<Site, String> {
    usual()?.limited([None, None, None, Some(100)])
}

#[test]
#[ignore = "lab: PostgreSQL of known limits is watched"]
fn what_commits_of_a_database_wait_for_is_told() {
    judge_all(&[
        Case {
            name: "PostgreSQL, a client on a disk with a slow flush: the flush",
            site: with_slow_flush,
            subject: |site| serve(site, "-c 1"),
            beside: alone,
            expects: |findings| matches!(stop(findings, OperationGroup::Commits), Some(WatchStop::Flush { .. })),
        },
        Case {
            name: "PostgreSQL, eight clients on a disk with a slow flush: the flush",
            site: with_slow_flush,
            subject: |site| serve(site, "-c 8 -j 2"),
            beside: alone,
            expects: |findings| matches!(stop(findings, OperationGroup::Commits), Some(WatchStop::Flush { .. })),
        },
        Case {
            name: "PostgreSQL, a client behind a limit of writes: that limit",
            site: with_write_limit,
            subject: |site| serve(site, "-c 1"),
            beside: alone,
            expects: |findings| is_limit(findings, "write_iops"),
        },
        Case {
            name: "PostgreSQL, eight clients behind a limit of writes: that limit",
            site: with_write_limit,
            subject: |site| serve(site, "-c 8 -j 2"),
            beside: alone,
            expects: |findings| is_limit(findings, "write_iops"),
        },
        Case {
            name: "PostgreSQL beside neighbours that sync: they are named, or the journal that all wait for",
            site: with_slow_flush,
            subject: |site| serve(site, "-c 1"),
            beside: |site| vec![site.neighbour(SYNCS, 60)],
            expects: |findings| {
                let stop = stop(findings, OperationGroup::Commits);
                is_neighbour(findings) || matches!(stop, Some(WatchStop::Journal { .. }))
            },
        },
    ]);
}

#[test]
#[ignore = "lab: PostgreSQL of known limits is watched"]
fn what_reads_of_a_database_wait_for_is_told() {
    judge_all(&[
        Case {
            name: "PostgreSQL without a cache behind a limit of reads: that limit",
            site: || usual()?.limited([None, Some(150), None, None]),
            subject: |site| {
                site.forget();
                serve(site, "-S -c 1")
            },
            beside: alone,
            expects: |findings| is_limit(findings, "read_iops"),
        },
        Case {
            name: "PostgreSQL in a memory that is smaller than its database: the memory",
            site: || {
                let site = laid_out(Site::paced(DISK, SLOW_READ_US, 0)?.formatted()?)?;
                site.with_memory(LITTLE_MEMORY)
            },
            subject: |site| {
                read_all(site);
                serve(site, "-S -c 2")
            },
            beside: alone,
            expects: |findings| matches!(stop(findings, OperationGroup::Reads), Some(WatchStop::Memory { .. })),
        },
        Case {
            name: "PostgreSQL on a fifth of a processor: the quota",
            site: || usual()?.with_quota(0.2),
            subject: |site| serve(site, "-S -c 2"),
            beside: alone,
            expects: |findings| {
                findings.groups.iter().any(|group| matches!(group.stop, WatchStop::ProcessorQuota { .. }))
            },
        },
        Case {
            name: "PostgreSQL on full processors: the processors",
            site: usual,
            subject: |site| serve(site, "-S -c 1"),
            beside: |_| burners(4 * std::thread::available_parallelism().map_or(2, usize::from)),
            expects: |findings| findings.groups.iter().any(|group| matches!(group.stop, WatchStop::Processors { .. })),
        },
    ]);
}

#[test]
#[ignore = "lab: PostgreSQL without limits is watched"]
fn no_limit_of_a_database_is_invented() {
    let healthy = |name: &'static str, subject: fn(&Site) -> Running| Case {
        name,
        site: usual,
        subject,
        beside: alone,
        expects: names_no_limit,
    };
    judge_all(&[
        healthy("healthy: PostgreSQL, 5 transactions a second", |site| serve(site, "-c 1 -R 5")),
        healthy("healthy: PostgreSQL, 10 transactions a second of four clients", |site| serve(site, "-c 4 -R 10")),
        healthy("healthy: PostgreSQL, 100 queries a second from memory", |site| serve(site, "-S -c 1 -R 100")),
    ]);
}

/// From the command to the cause, as a user would: by the name of the program, for 20 s.
#[test]
#[ignore = "lab: PostgreSQL on a disk with a slow flush is watched as a user would"]
fn the_cause_of_a_slow_database_is_printed() {
    let site = match with_slow_flush() {
        Ok(site) => site,
        Err(why) => return skip(&format!("no PostgreSQL on a slow disk here (root is needed): {why}")),
    };
    judge("watch", vec![Figure::saying("watch: the printed cause of a PostgreSQL that is slow")], || {
        let _server = serve(&site, "-c 4 -j 2");
        let text = site.printed(&["--name", "postgres", "--for", "20s"]);
        println!("{text}");
        let after = text.split("WHAT STOPS IT").nth(1).unwrap_or_default();
        let stops = after.split("WHO ELSE").next().unwrap_or_default();
        let is_right = stops.contains("commits: the device's flush") && text.contains("group commit of 4");
        Some(vec![f64::from(u8::from(is_right))])
    });
}
