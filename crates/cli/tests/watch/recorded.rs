//! Watches applications whose operations are known, and checks what is kept of each.

use std::collections::BTreeSet;

use halfpower_record::{Captured, CapturedOperation, OperationKind};

use crate::program::skip;
use crate::subjects::{DISK, Site};

/// How long an application runs, and how long it is watched, in seconds.
const RUNS: u32 = 6;
const WATCHED: u32 = 2;
/// Operations after which there is enough to look at.
const ENOUGH: usize = 30;
const BLOCK: u64 = 4096;

/// Different places of operations.
fn places<'a>(operations: impl Iterator<Item = &'a CapturedOperation>) -> usize {
    operations.map(|one| one.offset).collect::<BTreeSet<_>>().len()
}

fn recorded(site: &Site, words: &str) -> Captured {
    let fio = site.fio(words, RUNS);
    let captured = site.recorded(fio.id(), WATCHED);
    println!("{words}: {} operations, {} lanes, {:?}", captured.operations.len(), captured.lanes, captured.files);
    captured
}

#[test]
#[ignore = "gate: starts fio on a disk of its own, and watches it"]
fn direct_reads_are_kept_with_their_depth_and_their_places() {
    let site = match Site::bare() {
        Ok(site) => site,
        Err(why) => return skip(&format!("no disk of its own for fio here (root is needed): {why}")),
    };
    for (engine, depth) in [("psync", 1), ("libaio", 4), ("io_uring", 4)] {
        let words = format!("--filename=DISK --direct=1 --rw=randread --bs=4k --ioengine={engine} --iodepth={depth}");
        let captured = recorded(&site, &words);
        let reads = || captured.operations.iter().filter(|one| one.kind == OperationKind::Read && one.bytes == BLOCK);
        assert!(reads().count() >= ENOUGH, "{engine}: {captured:?}");
        assert!(reads().all(|one| captured.files[one.file as usize].direct && !one.cached), "{engine}");
        assert!(places(reads()) >= reads().count().min(1000) / 2, "{engine}");
        // On a busy machine a ring may name a file late, and a request of the disk beneath is taken for one of its own.
        assert!(captured.files.iter().all(|file| file.bytes <= DISK + DISK / 8), "{engine}: {:?}", captured.files);
        assert_eq!(reads().map(|one| one.lane).collect::<BTreeSet<_>>().len(), depth, "{engine}");
    }
}

#[test]
#[ignore = "gate: starts fio on a file system of its own, and watches it"]
fn each_write_is_kept_before_its_sync() {
    let site = match Site::mounted() {
        Ok(site) => site,
        Err(why) => return skip(&format!("no file system of its own for fio here (root is needed): {why}")),
    };
    let words = "--directory=DIR --size=16m --rw=write --bs=4k --ioengine=sync --fdatasync=1";
    let captured = recorded(&site, words);
    let kinds: Vec<OperationKind> = captured.operations.iter().map(|one| one.kind).collect();
    let syncs = kinds.windows(2).filter(|pair| pair[1] == OperationKind::Fdatasync).count();
    let after_writes =
        kinds.windows(2).filter(|pair| *pair == [OperationKind::Write, OperationKind::Fdatasync]).count();
    // How many there are is for the disk to say.
    assert!(syncs > 0, "{captured:?}");
    // Where a slice begins, its first sync may come alone.
    assert!(after_writes + captured.slices.len() >= syncs, "{after_writes} of {syncs}");
    assert!(captured.files.iter().all(|file| !file.direct && file.bytes <= DISK), "{:?}", captured.files);
}
