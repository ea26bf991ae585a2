//! Watches applications whose limit was planted.

use halfpower_analyse::{OperationGroup, WatchFindings, WatchStop};

use super::{Case, RUNS, alone, judge_all};
use crate::subjects::{DISK, Running, Site, burners};
use crate::throttled::MIB;

const MB: u64 = 1_000_000;

/// What stops these operations.
pub(super) fn stop(findings: &WatchFindings, group: OperationGroup) -> Option<&WatchStop> {
    findings.groups.iter().find(|found| found.group == group).map(|found| &found.stop)
}

fn is_own_depth(findings: &WatchFindings, group: OperationGroup) -> bool {
    matches!(stop(findings, group), Some(WatchStop::OwnDepth { .. }))
}

pub(super) fn is_limit(findings: &WatchFindings, wanted: &str) -> bool {
    findings.groups.iter().any(|group| matches!(&group.stop, WatchStop::GroupLimit { limits, .. } if limits == wanted))
}

fn is_flush_or_journal(findings: &WatchFindings) -> bool {
    let stop = stop(findings, OperationGroup::Commits);
    matches!(stop, Some(WatchStop::Flush { .. } | WatchStop::Journal { .. }))
}

pub(super) fn is_neighbour(findings: &WatchFindings) -> bool {
    findings.groups.iter().any(|group| matches!(&group.stop, WatchStop::Neighbour { name, .. } if name == "neighbour"))
}

const DIRECT: &str = "--filename=DISK --direct=1";

/// Two neighbours that sync without a pause.
pub(super) const SYNCS: &str = "--directory=DIR --filename_format=beside.\\$jobnum --size=16m --rw=randwrite --bs=64k \
                                --ioengine=sync --fsync=1 --numjobs=2";

/// A disk whose flush takes so long that those who sync wait for each other.
fn with_slow_flush() -> Result<Site, String> {
    Site::paced(DISK, 0, 2000)?.formatted()
}

fn direct(site: &Site, words: &str) -> Running {
    site.fio(&format!("{DIRECT} {words}"), RUNS)
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn an_application_s_own_depth_is_told() {
    judge_all(&[
        Case {
            name: "direct random reads, 1 deep: own depth",
            site: Site::bare,
            subject: |site| direct(site, "--rw=randread --bs=4k --ioengine=psync"),
            beside: alone,
            expects: |findings| is_own_depth(findings, OperationGroup::Reads),
        },
        Case {
            name: "direct random writes, 1 deep: own depth",
            site: Site::bare,
            subject: |site| direct(site, "--rw=randwrite --bs=4k --ioengine=psync"),
            beside: alone,
            expects: |findings| is_own_depth(findings, OperationGroup::Writes),
        },
    ]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn a_control_group_s_limit_is_told() {
    judge_all(&[
        Case {
            name: "32 deep behind a limit of bytes read: that limit",
            site: || Site::bare()?.limited([Some(8 * MB), None, None, None]),
            subject: |site| direct(site, "--rw=randread --bs=64k --ioengine=libaio --iodepth=32"),
            beside: alone,
            expects: |findings| is_limit(findings, "read_bps"),
        },
        Case {
            name: "32 deep behind a limit of reads: that limit",
            site: || Site::bare()?.limited([None, Some(200), None, None]),
            subject: |site| direct(site, "--rw=randread --bs=4k --ioengine=libaio --iodepth=32"),
            beside: alone,
            expects: |findings| is_limit(findings, "read_iops"),
        },
        Case {
            name: "io_uring, 32 deep behind a limit of bytes read: that limit",
            site: || Site::bare()?.limited([Some(8 * MB), None, None, None]),
            subject: |site| direct(site, "--rw=randread --bs=64k --ioengine=io_uring --iodepth=32"),
            beside: alone,
            expects: |findings| is_limit(findings, "read_bps"),
        },
        Case {
            name: "8 deep behind a limit of bytes written: that limit",
            site: || Site::bare()?.limited([None, None, Some(8 * MB), None]),
            subject: |site| direct(site, "--rw=write --bs=64k --ioengine=libaio --iodepth=8"),
            beside: alone,
            expects: |findings| is_limit(findings, "write_bps"),
        },
        Case {
            name: "8 deep behind a limit of writes: that limit",
            site: || Site::bare()?.limited([None, None, None, Some(200)]),
            subject: |site| direct(site, "--rw=randwrite --bs=4k --ioengine=libaio --iodepth=8"),
            beside: alone,
            expects: |findings| is_limit(findings, "write_iops"),
        },
    ]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn what_commits_wait_for_is_told() {
    judge_all(&[
        Case {
            name: "writes with fdatasync: the flush or the journal",
            site: Site::mounted,
            subject: |site| {
                site.fio("--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fdatasync=1", RUNS)
            },
            beside: alone,
            expects: is_flush_or_journal,
        },
        Case {
            name: "writes with fsync: the flush or the journal",
            site: Site::mounted,
            subject: |site| site.fio("--directory=DIR --size=16m --rw=write --bs=16k --ioengine=sync --fsync=1", RUNS),
            beside: alone,
            expects: is_flush_or_journal,
        },
        Case {
            name: "writes with fdatasync on a disk with a slow flush: the flush",
            site: || Site::paced(DISK, 0, 4000)?.formatted(),
            subject: |site| {
                site.fio("--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fdatasync=1", RUNS)
            },
            beside: alone,
            expects: |findings| matches!(stop(findings, OperationGroup::Commits), Some(WatchStop::Flush { .. })),
        },
        Case {
            name: "writes with O_DSYNC: the flush or the journal",
            site: Site::mounted,
            subject: |site| {
                site.fio("--directory=DIR --size=16m --rw=write --bs=8k --ioengine=sync --sync=dsync", RUNS)
            },
            beside: alone,
            expects: is_flush_or_journal,
        },
    ]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn a_neighbour_is_named() {
    const READS: &str = "--rw=randread --bs=4k --ioengine=psync";
    judge_all(&[
        Case {
            name: "a neighbour that writes 1 MiB: it is named",
            site: Site::bare,
            subject: |site| direct(site, READS),
            beside: |site| {
                vec![site.neighbour(&format!("{DIRECT} --rw=write --bs=1m --ioengine=libaio --iodepth=8"), 60)]
            },
            expects: is_neighbour,
        },
        Case {
            name: "a neighbour that reads 1 MiB: it is named",
            site: Site::bare,
            subject: |site| direct(site, READS),
            beside: |site| {
                vec![site.neighbour(&format!("{DIRECT} --rw=read --bs=1m --ioengine=libaio --iodepth=8"), 60)]
            },
            expects: is_neighbour,
        },
        Case {
            name: "neighbours that sync: they are named, or the journal that all wait for",
            site: with_slow_flush,
            subject: |site| {
                site.fio("--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fdatasync=1", RUNS)
            },
            beside: |site| vec![site.neighbour(SYNCS, 60)],
            expects: |findings| {
                let is_seen = findings.others.iter().any(|other| other.name == "neighbour");
                let stop = stop(findings, OperationGroup::Commits);
                is_seen && (is_neighbour(findings) || matches!(stop, Some(WatchStop::Journal { .. })))
            },
        },
    ]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn contention_of_a_journal_is_told() {
    judge_all(&[Case {
        name: "eight neighbours that sync without a pause: they are named, or the journal that all wait for",
        site: with_slow_flush,
        subject: |site| site.fio("--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fsync=1", RUNS),
        beside: |site| {
            let words = "--directory=DIR --filename_format=beside.\\$jobnum --size=4m --rw=write --bs=4k --ioengine=sync \
                         --fallocate=none --fsync=1 --numjobs=8";
            vec![site.neighbour(words, 60)]
        },
        expects: |findings| {
            let stop = stop(findings, OperationGroup::Commits);
            is_neighbour(findings) || matches!(stop, Some(WatchStop::Journal { .. }))
        },
    }]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn memory_that_is_too_small_is_told() {
    // It is read before, so that the memory is full from the beginning.
    const READS: &str =
        "--filename=DIR/data --size=32m --pre_read=1 --norandommap --rw=randread --bs=4k --ioengine=psync";
    judge_all(&[Case {
        name: "reads of a file that is larger than the memory: the memory",
        site: || Site::paced(DISK, 1000, 0)?.formatted()?.with_memory(24 * MIB),
        subject: |site| site.fio(READS, RUNS),
        beside: alone,
        expects: |findings| matches!(stop(findings, OperationGroup::Reads), Some(WatchStop::Memory { .. })),
    }]);
}

#[test]
#[ignore = "lab: applications of known limits are watched"]
fn processors_and_the_application_itself_are_told() {
    // Each pass of fio would begin with an empty cache.
    const CACHED: &str = "--filename=DIR/data --size=32m --invalidate=0 --rw=randread --bs=4k --ioengine=psync";
    judge_all(&[
        Case {
            name: "reads from the page cache on a fifth of a processor: the quota",
            site: || Site::mounted()?.with_quota(0.2),
            subject: |site| site.fio(CACHED, RUNS),
            beside: alone,
            expects: |findings| {
                findings.groups.iter().any(|group| matches!(group.stop, WatchStop::ProcessorQuota { .. }))
            },
        },
        Case {
            name: "direct reads on full processors: the processors",
            site: Site::bare,
            subject: |site| direct(site, "--rw=randread --bs=4k --ioengine=psync"),
            beside: |_| burners(4 * std::thread::available_parallelism().map_or(2, usize::from)),
            expects: |findings| findings.groups.iter().any(|group| matches!(group.stop, WatchStop::Processors { .. })),
        },
        Case {
            name: "20 ms between reads: the application itself",
            site: Site::bare,
            subject: |site| direct(site, "--rw=randread --bs=4k --ioengine=psync --thinktime=20ms"),
            beside: alone,
            expects: |findings| matches!(stop(findings, OperationGroup::Reads), Some(WatchStop::Itself { .. })),
        },
        Case {
            name: "reads from the page cache: storage does not limit them",
            site: Site::mounted,
            subject: |site| site.fio(CACHED, RUNS),
            beside: alone,
            expects: |findings| {
                let stop = stop(findings, OperationGroup::Reads);
                matches!(stop, Some(WatchStop::PageCache { .. } | WatchStop::OneProcessor { .. }))
            },
        },
    ]);
}
