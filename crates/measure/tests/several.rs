//! Checks several paths as one target: counts, bytes, protections and verification, but no speeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, RealTarget, RealTargetOptions, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{
    Bytes, Cache, EngineName, Nanos, Pass, Run, Rw, Several, VolumeLayout, Workload, WorkloadOptions,
};

const MIB: u64 = 1 << 20;
/// Size of a member; not a multiple of the chunk size.
const FILE_BYTES: u64 = 3 * MIB + 4096;
const RUNTIME: Nanos = Nanos(30_000_000);

fn wanted(overwrite: bool) -> RealTargetOptions {
    RealTargetOptions { writes: true, overwrite, ..RealTargetOptions::default() }
}

/// Files made by the test, which count as foreign.
struct Files {
    folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Files {
    fn new(count: usize) -> Self {
        // The build folder is on a disk; /tmp may be in memory, where there is no direct I/O.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let paths: Vec<PathBuf> = (0..count).map(|index| folder.path().join(format!("member{index}"))).collect();
        paths.iter().for_each(|path| fs::write(path, vec![1; FILE_BYTES as usize]).unwrap());
        Self { folder, paths }
    }

    fn several(&self, volume_layout: VolumeLayout) -> Several {
        Several { volume_layout, members: self.paths.clone(), chunk: Several::USUAL_CHUNK }
    }

    fn backend(&self, volume_layout: VolumeLayout) -> RealTarget {
        let mut backend = RealTarget::open_several(&self.several(volume_layout), &wanted(true)).unwrap();
        backend.make_ready(None, &AtomicBool::new(false)).unwrap();
        backend
    }

    fn change(&self, member: usize, offset: u64, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        let file = fs::File::options().write(true).open(&self.paths[member]).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    fn bytes(&self, member: usize) -> Vec<u8> {
        fs::read(&self.paths[member]).unwrap()
    }
}

fn run(backend: &mut RealTarget, workload: Workload) -> Record {
    run_for(backend, workload, RUNTIME)
}

fn run_for(backend: &mut RealTarget, workload: Workload, runtime: Nanos) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 };
    measure(backend, &run, &AtomicBool::new(false)).unwrap()
}

/// Reads and checks every block once, however long that takes.
fn check_all(backend: &mut RealTarget) -> Record {
    let once = WorkloadOptions { verify: true, io_size: Some("100%".parse().unwrap()), ..WorkloadOptions::default() };
    run_for(backend, workload(Rw::Read, once), Nanos(600_000_000_000))
}

fn workload(rw: Rw, options: WorkloadOptions) -> Workload {
    Workload { rw, bs: Bytes(16384), iodepth: 4, cache: Cache::Both, options, ..Workload::default() }
}

fn refusal(backend: &RealTarget, workload: Workload) -> String {
    backend.admits(&workload).unwrap_err().to_string()
}

#[test]
fn every_join_and_engine_gives_a_whole_record() {
    let files = Files::new(3);
    for volume_layout in [VolumeLayout::Stripe, VolumeLayout::Each, VolumeLayout::Mirror] {
        let mut backend = files.backend(VolumeLayout::Stripe);
        assert_eq!(backend.environment().capabilities.members, 3);
        assert_eq!(backend.span_bytes(), 3 * MIB, "whole chunks of each member");
        assert!(backend.environment().notes.iter().any(|note| note.contains("member2")), "the members are named");
        for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
            for (rw, threads) in [(Rw::Read, 1), (Rw::Write, 2), (Rw::Randmixed, 2)] {
                let options =
                    WorkloadOptions { volume_layout: Some(volume_layout), members: 2, ..WorkloadOptions::default() };
                let workload = Workload { engine, threads, ..workload(rw, options) };
                let record = run(&mut backend, workload);
                assert!(record.ios > 0 && record.errors.is_empty(), "{workload}: {:?}", record.errors);
                assert_eq!(record.bytes, record.ios * 16384, "{workload}");
                let lanes = if volume_layout == VolumeLayout::Each { 2 * threads } else { threads };
                assert!(record.achieved_depth <= f64::from(4 * lanes) * 1.05, "{workload}: {}", record.achieved_depth);
            }
        }
    }
    let untouched = files.bytes(2);
    assert!(untouched.iter().all(|byte| *byte == 1), "the third member took no part");
    assert_eq!(fs::read_dir(files.folder.path()).unwrap().count(), 3, "something was left behind");
}

#[test]
fn folders_join_too_and_nothing_is_left_in_them() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let members: Vec<PathBuf> = ["a", "b"].map(|name| folder.path().join(name)).into();
    members.iter().for_each(|path| fs::create_dir(path).unwrap());
    let several =
        Several { volume_layout: VolumeLayout::Stripe, members: members.clone(), chunk: Several::USUAL_CHUNK };
    let wanted = RealTargetOptions { size: Some(Bytes(64 * MIB)), ..wanted(false) };
    let mut backend = RealTarget::open_several(&several, &wanted).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    for rw in [Rw::Randwrite, Rw::Read] {
        let record = run(&mut backend, workload(rw, WorkloadOptions { verify: true, ..WorkloadOptions::default() }));
        assert!(record.ios > 0 && record.errors.is_empty(), "{:?}", record.errors);
    }
    drop(backend);
    for member in members {
        assert_eq!(fs::read_dir(member).unwrap().count(), 0);
    }
}

#[test]
fn what_is_not_ours_stays_as_it_is() {
    let files = Files::new(2);
    let said =
        |several: &Several, overwrite| RealTarget::open_several(several, &wanted(overwrite)).err().unwrap().to_string();
    assert!(said(&files.several(VolumeLayout::Stripe), false).contains("--overwrite"));
    let twice =
        Several { members: vec![files.paths[0].clone(), files.paths[0].clone()], ..files.several(VolumeLayout::Each) };
    assert!(said(&twice, true).contains("named twice"));
    let missing =
        Several { members: vec![files.paths[0].clone(), "/nowhere".into()], ..files.several(VolumeLayout::Each) };
    assert!(said(&missing, true).contains("does not exist"));
    assert!(files.bytes(0).iter().chain(&files.bytes(1)).all(|byte| *byte == 1));
}

#[test]
fn what_cannot_be_asked_is_said_in_a_sentence() {
    let files = Files::new(2);
    let backend = files.backend(VolumeLayout::Stripe);
    let turned = |options| workload(Rw::Read, options);
    assert!(
        refusal(&backend, turned(WorkloadOptions { members: 3, ..WorkloadOptions::default() }))
            .contains("has 2 members")
    );
    let verified = turned(WorkloadOptions { verify: true, ..WorkloadOptions::default() });
    assert!(refusal(&backend, Workload { bs: Bytes(1000), ..verified }).contains("512"));
    // A file that is being measured counts as in use, even by this process.
    let in_use = RealTarget::open(Path::new(&files.paths[0]), &wanted(true)).err().unwrap().to_string();
    assert!(in_use.contains("is locked by process") && in_use.contains("--force-in-use"), "{in_use}");
    drop(backend);
    let single = RealTarget::open(Path::new(&files.paths[0]), &wanted(true)).unwrap();
    let mirror = turned(WorkloadOptions { volume_layout: Some(VolumeLayout::Mirror), ..WorkloadOptions::default() });
    assert!(refusal(&single, mirror).contains("mirror:A,B"));
    let only_read = RealTargetOptions { writes: false, ..wanted(false) };
    let only_read = RealTarget::open(Path::new(&files.paths[0]), &only_read).unwrap();
    assert!(refusal(&only_read, verified).contains("--overwrite"));
}

/// Whether a record's only errors are of this kind.
fn only(record: &Record, kind: &str) -> bool {
    record.errors.keys().all(|found| found == kind) && record.error_count() > 0
}

#[test]
fn verified_reads_find_what_was_changed_behind_their_back() {
    for volume_layout in [VolumeLayout::Each, VolumeLayout::Stripe, VolumeLayout::Mirror] {
        let files = Files::new(2);
        let mut backend = files.backend(volume_layout);
        let verified = |rw| workload(rw, WorkloadOptions { verify: true, ..WorkloadOptions::default() });
        for rw in [Rw::Read, Rw::Randwrite, Rw::Write, Rw::Randmixed, Rw::Randread] {
            let record = run(&mut backend, verified(rw));
            assert!(record.ios > 0 && record.errors.is_empty(), "{volume_layout} {rw}: {:?}", record.errors);
        }
        // Damage the first block of the first member, then the second block of the second.
        files.change(0, 77, &[0x55]);
        let found = check_all(&mut backend);
        let of_mirror = volume_layout == VolumeLayout::Mirror;
        // A read of a mirror sees one copy; faults of the other show only when it is read back.
        assert!(only(&found, "corrupt") || of_mirror, "{volume_layout}: {:?}", found.errors);
        if volume_layout == VolumeLayout::Each {
            files.change(1, 16384, &files.bytes(1)[..16384]);
            let found = check_all(&mut backend);
            assert!(found.errors.contains_key("misdirected"), "{:?}", found.errors);
        }
    }
}

#[test]
fn other_writes_end_what_is_known_and_the_next_verified_run_begins_anew() {
    let files = Files::new(2);
    let mut backend = files.backend(VolumeLayout::Stripe);
    let options = |verify, members| WorkloadOptions { verify, members, ..WorkloadOptions::default() };
    for (verify, members, rw) in [
        (true, 2, Rw::Randwrite),
        (false, 2, Rw::Randwrite),
        (true, 2, Rw::Read),
        (true, 1, Rw::Read),
        (false, 2, Rw::Read),
        (true, 2, Rw::Read),
    ] {
        let record = run(&mut backend, workload(rw, options(verify, members)));
        assert!(record.errors.is_empty(), "{rw} verified {verify}: {:?}", record.errors);
    }
}

#[test]
fn both_copies_of_a_mirror_hold_what_was_written() {
    let files = Files::new(2);
    let mut backend = files.backend(VolumeLayout::Mirror);
    let record = run(&mut backend, workload(Rw::Write, WorkloadOptions { verify: true, ..WorkloadOptions::default() }));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    drop(backend);
    let written = 3 * MIB as usize;
    assert!(files.bytes(0)[..written] == files.bytes(1)[..written], "the copies differ");
    assert!(files.bytes(0)[..written] != vec![1; written]);
}

#[test]
fn an_interrupted_read_back_says_so() {
    let files = Files::new(2);
    let mut backend = files.backend(VolumeLayout::Mirror);
    let workload = workload(Rw::Write, WorkloadOptions { verify: true, ..WorkloadOptions::default() });
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: RUNTIME, seed: 5 };
    let stop = AtomicBool::new(true);
    assert!(matches!(measure(&mut backend, &run, &stop), Err(MeasureError::Interrupted)));
}
