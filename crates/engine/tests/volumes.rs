//! Compares how stripes and mirrors cut, order and complete requests, over every engine, with a plain description of
//! where each byte lies.

use std::path::Path;

use halfpower_engine::{
    AddressMap, Completion, Engine, EngineSettings, Errno, Operation, Request, Volume, open, open_volume,
};
use halfpower_os::{DataFile, DurableBy, FlushCall, Mode};
use halfpower_spec::{Bytes, EngineName};

const MODE: Mode = Mode {
    direct: false,
    durable: false,
    durable_by: DurableBy::Odsync,
    flush_by: FlushCall::Fdatasync,
    write: true,
    drop_pages: false,
    atomic: false,
    commands: false,
};
const CHUNK: u64 = 4096;
/// Each written piece begins with a mark of this many bytes.
const MARK: u64 = 16;

fn file() -> DataFile {
    DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// The available engines that carry requests to files.
fn names() -> Vec<EngineName> {
    let not_for_files = [
        EngineName::Auto,
        EngineName::Null,
        EngineName::Simulated,
        EngineName::Memory,
        EngineName::Smb,
        EngineName::Nfs,
    ];
    let probe = file();
    probe.write_all_at(&[0; 65536], 0).unwrap();
    let opens = |name: EngineName| match open(Some(probe.reopen(MODE).unwrap()), name, 1, Bytes(4096), 1) {
        Ok(mut opened) => {
            // An engine that cannot carry buffered requests has its own tests.
            let done = carry(&mut *opened.engine, &[request(0, Operation::Read, 0, 4096)]);
            done[0].result == Ok(4096)
        }
        Err(why) => {
            eprintln!("skipped: {why}");
            false
        }
    };
    EngineName::ALL.iter().copied().filter(|name| !not_for_files.contains(name) && opens(*name)).collect()
}

fn volume(files: &[DataFile], address_map: AddressMap) -> Volume {
    Volume { files: files.iter().map(|file| file.reopen(MODE).unwrap()).collect(), address_map, ledger: None }
}

fn request(slot: u32, operation: Operation, offset: u64, length: u32) -> Request {
    Request { slot, operation, offset, length }
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
    assert_eq!((done.len(), done.capacity()), (batch.len(), room));
    done.sort_by_key(|completion| completion.slot);
    let mut slots: Vec<u32> = batch.iter().map(|request| request.slot).collect();
    slots.sort_unstable();
    assert_eq!(done.iter().map(|done| done.slot).collect::<Vec<_>>(), slots);
    done
}

/// Bytes that encode their position in the target.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64 / 8).flat_map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}

/// Where a byte of a stripe lies.
fn place(at: u64, members: u64) -> (usize, u64) {
    let chunk = at / CHUNK;
    ((chunk % members) as usize, chunk / members * CHUNK + at % CHUNK)
}

fn contents(file: &DataFile, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), length);
    bytes
}

fn spread(bytes: &[u8], files: &[DataFile]) {
    for (at, part) in (0..).step_by(CHUNK as usize).zip(bytes.chunks(CHUNK as usize)) {
        let (member, offset) = place(at, files.len() as u64);
        files[member].write_all_at(part, offset).unwrap();
    }
}

fn gathered(files: &[DataFile], length: u64) -> Vec<u8> {
    let members = files.len() as u64;
    let each: Vec<Vec<u8>> = files.iter().map(|file| contents(file, (length / members) as usize)).collect();
    (0..length).map(|at| place(at, members)).map(|(member, offset)| each[member][offset as usize]).collect()
}

#[test]
fn a_stripe_reads_and_writes_where_its_bytes_lie() {
    // Requests within one chunk and over many, aligned and unaligned.
    let ranges = [(0, 4096), (8192, 16384), (12288, 4096), (2048, 4096), (6144, 20480), (40960, 24576), (65536, 512)];
    for (name, members) in names().into_iter().flat_map(|name| [(name, 2), (name, 3)]) {
        let length = 60 * CHUNK * members;
        let files: Vec<DataFile> = (0..members).map(|_| file()).collect();
        let mut wanted = pattern(length as usize);
        spread(&wanted, &files);
        let address_map = AddressMap::Stripe { chunk: Bytes(CHUNK) };
        let settings = EngineSettings { echoes: true, ..EngineSettings::new(name, 8, Bytes(24576), 1) };
        let mut engine = open_volume(volume(&files, address_map), settings).unwrap().engine;
        // A slot holds what it read until it writes it. Both places are cut alike because they differ by whole rows of
        // the stripe.
        let rows = 20 * CHUNK * members;
        let batch = |operation, base: u64| -> Vec<Request> {
            (0..).zip(&ranges).map(|(slot, range)| request(slot, operation, base + range.0, range.1)).collect()
        };
        let reads = batch(Operation::Read, 0);
        let writes = batch(Operation::Write, rows);
        for (read, write) in reads.iter().zip(&writes) {
            assert_eq!(carry(&mut *engine, &[*read])[0].result, Ok(read.length), "{name}");
            assert_eq!(carry(&mut *engine, &[*write])[0].result, Ok(read.length), "{name}");
            let now = gathered(&files, length);
            for at in write.offset..write.offset + u64::from(write.length) {
                let of_piece = (at % CHUNK).min(at - write.offset);
                let same = now[at as usize] == wanted[(at - rows) as usize];
                assert!(same || of_piece < MARK, "{name}, {members} members: byte {at} of {write:?}");
                wanted[at as usize] = now[at as usize];
            }
            assert!(now == wanted, "{name}, {members} members: nothing else was written");
        }
        let done = carry(&mut *engine, &reads);
        assert!(done.iter().zip(&reads).all(|(done, read)| done.result == Ok(read.length)), "{name} {done:?}");
    }
}

#[test]
fn a_mirror_writes_to_both_and_reads_from_either() {
    const LENGTH: u64 = 4 << 20;
    for name in names() {
        let files = [file(), file()];
        files.iter().for_each(|file| file.write_all_at(&pattern(LENGTH as usize), 0).unwrap());
        for bs in [4096u32, 65536, 1 << 20] {
            let address_map = AddressMap::Mirror { only: None };
            let mut engine =
                open_volume(volume(&files, address_map), EngineSettings::new(name, 4, Bytes(u64::from(bs)), 1))
                    .unwrap()
                    .engine;
            let contents_of_all = || files.each_ref().map(|file| contents(file, LENGTH as usize));
            let before = contents_of_all();
            let batch: Vec<Request> = (0..4).map(|slot| request(slot, Operation::Write, 4096 * 3, bs / 2)).collect();
            for write in &batch {
                assert_eq!(carry(&mut *engine, &[*write])[0].result, Ok(bs / 2), "{name}");
            }
            let after = contents_of_all();
            for (before, after) in before.iter().zip(&after) {
                let range = 4096 * 3..4096 * 3 + bs as usize / 2;
                assert_ne!(before[range.clone()], after[range.clone()], "each copy was written");
                assert_eq!(before[..range.start], after[..range.start]);
                assert_eq!(before[range.end..], after[range.end..]);
            }
            let reads: Vec<Request> =
                (0..4).map(|slot| request(slot, Operation::Read, u64::from(slot) * 5000 / 512 * 512, bs)).collect();
            assert!(carry(&mut *engine, &reads).iter().all(|done| done.result == Ok(bs)), "{name} {bs}");
        }
    }
}

#[test]
fn a_flush_reaches_every_member_and_moves_nothing() {
    for name in names() {
        let files = [file(), file()];
        files.iter().for_each(|file| file.write_all_at(&pattern(65536), 0).unwrap());
        for address_map in [AddressMap::Stripe { chunk: Bytes(CHUNK) }, AddressMap::Mirror { only: None }] {
            let mut engine =
                open_volume(volume(&files, address_map), EngineSettings::new(name, 2, Bytes(8192), 1)).unwrap().engine;
            let batch = [request(0, Operation::Flush, 77, 99), request(1, Operation::Read, 0, 8192)];
            let results: Vec<_> = carry(&mut *engine, &batch).iter().map(|done| done.result).collect();
            assert_eq!(results, [Ok(0), Ok(8192)], "{name} {address_map:?}");
        }
    }
}

#[test]
fn a_piece_that_fails_or_ends_early_is_the_requests_outcome() {
    const EBADF: Errno = Errno(9);
    for name in names().into_iter().filter(|name| *name != EngineName::Mmap) {
        let files = [file(), file()];
        files[0].write_all_at(&pattern(65536), 0).unwrap();
        files[1].write_all_at(&pattern(CHUNK as usize + 1024), 0).unwrap();
        let runs = [files[0].reopen(MODE).unwrap(), files[1].reopen(Mode { write: false, ..MODE }).unwrap()];
        let address_map = AddressMap::Stripe { chunk: Bytes(CHUNK) };
        let volume = Volume { files: runs.into(), address_map, ledger: None };
        let mut engine = open_volume(volume, EngineSettings::new(name, 4, Bytes(4 * CHUNK), 1)).unwrap().engine;
        let batch = [
            request(0, Operation::Write, 0, 4096),
            request(1, Operation::Write, 0, 8192),
            request(2, Operation::Read, 0, 8192),
            request(3, Operation::Read, 2 * CHUNK, 8192),
        ];
        let results: Vec<_> = carry(&mut *engine, &batch).iter().map(|done| done.result).collect();
        assert_eq!(results, [Ok(4096), Err(EBADF), Ok(8192), Ok(4096 + 1024)], "{name}");
    }
}

#[test]
fn slots_are_refilled_one_by_one() {
    for name in names() {
        let files = [file(), file(), file()];
        files.iter().for_each(|file| file.write_all_at(&pattern(1 << 20), 0).unwrap());
        let address_map = AddressMap::Stripe { chunk: Bytes(CHUNK) };
        let mut engine =
            open_volume(volume(&files, address_map), EngineSettings::new(name, 8, Bytes(32768), 1)).unwrap().engine;
        let read = |slot: u32, round: u32| {
            request(slot, Operation::Read, u64::from(slot * 37 + round) * 1536 % (1 << 20), 1 << (9 + round % 7))
        };
        let mut sent = 8;
        let mut asked: Vec<u32> = (0..8).map(|slot| read(slot, 0).length).collect();
        engine.submit(&(0..8).map(|slot| read(slot, 0)).collect::<Vec<_>>()).unwrap();
        let mut back = 0;
        let mut done = Vec::with_capacity(8);
        while back < 400 {
            done.clear();
            engine.reap(1, &mut done).unwrap();
            for completion in &done {
                assert_eq!(completion.result, Ok(asked[completion.slot as usize]), "{name}");
                back += 1;
                if sent < 400 {
                    let next = read(completion.slot, sent);
                    asked[next.slot as usize] = next.length;
                    engine.submit(&[next]).unwrap();
                    sent += 1;
                }
            }
        }
    }
}
