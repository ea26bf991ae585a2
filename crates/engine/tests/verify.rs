//! Checks that verification finds every fault and raises no false alarm: a thousand faults in a file, a stripe and a
//! mirror, over every engine, and many concurrent requests without faults.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use halfpower_engine::{
    AddressMap, Completion, Engine, EngineSettings, Errno, Ledger, Operation, Request, Volume, open, open_volume,
};
use halfpower_os::{DataFile, Mode};
use halfpower_spec::{Bytes, EngineName};

const BS: u64 = 4096;
const BLOCKS: u64 = 180;
const CHUNK: u64 = 8192;
/// Faults in each case: over all engines and volume layouts there are more than a thousand.
const FAULTS: usize = 100;
const DEPTH: u32 = 8;

fn file() -> DataFile {
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.allocate(BLOCKS * BS).unwrap();
    file
}

/// The available engines that carry requests to files, each in the modes that it supports.
fn cases() -> Vec<(EngineName, Mode)> {
    let not_for_files = [
        EngineName::Auto,
        EngineName::Null,
        EngineName::Simulated,
        EngineName::Memory,
        EngineName::Smb,
        EngineName::Nfs,
    ];
    let names = EngineName::ALL.iter().filter(|name| !not_for_files.contains(name));
    let modes = [false, true].map(|direct| Mode { direct, write: true, ..Mode::default() });
    let probe = file();
    let works = |(name, mode): &(EngineName, Mode)| {
        let Ok(run) = probe.reopen(*mode) else { return false };
        match open(Some(run), *name, 1, Bytes(BS), 1) {
            Ok(mut opened) => carry(&mut *opened.engine, &[request(0, Operation::Read, 0)])[0].result == Ok(BS as u32),
            Err(why) => {
                eprintln!("skipped: {why}");
                false
            }
        }
    };
    names.flat_map(|name| modes.map(|mode| (*name, mode))).filter(works).collect()
}

fn request(slot: u32, operation: Operation, block: u64) -> Request {
    Request { slot, operation, offset: block * BS, length: BS as u32 }
}

fn carry(engine: &mut dyn Engine, batch: &[Request]) -> Vec<Completion> {
    engine.submit(batch).unwrap();
    let mut done = Vec::with_capacity(batch.len());
    while done.len() < batch.len() {
        engine.reap(1, &mut done).unwrap();
    }
    done.sort_by_key(|completion| completion.slot);
    done
}

/// A target of one file or several.
struct Target {
    name: EngineName,
    mode: Mode,
    address_map: AddressMap,
    files: Vec<DataFile>,
    ledger: Arc<Ledger>,
}

impl Target {
    fn new((name, mode): (EngineName, Mode), address_map: AddressMap) -> Self {
        let count = if address_map == AddressMap::Single { 1 } else { 2 };
        let files = (0..count).map(|_| file()).collect();
        Self { name, mode, address_map, files, ledger: Arc::new(Ledger::new(BLOCKS * BS, 7)) }
    }

    fn open(&self, address_map: AddressMap, mode: Mode) -> Box<dyn Engine> {
        let files = self.files.iter().map(|file| file.reopen(mode).unwrap()).collect();
        let volume = Volume { files, address_map, ledger: Some(Arc::clone(&self.ledger)) };
        open_volume(volume, EngineSettings::new(self.name, DEPTH, Bytes(BS), 1)).unwrap().engine
    }

    /// The result of one operation on every block.
    fn every_block(&self, engine: &mut dyn Engine, operation: Operation) -> Vec<Result<u32, Errno>> {
        let blocks: Vec<u64> = (0..BLOCKS).collect();
        let batch = |blocks: &[u64]| -> Vec<Request> {
            (0..).zip(blocks).map(|(slot, block)| request(slot, operation, *block)).collect()
        };
        let carried = blocks.chunks(DEPTH as usize).flat_map(|blocks| carry(engine, &batch(blocks)));
        carried.map(|completion| completion.result).collect()
    }

    /// Writes every block again.
    fn write(&self) {
        let written = self.every_block(&mut *self.open(self.address_map, self.mode), Operation::Write);
        assert!(written.iter().all(|result| *result == Ok(BS as u32)), "{} {:?}", self.name, self.address_map);
        self.files.iter().for_each(|file| file.sync().unwrap());
    }

    /// The errors found, by block; for a mirror, in both copies.
    fn wrong(&self) -> BTreeMap<u64, Vec<Errno>> {
        let joints = match self.address_map {
            AddressMap::Mirror { .. } => {
                vec![AddressMap::Mirror { only: Some(0) }, AddressMap::Mirror { only: Some(1) }]
            }
            address_map => vec![address_map],
        };
        let mut wrong: BTreeMap<u64, Vec<Errno>> = BTreeMap::new();
        for address_map in joints {
            let read =
                self.every_block(&mut *self.open(address_map, Mode { write: false, ..self.mode }), Operation::Read);
            for (block, result) in (0..).zip(read) {
                result.err().into_iter().for_each(|errno| wrong.entry(block).or_default().push(errno));
            }
        }
        wrong
    }

    /// Where a copy of a block lies.
    fn place(&self, block: u64, copy: usize) -> (&DataFile, u64) {
        let chunk = block * BS / CHUNK;
        match self.address_map {
            AddressMap::Single => (&self.files[0], block * BS),
            AddressMap::Stripe { .. } => (&self.files[(chunk % 2) as usize], chunk / 2 * CHUNK + block * BS % CHUNK),
            AddressMap::Mirror { .. } => (&self.files[copy], block * BS),
        }
    }

    fn get(&self, block: u64, copy: usize) -> Vec<u8> {
        let (file, offset) = self.place(block, copy);
        let mut bytes = vec![0; BS as usize];
        assert_eq!(file.read_at(&mut bytes, offset).unwrap(), bytes.len());
        bytes
    }

    fn put(&self, block: u64, copy: usize, bytes: &[u8]) {
        let (file, offset) = self.place(block, copy);
        file.write_all_at(bytes, offset).unwrap();
    }
}

/// Pseudo-random numbers from a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Damages one block, or two for a misdirected write; returns the errors that must be found.
fn damage(target: &Target, old: &[Vec<u8>], block: u64, spare: u64, random: &mut Random) -> Vec<(u64, Errno)> {
    let copy = if matches!(target.address_map, AddressMap::Mirror { .. }) { random.below(2) as usize } else { 0 };
    let mut bytes = target.get(block, copy);
    let before = &old[block as usize];
    match random.below(4) {
        0 => {
            let bit = random.below(BS * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            target.put(block, copy, &bytes);
            vec![(block, Errno::CORRUPT)]
        }
        1 => {
            // Between two units, or within one after its header.
            let at = (random.below(7) as usize + 1) * 512 - [0, 128][random.below(2) as usize];
            target.put(block, copy, &[&bytes[..at], &before[at..]].concat());
            vec![(block, Errno::TORN)]
        }
        2 => {
            target.put(block, copy, before);
            vec![(block, Errno::LOST)]
        }
        _ => {
            target.put(spare, copy, &bytes);
            target.put(block, copy, before);
            vec![(block, Errno::LOST), (spare, Errno::MISDIRECTED)]
        }
    }
}

#[test]
fn a_thousand_faults_are_all_found() {
    let joints = [AddressMap::Single, AddressMap::Stripe { chunk: Bytes(CHUNK) }, AddressMap::Mirror { only: None }];
    for (case, address_map) in cases().into_iter().flat_map(|case| joints.map(|address_map| (case, address_map))) {
        let target = Target::new(case, address_map);
        target.write();
        let old: Vec<Vec<u8>> = (0..BLOCKS).map(|block| target.get(block, 0)).collect();
        target.write();
        assert_eq!(target.wrong(), BTreeMap::new(), "{case:?} {address_map:?}: nothing is wrong yet");

        let mut random = Random(11);
        let mut blocks: Vec<u64> = (0..BLOCKS).collect();
        for at in (1..blocks.len()).rev() {
            blocks.swap(at, random.below(at as u64 + 1) as usize);
        }
        let mut wanted = BTreeMap::new();
        let mut injected = 0;
        while injected < FAULTS {
            let block = blocks.pop().unwrap();
            let spare = *blocks.last().unwrap();
            let found = damage(&target, &old, block, spare, &mut random);
            if found.len() == 2 {
                blocks.pop();
            }
            injected += 1;
            wanted.extend(found.into_iter().map(|(block, errno)| (block, vec![errno])));
        }
        target.files.iter().for_each(|file| file.sync().unwrap());
        let wrong = target.wrong();
        let missed: Vec<_> = wanted.iter().filter(|(block, _)| !wrong.contains_key(block)).collect();
        assert!(missed.is_empty(), "{case:?} {address_map:?} missed {missed:?}");
        assert!(wrong == wanted, "{case:?} {address_map:?} called something other than what it was, or made it up");
        println!("{case:?} {address_map:?}: {injected} faults in {} blocks, all found", wanted.len());
    }
}

#[test]
fn copies_of_a_mirror_are_alike_after_writing() {
    for case in cases() {
        let target = Target::new(case, AddressMap::Mirror { only: None });
        (0..3).for_each(|_| target.write());
        for block in 0..BLOCKS {
            assert!(target.get(block, 0) == target.get(block, 1), "{case:?}: block {block}");
        }
    }
}

#[test]
fn requests_side_by_side_raise_no_false_alarm() {
    let joints = [AddressMap::Single, AddressMap::Stripe { chunk: Bytes(CHUNK) }, AddressMap::Mirror { only: None }];
    for (case, address_map) in cases().into_iter().flat_map(|case| joints.map(|address_map| (case, address_map))) {
        let target = Target::new(case, address_map);
        target.write();
        // Two lanes over few blocks, so that requests overlap constantly.
        std::thread::scope(|scope| {
            for seed in 1..3 {
                let target = &target;
                scope.spawn(move || {
                    let mut random = Random(seed);
                    let mut engine = target.open(target.address_map, target.mode);
                    let mut done = Vec::with_capacity(DEPTH as usize);
                    done.extend((0..DEPTH).map(|slot| Completion { slot, result: Ok(BS as u32) }));
                    let mut in_flight = 0;
                    for round in 0..600 {
                        let next = |completion: &Completion| {
                            assert_eq!(completion.result, Ok(BS as u32), "{case:?} {address_map:?} round {round}");
                            let operation = [Operation::Read, Operation::Write][random.below(2) as usize];
                            request(completion.slot, operation, random.below(6))
                        };
                        let batch: Vec<Request> = done.iter().map(next).collect();
                        in_flight += batch.len();
                        engine.submit(&batch).unwrap();
                        done.clear();
                        engine.reap(1, &mut done).unwrap();
                        in_flight -= done.len();
                    }
                    while in_flight > 0 {
                        done.clear();
                        engine.reap(1, &mut done).unwrap();
                        in_flight -= done.len();
                    }
                });
            }
        });
        assert_eq!(target.wrong(), BTreeMap::new(), "{case:?} {address_map:?}");
    }
}
