//! Checks requests in flight to a server in memory: bytes, depth, durability, and a server that fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfpower_share::{Access, Credentials, Op, Pipeline, PipelineSource, Share, ShareError};
use halfpower_spec::{ShareAddress, Target};

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_nfs::{MemoryNfs, Mood};

fn address(server: &MemoryNfs) -> ShareAddress {
    match Target::parse(&server.address(), |_| Err(std::io::Error::other("none"))) {
        Ok(Target::Share(address)) => address,
        other => panic!("{other:?}"),
    }
}

/// How long answers may take: longer than any that comes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn connect(server: &MemoryNfs) -> Share {
    connect_for(server, PATIENCE).unwrap()
}

fn connect_for(server: &MemoryNfs, timeout: Duration) -> Result<Share, ShareError> {
    Share::connect(&address(server), &Access { credentials: Credentials::default(), timeout, stop: Arc::default() })
}

/// A share that waits so long for answers, and a pipeline of it; `None` if they took longer.
fn opened_for(server: &MemoryNfs, seconds: u64) -> Option<(Share, Pipeline)> {
    let share = connect_for(server, Duration::from_secs(seconds)).ok()?;
    let pipeline = share.pipeline(lane(false, 2, 4096)).ok()?;
    Some((share, pipeline))
}

#[test]
fn what_was_written_is_read_at_any_size_and_depth() {
    let server = MemoryNfs::start();
    for (length, depth) in [(512, 1), (4096, 32), (4099, 3), (65536, 16), (1 << 20, 4)] {
        let share = connect(&server);
        let mut pipeline = share.pipeline(lane(false, depth, length)).unwrap();
        let pattern = |slot: u32| (0..length).map(|byte| (byte * 7 + slot * 31) as u8).collect::<Vec<u8>>();
        let mut slots = Slots((0..depth).map(pattern).collect());
        for round in 0..3 {
            let from = round * u64::from(length * depth);
            let done = carry(&mut pipeline, &mut slots, &orders(Op::Write, depth, length, from)).unwrap();
            assert!(done.iter().all(|done| done.result == Ok(length)), "{length} x {depth}");
        }
        slots.0.iter_mut().for_each(|slot| slot.fill(0));
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, depth, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)));
        assert!((0..depth).all(|slot| slots.0[slot as usize] == pattern(slot)), "{length} x {depth}");
        let behind = u64::from(length * depth) * 3 - 100;
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 1, length, behind)).unwrap();
        assert_eq!(done[0].result, Ok(100), "the file ends there");
    }
}

#[test]
fn the_file_is_ours_and_goes_with_us() {
    let server = MemoryNfs::start();
    server.files.lock().unwrap().insert("theirs".to_string(), b"theirs".to_vec());
    let one = connect(&server);
    let other = connect(&server);
    assert_eq!(server.files.lock().unwrap().len(), 3, "each has its own");
    drop((one, other));
    assert_eq!(server.files.lock().unwrap().keys().collect::<Vec<_>>(), ["theirs"]);
}

#[test]
fn a_removal_that_is_put_off_is_asked_for_again_and_one_that_is_refused_is_not() {
    let server = MemoryNfs::start();
    let share = connect(&server);
    server.be(Mood::PutsOff(2));
    drop(share);
    assert!(server.files.lock().unwrap().is_empty());
    assert_eq!(server.removals.load(Ordering::Relaxed), 3);
    let share = connect(&server);
    server.be(Mood::Keeps(13));
    drop(share);
    assert_eq!(server.files.lock().unwrap().len(), 1, "it stays, and who runs the study is told");
    assert_eq!(server.removals.load(Ordering::Relaxed), 4);
}

#[test]
fn what_killed_processes_left_there_goes_with_the_next_study() {
    let server = MemoryNfs::start();
    let kept = ["theirs", ".halfpower-notes", ".halfpower-0badf00d-77-0-01234567"];
    let old = [".halfpower-0badf00d-77-0-01d01d01", ".halfpower-77-0-01d01d01"];
    server.files.lock().unwrap().extend(kept.iter().chain(&old).map(|name| (name.to_string(), vec![1; 9])));
    let one = connect(&server);
    let other = connect(&server);
    assert_eq!(server.files.lock().unwrap().len(), kept.len() + 2, "each that lives has its own");
    drop((one, other));
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    assert_eq!(server.files.lock().unwrap().keys().map(String::as_str).collect::<Vec<_>>(), kept);
}

#[test]
fn durable_writes_are_asked_for_as_such_and_a_flush_is_a_commit() {
    let server = MemoryNfs::start();
    let share = connect(&server);
    let mut slots = Slots(vec![vec![1; 4096]; 2]);
    for durable in [false, true] {
        let mut pipeline = share.pipeline(lane(durable, 2, 4096)).unwrap();
        carry(&mut pipeline, &mut slots, &orders(Op::Write, 2, 4096, 0)).unwrap();
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Flush, 1, 0, 0)).unwrap();
        assert_eq!(done[0].result, Ok(0));
    }
    assert_eq!(server.stable_writes.load(Ordering::Relaxed), 2);
    assert_eq!(server.commits.load(Ordering::Relaxed), 2);
}

#[test]
fn a_full_server_and_one_that_was_restarted_are_errors_of_requests() {
    let server = MemoryNfs::start();
    let share = connect(&server);
    let mut pipeline = share.pipeline(lane(false, 2, 4096)).unwrap();
    let mut slots = Slots(vec![vec![1; 4096]; 2]);
    server.be(Mood::Full);
    let done = carry(&mut pipeline, &mut slots, &orders(Op::Write, 2, 4096, 0)).unwrap();
    assert!(done.iter().all(|done| done.result == Err(28)), "{done:?}");
    server.be(Mood::Restarted);
    carry(&mut pipeline, &mut slots, &orders(Op::Write, 1, 4096, 0)).unwrap();
    let done = carry(&mut pipeline, &mut slots, &orders(Op::Flush, 1, 0, 0)).unwrap();
    assert_eq!(done[0].result, Err(5), "what it had not committed is lost");
}

#[test]
fn a_server_that_fails_ends_the_connection_with_a_sentence() {
    let server = MemoryNfs::start();
    for (mood, words) in [(Mood::Gone, "was lost"), (Mood::Garbage, "no answer of NFSv3"), (Mood::Silent, "--timeout")]
    {
        // Only silence waits for a timeout to pass. What the server says before comes as late as the machine is busy.
        let timeouts = if words == "--timeout" { &[1, 5, 25, 125][..] } else { &[125] };
        let opened = timeouts.iter().find_map(|seconds| opened_for(&server, *seconds));
        let (_share, mut pipeline) = opened.expect("the server answers in time");
        server.be(mood);
        let mut slots = Slots(vec![vec![1; 4096]; 2]);
        let said = carry(&mut pipeline, &mut slots, &orders(Op::Read, 2, 4096, 0)).unwrap_err();
        assert!(said.contains(words) && said.contains("nfs://127.0.0.1"), "{mood:?}: {said}");
        server.be(Mood::Well);
    }
}

#[test]
fn no_export_of_this_name_is_said() {
    let server = MemoryNfs::start();
    let access = Access { credentials: Credentials::default(), timeout: PATIENCE, stop: Arc::default() };
    let nowhere = ShareAddress { path: vec!["nowhere".to_string()], ..address(&server) };
    let said = Share::connect(&nowhere, &access).err().unwrap().to_string();
    assert!(said.contains("/nowhere"), "{said}");
    let closed = ShareAddress { port: Some(1), ..nowhere };
    let said = Share::connect(&closed, &access).err().unwrap().to_string();
    assert!(said.contains("port 1 of 127.0.0.1 takes no connection"), "{said}");
}
