//! Says what limits an application that was watched: what it does, where it waits, what stops it, who else is there.
//!
//! Pure in what was seen ([`Watched`]) and in the findings of a study of the same path, if there are any.
//! docs/method/watch.md defines every rule and threshold.

mod advice;
mod alone;
mod findings;
mod groups;
mod neighbours;
mod parts;
mod scene;
mod seconds;
mod stop;
mod thresholds;
mod untraced;
mod uses;
mod verdict;

use halfpower_record::Watched;

pub use advice::{TestChange, WatchAdvice, WatchTest};
pub use findings::{WatchFindings, WatchGroup};
pub use parts::{
    AloneReading, OperationGroup, WaitPart, WatchActivity, WatchAlone, WatchCounters, WatchDisk, WatchOther,
    WatchProbe, WatchProbed, WatchUse,
};
pub use stop::{WatchStop, WatchUnknown};

use crate::{Findings, Interval};
use groups::Gathered;
use scene::Scene;
use thresholds::DOMINANT;

/// What limits the application that was watched; `path` holds the findings of a study of the path that it uses.
pub fn watch_findings(watched: &Watched, path: Option<&Findings>) -> WatchFindings {
    let gathered = groups::gathered(watched);
    let others = neighbours::others(watched);
    let others_bytes_share = neighbours::others_bytes_share(watched);
    let traced = watched.traced_ns > 0;
    let has_operations = traced && !gathered.is_empty();
    let busy_share = has_operations.then(|| groups::busy_share(watched.operations.iter()));
    let scene = Scene { watched, busy_share: busy_share.unwrap_or(1.0), others: &others };
    let groups = if has_operations {
        let all_ns: f64 = gathered.iter().map(|group| group.latency.sum_ns() as f64).sum();
        let dominates = |group: &&Gathered<'_>| group.latency.sum_ns() as f64 >= DOMINANT * all_ns;
        let mut judged: Vec<_> = gathered.iter().filter(dominates).map(|group| judged(group, &scene, path)).collect();
        // Operations that take longer than a slice are seen too seldom: counters may tell all the same.
        if judged.iter().all(|group| matches!(group.stop, WatchStop::NotKnown { why: WatchUnknown::TooFew { .. } })) {
            let all = by_counters(&scene, others_bytes_share);
            if all.stop.is_limit() {
                judged.insert(0, all);
            }
        }
        judged
    } else {
        vec![by_counters(&scene, others_bytes_share)]
    };
    WatchFindings {
        traced,
        busy_share,
        activities: groups::activities(watched),
        groups,
        others_bytes_share,
        disks: scene::disks(watched),
        counters: scene::counters(&scene),
        has_study: path.is_some(),
        probe: alone::probe(watched),
        others,
    }
}

/// A group with its verdict.
fn judged(group: &Gathered<'_>, scene: &Scene<'_>, path: Option<&Findings>) -> WatchGroup {
    let watched = scene.watched;
    let of = groups::latency_of(group.group);
    let counted = Interval::exact(group.count as f64 / watched.traced_ns.max(1) as f64 * 1e9);
    // The spread is that of the seconds; the value counts all that was traced.
    let rate = seconds::rate(&watched.seconds, of).filter(|rate| rate.value > 0.0).map_or(counted, |rate| {
        let scale = counted.value / rate.value;
        Interval { value: counted.value, low: rate.low * scale, high: rate.high * scale }
    });
    let uses = path.and_then(|study| uses::uses(group, &rate, study));
    // What a study tells of the path is more than what one request tells.
    let alone = if uses.is_none() { alone::alone(group, watched) } else { None };
    let stop = verdict::stop(group, uses.as_ref(), alone.as_ref(), scene);
    WatchGroup {
        group: group.group,
        count: group.count,
        rate: Some(rate),
        time_share: seconds::time_share(&watched.seconds, of).or_else(|| time_share(group, watched)),
        depth_while_busy: Some(group.depth_while_busy),
        busy_share: Some(group.busy_share),
        waits: group.parts(),
        advice: advice::advice(&stop),
        falsified_by: advice::test(group.group, &stop, uses.as_ref()),
        uses,
        alone,
        stop,
    }
}

/// A group's share of the time of all operations, where no seconds tell.
fn time_share(group: &Gathered<'_>, watched: &Watched) -> Option<Interval> {
    let all: f64 = watched.operations.iter().map(|one| one.latency.sum_ns() as f64).sum();
    (all > 0.0).then(|| Interval::exact(group.latency.sum_ns() as f64 / all))
}

/// All that the application does as one group, by counters: nothing was traced, or no operation was seen.
fn by_counters(scene: &Scene<'_>, others_bytes_share: Option<f64>) -> WatchGroup {
    let is_traced = scene.watched.traced_ns > 0;
    let stop = match untraced::stop(scene, others_bytes_share) {
        WatchStop::NotKnown { why: WatchUnknown::NotTraced { .. } } if is_traced => {
            WatchStop::NotKnown { why: WatchUnknown::Nothing }
        }
        stop => stop,
    };
    let group = OperationGroup::All;
    WatchGroup {
        group,
        count: 0,
        rate: None,
        time_share: None,
        depth_while_busy: None,
        busy_share: None,
        waits: Vec::new(),
        uses: None,
        alone: None,
        advice: advice::advice(&stop),
        falsified_by: advice::test(group, &stop, None),
        stop,
    }
}
