//! Says what `scaling` asks, what it found and what the papers saw.

use halfpower_spec::format;

use super::answer::{CostByMembers, MembersScaling, ScalingAnswer, ScalingVerdict, StoppedMembers, StripeShare};
use crate::words::sentence;

pub(crate) const QUESTION: &str = "What does each added member bring, and where does a path that they share take over?";
pub(crate) const PAPERS: &str = "In 2000 three Quantum Atlas 10K disks of 25 MB/s scaled on one SCSI bus (73 MB/s), and the PCI bus \
    stopped the fourth at 87 MB/s; the third and fourth brought writes 2.5 and 2.8 MB/s more (Figure 18). Four \
    Fireballs, each driven on its own, gave four times the random requests of one. In 1998 four disks \
    saturated an Ultra-Wide bus at 32 of its 40 MB/s. A stripe cost the processor next to nothing.";

/// Largest difference between a stripe's shares that are reported as one.
const ONE_SHARE: f64 = 0.02;

pub(crate) fn answer(found: &ScalingAnswer) -> String {
    match found.members {
        0 => return "No member could be measured alone.".to_string(),
        1 => return "Members were measured alone, and never several together.".to_string(),
        _ => {}
    }
    let kinds = found.kinds.iter().map(|kind| sentence(&scaling(kind)));
    let sentences = kinds.chain(found.stripe.iter().map(stripe)).chain(found.cost.iter().map(cost));
    sentences.collect::<Vec<_>>().join(" ")
}

fn scaling(found: &MembersScaling) -> String {
    let MembersScaling { pattern, rw, verdict, one_mbps, n, mbps, stopped } = found;
    let [from, to] = [*one_mbps, *mbps].map(format::mbps);
    match (stopped, verdict) {
        (Some(stopped), _) => {
            let all = if *n > stopped.n { format!(", and all {n} reach {to}") } else { String::new() };
            format!("{pattern} {rw}s: {}{all}", stop(stopped))
        }
        (None, ScalingVerdict::Scales) => format!("{pattern} {rw}s: all {n} members scale, from {from} to {to}"),
        (None, _) => {
            format!("{pattern} {rw}s: these runs cannot tell whether {n} members scale, from {from} to {to}")
        }
    }
}

fn stop(found: &StoppedMembers) -> String {
    let scale = match found.before_n {
        1 => "one member".to_string(),
        members => format!("{members} members still scale"),
    };
    let [before, stopped] = [found.before_mbps, found.mbps].map(format::mbps);
    let brings = format::percent(found.brings_share);
    format!(
        "{scale} ({before}), and a shared path stops number {} at {stopped}: it brings {brings} of what one gives",
        found.n
    )
}

fn stripe(found: &StripeShare) -> String {
    let [least, most] = [found.least, found.most].map(format::percent);
    match found.most - found.least < ONE_SHARE {
        true => format!("A stripe of them gives {least} of that."),
        false => format!("A stripe of them gives {least} to {most} of that."),
    }
}

fn cost(found: &CostByMembers) -> String {
    let CostByMembers { rw, one, most } = found;
    let [fixed, per_kib] = [one.fixed_us, one.us_per_kib].map(format::time_us);
    let [most_fixed, most_per_kib] = [most.fixed_us, most.us_per_kib].map(format::time_us);
    format!(
        "A {rw} costs the processor {fixed} and {per_kib} a KiB with one member, {most_fixed} and {most_per_kib} with {}.",
        most.n
    )
}
