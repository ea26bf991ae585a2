//! Finds who else used the disks, and whether that made the application slower.
//!
//! Long operations meet the requests of another process more often than short ones, so their mean is higher beside it even
//! where it does no harm. A neighbour is therefore named only with further evidence: its share of the disks, the medians,
//! and the seconds in which it did much against those in which it did little.

use halfpower_record::{Cause, DiskRequests, Latency, OperationKind, OtherUser, Wait, Watched, WatchedSecond};
use halfpower_spec::InOrder;

use super::groups::{Gathered, latency_of};
use super::parts::{OperationGroup, WatchOther};
use super::scene::{Scene, depth_while_busy, knows_others};
use super::stop::WatchStop;
use super::thresholds::{
    BUSY, EXCESS, FEWEST_COMPARED, FEWEST_SECONDS, HALF_A_FLUSH, HEAVY, HEAVY_SYNCS, MOST_SYNCS, MOSTLY,
    OF_THE_JOURNAL, SLOWED, SLOWED_MEDIAN, SLOWER_INSIDE,
};
use crate::Interval;
use crate::mean::quotient;

/// Operations of a group in a second, from which its mean counts.
const FEWEST_A_SECOND: u64 = 5;
/// Share of the highest rate of others in a second, from which they did much; and up to which they did little.
const MUCH: f64 = 0.5;
const LITTLE: f64 = 0.1;
/// How many times as long as the usual second, or as short, one may have been traced to be held against others.
const TRACED_ALIKE: u64 = 2;
/// Kinds of wait that a neighbour can make longer.
const ON_STORAGE: [Wait; 5] = [Wait::Device, Wait::BlockQueue, Wait::Flush, Wait::Journal, Wait::Writeback];
/// Share of all bytes from which a neighbour that never pauses is the cause, if the disk is always busy.
const MOST_BYTES: f64 = 0.5;
/// Most bytes of the kernel, as a multiple of those of all processes, that may be the same bytes once more.
const ONCE_MORE: f64 = 1.2;
/// How many times as large as the application's requests those of others must be, and for what part of their time the
/// application's must be at the device, for these to wait behind them.
const MUCH_LARGER: f64 = 8.0;
const NEARLY_AS_LONG: f64 = 0.5;
/// Requests of each side that tell it: who waits long has few, and of means that differ so much, few are enough.
const FEWEST_REQUESTS: u64 = 5;
/// How many times as many requests as the application has in progress a disk must work on, for most to be of others.
const OF_OTHERS: f64 = 2.0;
/// How many times the bytes that the application writes the kernel must write back to do so for others.
const FOR_OTHERS: u64 = 2;

/// The other users of the disks, those of one name and control group together, most bytes first.
pub(super) fn others(watched: &Watched) -> Vec<WatchOther> {
    let mut groups: Vec<Vec<&OtherUser>> = Vec::new();
    for one in &watched.others {
        let same = |group: &&mut Vec<&OtherUser>| {
            group.first().is_some_and(|first| {
                (&first.name, &first.cgroup, first.pid == 0) == (&one.name, &one.cgroup, one.pid == 0)
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let totals = Totals::of(watched);
    let mut others: Vec<WatchOther> = groups.iter().map(|group| together(group, &totals)).collect();
    others.order_by(|one, other| other.bytes_share.total_cmp(&one.bytes_share));
    others
}

/// What all processes together did on the disks.
struct Totals {
    read: f64,
    written: f64,
    syncs: f64,
}

impl Totals {
    fn of(watched: &Watched) -> Self {
        let of = |writes: bool, foreign: &dyn Fn(&OtherUser) -> u64| -> f64 {
            let known: f64 =
                watched.requests.iter().filter(|one| one.writes == writes).map(|one| one.bytes as f64).sum();
            let of_others: f64 = watched.others.iter().map(|one| foreign(one) as f64).sum();
            known.max(of_others)
        };
        let own: f64 = watched.operations.iter().filter(|one| one.kind.is_durable()).map(|one| one.count as f64).sum();
        let foreign: f64 = watched.others.iter().map(|one| one.syncs as f64).sum();
        Self {
            read: of(false, &|one| one.read_bytes),
            written: of(true, &|one| one.written_bytes),
            syncs: own + foreign,
        }
    }
}

/// Processes of one name and control group as one.
fn together(group: &[&OtherUser], totals: &Totals) -> WatchOther {
    let sum = |of: &dyn Fn(&OtherUser) -> u64| group.iter().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let read = sum(&|one| one.read_bytes) as f64;
    let written = sum(&|one| one.written_bytes) as f64;
    let syncs = sum(&|one| one.syncs);
    // Each process has its own comparison; the one that met most operations stands for all.
    let met = group.iter().max_by_key(|one| one.own_during.count().min(one.own_without.count()));
    let compared =
        met.filter(|one| one.own_during.count() >= FEWEST_COMPARED && one.own_without.count() >= FEWEST_COMPARED);
    let times = |of: &dyn Fn(&Latency) -> f64| compared.map(|one| quotient(of(&one.own_during), of(&one.own_without)));
    let excess = compared.map(|one| {
        let more = one.own_during.mean_ns() - one.own_without.mean_ns();
        let all = one.own_during.sum_ns() as f64 + one.own_without.sum_ns() as f64;
        quotient(more.max(0.0) * one.own_during.count() as f64, all)
    });
    let first = group[0];
    WatchOther {
        name: first.name.clone(),
        pid: (group.len() == 1).then_some(first.pid),
        processes: group.len(),
        cgroup: first.cgroup.clone(),
        read_share: quotient(read, totals.read),
        written_share: quotient(written, totals.written),
        bytes_share: quotient(read + written, totals.read + totals.written),
        syncs,
        syncs_share: quotient(syncs as f64, totals.syncs),
        slowdown: times(&|latency| latency.mean_ns()),
        slowdown_p50: times(&|latency| latency.quantile_ns(0.5) as f64),
        slowdown_p99: times(&|latency| latency.quantile_ns(0.99) as f64),
        excess_share: excess,
        without_mean_ns: compared.map(|one| one.own_without.mean_ns()),
    }
}

/// Share of the bytes on the disks that others moved; `None` if nobody counted them.
pub(super) fn others_bytes_share(watched: &Watched) -> Option<f64> {
    if !knows_others(watched) {
        return None;
    }
    let own: f64 = watched.seconds.iter().map(|second| second.own_bytes as f64).sum();
    let foreign: f64 = watched.seconds.iter().map(|second| second.other_bytes as f64).sum();
    (own + foreign > 0.0).then(|| foreign / (own + foreign))
}

/// The neighbour that makes this group slower, with the evidence.
pub(super) fn neighbour(group: &Gathered<'_>, scene: &Scene<'_>) -> Option<WatchStop> {
    if group.share(&ON_STORAGE) < MOSTLY {
        return None;
    }
    let contrast = contrast(&scene.watched.seconds, latency_of(group.group));
    let is_always_busy = scene.busiest(&scene.disks_of(group)).is_some_and(|disk| disk.busy_share() >= BUSY);
    let of_reads_and_syncs = group.group != OperationGroup::Writes;
    // Beneath a loop device or a volume the kernel moves the bytes of processes once more.
    let (kernel, processes): (Vec<_>, Vec<_>) = scene.others.iter().partition(|other| other.pid == Some(0));
    let share = |of: &[&WatchOther]| of.iter().map(|other| other.bytes_share).sum::<f64>();
    let of_kernel = share(&kernel);
    let moves_again = of_kernel <= ONCE_MORE * (1.0 - of_kernel);
    let of_processes = if moves_again { 1.0 - of_kernel } else { 1.0 };
    let writes_back = !moves_again && writes_for_others(scene.watched);
    let candidates =
        processes.into_iter().chain(kernel.into_iter().filter(|_| writes_back)).filter(|other| is_heavy(other));
    for other in candidates {
        let is_slowed = other.slowdown.is_some_and(|times| times >= SLOWED)
            && other.slowdown_p50.is_some_and(|times| times >= SLOWED_MEDIAN)
            && other.excess_share.is_some_and(|share| share >= EXCESS)
            && of_reads_and_syncs;
        let is_confirmed = match &contrast {
            Some(ratio) => ratio.low > 1.0,
            None => is_always_busy || other.slowdown_p50.is_some_and(|times| times >= SLOWED),
        };
        let is_contrast_enough =
            contrast.as_ref().is_some_and(|ratio| ratio.low >= SLOWED_MEDIAN && ratio.value >= SLOWED);
        let never_pauses = other.slowdown.is_none() && contrast.is_none() && of_reads_and_syncs;
        let has_most = other.bytes_share >= MOST_BYTES * of_processes || other.syncs_share >= MOST_SYNCS;
        let is_behind = behind(other, group, scene) >= EXCESS || waits_behind_larger(group, scene);
        let takes_most = never_pauses && is_always_busy && has_most && is_behind;
        let waits_for_flushes = flushes_of_others(group, scene).is_some_and(|flushes| flushes >= HALF_A_FLUSH);
        let syncs_most = never_pauses && other.syncs_share >= MOST_SYNCS && waits_for_flushes;
        if is_slowed && is_confirmed || is_contrast_enough || takes_most || syncs_most {
            let times = other.slowdown.filter(|_| is_slowed).map(Interval::exact);
            return Some(WatchStop::Neighbour {
                name: other.name.clone(),
                cgroup: other.cgroup.clone(),
                bytes_share: other.bytes_share,
                syncs_share: other.syncs_share,
                slowdown: contrast.or(times),
                excess_share: other.excess_share.filter(|_| is_slowed),
            });
        }
    }
    None
}

fn is_heavy(other: &WatchOther) -> bool {
    other.bytes_share >= HEAVY || other.syncs_share >= HEAVY_SYNCS
}

/// Share of a group's time that it waits behind one that never pauses: before the device gets its requests, within the device,
/// and, if that one syncs much, for more flushes than its own.
fn behind(other: &WatchOther, group: &Gathered<'_>, scene: &Scene<'_>) -> f64 {
    let flushes = flushes_of_others(group, scene).filter(|_| other.syncs_share >= HEAVY_SYNCS).unwrap_or(0.0).max(0.0);
    let for_flushes = quotient(flushes * flush(group, scene).mean_ns(), group.latency.mean_ns());
    group.share(&[Wait::BlockQueue, Wait::Writeback]) + inside_behind_others(group, scene) + for_flushes
}

/// Whether requests wait within the device behind those of others: they are a fraction as large, and take nearly as long.
fn waits_behind_larger(group: &Gathered<'_>, scene: &Scene<'_>) -> bool {
    let disks = scene.disks_of(group);
    let means = |own: bool| {
        let is_it = |one: &&DiskRequests| {
            one.own == Some(own) && (disks.is_empty() || disks.contains(&one.disk)) && one.count > 0
        };
        let mut device = Latency::default();
        let mut bytes = 0.0;
        for one in scene.watched.requests.iter().filter(is_it) {
            device.merge(&one.device);
            bytes += one.bytes as f64;
        }
        let count = device.count();
        (count >= FEWEST_REQUESTS).then(|| (bytes / count as f64, device.mean_ns()))
    };
    let (Some((own_bytes, own_ns)), Some((bytes, ns))) = (means(true), means(false)) else { return false };
    bytes >= MUCH_LARGER * own_bytes && own_ns >= NEARLY_AS_LONG * ns
}

/// The same within the device: requests take much longer than the quickest, and most of what the disk works on is of others.
fn inside_behind_others(group: &Gathered<'_>, scene: &Scene<'_>) -> f64 {
    let of_all = scene.busiest(&scene.disks_of(group)).map_or(0.0, depth_while_busy);
    let is_of_others = of_all >= OF_OTHERS * group.depth_while_busy;
    let times = scene.slower_inside(group).filter(|times| *times >= SLOWER_INSIDE && is_of_others);
    times.map_or(0.0, |times| group.share(&[Wait::Device]) * (1.0 - 1.0 / times))
}

/// How long the flushes of a group's disks take.
fn flush(group: &Gathered<'_>, scene: &Scene<'_>) -> Latency {
    let disks = scene.disks_of(group);
    let is_flush = |one: &&DiskRequests| one.cause == Cause::Flush && (disks.is_empty() || disks.contains(&one.disk));
    let mut flushes = Latency::default();
    scene.watched.requests.iter().filter(is_flush).for_each(|one| flushes.merge(&one.device));
    flushes
}

/// For how many more flushes commits wait than a commit makes; `None` if they are no commits, or few flushes were seen.
///
/// Alone a commit waits for one, and for two where it makes the journal commit, which flushes before its commit block and after it.
fn flushes_of_others(group: &Gathered<'_>, scene: &Scene<'_>) -> Option<f64> {
    let flushes = flush(group, scene);
    // sync_file_range and its like only begin to write.
    let commits = group.members.iter().filter(|one| one.kind != OperationKind::OtherSync);
    let count: f64 = commits.clone().map(|one| one.count as f64).sum();
    let waited = |wanted: Wait| {
        let waits = commits.clone().flat_map(|one| &one.waits).filter(|(wait, _)| *wait == wanted);
        waits.map(|(_, ns)| *ns as f64).sum::<f64>()
    };
    let (for_flushes_ns, for_journal_ns) = (waited(Wait::Flush), waited(Wait::Journal));
    let takes_journal = for_journal_ns > OF_THE_JOURNAL * for_flushes_ns;
    let own = if takes_journal { 2.0 } else { 1.0 };
    let waited = quotient(quotient(for_flushes_ns + for_journal_ns, count), flushes.mean_ns());
    (group.group == OperationGroup::Commits && flushes.count() >= FEWEST_COMPARED).then_some(waited - own)
}

/// Whether the kernel writes back much more than the application wrote, so that it does so for others.
fn writes_for_others(watched: &Watched) -> bool {
    let is_write = |kind: OperationKind| matches!(kind, OperationKind::Write | OperationKind::DurableWrite);
    let own: u64 = watched.operations.iter().filter(|one| is_write(one.kind)).map(|one| one.bytes).sum();
    let kernel: u64 = watched.others.iter().filter(|one| one.pid == 0).map(|one| one.written_bytes).sum();
    kernel >= own.saturating_mul(FOR_OTHERS) && kernel > 0
}

/// Factor by which operations take longer in the seconds in which others moved much, against those in which they moved
/// little: the ratio of the geometric means, with its 95% interval. `None` if there are too few of either.
///
/// Only seconds that were traced for about as long are compared: a short slice holds neither as many bytes nor long operations.
fn contrast(seconds: &[WatchedSecond], of: fn(&WatchedSecond) -> &Latency) -> Option<Interval> {
    let mut traced: Vec<u64> = seconds.iter().map(|second| second.traced_ns).filter(|ns| *ns > 0).collect();
    traced.sort_unstable();
    let usual_ns = *traced.get(traced.len() / 2)?;
    let is_usual = |second: &&WatchedSecond| {
        second.traced_ns >= usual_ns / TRACED_ALIKE && second.traced_ns <= usual_ns.saturating_mul(TRACED_ALIKE)
    };
    let rate = |second: &WatchedSecond| second.other_bytes as f64 / second.traced_ns.max(1) as f64;
    let most = seconds.iter().filter(is_usual).map(rate).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let logarithms = |is: &dyn Fn(f64) -> bool| -> Vec<f64> {
        let chosen = seconds.iter().filter(is_usual).filter(|second| is(rate(second) / most));
        chosen
            .map(of)
            .filter(|latency| latency.count() >= FEWEST_A_SECOND)
            .map(|latency| latency.mean_ns().ln())
            .collect()
    };
    let much = logarithms(&|share| share >= MUCH);
    let little = logarithms(&|share| share <= LITTLE);
    if much.len() < FEWEST_SECONDS || little.len() < FEWEST_SECONDS {
        return None;
    }
    let much = Interval::of_means(&much);
    let little = Interval::of_means(&little);
    let reach = |one: &Interval| (one.high - one.low) / 2.0;
    let reach = reach(&much).hypot(reach(&little));
    let value = much.value - little.value;
    Some(Interval { value: value.exp(), low: (value - reach).exp(), high: (value + reach).exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(of: impl Fn(usize) -> (u64, u64)) -> Vec<WatchedSecond> {
        let second = |at: usize| {
            let (ns, other_bytes) = of(at);
            let mut reads = Latency::default();
            (0..20).for_each(|_| reads.add(ns));
            WatchedSecond { traced_ns: 1_000_000_000, reads, other_bytes, ..WatchedSecond::default() }
        };
        (0..24).map(second).collect()
    }

    #[test]
    fn seconds_with_a_neighbour_are_held_against_those_without() {
        let slowed = seconds(|at| {
            let (ns, other_bytes) = if at % 6 < 3 { (300_000, 80_000_000) } else { (100_000, 0) };
            (ns + at as u64 * 10, other_bytes)
        });
        let found = contrast(&slowed, latency_of(OperationGroup::Reads)).unwrap();
        assert!((found.value - 3.0).abs() < 0.05 && found.low > 2.9, "{found:?}");
        let alike = seconds(|at| (100_000 + at as u64 * 100, if at % 6 < 3 { 80_000_000 } else { 0 }));
        let found = contrast(&alike, latency_of(OperationGroup::Reads)).unwrap();
        assert!(found.low < 1.0 && found.high > 1.0, "{found:?}");
        // A steady neighbour, and every sixth second traced for eight times as long, which long operations alone fit into.
        let mut sliced = seconds(|at| (if at % 6 == 0 { 60_000_000 } else { 100_000 }, 0));
        for (at, second) in sliced.iter_mut().enumerate() {
            second.traced_ns = if at % 6 == 0 { 400_000_000 } else { 50_000_000 };
            second.other_bytes = second.traced_ns / 10;
        }
        assert_eq!(contrast(&sliced, latency_of(OperationGroup::Reads)), None, "it moves as much all the time");
        let always = seconds(|_| (100_000, 80_000_000));
        assert_eq!(contrast(&always, latency_of(OperationGroup::Reads)), None, "there is nothing to compare");
    }
}
