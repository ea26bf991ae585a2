//! Decides what stops an application of which counters alone are known.

use halfpower_record::DeviceUse;

use super::scene::{Scene, depth_while_busy};
use super::stop::{WatchStop, WatchUnknown};
use super::thresholds::{
    ASKS_ALWAYS, ASKS_ENOUGH, HELD, LITTLE, MEMORY_PRESSURE, MOSTLY, SHORTEST_TRACE_NS, STOLEN, WAITED,
};
use crate::mean::quotient;

/// Share of the time that tasks wait for I/O, up to which storage does not limit them.
const LITTLE_WAITING: f64 = 0.1;
/// Requests in progress up to which a disk has one at a time.
const ONE_AT_A_TIME: f64 = 1.3;
/// Share of the requests that read, from which no flush can be what the disk does.
const ALL_READS: f64 = 0.95;
/// Share of the bytes on the disks that the application must move for the disks' counters to speak of it.
const ALL_ITS_OWN: f64 = 0.9;

/// What stops the application, by counters.
pub(super) fn stop(scene: &Scene<'_>, others_bytes_share: Option<f64>) -> WatchStop {
    if scene.watched.span_ns < SHORTEST_TRACE_NS {
        return WatchStop::NotKnown { why: WatchUnknown::TooFew { count: 0, traced_ns: scene.watched.span_ns } };
    }
    if let Some(limit) = scene.rate_limit("read", &[]).or_else(|| scene.rate_limit("write", &[])) {
        return limit;
    }
    if let Some((_, quota)) = scene.quota().filter(|(held, _)| *held >= HELD) {
        return quota;
    }
    let stolen = scene.steal_share();
    if stolen >= STOLEN {
        return WatchStop::Steal { share: stolen };
    }
    let (full, of) = scene.full_processors();
    let waited_share = scene.run_queue_share().unwrap_or(0.0);
    if full > 0 && full == of && waited_share >= WAITED {
        return WatchStop::Processors { full, of, waited_share };
    }
    if let Some(full) = scene.one_processor() {
        return full;
    }
    let waits = waiting_share(scene);
    if let Some(pressure_share) = scene.pressure("memory").filter(|share| *share >= MEMORY_PRESSURE)
        && waits.is_none_or(|share| share >= LITTLE)
    {
        let file = scene.memory_limit();
        return WatchStop::Memory { pressure_share, paging_share: None, read_again_share: None, file };
    }
    let seldom = waits.filter(|share| *share < LITTLE_WAITING);
    if let Some(busy_share) = seldom.filter(|_| !is_read_from(scene, others_bytes_share)) {
        return WatchStop::Itself { busy_share, most_gain: 1.0 / (1.0 - busy_share) };
    }
    own_depth(scene, others_bytes_share, waits).unwrap_or_else(|| WatchStop::NotKnown {
        why: WatchUnknown::NotTraced { busy_share: scene.busiest(&[]).map(|disk| disk.busy_share()) },
    })
}

/// Share of the time that the application waits for storage, at most; `None` if nothing tells.
fn waiting_share(scene: &Scene<'_>) -> Option<f64> {
    let delayed = scene.watched.processors.block_io_ns;
    let delayed = delayed.map(|ns| quotient(ns as f64, scene.watched.span_ns as f64));
    // A disk that is idle makes nobody wait; a flush may not count as busy, so writers are not judged by it.
    match (scene.pressure("io"), delayed) {
        (Some(pressure), Some(delayed)) => Some(pressure.max(delayed).min(1.0)),
        (Some(share), None) | (None, Some(share)) => Some(share.min(1.0)),
        (None, None) => None,
    }
}

/// Whether a disk reads for the application half of the time. It may then wait all the same: kernels do not count who
/// waits for requests of libaio, and older ones of io_uring.
fn is_read_from(scene: &Scene<'_>, others_bytes_share: Option<f64>) -> bool {
    let reads = |disk: &DeviceUse| quotient(disk.reads.ios as f64, disk.reads.ios as f64 + disk.writes.ios as f64);
    let is_its_own = others_bytes_share.is_some_and(|share| share <= 1.0 - MOSTLY);
    let reads_much = |disk: &DeviceUse| disk.busy_share() >= ASKS_ENOUGH && reads(disk) >= MOSTLY;
    is_its_own && scene.busiest(&[]).is_some_and(reads_much)
}

/// One read at a time on a disk that nobody else uses.
fn own_depth(scene: &Scene<'_>, others_bytes_share: Option<f64>, waits: Option<f64>) -> Option<WatchStop> {
    let disk = scene.busiest(&[])?;
    let busy_share = disk.busy_share();
    let depth = depth_while_busy(disk);
    let reads = quotient(disk.reads.ios as f64, disk.reads.ios as f64 + disk.writes.ios as f64);
    let is_its_own = others_bytes_share.is_some_and(|share| share <= 1.0 - ALL_ITS_OWN);
    let waits_always = waits.is_some_and(|share| share >= MOSTLY) && busy_share >= ASKS_ALWAYS;
    (is_its_own && waits_always && reads >= ALL_READS && depth > 0.0 && depth <= ONE_AT_A_TIME).then(|| {
        WatchStop::OwnDepth {
            depth: depth.max(1.0),
            device_share: None,
            idle_share: Some(1.0 - busy_share),
            think_share: 1.0 - busy_share,
            best_iodepth: None,
            gain: None,
        }
    })
}
