//! Checks that the rehearsal server answers our own clients, at any size and depth.

use halfpower_share::{Op, PipelineSource, Rehearsal};
use halfpower_spec::ShareProtocol;

use crate::carrying::{Slots, carry, lane, orders};

#[test]
fn every_request_is_answered_in_full() {
    for protocol in [ShareProtocol::Smb, ShareProtocol::Nfs, ShareProtocol::S3] {
        let server = Rehearsal::plain(protocol);
        for (length, depth) in [(512, 1), (4096, 64), (4099, 3), (65536, 16), (1 << 20, 4), (3 << 20, 2)] {
            let mut pipeline = server.pipeline(lane(false, depth, length)).unwrap();
            let mut slots = Slots(vec![vec![9; length as usize]; depth as usize]);
            for round in 0..3 {
                for op in [Op::Write, Op::Read] {
                    let done = carry(&mut pipeline, &mut slots, &orders(op, depth, length, round)).unwrap();
                    assert!(done.iter().all(|done| done.result == Ok(length)), "{protocol:?} {length} x {depth}");
                }
            }
            assert!(slots.0.iter().flatten().all(|byte| *byte == 0), "reads bring zeros");
            if protocol.has_flush() {
                let done = carry(&mut pipeline, &mut slots, &orders(Op::Flush, 1, 0, 0)).unwrap();
                assert_eq!(done[0].result, Ok(0));
            }
        }
    }
}

#[test]
fn it_ends_while_requests_are_in_flight() {
    for protocol in [ShareProtocol::Smb, ShareProtocol::Nfs, ShareProtocol::S3] {
        let server = Rehearsal::plain(protocol);
        let mut pipeline = server.pipeline(lane(false, 8, 1 << 20)).unwrap();
        orders(Op::Read, 8, 1 << 20, 0).iter().for_each(|order| pipeline.order(*order));
        let slots = Slots(vec![vec![0; 1 << 20]; 8]);
        pipeline.push(&slots).unwrap();
        drop(server);
    }
}
