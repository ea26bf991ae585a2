//! Checks that a spread span lies in pieces over the whole target, and that targets that cannot be spread are refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use halfpower_measure::{RealTarget, RealTargetOptions, SimulatedTarget, TargetBackend, measure};
use halfpower_record::Record;
use halfpower_spec::{
    Bytes, Cache, Nanos, PageCache, Pass, Run, Rw, Several, SimulatedDisk, SimulatedSystem, VolumeLayout, Workload,
    WorkloadOptions,
};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn wanted(size_mib: u64) -> RealTargetOptions {
    RealTargetOptions {
        size: Some(Bytes(size_mib * MIB)),
        spread: true,
        writes: true,
        overwrite: true,
        ..RealTargetOptions::default()
    }
}

/// A file of `mib` MiB of ones.
fn file(folder: &TempDir, name: &str, mib: u64) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, vec![1; (mib * MIB) as usize]).unwrap();
    path
}

fn run(backend: &mut dyn TargetBackend, workload: Workload) -> Record {
    run_for(backend, workload, Nanos(200_000_000))
}

fn run_for(backend: &mut dyn TargetBackend, workload: Workload, runtime: Nanos) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 5 };
    let record = measure(backend, &run, &AtomicBool::new(false)).unwrap();
    assert_eq!((record.error_count(), record.short_transfers), (0, 0), "{workload}");
    record
}

/// Writes the whole span, however long that takes.
fn write_all(backend: &mut RealTarget, bs: u64) -> Record {
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    let options = WorkloadOptions { io_size: "100%".parse().ok(), ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Write, bs: Bytes(bs), cache: Cache::Both, options, ..Workload::default() };
    let record = run_for(backend, workload, Nanos(3_600_000_000_000));
    assert!(record.bytes >= record.span_bytes, "{} of {} bytes", record.bytes, record.span_bytes);
    record
}

/// The MiB of a file that are not all ones any more.
fn written_mib(path: &Path) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    let parts = bytes.chunks(MIB as usize).enumerate();
    parts.filter(|(_, part)| part.iter().any(|byte| *byte != 1)).map(|(at, _)| at).collect()
}

#[test]
fn a_span_lies_in_pieces_from_the_first_byte_to_the_last() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file(&folder, "data", 41);
    let mut backend = RealTarget::open(&path, &wanted(5)).unwrap();
    let record = write_all(&mut backend, 64 << 10);
    assert_eq!((record.span_bytes, record.spread_bytes), (5 * MIB, Some(41 * MIB)));
    assert_eq!(backend.environment().capabilities.spread, Some(Bytes(41 * MIB)));
    assert!(backend.environment().notes.iter().any(|note| note.contains("5 pieces of 1MiB spread over 41MiB")));
    assert_eq!(written_mib(&path), [0, 10, 20, 30, 40]);
}

#[test]
fn a_stripe_is_spread_over_all_of_its_members() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let paths = ["a", "b"].map(|name| file(&folder, name, 20));
    let several = Several { volume_layout: VolumeLayout::Stripe, members: paths.to_vec(), chunk: Several::USUAL_CHUNK };
    let mut backend = RealTarget::open_several(&several, &wanted(2)).unwrap();
    assert_eq!(write_all(&mut backend, 64 << 10).spread_bytes, Some(20 * MIB));
    // Four pieces of 1 MiB, 13 MiB apart in the stripe; each member holds half of each piece.
    for path in &paths {
        assert_eq!(written_mib(path), [0, 6, 13, 19], "{}", path.display());
    }
}

#[test]
fn buffered_reads_of_a_spread_span_are_cold_and_warm_where_they_are_asked_to_be() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file(&folder, "data", 41);
    let mut backend =
        RealTarget::open(&path, &RealTargetOptions { writes: false, overwrite: false, ..wanted(5) }).unwrap();
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    let cached = |backend: &mut RealTarget, page_cache| {
        let options = WorkloadOptions { page_cache, ..WorkloadOptions::default() };
        let workload = Workload { rw: Rw::Read, bs: Bytes(MIB), cache: Cache::Both, options, ..Workload::default() };
        run(backend, workload).cached_bytes
    };
    if cached(&mut backend, PageCache::Warm).is_some() {
        // Where others need the memory, the kernel takes some of it again before it is counted.
        assert!((0..20).any(|_| cached(&mut backend, PageCache::Warm) == Some(5 * MIB)));
        let cold = cached(&mut backend, PageCache::Empty).unwrap();
        // The kernel keeps pages that it looks at itself at this moment.
        assert!(cold <= 5 * MIB / 1000 || cold == 5 * MIB, "{cold}: memory keeps all, a disk nothing");
    }
}

fn system(name: &str) -> SimulatedSystem {
    let shipped = halfpower_model::systems().iter().find(|system| system.name == name).expect("a shipped system");
    SimulatedSystem::new(name, shipped.text)
}

#[test]
fn a_disk_that_turns_shows_its_strokes_and_its_inner_tracks() {
    let measured = |spread: bool, rw| {
        let target = SimulatedTarget::system(&system("win2k-fireball"), Some(Bytes(256 * MIB)), None).unwrap();
        let mut backend = if spread { target.spread().unwrap() } else { target };
        let workload = Workload { rw, bs: Bytes(64 << 10), iodepth: 1, ..Workload::default() };
        let runtime = Nanos(60_000_000_000);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
        measure(&mut backend, &run, &AtomicBool::new(false)).unwrap().mbps()
    };
    for rw in [Rw::Randread, Rw::Read] {
        let near = measured(false, rw);
        let far = measured(true, rw);
        assert!(far < 0.9 * near, "{rw}: {far:.2} MB/s spread, {near:.2} MB/s in one part");
    }
    let whole = {
        let mut backend = SimulatedTarget::system(&system("win2k-fireball"), None, None).unwrap();
        let workload = Workload { rw: Rw::Randread, bs: Bytes(64 << 10), iodepth: 1, ..Workload::default() };
        let runtime = Nanos(60_000_000_000);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
        measure(&mut backend, &run, &AtomicBool::new(false)).unwrap().mbps()
    };
    let spread = measured(true, Rw::Randread);
    assert!((spread / whole - 1.0).abs() < 0.05, "{spread:.3} MB/s spread, {whole:.3} MB/s of all of it");
}

#[test]
fn what_cannot_be_spread_is_refused_in_a_sentence() {
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file(&folder, "data", 20);
    let refused = |path: &Path, mib| RealTarget::open(path, &wanted(mib)).err().expect("a refusal").to_string();
    assert!(refused(folder.path(), 64).contains("is a folder"));
    assert!(refused(&path, 12).contains("below half of it"));
    assert!(refused(&path, 1).contains("larger --size"));
    assert!(RealTarget::null(&wanted(16)).err().expect("a refusal").to_string().contains("null:"));
    let disk = SimulatedTarget::new(SimulatedDisk::default()).spread().err().expect("a refusal").to_string();
    assert!(disk.contains("leave it out"), "{disk}");
    let most = SimulatedTarget::system(&system("win2k-fireball"), None, None).unwrap().spread();
    assert!(most.err().expect("a refusal").to_string().contains("below half of it"));

    let backend = RealTarget::open(&path, &wanted(6)).unwrap();
    let larger = Workload { bs: Bytes(2 * MIB), cache: Cache::Both, ..Workload::default() };
    assert!(backend.admits(&larger).unwrap_err().to_string().contains("pieces of --spread"));
    let options = WorkloadOptions { verify: true, ..WorkloadOptions::default() };
    let verified = Workload { rw: Rw::Randwrite, bs: Bytes(4096), cache: Cache::Both, options, ..Workload::default() };
    assert!(backend.admits(&verified).unwrap_err().to_string().contains("--verify"));
}
