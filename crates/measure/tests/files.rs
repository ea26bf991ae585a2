//! Checks runs of operations on small files: what they count, what they refuse, and that they leave nothing.

use std::fs;
use std::sync::atomic::AtomicBool;

use halfpower_measure::{RealTarget, RealTargetOptions, SimulatedTarget, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{
    Bytes, Cache, EngineName, FileOperation, Folders, Nanos, Pass, Run, Rw, SimulatedDisk, Workload, WorkloadOptions,
};

const BYTES: u64 = 4096;
const FILES: u32 = 50;

fn workload(operation: FileOperation, folders: Folders, threads: u32) -> Workload {
    Workload {
        rw: if operation.changes() { Rw::Write } else { Rw::Read },
        bs: Bytes(BYTES),
        iodepth: 1,
        threads,
        cache: Cache::Both,
        options: WorkloadOptions {
            file_operation: Some(operation),
            folders,
            file_count: FILES,
            ..WorkloadOptions::default()
        },
        ..Workload::default()
    }
}

fn run(backend: &mut dyn TargetBackend, workload: Workload) -> Record {
    // What can be done only once with a file ends by itself.
    let once = workload.options.file_operation.is_some_and(FileOperation::is_once);
    let runtime = Nanos(if once { 3_600_000_000_000 } else { 30_000_000 });
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 };
    measure(backend, &run, &AtomicBool::new(false)).unwrap()
}

fn wanted() -> RealTargetOptions {
    RealTargetOptions { size: Some(Bytes(64 << 20)), writes: true, ..RealTargetOptions::default() }
}

/// A real folder, ready.
fn folder() -> (tempfile::TempDir, RealTarget) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut backend = RealTarget::open(folder.path(), &wanted()).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    (folder, backend)
}

#[test]
fn each_operation_is_counted_and_leaves_nothing() {
    let (folder, mut backend) = folder();
    for operation in FileOperation::ALL.iter().copied() {
        for (folders, threads) in [(Folders::Own, 2), (Folders::Shared, 2), (Folders::Own, 1)] {
            let record = run(&mut backend, workload(operation, folders, threads));
            assert!(record.errors.is_empty(), "{operation} {folders}: {:?}", record.errors);
            assert!(record.ios > 0 && record.bytes == record.ios * BYTES, "{operation} {folders}");
            assert_eq!((record.engine, record.lanes.len()), (EngineName::Sync, threads as usize));
            if operation.is_once() {
                assert_eq!(record.ios, u64::from(threads * FILES), "{operation} {folders}: each file once");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{operation} {folders}");
        }
    }
    let create = workload(FileOperation::Create, Folders::Own, 1);
    let few = WorkloadOptions { file_count: 5, ..create.options };
    let durable = run(&mut backend, Workload { cache: Cache::Os, options: few, ..create });
    assert!(durable.ios == 5 && durable.errors.is_empty());
    assert!(backend.environment().notes.iter().any(|note| note.contains("--file-operation")));
}

#[test]
fn what_a_killed_run_left_goes_when_its_folder_is_opened_again() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let left = folder.path().join(".halfpower-files-1-0/.halfpower-files-1-0/thread-0");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("file-3"), b"left").unwrap();
    fs::write(folder.path().join("mine"), b"kept").unwrap();
    let _backend = RealTarget::open(folder.path(), &wanted()).unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["mine"]);
}

#[test]
fn a_target_without_a_folder_refuses_them() {
    let (folder, backend) = folder();
    let said = |backend: &dyn TargetBackend, workload: &Workload| backend.admits(workload).unwrap_err().to_string();
    let create = workload(FileOperation::Create, Folders::Own, 1);
    assert!(said(&backend, &Workload { cache: Cache::Device, ..create }).contains("--cache both"));
    drop(backend);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let null = RealTarget::null(&wanted()).unwrap();
    assert!(said(&null, &create).contains("in a single folder"));
    let nothing = SimulatedTarget::new(SimulatedDisk::default());
    assert!(said(&nothing, &create).contains("file_op=20us"));
    let disk = SimulatedTarget::new(SimulatedDisk::from_constants("file_op=20us").unwrap());
    assert!(said(&disk, &Workload { cache: Cache::Os, ..create }).contains("flush=1ms"));
    disk.admits(&create).unwrap();
}

#[test]
fn a_simulated_folder_has_the_rate_of_its_lock() {
    let disk = "file_op=20us,folder_lock=15us,flush=1ms";
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(disk).unwrap());
    for (operation, folders, threads, truth) in [
        (FileOperation::Rename, Folders::Own, 1, 50e3),
        (FileOperation::Rename, Folders::Own, 4, 200e3),
        (FileOperation::Rename, Folders::Shared, 4, 1e6 / 15.0),
        (FileOperation::Stat, Folders::Shared, 4, 200e3),
    ] {
        let record = run(&mut backend, workload(operation, folders, threads));
        let rate = record.iops();
        assert!((rate / truth - 1.0).abs() < 0.01, "{operation} {folders} {threads}: {rate}");
    }
    let created = run(&mut backend, workload(FileOperation::Create, Folders::Own, 2));
    assert_eq!(created.ios, u64::from(2 * FILES), "each file is created once");
}
