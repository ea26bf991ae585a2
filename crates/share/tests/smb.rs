//! Checks a whole SMB session with a server in memory: sign-in, our own file, requests in flight.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use halfpower_share::{Access, Credentials, Op, PipelineSource, Share, ShareError};
use halfpower_spec::{ShareAddress, ShareProtocol};

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_smb::MemorySmb;

/// How long answers may take: longer than any that comes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub fn connect(port: u16, share: &str, timeout: Duration) -> Result<Share, ShareError> {
    let host = "127.0.0.1".to_string();
    let path = vec![share.to_string()];
    let protocol = ShareProtocol::Smb;
    let address = ShareAddress { protocol, domain: None, user: None, host, port: Some(port), path, endpoint: None };
    let user = "ann".to_string();
    let password = "hidden-word".to_string();
    let credentials = Credentials { user, password, ..Credentials::default() };
    Share::connect(&address, &Access { credentials, timeout, stop: Arc::default() })
}

fn open(server: &MemorySmb) -> Share {
    connect(server.port, "share", PATIENCE).unwrap()
}

#[test]
fn what_was_written_is_read_at_any_size_and_depth() {
    let server = MemorySmb::start();
    for (length, depth) in [(512, 1), (4096, 64), (4099, 3), (65536, 16), (1 << 20, 4)] {
        let mut share = open(&server);
        assert!(share.facts().contains("SMB 2.1 as a guest"), "{}", share.facts());
        assert_eq!(share.free_bytes().unwrap(), 8 << 30);
        let mut pipeline = share.pipeline(lane(false, depth, length)).unwrap();
        let pattern = |slot: u32| (0..length).map(|byte| (byte * 7 + slot * 31) as u8).collect::<Vec<u8>>();
        let mut slots = Slots((0..depth).map(pattern).collect());
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Write, depth, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{length} x {depth}: {done:?}");
        slots.0.iter_mut().for_each(|slot| slot.fill(0));
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, depth, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{done:?}");
        assert!((0..depth).all(|slot| slots.0[slot as usize] == pattern(slot)), "{length} x {depth}");
        let end = u64::from(length * depth);
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 1, length, end)).unwrap();
        assert_eq!(done[0].result, Ok(0), "the file ends there");
    }
}

#[test]
fn durable_writes_say_so_a_flush_is_one_and_the_file_goes_with_us() {
    let server = MemorySmb::start();
    let share = open(&server);
    assert_eq!(server.files.lock().unwrap().len(), 1);
    let mut slots = Slots(vec![vec![1; 4096]; 2]);
    for durable in [false, true] {
        let mut pipeline = share.pipeline(lane(durable, 2, 4096)).unwrap();
        carry(&mut pipeline, &mut slots, &orders(Op::Write, 2, 4096, 0)).unwrap();
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Flush, 1, 0, 0)).unwrap();
        assert_eq!(done[0].result, Ok(0));
    }
    assert_eq!((server.durable_writes.load(Ordering::Relaxed), server.flushes.load(Ordering::Relaxed)), (2, 2));
    assert_eq!(share.take_connections().len(), 2, "each can be looked at");
    *server.full.lock().unwrap() = true;
    let mut pipeline = share.pipeline(lane(false, 2, 4096)).unwrap();
    let done = carry(&mut pipeline, &mut slots, &orders(Op::Write, 2, 4096, 0)).unwrap();
    assert!(done.iter().all(|done| done.result == Err(28)), "{done:?}");
    drop((pipeline, share));
    let is_gone = || server.files.lock().unwrap().is_empty();
    (0..6000).take_while(|_| !is_gone()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    assert!(is_gone(), "the server removes it when our connection ends");
}

#[test]
fn no_share_of_this_name_is_said() {
    let server = MemorySmb::start();
    let said = connect(server.port, "nowhere", PATIENCE).err().unwrap().to_string();
    assert!(said.contains("the server has no share nowhere"), "{said}");
}
