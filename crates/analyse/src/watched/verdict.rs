//! Decides what stops a group of operations: what holds all of it up first, then the longest of its waits.
//!
//! A rule names a limit only with evidence of its own; what no rule explains is not known.

use halfpower_record::{OperationKind, Operations, Wait, Watched};
use halfpower_spec::Pattern;

use super::groups::{Gathered, pattern};
use super::neighbours::neighbour;
use super::parts::{AloneReading, OperationGroup, WatchAlone, WatchUse};
use super::scene::{Scene, depth_while_busy};
use super::stop::{WatchStop, WatchUnknown};
use super::thresholds::{
    A_PART, ANSWERED, ASKS_ALWAYS, ASKS_ENOUGH, AT_CEILING, BUSY, CACHED, CAUSE, DEEPER_GAIN, FEW_IN_PROGRESS,
    FEWEST_JUDGED, FEWEST_SLICES, HEAVY, HELD, LITTLE, MEMORY_PRESSURE, MEMORY_PRESSURE_PAGING, MOST_LOST, MOSTLY,
    PAGING, QUEUED, READ_AGAIN, SHORTEST_TRACE_NS, SLOWED, SLOWER_INSIDE, STOLEN, WAITED,
};
use crate::mean::quotient;

/// Waits that are the processors'.
const ON_PROCESSORS: [Wait; 2] = [Wait::Processor, Wait::RunQueue];
/// Waits that are the disk's.
const ON_DISK: [Wait; 2] = [Wait::Device, Wait::BlockQueue];
/// Waits that a limit on a disk makes: one that the kernel sets before a request begins is seen as no other.
const HELD_BACK: [Wait; 5] = [Wait::Throttle, Wait::Other, Wait::BlockQueue, Wait::Device, Wait::Writeback];
/// Depth below which requests that wait before the device wait behind those of others.
const BEHIND_OTHERS: f64 = 2.0;
/// Depth from which requests that take much longer than the quickest wait for each other within the device.
const SEVERAL: f64 = 3.0;
/// Waits that commits which share a flush have once for all of them.
const ONCE_FOR_ALL: [Wait; 4] = [Wait::Device, Wait::BlockQueue, Wait::Journal, Wait::Flush];
/// Commits in each flush that a gain is told for.
const TOGETHER: f64 = 4.0;

/// A group with all that its rules look at.
#[derive(Clone, Copy)]
struct Case<'a> {
    group: &'a Gathered<'a>,
    uses: Option<&'a WatchUse>,
    alone: Option<&'a WatchAlone>,
    scene: &'a Scene<'a>,
}

/// A rule: the stop that it finds.
type Rule = fn(&Case<'_>) -> Option<WatchStop>;

/// What holds a whole group up, whatever it waits for; the first that holds decides.
const RULES: [Rule; 9] =
    [too_little, rate_limit, quota, stolen, full_processor, itself, page_cache, memory, beside_a_neighbour];

/// What stops a group.
pub(super) fn stop(
    group: &Gathered<'_>,
    uses: Option<&WatchUse>,
    alone: Option<&WatchAlone>,
    scene: &Scene<'_>,
) -> WatchStop {
    let case = Case { group, uses, alone, scene };
    RULES.iter().find_map(|rule| rule(&case)).unwrap_or_else(|| longest_wait(&case))
}

fn not_known(why: WatchUnknown) -> WatchStop {
    WatchStop::NotKnown { why }
}

fn too_little(case: &Case<'_>) -> Option<WatchStop> {
    let Watched { traced_ns, span_ns, slices, .. } = case.scene.watched;
    let share = case.scene.lost_share();
    if share > MOST_LOST {
        return Some(not_known(WatchUnknown::LostEvents { share }));
    }
    let count = case.group.count;
    // Slices that are spread over the watch tell as much as a longer time in one piece.
    let is_spread = *slices >= FEWEST_SLICES && *span_ns >= SHORTEST_TRACE_NS;
    let is_enough = count >= FEWEST_JUDGED && (is_spread || *traced_ns >= SHORTEST_TRACE_NS);
    (!is_enough).then(|| not_known(WatchUnknown::TooFew { count, traced_ns: *traced_ns }))
}

fn rate_limit(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, scene, .. } = case;
    let direction = if group.group == OperationGroup::Reads { "read" } else { "write" };
    let limit = scene.rate_limit(direction, &scene.disks_of(group))?;
    (group.share(&HELD_BACK) >= CAUSE).then_some(limit)
}

/// Share of the application's time that it asks for nothing, or that this group is at the processors.
fn off_storage(case: &Case<'_>) -> f64 {
    let Case { group, scene, .. } = case;
    scene.think_share() + scene.busy_share * group.share(&ON_PROCESSORS)
}

fn quota(case: &Case<'_>) -> Option<WatchStop> {
    let (held, quota) = case.scene.quota()?;
    (held >= HELD && off_storage(case) >= MOSTLY).then_some(quota)
}

fn stolen(case: &Case<'_>) -> Option<WatchStop> {
    let share = case.scene.steal_share();
    (share >= STOLEN && off_storage(case) >= MOSTLY).then_some(WatchStop::Steal { share })
}

/// Processors that are full while the application thinks, or while its operations need them.
fn full_processor(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, scene, .. } = case;
    if off_storage(case) < MOSTLY {
        return None;
    }
    let (full, of) = scene.full_processors();
    let in_operations = group.share(&[Wait::RunQueue]);
    let waited_share = in_operations.max(scene.run_queue_share().unwrap_or(0.0));
    if full > 0 && full == of && waited_share >= WAITED {
        return Some(WatchStop::Processors { full, of, waited_share });
    }
    scene.one_processor()
}

fn itself(case: &Case<'_>) -> Option<WatchStop> {
    (case.scene.busy_share < ASKS_ENOUGH).then(|| thinks(case.scene))
}

/// The application itself: without any time in operations, the rest of its time would remain.
fn thinks(scene: &Scene<'_>) -> WatchStop {
    WatchStop::Itself { busy_share: scene.busy_share, most_gain: 1.0 / (1.0 - scene.busy_share).max(0.01) }
}

fn page_cache(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, .. } = case;
    let share = group.cached_share();
    let elsewhere = 1.0 - group.share(&ON_PROCESSORS);
    (share >= CACHED && elsewhere < LITTLE).then_some(WatchStop::PageCache { share })
}

/// Reads of what memory no longer holds.
fn memory(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, scene, .. } = case;
    if group.group != OperationGroup::Reads || group.share(&ON_DISK) < LITTLE {
        return None;
    }
    let pressure_share = scene.pressure("memory");
    let paging_share = scene.paging_share();
    let read_again_share = scene.read_again_share();
    let is_paging = paging_share.is_some_and(|share| share >= PAGING);
    let least = if is_paging { MEMORY_PRESSURE_PAGING } else { MEMORY_PRESSURE };
    let is_pressed = pressure_share.is_some_and(|share| share >= least);
    let reads_again = read_again_share.is_some_and(|share| share >= READ_AGAIN) && more_memory_helps(group);
    (is_pressed || reads_again).then(|| WatchStop::Memory {
        pressure_share: pressure_share.unwrap_or(0.0),
        paging_share,
        read_again_share,
        file: scene.memory_limit(),
    })
}

/// Whether twice the memory would answer more of these reads: a pass over a file that is larger gains nothing from it, and where
/// memory answers hardly any, twice as many are still few. What memory answers of a mapping is not seen.
fn more_memory_helps(group: &Gathered<'_>) -> bool {
    let helps = |one: &Operations| {
        let is_mapping = one.kind == OperationKind::FaultRead;
        pattern(one) != Some(Pattern::Sequential) && (is_mapping || group.cached_share() >= ANSWERED)
    };
    group.largest().is_some_and(helps)
}

fn beside_a_neighbour(case: &Case<'_>) -> Option<WatchStop> {
    neighbour(case.group, case.scene)
}

/// The cause of the longest wait.
fn longest_wait(case: &Case<'_>) -> WatchStop {
    let Case { group, scene, .. } = case;
    let kinds: [&[Wait]; 8] = [
        &ON_DISK,
        &[Wait::Flush],
        &[Wait::Journal],
        &[Wait::Writeback],
        &[Wait::Throttle],
        &[Wait::RunQueue],
        &[Wait::Processor],
        &[Wait::Other],
    ];
    let shares = kinds.into_iter().map(|kind| (kind[0], group.share(kind)));
    let longest = shares.reduce(|most, next| if next.1 > most.1 { next } else { most });
    let Some((wait, share)) = longest.filter(|(_, share)| *share > 0.0) else {
        return not_known(WatchUnknown::Nothing);
    };
    if share < CAUSE {
        return written_and_flushed(case).unwrap_or(not_known(WatchUnknown::NoOneCause { share }));
    }
    let mean_ns = group.mean_ns(wait);
    let of_ns = group.latency.mean_ns();
    match wait {
        Wait::Device | Wait::BlockQueue => disk(case),
        Wait::Flush => flush(case),
        Wait::Journal => journal(case),
        Wait::Writeback => WatchStop::Writeback { share, mean_ns, of_ns },
        Wait::Throttle => throttle(case, share),
        Wait::RunQueue => run_queue(case, share),
        // One request at a time: the processor works for it, then the disk; more at once would overlap both.
        Wait::Processor if group.share(&ON_DISK) >= CAUSE => disk(case),
        Wait::Processor => thinks_or_cached(case),
        Wait::Other if scene.busy_share < ASKS_ALWAYS => thinks(scene),
        Wait::Other => not_known(WatchUnknown::Unseen { share }),
    }
}

/// The time on the disk: the group's own depth, or the device.
fn disk(case: &Case<'_>) -> WatchStop {
    let Case { group, uses, scene, .. } = case;
    let device = scene.busiest(&scene.disks_of(group));
    let busy_share = device.map(|disk| disk.busy_share());
    let queue_share = quotient(group.share(&[Wait::BlockQueue]), group.share(&ON_DISK));
    let depth = group.depth_while_busy;
    let slower_inside = scene.slower_inside(group);
    let own_depth = WatchStop::OwnDepth {
        depth,
        device_share: Some(group.share(&[Wait::Device])),
        idle_share: busy_share.map(|busy| 1.0 - busy),
        think_share: scene.think_share(),
        best_iodepth: uses.map(|uses| uses.best_iodepth),
        gain: uses.map(|uses| uses.deeper_gain),
    };
    let own_depth =
        if scene.busy_share < ASKS_ALWAYS { thinks(scene) } else { written_and_flushed(case).unwrap_or(own_depth) };
    let the_device = WatchStop::Device {
        disk: device.map_or_else(String::new, |disk| disk.name.clone()),
        busy_share,
        depth,
        queue_share,
        slower_inside,
        share_of_best: uses.map(|uses| uses.share_of_best),
    };
    if let Some(uses) = uses {
        return by_study(group, uses, own_depth, the_device);
    }
    let is_busy = busy_share.is_some_and(|share| share >= BUSY);
    let waits_inside = slower_inside.is_some_and(|times| times >= SLOWER_INSIDE) && depth >= SEVERAL;
    if is_busy && depth >= BEHIND_OTHERS && (queue_share >= QUEUED || waits_inside) {
        return the_device;
    }
    if let Some(shared) = shared_device(case) {
        return shared;
    }
    if queue_share >= QUEUED {
        return not_known(WatchUnknown::Queue { share: queue_share });
    }
    let is_read_ahead = |one: &Operations| one.direct != Some(true) && pattern(one) == Some(Pattern::Sequential);
    let has_read_ahead = group.group == OperationGroup::Reads && group.largest().is_some_and(is_read_ahead);
    // A device that is busy with others' requests is not idle between those of the application.
    let of_all = device.map_or(0.0, depth_while_busy);
    let has_heavy_others = scene.others.iter().any(|other| other.bytes_share >= HEAVY);
    if is_busy && has_heavy_others && of_all >= 2.0 * depth {
        return not_known(WatchUnknown::NeedsStudy { depth: of_all, busy_share });
    }
    if device.is_none() && has_heavy_others {
        return not_known(WatchUnknown::NeedsStudy { depth, busy_share });
    }
    if depth > FEW_IN_PROGRESS || has_read_ahead && is_busy || group.share(&ON_DISK) < CAUSE {
        return not_known(WatchUnknown::NeedsStudy { depth, busy_share });
    }
    own_depth
}

/// Few in progress, each at the disk for much longer than one request alone, and another process that uses the disk much: they
/// wait behind its requests. That one request alone takes less tells no ceiling, only that the device is not what is slow.
fn shared_device(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, scene, .. } = case;
    let alone = case.alone.filter(|alone| alone.reading == AloneReading::Above)?;
    let at_the_disk_ns = group.share(&ON_DISK) * alone.own_ns_p50 as f64;
    if group.depth_while_busy >= BEHIND_OTHERS || at_the_disk_ns < SLOWED * alone.alone_ns_p50 as f64 {
        return None;
    }
    let other = scene.others.iter().find(|other| other.bytes_share >= HEAVY && other.pid != Some(0))?;
    Some(WatchStop::SharedDevice {
        disk: scene.busiest(&scene.disks_of(group)).map_or_else(String::new, |disk| disk.name.clone()),
        alone_ns: alone.alone_ns_p50 as f64,
        own_ns: alone.own_ns_p50 as f64,
        times: alone.times,
        name: other.name.clone(),
        cgroup: other.cgroup.clone(),
        bytes_share: other.bytes_share,
    })
}

/// The same with a study, which tells what the path gives while it is asked.
fn by_study(group: &Gathered<'_>, uses: &WatchUse, own_depth: WatchStop, the_device: WatchStop) -> WatchStop {
    let asked = group.busy_share.max(0.01);
    let at_depth = (uses.share_at_depth.value / asked).min(1.0);
    if uses.share_of_best.value / asked >= AT_CEILING {
        the_device
    } else if at_depth < MOSTLY {
        not_known(WatchUnknown::SlowerThanStudy { share: at_depth })
    } else if uses.deeper_gain.low >= DEEPER_GAIN {
        own_depth
    } else if uses.deeper_gain.high >= DEEPER_GAIN && uses.deeper_gain.value >= DEEPER_GAIN {
        not_known(WatchUnknown::StudyTooWide { low: uses.deeper_gain.low, high: uses.deeper_gain.high })
    } else {
        the_device
    }
}

/// A commit writes, then flushes: where neither is most of its time, together they are, and commits that share them save both.
fn written_and_flushed(case: &Case<'_>) -> Option<WatchStop> {
    let Case { group, .. } = case;
    let [flush_share, journal_share] = [Wait::Flush, Wait::Journal].map(|wait| group.share(&[wait]));
    let is_commit = group.group == OperationGroup::Commits && flush_share + journal_share >= A_PART;
    let is_most = group.share(&ONCE_FOR_ALL) >= MOSTLY;
    (is_commit && is_most).then(|| if journal_share > flush_share { journal(case) } else { flush(case) })
}

fn journal(case: &Case<'_>) -> WatchStop {
    let Case { group, .. } = case;
    WatchStop::Journal {
        share: group.share(&[Wait::Journal]),
        mean_ns: group.mean_ns(Wait::Journal),
        of_ns: group.latency.mean_ns(),
    }
}

fn flush(case: &Case<'_>) -> WatchStop {
    let Case { group, .. } = case;
    let shared = group.share(&ONCE_FOR_ALL);
    WatchStop::Flush {
        share: group.share(&[Wait::Flush]),
        mean_ns: group.mean_ns(Wait::Flush),
        write_ns: ON_DISK.into_iter().map(|wait| group.mean_ns(wait)).sum(),
        of_ns: group.latency.mean_ns(),
        together: group.together(),
        gain_of_four: TOGETHER / (shared + TOGETHER * (1.0 - shared)),
    }
}

/// Throttled, and no limit of a control group is used up: the kernel makes buffered writers wait.
fn throttle(case: &Case<'_>, share: f64) -> WatchStop {
    let Case { group, scene, .. } = case;
    let is_buffered = group.members.iter().all(|one| one.direct != Some(true));
    if group.group == OperationGroup::Reads || !is_buffered {
        return not_known(WatchUnknown::Throttle { share });
    }
    let bytes: f64 = group.members.iter().map(|one| one.bytes as f64).sum();
    WatchStop::DirtyPages {
        share,
        mean_ns: group.mean_ns(Wait::Throttle),
        mbps: quotient(bytes * 1e3, scene.watched.traced_ns as f64),
    }
}

/// Ready and not running: a quota, a hypervisor or full processors, else unknown.
fn run_queue(case: &Case<'_>, share: f64) -> WatchStop {
    let Case { scene, .. } = case;
    if let Some((_, quota)) = scene.quota().filter(|(held, _)| *held >= HELD) {
        return quota;
    }
    let stolen = scene.steal_share();
    if stolen >= STOLEN {
        return WatchStop::Steal { share: stolen };
    }
    match scene.full_processors() {
        (full, of) if full > 0 => WatchStop::Processors { full, of, waited_share: share },
        _ => not_known(WatchUnknown::RunQueue { share }),
    }
}

/// Operations that are the processor's work, and no processor is full.
fn thinks_or_cached(case: &Case<'_>) -> WatchStop {
    let share = case.group.cached_share();
    if share >= MOSTLY {
        return WatchStop::PageCache { share };
    }
    case.scene.one_processor().unwrap_or_else(|| thinks(case.scene))
}
