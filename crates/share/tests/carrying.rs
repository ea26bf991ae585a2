//! Carries out orders over a pipeline.

use std::time::Duration;

use halfpower_share::{Done, LaneOptions, Op, Order, Pipeline, Purpose, SlotBytes, wait};
use halfpower_spec::Sealing;

/// Longest wait between checks for silence.
const STEP: Duration = Duration::from_millis(2);

pub struct Slots(pub Vec<Vec<u8>>);

impl SlotBytes for Slots {
    fn incoming(&mut self, slot: u32) -> &mut [u8] {
        &mut self.0[slot as usize]
    }

    fn outgoing(&self, slot: u32) -> &[u8] {
        &self.0[slot as usize]
    }
}

/// Carries out the orders; returns their outcomes by slot, or the error.
pub fn carry(pipeline: &mut Pipeline, slots: &mut Slots, orders: &[Order]) -> Result<Vec<Done>, String> {
    orders.iter().for_each(|order| pipeline.order(*order));
    let mut done = Vec::new();
    while done.len() < orders.len() {
        pipeline.advance(slots, &mut done).map_err(|error| error.to_string())?;
        if done.len() < orders.len() {
            wait(std::slice::from_ref(pipeline), Some(STEP)).unwrap();
            pipeline.check_silence().map_err(|error| error.to_string())?;
        }
    }
    done.sort_by_key(|done| done.slot);
    Ok(done)
}

/// `count` orders for consecutive places in the file.
pub fn orders(op: Op, count: u32, length: u32, from: u64) -> Vec<Order> {
    let offset = |slot: u32| from + u64::from(slot) * u64::from(length);
    (0..count).map(|slot| Order { slot, op, offset: offset(slot), length }).collect()
}

pub fn lane(durable: bool, slots: u32, slot_bytes: u32) -> LaneOptions {
    LaneOptions { durable, slots, slot_bytes, purpose: Purpose::Measure, sealing: Sealing::AsAsked }
}
