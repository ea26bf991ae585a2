//! Checks that messages are signed or encrypted if the user asks for it, and that unavailable sealings are refused.

use std::sync::atomic::Ordering;

use halfpower_share::{LaneOptions, Op, PipelineSource};
use halfpower_spec::Sealing;

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_smb::{KnownUser, MemorySmb};
use crate::smb::{PATIENCE, connect};

const NEW: KnownUser = KnownUser { dialect: 0x0300, offers_encryption: true, wants_encryption: false };
const OLD: KnownUser = KnownUser { dialect: 0x0210, offers_encryption: false, ..NEW };

/// Writes and reads 64 KiB four times; returns how many of the eight requests came signed, and how many encrypted.
fn moved(server: &MemorySmb, sealing: Sealing) -> [u64; 2] {
    let share = connect(server.port, "share", PATIENCE).unwrap();
    let counts = || [&server.signed, &server.encrypted].map(|count| count.load(Ordering::Relaxed));
    let before = counts();
    let mut pipeline = share.pipeline(LaneOptions { sealing, ..lane(false, 4, 65536) }).unwrap();
    let mut slots = Slots((0..4).map(|slot| vec![slot + 1; 65536]).collect());
    carry(&mut pipeline, &mut slots, &orders(Op::Write, 4, 65536, 0)).unwrap();
    slots.0.iter_mut().for_each(|slot| slot.fill(0));
    let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 4, 65536, 0)).unwrap();
    assert!(done.iter().all(|done| done.result == Ok(65536)), "{sealing}: {done:?}");
    assert!((0_u8..).zip(&slots.0).all(|(at, slot)| slot.iter().all(|byte| *byte == at + 1)), "{sealing}");
    let after = counts();
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn the_client_can_insist_on_signatures_and_encryption() {
    let server = MemorySmb::serving(Some(NEW));
    assert_eq!(moved(&server, Sealing::AsAsked), [0, 0]);
    assert_eq!(moved(&server, Sealing::Signed), [8, 0]);
    assert_eq!(moved(&server, Sealing::Encrypted), [0, 8]);
    let server = MemorySmb::serving(Some(OLD));
    assert_eq!(moved(&server, Sealing::Signed), [8, 0]);
    let server = MemorySmb::serving(Some(KnownUser { wants_encryption: true, ..NEW }));
    assert_eq!(moved(&server, Sealing::AsAsked), [0, 8]);
}

#[test]
fn what_cannot_be_had_is_refused_in_a_sentence() {
    for (user, sealing, why) in [
        (None, Sealing::Signed, "a guest has no key"),
        (None, Sealing::Encrypted, "a guest has no key"),
        (Some(OLD), Sealing::Encrypted, "offers no encryption"),
        (Some(KnownUser { offers_encryption: false, ..NEW }), Sealing::Encrypted, "offers no encryption"),
        (Some(KnownUser { wants_encryption: true, ..NEW }), Sealing::Signed, "wants all messages encrypted"),
    ] {
        let server = MemorySmb::serving(user);
        let share = connect(server.port, "share", PATIENCE).unwrap();
        let said = share.offers(sealing).unwrap_err();
        assert!(said.contains(why), "{user:?} {sealing}: {said}");
        let refused = share.pipeline(LaneOptions { sealing, ..lane(false, 1, 4096) }).err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
        assert!(share.offers(Sealing::AsAsked).is_ok());
        assert_eq!(share.is_plain(), user.is_none_or(|user| !user.wants_encryption));
    }
}

#[test]
fn our_own_client_is_rehearsed_with_the_sealing_of_the_run() {
    let server = MemorySmb::serving(Some(NEW));
    let share = connect(server.port, "share", PATIENCE).unwrap();
    for sealing in Sealing::ALL.iter().copied() {
        let rehearsal = share.rehearsal(sealing);
        assert_eq!(rehearsal.is_plain(), sealing == Sealing::AsAsked);
        let mut pipeline = rehearsal.pipeline(lane(false, 4, 65536)).unwrap();
        let mut slots = Slots(vec![vec![9; 65536]; 4]);
        for op in [Op::Write, Op::Read] {
            let done = carry(&mut pipeline, &mut slots, &orders(op, 4, 65536, 0)).unwrap();
            assert!(done.iter().all(|done| done.result == Ok(65536)), "{sealing}: {done:?}");
        }
    }
}
