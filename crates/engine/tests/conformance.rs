//! Checks that every engine keeps the contract, buffered and direct.

use std::collections::HashSet;
use std::path::Path;

use halfpower_engine::{
    Completion, Engine, EngineError, EngineSettings, Errno, Opened, Operation, Request, Volume, available,
    io_uring_available, open, open_volume,
};
use halfpower_os::{DataFile, Mode};
use halfpower_spec::{Bytes, EngineName, IoMem, Issuing};

const EBADF: Errno = Errno(9);
const EINVAL: Errno = Errno(22);
/// Each written block of this size begins with a mark of `MARK` bytes.
const BLOCK: usize = 4096;
const MARK: usize = 16;

/// One engine in one mode.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: EngineName,
    mode: Mode,
    issuing: Option<Issuing>,
}

/// Requests handed to the kernel by default, one in a call, and several in a call.
const ISSUINGS: [Option<Issuing>; 3] = [
    None,
    Some(Issuing { iomem: IoMem::Pages, iodepth_batch: 1 }),
    Some(Issuing { iomem: IoMem::Pages, iodepth_batch: 3 }),
];

impl Case {
    fn open(self, file: &DataFile, depth: u32, bs: u64) -> Box<dyn Engine> {
        self.open_as(file, EngineSettings::new(self.name, depth, Bytes(bs), 42))
    }

    /// Opens the engine so that writes send what reads brought: the only way to see a slot's bytes.
    fn open_echoing(self, file: &DataFile, depth: u32, bs: u64) -> Box<dyn Engine> {
        self.open_as(file, EngineSettings { echoes: true, ..EngineSettings::new(self.name, depth, Bytes(bs), 42) })
    }

    fn open_as(self, file: &DataFile, settings: EngineSettings) -> Box<dyn Engine> {
        let depth = settings.depth;
        let volume = Volume::of(Some(file.reopen(self.mode).unwrap()));
        let opened = open_volume(volume, EngineSettings { issuing: self.issuing, ..settings }).unwrap();
        assert_eq!(opened.name, self.name);
        assert_eq!(opened.most_in_flight, if self.in_turn() { 1 } else { depth });
        opened.engine
    }

    /// Whether it carries out requests one at a time whatever the depth.
    fn in_turn(self) -> bool {
        match self.name {
            EngineName::Sync | EngineName::Mmap => true,
            EngineName::Libaio => !self.mode.direct,
            _ => false,
        }
    }
}

/// Reports what is left out and why; fails if nothing may be left out.
fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

/// Every engine that moves bytes.
const NAMES: [EngineName; 8] = [
    EngineName::Sync,
    EngineName::Pool,
    EngineName::IoUring,
    EngineName::Plain,
    EngineName::Sqpoll,
    EngineName::Iopoll,
    EngineName::Libaio,
    EngineName::Mmap,
];

/// Engines of newer kernels, if this one has them.
fn newer() -> Option<EngineName> {
    let name = EngineName::Hybrid;
    match available(name, None) {
        Ok(()) => Some(name),
        Err(why) => {
            eprintln!("left out: {name}: {why}");
            None
        }
    }
}

#[test]
fn commands_are_refused_where_no_namespace_takes_them() {
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    for name in [EngineName::Commands, EngineName::PolledCommands] {
        let why = available(name, Some(&file.reopen(Mode::default()).unwrap())).unwrap_err();
        assert!(why.contains("no NVMe namespace"), "{why}");
        for run in [Some(file.reopen(Mode::default()).unwrap()), None] {
            let refused = open(run, name, 1, Bytes(4096), 1).err().expect("a file takes no commands").to_string();
            assert!(refused.contains(name.word()), "{refused}");
        }
    }
}

/// Runs a check over every engine that moves bytes, buffered, durable and direct, each with its own file. The kernel
/// may lack some engines of `NAMES`; a device that cannot be polled is reported and fails nothing.
fn over_all(check: impl Fn(Case, &DataFile)) {
    for name in NAMES.into_iter().chain(newer()) {
        if let Err(why) = available(name, None) {
            skip(&format!("{name}: {why}"));
            continue;
        }
        for (direct, durable) in [(false, false), (false, true), (true, false)] {
            let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
            if direct && file.direct_alignment().unwrap().is_none_or(|alignment| alignment.offset_bytes > 4096) {
                skip("the build folder's file system takes no direct I/O");
                continue;
            }
            let mode = Mode { direct, durable, write: true, ..Mode::default() };
            match available(name, Some(&file.reopen(mode).unwrap())) {
                // Mapped memory does not grow the file.
                Ok(()) if name == EngineName::Mmap => file.set_size(32 << 20).unwrap(),
                Ok(()) => {}
                Err(why) => {
                    eprintln!("left out: {name}, direct {direct}, durable {durable}: {why}");
                    continue;
                }
            }
            let issuings = ISSUINGS.into_iter().take(if name.shares_calls() { 3 } else { 1 });
            issuings.for_each(|issuing| check(Case { name, mode, issuing }, &file));
        }
    }
}

fn requests(operation: Operation, length: u32, offsets: impl IntoIterator<Item = u64>) -> Vec<Request> {
    (0..).zip(offsets).map(|(slot, offset)| Request { slot, operation, offset, length }).collect()
}

/// Submits `batch` and reaps all of it: each slot exactly once, and `done` does not reallocate.
fn carry(engine: &mut dyn Engine, batch: &[Request]) -> Vec<Completion> {
    engine.submit(batch).unwrap();
    let mut done = Vec::with_capacity(batch.len());
    let room = done.capacity();
    while done.len() < batch.len() {
        engine.reap(1, &mut done).unwrap();
    }
    engine.reap(0, &mut done).unwrap();
    assert_eq!(done.capacity(), room, "the engine made the caller's list grow");
    let mut slots: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
    slots.sort_unstable();
    let mut asked: Vec<u32> = batch.iter().map(|request| request.slot).collect();
    asked.sort_unstable();
    assert_eq!(slots, asked, "each slot comes back once");
    done.sort_by_key(|completion| completion.slot);
    done
}

fn all_moved(done: &[Completion], bytes: u32) -> bool {
    done.iter().all(|completion| completion.result == Ok(bytes))
}

/// Bytes that encode their position in the file.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64 / 8).flat_map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}

/// Fills `file` with plain writes and makes sure that direct reads find the bytes on the disk.
fn fill(file: &DataFile, length: usize) -> Vec<u8> {
    let bytes = pattern(length);
    file.write_all_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    bytes
}

fn contents(file: &DataFile, offset: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    assert_eq!(file.read_at(&mut bytes, offset).unwrap(), length);
    bytes
}

#[test]
fn what_is_read_is_what_is_there() {
    const LENGTH: u32 = 16384;
    over_all(|case, file| {
        let disk = fill(file, 1 << 20);
        let mut engine = case.open_echoing(file, 4, u64::from(LENGTH));
        let sources = [7, 0, 31, 12].map(|block| block * u64::from(LENGTH));
        let targets = [40, 33, 63, 50].map(|block| block * u64::from(LENGTH));
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Read, LENGTH, sources)), LENGTH), "{case:?}");
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Write, LENGTH, targets)), LENGTH), "{case:?}");
        for (source, target) in sources.into_iter().zip(targets) {
            let wanted = &disk[source as usize..][..LENGTH as usize];
            let found = contents(file, target, LENGTH as usize);
            for (wanted, found) in wanted.chunks(BLOCK).zip(found.chunks(BLOCK)) {
                assert_eq!(wanted[MARK..], found[MARK..], "{case:?}: from {source} to {target}");
                assert_ne!(wanted[..MARK], found[..MARK], "{case:?}: the mark is missing");
            }
        }
        assert_eq!(contents(file, 0, 32 << 14), disk[..32 << 14], "{case:?}: nothing else was written");
    });
}

#[test]
fn pages_are_dropped_after_use_and_the_bytes_are_right() {
    const LENGTH: u32 = 16384;
    const WHOLE: usize = 1 << 20;
    let has_calls = |name: &EngineName| !matches!(name, EngineName::Mmap | EngineName::Iopoll);
    for name in NAMES.into_iter().filter(has_calls) {
        if let Err(why) = available(name, None) {
            skip(&format!("{name}: {why}"));
            continue;
        }
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        let disk = fill(&file, WHOLE);
        if !file.drops_pages().unwrap() {
            return skip("the kernel or the build folder's file system drops no pages after use");
        }
        file.drop_cached(0..WHOLE as u64).unwrap();
        let case = Case { name, mode: Mode { drop_pages: true, write: true, ..Mode::default() }, issuing: None };
        let mut engine = case.open_echoing(&file, 4, u64::from(LENGTH));
        for batch in 0..16 {
            let offsets = (0..4).map(|slot| (batch * 4 + slot) * u64::from(LENGTH));
            assert!(all_moved(&carry(&mut *engine, &requests(Operation::Read, LENGTH, offsets)), LENGTH), "{case:?}");
        }
        let held = file.cached_bytes(0..WHOLE as u64).unwrap();
        // Requests at the same time can hold a page that both reach, and then it stays.
        assert!(name != EngineName::Sync || held < WHOLE as u64, "{case:?}: all {held} bytes stayed");
        // Each slot now has one of the last four blocks.
        let targets = [40, 33, 12, 50].map(|block| block * u64::from(LENGTH));
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Write, LENGTH, targets)), LENGTH), "{case:?}");
        for (slot, target) in targets.into_iter().enumerate() {
            let wanted = &disk[(60 + slot) * LENGTH as usize..][..LENGTH as usize];
            let found = contents(&file, target, LENGTH as usize);
            for (wanted, found) in wanted.chunks(BLOCK).zip(found.chunks(BLOCK)) {
                assert_eq!(wanted[MARK..], found[MARK..], "{case:?}: at {target}");
            }
        }
    }
}

#[test]
fn no_two_written_blocks_are_alike() {
    const LENGTH: u32 = 16384;
    over_all(|case, file| {
        file.allocate(1 << 20).unwrap();
        let mut engine = case.open(file, 8, u64::from(LENGTH));
        let mut seen = HashSet::new();
        for round in 0..3 {
            for batch in 0..4 {
                // Leave a hole after every request.
                let offsets = (0..8).map(|slot| (batch * 8 + slot) * 2 * u64::from(LENGTH));
                assert!(all_moved(&carry(&mut *engine, &requests(Operation::Write, LENGTH, offsets)), LENGTH));
            }
            for place in 0..32 {
                let offset = place * 2 * u64::from(LENGTH);
                for block in contents(file, offset, LENGTH as usize).chunks(BLOCK) {
                    assert!(seen.insert(block.to_vec()), "{case:?}: round {round} repeats a block at {offset}");
                }
                let free = contents(file, offset + u64::from(LENGTH), LENGTH as usize);
                assert!(free.iter().all(|byte| *byte == 0), "{case:?}: a write went past its end");
            }
        }
    });
}

#[test]
fn a_request_may_be_shorter_than_its_slot() {
    over_all(|case, file| {
        let disk = fill(file, 1 << 18);
        let mut engine = case.open(file, 2, 65536);
        let done = carry(&mut *engine, &requests(Operation::Write, 8192, [0, 131072]));
        assert!(all_moved(&done, 8192), "{case:?}");
        assert_eq!(contents(file, 8192, 65536), disk[8192..][..65536], "{case:?}: nothing behind it was touched");
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Read, 4096, [0, 4096])), 4096), "{case:?}");
    });
}

#[test]
fn requests_below_a_block_are_marked_too() {
    over_all(|case, file| {
        if case.mode.direct {
            return;
        }
        let mut engine = case.open(file, 2, 512);
        let mut seen = HashSet::new();
        for round in 0..10 {
            carry(&mut *engine, &requests(Operation::Write, 512, [round * 1024, round * 1024 + 512]));
        }
        contents(file, 0, 10240).chunks(512).for_each(|part| assert!(seen.insert(part.to_vec()), "{case:?}"));
    });
}

#[test]
fn the_whole_depth_is_carried_again_and_again() {
    const LENGTH: u32 = 4096;
    over_all(|case, file| {
        fill(file, 1 << 20);
        for depth in [1, 2, 3, 32, 100] {
            let mut engine = case.open(file, depth, u64::from(LENGTH));
            let offsets = |round: u64| (0..u64::from(depth)).map(move |slot| (slot * 7 + round) % 256 * 4096);
            for round in 0..5 {
                assert!(all_moved(&carry(&mut *engine, &requests(Operation::Read, LENGTH, offsets(round))), LENGTH));
            }
        }
    });
}

#[test]
fn slots_are_refilled_one_by_one() {
    const LENGTH: u32 = 4096;
    over_all(|case, file| {
        fill(file, 1 << 20);
        let mut engine = case.open(file, 8, u64::from(LENGTH));
        let mut done = Vec::with_capacity(8);
        engine.submit(&requests(Operation::Read, LENGTH, (0..8).map(|slot| slot * 4096))).unwrap();
        let mut sent = 8;
        let mut in_flight = HashSet::from([0, 1, 2, 3, 4, 5, 6, 7]);
        let mut last = engine.now();
        while !in_flight.is_empty() {
            done.clear();
            engine.reap(1, &mut done).unwrap();
            assert!(engine.now() >= last);
            last = engine.now();
            for completion in &done {
                assert_eq!(completion.result, Ok(LENGTH), "{case:?}");
                let slot = completion.slot;
                assert!(in_flight.remove(&slot), "{case:?}: slot {slot} came unasked");
                if sent < 500 {
                    let offset = (sent * 13) % 256 * 4096;
                    engine.submit(&[Request { slot, operation: Operation::Read, offset, length: LENGTH }]).unwrap();
                    in_flight.insert(slot);
                    sent += 1;
                }
            }
        }
    });
}

#[test]
fn a_poll_makes_progress_without_waiting() {
    over_all(|case, file| {
        fill(file, 1 << 16);
        let mut engine = case.open(file, 4, 4096);
        let mut done = Vec::with_capacity(4);
        engine.reap(0, &mut done).unwrap();
        assert!(done.is_empty(), "{case:?}");
        engine.submit(&requests(Operation::Read, 4096, [0, 4096, 8192, 12288])).unwrap();
        while done.len() < 4 {
            engine.reap(0, &mut done).unwrap();
        }
        assert!(all_moved(&done, 4096), "{case:?}");
    });
}

#[test]
fn a_wish_for_more_than_is_in_flight_is_no_trap() {
    over_all(|case, file| {
        fill(file, 1 << 16);
        let mut engine = case.open(file, 4, 4096);
        let mut done = Vec::with_capacity(4);
        engine.submit(&requests(Operation::Read, 4096, [0, 4096])).unwrap();
        engine.reap(4, &mut done).unwrap();
        assert_eq!(done.len(), 2, "{case:?}");
        engine.reap(1, &mut done).unwrap();
        assert_eq!(done.len(), 2, "{case:?}");
    });
}

#[test]
fn a_read_over_the_end_is_short() {
    over_all(|case, file| {
        file.set_size(0).unwrap();
        fill(file, 12288);
        let mut engine = case.open(file, 3, 16384);
        let done = carry(&mut *engine, &requests(Operation::Read, 16384, [0, 8192, 16384]));
        let results: Vec<_> = done.iter().map(|completion| completion.result).collect();
        assert_eq!(results, [Ok(12288), Ok(4096), Ok(0)], "{case:?}");
    });
}

#[test]
fn a_refused_request_is_a_completion_and_the_rest_goes_on() {
    over_all(|case, file| {
        fill(file, 1 << 16);
        let read_only = Case { mode: Mode { write: false, ..case.mode }, ..case };
        let mut engine = read_only.open(file, 3, 4096);
        let mut batch = requests(Operation::Read, 4096, [0, 4096, 8192]);
        batch[1].operation = Operation::Write;
        for _ in 0..3 {
            let results: Vec<_> = carry(&mut *engine, &batch).iter().map(|done| done.result).collect();
            assert_eq!(results, [Ok(4096), Err(EBADF), Ok(4096)], "{case:?}");
        }
        assert_eq!(contents(file, 0, 1 << 16), pattern(1 << 16), "{case:?}");
    });
}

#[test]
fn a_direct_request_off_the_blocks_is_refused() {
    over_all(|case, file| {
        fill(file, 1 << 16);
        let mut engine = case.open(file, 2, 4096);
        let results: Vec<_> =
            carry(&mut *engine, &requests(Operation::Read, 4096, [1, 4096])).iter().map(|done| done.result).collect();
        let wanted = if case.mode.direct { Err(EINVAL) } else { Ok(4096) };
        assert_eq!(results, [wanted, Ok(4096)], "{case:?}");
    });
}

#[test]
fn a_flush_completes_beside_other_requests() {
    over_all(|case, file| {
        let mut engine = case.open(file, 4, 4096);
        carry(&mut *engine, &requests(Operation::Write, 4096, [0, 4096, 8192, 12288]));
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Flush, 0, [0])), 0), "{case:?}");
        let mut batch = requests(Operation::Read, 4096, [0, 4096, 8192]);
        batch.push(Request { slot: 3, operation: Operation::Flush, offset: 77, length: 99 });
        let results: Vec<_> = carry(&mut *engine, &batch).iter().map(|done| done.result).collect();
        assert_eq!(results, [Ok(4096), Ok(4096), Ok(4096), Ok(0)], "{case:?}");
    });
}

#[test]
fn letting_go_with_requests_in_flight_is_clean() {
    const LENGTH: u32 = 1 << 20;
    over_all(|case, file| {
        file.allocate(32 << 20).unwrap();
        let batch = requests(Operation::Write, LENGTH, (0..16).map(|slot| slot * u64::from(LENGTH)));
        for under_way in [false, true] {
            let mut engine = case.open(file, 16, u64::from(LENGTH));
            engine.submit(&batch).unwrap();
            if under_way {
                engine.reap(0, &mut Vec::with_capacity(16)).unwrap();
            }
            drop(engine);
            // Nothing writes any more, so the contents must stay the same.
            let now = contents(file, 0, 16 << 20);
            assert!(now == contents(file, 0, 16 << 20), "{case:?}");
        }
        let mut engine = case.open(file, 16, u64::from(LENGTH));
        assert!(all_moved(&carry(&mut *engine, &batch), LENGTH), "{case:?}: the file is still good for another");
    });
}

#[test]
fn an_engine_is_made_driven_and_dropped_on_different_threads() {
    over_all(|case, file| {
        fill(file, 1 << 20);
        let mut engine = case.open(file, 8, 65536);
        let batch = requests(Operation::Read, 65536, (0..8).map(|slot| slot * 65536));
        let engine = std::thread::scope(|scope| {
            let driver = scope.spawn(|| {
                for _ in 0..20 {
                    assert!(all_moved(&carry(&mut *engine, &batch), 65536), "{case:?}");
                }
                engine.submit(&batch).unwrap();
                engine.reap(0, &mut Vec::with_capacity(8)).unwrap();
                engine
            });
            driver.join().unwrap()
        });
        drop(engine);
    });
}

#[test]
fn nothing_at_all_answers_at_once() {
    let ring = |name| (name, available(name, None).map_err(|why| skip(&why)).is_ok());
    let rings = [EngineName::IoUring, EngineName::Plain, EngineName::Sqpoll].map(ring);
    for (name, there) in [(EngineName::Null, true), (EngineName::Auto, true)].into_iter().chain(rings) {
        if !there {
            continue;
        }
        let Opened { mut engine, name: settled, .. } = open(None, name, 8, Bytes(1 << 20), 1).unwrap();
        assert_eq!(settled, if name == EngineName::Auto { EngineName::Null } else { name });
        for operation in [Operation::Read, Operation::Write] {
            let done = carry(&mut *engine, &requests(operation, 1 << 20, [0; 8]));
            assert!(all_moved(&done, 1 << 20), "{name}");
        }
        assert!(all_moved(&carry(&mut *engine, &requests(Operation::Flush, 9, [0])), 0), "{name}");
    }
}

#[test]
fn what_cannot_be_opened_is_said_in_a_sentence() {
    let said = |name, depth, bs| match open(None, name, depth, Bytes(bs), 0) {
        Err(EngineError::Unavailable { engine, why }) => format!("{engine}: {why}"),
        other => panic!("{name} at depth {depth} with {bs} bytes opened: {}", other.is_ok()),
    };
    assert!(said(EngineName::Sync, 1, 4096).contains("null: has no file"));
    assert!(said(EngineName::Pool, 1, 4096).starts_with("pool"));
    assert!(said(EngineName::Mmap, 1, 4096).contains("null: has no file"));
    assert!(said(EngineName::Libaio, 1, 4096).contains("null: has no file"));
    assert!(said(EngineName::Simulated, 1, 4096).contains("sim:"));
    assert!(said(EngineName::Null, 0, 4096).contains("depth 0"));
    assert!(said(EngineName::Null, 1, 0).contains("from 1 byte"));
    assert!(said(EngineName::Null, 1, 1 << 40).contains("1GiB"));
    assert!(said(EngineName::IoUring, 1 << 20, 1 << 30).contains("smaller block size, or less depth"));
    if let Err(why) = io_uring_available() {
        return skip(&why);
    }
    assert!(said(EngineName::IoUring, 40_000, 512).contains("use less depth"));
}
