//! Are several paths one target? Counts, bytes and protections, not speeds; and bytes that are verified.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use measure::{MeasureError, Place, RealPlace, Wanted, measure};
use record::Record;
use spec::{Bytes, Cache, EngineName, Join, Nanos, Pass, Run, Rw, Several, Twist, Workload};

const MIB: u64 = 1 << 20;
/// A member's bytes; no multiple of a chunk.
const FILE_BYTES: u64 = 3 * MIB + 4096;
const RUNTIME: Nanos = Nanos(30_000_000);

fn wanted(overwrite: bool) -> Wanted {
    Wanted {
        size: None,
        writes: true,
        overwrite,
        drop_caches: false,
        engine: EngineName::Auto,
        seed: 1,
        layout_limit: Nanos(60_000_000_000),
    }
}

/// Files of our own making, which count as somebody's.
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

    fn several(&self, join: Join) -> Several {
        Several { join, members: self.paths.clone(), chunk: Several::USUAL_CHUNK }
    }

    fn place(&self, join: Join) -> RealPlace {
        let mut place = RealPlace::open_several(&self.several(join), &wanted(true)).unwrap();
        place.make_ready(None, &AtomicBool::new(false)).unwrap();
        place
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

fn run(place: &mut RealPlace, workload: Workload) -> Record {
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: RUNTIME, seed: 5 };
    measure(place, &run, &AtomicBool::new(false)).unwrap()
}

fn workload(rw: Rw, twist: Twist) -> Workload {
    Workload { rw, bs: Bytes(16384), iodepth: 4, cache: Cache::Both, twist, ..Workload::default() }
}

fn refusal(place: &RealPlace, workload: Workload) -> String {
    place.admits(&workload).unwrap_err().to_string()
}

#[test]
fn every_join_and_engine_gives_a_whole_record() {
    let files = Files::new(3);
    for join in [Join::Stripe, Join::Each, Join::Mirror] {
        let mut place = files.place(Join::Stripe);
        assert_eq!(place.environment().surroundings.members, 3);
        assert_eq!(place.span_bytes(), 3 * MIB, "whole chunks of each member");
        assert!(place.environment().notes.iter().any(|note| note.contains("member2")), "the members are named");
        for engine in [EngineName::Auto, EngineName::Sync, EngineName::Pool] {
            for (rw, threads) in [(Rw::Read, 1), (Rw::Write, 2), (Rw::Randmixed, 2)] {
                let twist = Twist { join: Some(join), members: 2, ..Twist::default() };
                let workload = Workload { engine, threads, ..workload(rw, twist) };
                let record = run(&mut place, workload);
                assert!(record.ios > 0 && record.errors.is_empty(), "{workload}: {:?}", record.errors);
                assert_eq!(record.bytes, record.ios * 16384, "{workload}");
                let lanes = if join == Join::Each { 2 * threads } else { threads };
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
    let several = Several { join: Join::Stripe, members: members.clone(), chunk: Several::USUAL_CHUNK };
    let wanted = Wanted { size: Some(Bytes(64 * MIB)), ..wanted(false) };
    let mut place = RealPlace::open_several(&several, &wanted).unwrap();
    place.make_ready(None, &AtomicBool::new(false)).unwrap();
    for rw in [Rw::Randwrite, Rw::Read] {
        let record = run(&mut place, workload(rw, Twist { verify: true, ..Twist::default() }));
        assert!(record.ios > 0 && record.errors.is_empty(), "{:?}", record.errors);
    }
    drop(place);
    for member in members {
        assert_eq!(fs::read_dir(member).unwrap().count(), 0);
    }
}

#[test]
fn what_is_not_ours_stays_as_it_is() {
    let files = Files::new(2);
    let said =
        |several: &Several, overwrite| RealPlace::open_several(several, &wanted(overwrite)).err().unwrap().to_string();
    assert!(said(&files.several(Join::Stripe), false).contains("--overwrite"));
    let twice = Several { members: vec![files.paths[0].clone(), files.paths[0].clone()], ..files.several(Join::Each) };
    assert!(said(&twice, true).contains("named twice"));
    let missing = Several { members: vec![files.paths[0].clone(), "/nowhere".into()], ..files.several(Join::Each) };
    assert!(said(&missing, true).contains("does not exist"));
    assert!(files.bytes(0).iter().chain(&files.bytes(1)).all(|byte| *byte == 1));
}

#[test]
fn what_cannot_be_asked_is_said_in_a_sentence() {
    let files = Files::new(2);
    let place = files.place(Join::Stripe);
    let turned = |twist| workload(Rw::Read, twist);
    assert!(refusal(&place, turned(Twist { members: 3, ..Twist::default() })).contains("has 2 members"));
    let verified = turned(Twist { verify: true, ..Twist::default() });
    assert!(refusal(&place, Workload { bs: Bytes(1000), ..verified }).contains("512"));
    let single = RealPlace::open(Path::new(&files.paths[0]), &wanted(true)).unwrap();
    let mirror = turned(Twist { join: Some(Join::Mirror), ..Twist::default() });
    assert!(refusal(&single, mirror).contains("mirror:A,B"));
    let only_read = Wanted { writes: false, ..wanted(false) };
    let only_read = RealPlace::open(Path::new(&files.paths[0]), &only_read).unwrap();
    assert!(refusal(&only_read, verified).contains("--overwrite"));
}

/// Whether a record's only errors are of this kind.
fn only(record: &Record, kind: &str) -> bool {
    record.errors.keys().all(|found| found == kind) && record.error_count() > 0
}

#[test]
fn verified_reads_find_what_was_changed_behind_their_back() {
    for join in [Join::Each, Join::Stripe, Join::Mirror] {
        let files = Files::new(2);
        let mut place = files.place(join);
        let verified = |rw| workload(rw, Twist { verify: true, ..Twist::default() });
        for rw in [Rw::Read, Rw::Randwrite, Rw::Write, Rw::Randmixed, Rw::Randread] {
            let record = run(&mut place, verified(rw));
            assert!(record.ios > 0 && record.errors.is_empty(), "{join} {rw}: {:?}", record.errors);
        }
        // A buffered read visits every block; the first member's first block and the second one's second are damaged.
        files.change(0, 77, &[0x55]);
        let found = run(&mut place, verified(Rw::Read));
        let of_mirror = join == Join::Mirror;
        // A mirror reads one of its copies; the other's faults show when it is read back.
        assert!(only(&found, "corrupt") || of_mirror, "{join}: {:?}", found.errors);
        if join == Join::Each {
            files.change(1, 16384, &files.bytes(1)[..16384]);
            let found = run(&mut place, verified(Rw::Read));
            assert!(found.errors.contains_key("misdirected"), "{:?}", found.errors);
        }
    }
}

#[test]
fn other_writes_end_what_is_known_and_the_next_verified_run_begins_anew() {
    let files = Files::new(2);
    let mut place = files.place(Join::Stripe);
    let twist = |verify, members| Twist { verify, members, ..Twist::default() };
    for (verify, members, rw) in [
        (true, 2, Rw::Randwrite),
        (false, 2, Rw::Randwrite),
        (true, 2, Rw::Read),
        (true, 1, Rw::Read),
        (false, 2, Rw::Read),
        (true, 2, Rw::Read),
    ] {
        let record = run(&mut place, workload(rw, twist(verify, members)));
        assert!(record.errors.is_empty(), "{rw} verified {verify}: {:?}", record.errors);
    }
}

#[test]
fn both_copies_of_a_mirror_hold_what_was_written() {
    let files = Files::new(2);
    let mut place = files.place(Join::Mirror);
    let record = run(&mut place, workload(Rw::Write, Twist { verify: true, ..Twist::default() }));
    assert!(record.errors.is_empty(), "{:?}", record.errors);
    drop(place);
    let written = 3 * MIB as usize;
    assert!(files.bytes(0)[..written] == files.bytes(1)[..written], "the copies differ");
    assert!(files.bytes(0)[..written] != vec![1; written]);
}

#[test]
fn an_interrupted_read_back_says_so() {
    let files = Files::new(2);
    let mut place = files.place(Join::Mirror);
    let workload = workload(Rw::Write, Twist { verify: true, ..Twist::default() });
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: RUNTIME, seed: 5 };
    let stop = AtomicBool::new(true);
    assert!(matches!(measure(&mut place, &run, &stop), Err(MeasureError::Interrupted)));
}
