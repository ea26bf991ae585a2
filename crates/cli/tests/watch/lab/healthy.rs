//! Watches applications that nothing limits: no limit is invented.

use halfpower_analyse::WatchFindings;

use super::{Case, RUNS, alone, judge_all};
use crate::subjects::{Running, Site, idle};

pub(super) fn names_no_limit(findings: &WatchFindings) -> bool {
    findings.groups.iter().all(|group| !group.stop.is_limit())
}

/// A case on a disk without a file system.
fn on_disk(name: &'static str, subject: fn(&Site) -> Running) -> Case {
    Case { name, site: Site::bare, subject, beside: alone, expects: names_no_limit }
}

/// A case on a file system.
fn on_files(name: &'static str, subject: fn(&Site) -> Running) -> Case {
    Case { name, site: Site::mounted, subject, beside: alone, expects: names_no_limit }
}

#[test]
#[ignore = "lab: applications without limits are watched"]
fn no_limit_of_a_disk_is_invented() {
    const DIRECT: &str = "--filename=DISK --direct=1 --bs=4k";
    judge_all(&[
        on_disk("healthy: a read each 20 ms", |site| {
            site.fio(&format!("{DIRECT} --rw=randread --ioengine=psync --thinktime=20ms"), RUNS)
        }),
        on_disk("healthy: a write each 20 ms", |site| {
            site.fio(&format!("{DIRECT} --rw=randwrite --ioengine=psync --thinktime=20ms"), RUNS)
        }),
        on_disk("healthy: 50 reads a second, up to 4 deep", |site| {
            site.fio(&format!("{DIRECT} --rw=randread --ioengine=libaio --iodepth=4 --rate_iops=50"), RUNS)
        }),
        on_disk("healthy: two threads that think", |site| {
            site.fio(&format!("{DIRECT} --rw=randrw --ioengine=psync --numjobs=2 --thinktime=30ms"), RUNS)
        }),
        on_disk("healthy: a process that does nothing", |_| idle()),
    ]);
}

#[test]
#[ignore = "lab: applications without limits are watched"]
fn no_limit_of_a_file_system_is_invented() {
    const CACHED: &str = "--filename=DIR/data --size=32m --invalidate=0";
    judge_all(&[
        on_files("healthy: a commit each 50 ms", |site| {
            site.fio(
                "--directory=DIR --size=8m --rw=write --bs=4k --ioengine=sync --fdatasync=1 --thinktime=50ms",
                RUNS,
            )
        }),
        on_files("healthy: 200 reads a second from the page cache", |site| {
            site.fio(&format!("{CACHED} --rw=randread --bs=4k --ioengine=psync --rate_iops=200"), RUNS)
        }),
        on_files("healthy: 10 MiB a second from the page cache", |site| {
            site.fio(&format!("{CACHED} --rw=read --bs=64k --ioengine=psync --rate=10m"), RUNS)
        }),
        on_files("healthy: a mapping that is in memory", |site| {
            site.fio(&format!("{CACHED} --rw=randread --bs=4k --ioengine=mmap --rate_iops=200"), RUNS)
        }),
        on_files("healthy: 1 MiB a second into the page cache", |site| {
            site.fio("--directory=DIR --size=16m --rw=write --bs=16k --ioengine=psync --rate=1m", RUNS)
        }),
    ]);
}
