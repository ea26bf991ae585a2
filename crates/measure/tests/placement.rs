//! Checks file layouts on a real folder: counts and bytes, not speeds.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, RealTarget, RealTargetOptions, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Cache, Layout, Nanos, Pass, Run, Rw, Workload, WorkloadOptions};

const MIB: u64 = 1 << 20;

fn wanted(writes: bool) -> RealTargetOptions {
    RealTargetOptions { size: Some(Bytes(64 * MIB)), writes, overwrite: true, ..RealTargetOptions::default() }
}

fn backend(path: &Path) -> RealTarget {
    let mut backend = RealTarget::open(path, &wanted(true)).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    backend
}

fn folder() -> tempfile::TempDir {
    // The build folder is on a disk; /tmp may be in memory, where there is no direct I/O.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs until all bytes are used, however long that takes.
fn to_the_end(backend: &mut RealTarget, workload: Workload) -> Result<Record, MeasureError> {
    let runtime = Nanos(3_600_000_000_000);
    measure(backend, &Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 }, &false.into())
}

fn laid_out(layout: Layout, cache: Cache, iodepth: u32) -> Workload {
    let options = WorkloadOptions { layout, ..WorkloadOptions::default() };
    Workload { rw: Rw::Write, bs: Bytes(256 * 1024), cache, iodepth, options, ..Workload::default() }
}

#[test]
fn a_file_of_a_runs_own_is_written_once_and_leaves_nothing() {
    let folder = folder();
    let mut backend = backend(folder.path());
    for layout in Layout::ALL.iter().filter(|layout| **layout != Layout::Written) {
        for (cache, iodepth) in [(Cache::Both, 1), (Cache::Device, 8)] {
            let workload = laid_out(*layout, cache, iodepth);
            if backend.admits(&workload).is_err() && cache.direct() {
                eprintln!("skipped: the build folder is on a file system without direct I/O");
                continue;
            }
            match to_the_end(&mut backend, workload) {
                Ok(record) => {
                    assert_eq!((record.bytes, record.errors.len()), (64 * MIB, 0), "{workload}: {:?}", record.errors);
                    assert_eq!(record.flush_ns > 0, !cache.direct(), "{workload}");
                }
                // A file system that cannot reserve blocks must say so.
                Err(error) => {
                    assert!(*layout == Layout::Fallocated && error.to_string().contains("fallocate"), "{error}")
                }
            }
        }
    }
    drop(backend);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn a_layout_that_has_no_meaning_is_refused_in_one_sentence() {
    let folder = folder();
    let file = folder.path().join("data");
    fs::write(&file, vec![1; 64 * MIB as usize]).unwrap();
    let refused = |backend: &RealTarget, workload: Workload| backend.admits(&workload).unwrap_err().to_string();
    let new = laid_out(Layout::New, Cache::Both, 1);
    assert!(refused(&backend(&file), new).contains("folders alone"));
    let backend = backend(folder.path());
    assert!(refused(&backend, Workload { rw: Rw::Read, ..new }).contains("--layout new"));
    let append = laid_out(Layout::Append, Cache::Both, 1);
    assert!(refused(&backend, Workload { rw: Rw::Randwrite, ..append }).contains("--rw write"));
    assert!(backend.admits(&append).is_ok());
}
