//! Kills watches at random moments, and looks for tracing that stays on.

use std::time::Duration;

use halfpower_lab::Campaign;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::killed::{Tracing, watch};
use crate::program::skip;
use crate::subjects::idle;

const KILLS: u32 = 20;

#[test]
#[ignore = "lab: watches are killed"]
fn kills_of_watches_leave_no_tracing_on() {
    let tracing = match Tracing::new() {
        Ok(tracing) => tracing,
        Err(why) => return skip(&format!("nothing can be traced here (root is needed): {why}")),
    };
    let subject = idle();
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut campaign = Campaign::new("kills: watch");
    for _ in 0..KILLS {
        let mut killed = watch(&subject);
        std::thread::sleep(Duration::from_millis(dice.random_range(0..1_500)));
        let goes_on = killed.try_wait().unwrap().is_none();
        killed.kill().unwrap();
        killed.wait().unwrap();
        let left = tracing.left_after_a_start(killed.id());
        println!("killed {}, left: {left:?}", killed.id());
        campaign.add(goes_on && left.is_empty());
    }
    campaign.judge("watch");
}
