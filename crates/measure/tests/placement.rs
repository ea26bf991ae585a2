//! Do writes find their place as they were told to? Layouts on a real folder: counts and bytes, not speeds.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use measure::{MeasureError, Place, RealPlace, Wanted, measure};
use record::Record;
use spec::{Bytes, Cache, EngineName, Layout, Nanos, Pass, Run, Rw, Twist, Workload};

const MIB: u64 = 1 << 20;

fn wanted(writes: bool) -> Wanted {
    Wanted {
        size: Some(Bytes(64 * MIB)),
        writes,
        overwrite: true,
        drop_caches: false,
        engine: EngineName::Auto,
        seed: 1,
        layout_limit: Nanos(60_000_000_000),
    }
}

fn place(path: &Path) -> RealPlace {
    let mut place = RealPlace::open(path, &wanted(true)).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    place
}

fn folder() -> tempfile::TempDir {
    // The build folder is on a disk; /tmp may be in memory, where there is no direct I/O.
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// To the end of the bytes, however long that takes.
fn to_the_end(place: &mut RealPlace, workload: Workload) -> Result<Record, MeasureError> {
    let runtime = Nanos(3_600_000_000_000);
    measure(place, &Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 }, &false.into())
}

fn laid_out(layout: Layout, cache: Cache, iodepth: u32) -> Workload {
    let twist = Twist { layout, ..Twist::default() };
    Workload { rw: Rw::Write, bs: Bytes(256 * 1024), cache, iodepth, twist, ..Workload::default() }
}

#[test]
fn a_file_of_a_runs_own_is_written_once_and_leaves_nothing() {
    let folder = folder();
    let mut place = place(folder.path());
    for layout in Layout::ALL.iter().filter(|layout| **layout != Layout::Written) {
        for (cache, iodepth) in [(Cache::Both, 1), (Cache::Device, 8)] {
            let workload = laid_out(*layout, cache, iodepth);
            if place.admits(&workload).is_err() && cache.direct() {
                eprintln!("skipped: the build folder is on a file system without direct I/O");
                continue;
            }
            match to_the_end(&mut place, workload) {
                Ok(record) => {
                    assert_eq!((record.bytes, record.errors.len()), (64 * MIB, 0), "{workload}: {:?}", record.errors);
                    assert_eq!(record.flush_ns > 0, !cache.direct(), "{workload}");
                }
                // Not every file system reserves blocks; then it says so.
                Err(error) => {
                    assert!(*layout == Layout::Fallocated && error.to_string().contains("fallocate"), "{error}")
                }
            }
        }
    }
    drop(place);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was left behind");
}

#[test]
fn a_layout_that_has_no_meaning_is_refused_in_one_sentence() {
    let folder = folder();
    let file = folder.path().join("data");
    fs::write(&file, vec![1; 64 * MIB as usize]).unwrap();
    let refused = |place: &RealPlace, workload: Workload| place.admits(&workload).unwrap_err().to_string();
    let new = laid_out(Layout::New, Cache::Both, 1);
    assert!(refused(&place(&file), new).contains("folders alone"));
    let place = place(folder.path());
    assert!(refused(&place, Workload { rw: Rw::Read, ..new }).contains("--layout new"));
    let append = laid_out(Layout::Append, Cache::Both, 1);
    assert!(refused(&place, Workload { rw: Rw::Randwrite, ..append }).contains("--rw write"));
    assert!(place.admits(&append).is_ok());
}
