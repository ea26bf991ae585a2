//! Checks that no sequence of events panics, that waits always add up to latencies, and that what is kept can be asked again.

use halfpower_os::trace::{Call, CommitStep, Happening, Step};
use halfpower_record::{OperationKind, read_capture, write_capture};
use proptest::collection::vec;
use proptest::prelude::*;

use super::scene::{DEVICE, DIRECT, JOURNAL, OTHER, PLAIN, SOCKET, Scene, THREAD, WORKER};
use crate::fold::Recording;
use crate::fold::capture::Capture;

const CALLS: [Call; 10] = [
    Call::Read,
    Call::Pread,
    Call::Preadv,
    Call::Write,
    Call::Pwritev2,
    Call::Fsync,
    Call::Fdatasync,
    Call::Sync,
    Call::IoSubmit,
    Call::IoUringEnter,
];
const STEPS: [Step; 8] = [
    Step::Queued,
    Step::Granted,
    Step::Merged,
    Step::Joined,
    Step::Inserted,
    Step::Issued,
    Step::Requeued,
    Step::Completed,
];
const COMMITS: [CommitStep; 5] =
    [CommitStep::Started, CommitStep::Locking, CommitStep::Flushing, CommitStep::Logging, CommitStep::Ended];
const LETTERS: [&str; 8] = ["R", "RA", "W", "WS", "WFS", "FWFS", "FW", "FF"];
const THREADS: [u32; 6] = [THREAD, THREAD + 1, THREAD + 2, OTHER, WORKER, JOURNAL];

/// An event: which kind, by whom, two choices, and the time since the one before.
type Choice = (u8, u8, u8, u8, u16);

fn lay(scene: &mut Scene, at: u64, (kind, who, one, two, _): Choice) {
    let thread = THREADS[usize::from(who) % THREADS.len()];
    let call = CALLS[usize::from(one) % CALLS.len()];
    let fd = [DIRECT, PLAIN, SOCKET][usize::from(two) % 3];
    let request = u64::from(one) % 8;
    match kind {
        0..=3 => scene.began(at, thread, call, [fd, 3, u64::from(two) * 4096, u64::from(one) * 4096]),
        4..=7 => scene.ended(at, thread, call, i64::from(two) * 512 - 512),
        8 | 9 => scene.out(at, thread, u64::from(two) % 2),
        10 | 11 => scene.back(at, thread),
        12 => scene.woken(at, thread),
        13..=20 => {
            let step = STEPS[usize::from(kind) - 13];
            let letters = LETTERS[usize::from(one) % LETTERS.len()];
            let from = u64::from(two) % 16 * 8;
            let sectors = if letters == "FF" || letters == "FW" { 0..0 } else { from..from + 8 * (1 + request) };
            scene.step(at, thread, step, sectors, letters);
        }
        21 => scene.add(at, thread, Happening::Split { disk: 0, from: request * 8, at: request * 8 + 8 }),
        22 => scene.commit(at, COMMITS[usize::from(two) % COMMITS.len()]),
        23 => scene.add(at, thread, Happening::Throttled { pause_ms: u64::from(two) % 3 }),
        24 if two.is_multiple_of(4) => scene.reach(at, one.is_multiple_of(4)),
        24 => scene.add(at, thread, Happening::Fault { device: DEVICE, inode: 2 }),
        25 => scene.add(at, thread, Happening::RingBegan { request, ring: 1, opcode: two % 30 }),
        26 => scene.add(at, thread, Happening::RingFile { request, fd: fd as u32 }),
        27 | 28 => scene.add(at, thread, Happening::RingEnded { request, result: i64::from(two) - 1 }),
        29 if two.is_multiple_of(2) => scene.add(at, thread, Happening::SyncEnded { device: DEVICE, inode: 2 }),
        29 => scene.add(at, thread, Happening::SyncBegan { device: DEVICE, inode: 2, data_only: true }),
        30 => scene.fold.limited(two < 128),
        _ => {
            scene.end_slice(at);
            scene.begin_slice(at);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn waits_add_up_whatever_is_seen(choices in vec((0_u8..32, any::<u8>(), any::<u8>(), any::<u8>(), 0_u16..200), 0..400)) {
        let mut scene = Scene::new();
        let mut at = 0;
        for choice in choices {
            at += u64::from(choice.4);
            lay(&mut scene, at, choice);
        }
        let watched = scene.watched(at);
        for one in &watched.operations {
            let sum: u128 = one.waits.iter().map(|(_, ns)| u128::from(*ns)).sum();
            prop_assert_eq!(sum, one.latency.sum_ns());
            prop_assert_eq!(one.latency.count(), one.count);
            prop_assert!(one.sequential <= one.count && one.cached <= one.count && one.appends <= one.count);
            prop_assert!(one.sizes.iter().map(|(_, count)| count).sum::<u64>() <= one.count);
            prop_assert!(one.depth >= 0.0 && one.depth_while_busy >= 0.0);
        }
        let slows: u64 = watched.others.first().map_or(0, |other| other.own_during.count() + other.own_without.count());
        for other in &watched.others {
            prop_assert_eq!(other.own_during.count() + other.own_without.count(), slows);
        }
        prop_assert!(watched.traced_ns <= at * 1000);
    }

    #[test]
    fn what_is_kept_can_be_asked_again(
        choices in vec((0_u8..32, any::<u8>(), any::<u8>(), any::<u8>(), 0_u16..200), 0..400),
        most in 1_usize..60,
    ) {
        let mut scene = Scene::kept(Capture::up_to(Recording { names: true }, most));
        let mut at = 0;
        for choice in choices {
            at += u64::from(choice.4);
            lay(&mut scene, at, choice);
        }
        let captured = scene.captured(at);
        prop_assert!(captured.operations.len() <= most);
        prop_assert!(captured.span_ns() <= at * 1000);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.halfpower");
        write_capture(&captured, std::fs::File::create(&path).unwrap()).unwrap();
        // What contradicts itself cannot be read.
        prop_assert_eq!(&read_capture(&path).unwrap(), &captured);
        let steps: usize = captured.scripts().iter().map(|script| script.steps.len()).sum();
        prop_assert_eq!(steps, captured.operations.len());
        for one in &captured.operations {
            let file = &captured.files[one.file as usize];
            let reads = one.kind == OperationKind::Read;
            let written = captured.operations.iter().filter(|other| other.file == one.file && other.kind != one.kind);
            let written = written.map(|other| other.offset + other.bytes).max().unwrap_or(0);
            prop_assert!(!reads || one.offset + one.bytes <= file.bytes.max(written));
        }
    }
}
