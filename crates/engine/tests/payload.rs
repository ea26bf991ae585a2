//! Checks that written data can be neither compressed nor deduplicated, over the engines, with one request in flight
//! and with several.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use halfpower_engine::{Engine, EngineSettings, Operation, Request, Volume, available, open_volume};
use halfpower_os::{DataFile, Mode};
use halfpower_spec::{Bytes, EngineName};

const BLOCK: usize = 4096;
/// More blocks than the payload has, so that it repeats.
const BLOCKS: u64 = 5120;
/// How far back a compressor with usual settings looks for bytes that it has seen.
const LOOKS_BACK: usize = 2 << 20;
const NAMES: [EngineName; 5] =
    [EngineName::Sync, EngineName::Pool, EngineName::IoUring, EngineName::Plain, EngineName::Libaio];

/// Writes every block of the file once, out of order, with every slot in flight.
fn write_all(engine: &mut dyn Engine, depth: u32) {
    let (mut free, mut done): (Vec<u32>, _) = ((0..depth).collect(), Vec::with_capacity(depth as usize));
    // A step coprime to the number of blocks visits each block.
    let mut blocks = (0..BLOCKS).map(|index| index * 1663 % BLOCKS);
    loop {
        let write = |slot, block| {
            let length = BLOCK as u32;
            Request { slot, operation: Operation::Write, offset: block * BLOCK as u64, length }
        };
        let batch: Vec<Request> =
            blocks.by_ref().take(free.len()).zip(&free).map(|(at, slot)| write(*slot, at)).collect();
        free.drain(..batch.len());
        engine.submit(&batch).unwrap();
        if free.len() == depth as usize {
            return;
        }
        done.clear();
        engine.reap(1, &mut done).unwrap();
        assert!(done.iter().all(|completion| completion.result == Ok(BLOCK as u32)));
        free.extend(done.iter().map(|completion| completion.slot));
    }
}

/// Least bytes that a compressor could save: the 64-byte lines whose last word it has seen within its window.
fn repeated_bytes(contents: &[u8]) -> usize {
    let mut last_at: HashMap<&[u8], usize> = HashMap::new();
    let words = contents.chunks_exact(64).map(|line| &line[56..]).enumerate();
    let mut is_seen =
        |(line, word)| last_at.insert(word, line).is_some_and(|before| (line - before) * 64 <= LOOKS_BACK);
    words.filter(|word| is_seen(*word)).count() * 64
}

#[test]
fn a_written_file_neither_compresses_nor_repeats_a_block() {
    for name in NAMES.into_iter().filter(|name| available(*name, None).is_ok()) {
        for depth in [1, 8] {
            let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
            file.allocate(BLOCKS * BLOCK as u64).unwrap();
            let run_file = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
            let settings = EngineSettings::new(name, depth, Bytes(BLOCK as u64), 42);
            let mut opened = open_volume(Volume::of(Some(run_file)), settings).unwrap();
            write_all(&mut *opened.engine, opened.most_in_flight);
            let mut contents = vec![0; BLOCKS as usize * BLOCK];
            file.read_at(&mut contents, 0).unwrap();
            let blocks: HashSet<&[u8]> = contents.chunks(BLOCK).collect();
            assert_eq!(blocks.len() as u64, BLOCKS, "{name} at depth {depth} repeats a block");
            let repeated = repeated_bytes(&contents);
            assert!(repeated * 200 < contents.len(), "{name} at depth {depth}: {repeated} bytes are repeated");
        }
    }
}

#[test]
fn what_repeats_is_found() {
    let mut contents: Vec<u8> =
        (0..1u64 << 17).flat_map(|word| (word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_le_bytes()).collect();
    assert_eq!(repeated_bytes(&contents), 0);
    contents.copy_within(..64 << 10, 512 << 10);
    assert_eq!(repeated_bytes(&contents), 64 << 10);
}
