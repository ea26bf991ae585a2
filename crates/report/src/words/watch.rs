//! Words of what a watched application does, where it waits, what it uses, and who else is there.

use halfpower_analyse::{
    AloneReading, Interval, OperationGroup, WaitPart, WatchActivity, WatchAlone, WatchCounters, WatchDisk,
    WatchFindings, WatchOther, WatchProbe, WatchProbed, WatchUse,
};
use halfpower_record::{OperationKind, ProbeStop, Subject, Unseen, Wait, Watched, WatchedPlace};
use halfpower_spec::format::{mbps, number, percent, size, thousands, time_ns, two_digits, whole_percent};
use halfpower_spec::{Pattern, escaped};

/// Kinds of wait that are named, most first; and the share from which one is.
const WAITS: usize = 4;
const LEAST_WAIT: f64 = 0.02;
/// Share of bytes, and of syncs, from which another user is named.
const LEAST_BYTES: f64 = 0.01;
const LEAST_SYNCS: f64 = 0.05;
/// Others that are named.
const OTHERS: usize = 3;
/// Shares from which something is worth a word.
const WORTH: f64 = 0.005;

/// The group as the subject of a sentence.
pub(crate) fn group(group: OperationGroup) -> &'static str {
    match group {
        OperationGroup::Reads => "reads",
        OperationGroup::Writes => "writes",
        OperationGroup::Commits => "commits",
        OperationGroup::All => "all",
    }
}

/// Whom it looked at: `postgres (12 processes)`.
pub(crate) fn subject(subject: &Subject) -> String {
    let name = if subject.name.is_empty() { &subject.asked } else { &subject.name };
    let name = escaped(name);
    match subject.processes {
        0 => name.into_owned(),
        1 => format!("{name} (1 process)"),
        many => format!("{name} ({} processes)", thousands(many as f64)),
    }
}

/// Where its operations went: `/srv/pg  ext4 on nvme0n1`; the first place, and how many others.
pub(crate) fn places(places: &[WatchedPlace]) -> String {
    let Some(first) = places.first() else { return String::new() };
    let disks = escaped(&first.disks.join(", ")).into_owned();
    let on = match (first.file_system.is_empty(), disks.is_empty()) {
        (false, false) => format!("  {} on {disks}", escaped(&first.file_system)),
        (false, true) => format!("  {}", escaped(&first.file_system)),
        (true, false) => format!("  {disks}"),
        (true, true) => String::new(),
    };
    let others = match places.len() - 1 {
        0 => String::new(),
        1 => " and 1 other".to_string(),
        many => format!(" and {many} others"),
    };
    format!("{}{others}{on}", escaped(&first.path))
}

/// Length and cost: `60 s, costs 0.3% of one processor`.
pub(crate) fn length_and_cost(watched: &Watched, counters: &WatchCounters) -> String {
    let seconds = watched.span_ns as f64 / 1e9;
    format!("{} s, costs {} of one processor", two_digits(seconds), percent(counters.cost_share))
}

/// What an operation is: `random read 8 KiB`, `append 16 KiB`, `fdatasync`.
pub(crate) fn activity(one: &WatchActivity) -> String {
    let order = match one.pattern {
        Some(Pattern::Random) => "random ",
        Some(Pattern::Sequential) => "seq. ",
        Some(Pattern::Unknown) | None => "",
    };
    let what = match one.kind {
        OperationKind::Read => format!("{order}read"),
        OperationKind::Write if one.appends => "append".to_string(),
        OperationKind::Write => format!("{order}write"),
        OperationKind::DurableWrite if one.appends => "durable append".to_string(),
        OperationKind::DurableWrite => format!("{order}durable write"),
        OperationKind::Fdatasync => "fdatasync".to_string(),
        OperationKind::Fsync => "fsync".to_string(),
        OperationKind::OtherSync => "sync".to_string(),
        OperationKind::FaultRead => "page fault".to_string(),
    };
    match one.size_bytes {
        Some(bytes) if one.one_size => format!("{what} {}", size(bytes)),
        Some(bytes) => format!("{what} ~{}", size(bytes)),
        None => what,
    }
}

/// How often, and how many at once: `1,240/s, 1.3 deep`.
pub(crate) fn rate_and_depth(one: &WatchActivity) -> String {
    let rate = if one.rate >= 9.95 { thousands(one.rate) } else { two_digits(one.rate) };
    let cached = match one.cached_share {
        share if share >= 0.995 => ", from memory".to_string(),
        share if share >= 0.1 => format!(", {} from memory", whole_percent(share)),
        _ => String::new(),
    };
    format!("{rate}/s, {} deep{cached}", depth(one.depth_while_busy))
}

/// The median and the 99th percentile: `p50 105 µs`, `p99 over 76 ms` where only a lower bound is known.
pub(crate) fn percentiles(one: &WatchActivity) -> [String; 2] {
    [("p50", 0.5, one.latency_ns_p50), ("p99", 0.99, one.latency_ns_p99)].map(|(name, quantile, ns)| {
        let over = if one.is_at_least(quantile) { "over " } else { "" };
        format!("{name} {over}{}", time_ns(ns as f64))
    })
}

/// A mean depth: `1.3`, `32`.
pub(crate) fn depth(depth: f64) -> String {
    if depth < 9.95 { format!("{depth:.1}") } else { thousands(depth) }
}

/// What the time of an operation is spent on: `device 92 µs, queue 4 µs, run queue 9 µs`.
pub(crate) fn waits(parts: &[WaitPart]) -> String {
    let named = parts.iter().filter(|part| part.share >= LEAST_WAIT).take(WAITS);
    let texts: Vec<String> = named.map(|part| format!("{} {}", wait(part.wait), time_ns(part.mean_ns))).collect();
    if texts.is_empty() { "not known".to_string() } else { texts.join(", ") }
}

fn wait(wait: Wait) -> &'static str {
    match wait {
        Wait::Processor => "processor",
        Wait::RunQueue => "run queue",
        Wait::Throttle => "throttled",
        Wait::Journal => "journal",
        Wait::Writeback => "writeback",
        Wait::BlockQueue => "queue",
        Wait::Device => "device",
        Wait::Flush => "device's flush",
        Wait::Other => "unseen",
    }
}

/// A share with half of its interval: `41%`, `41% ±3`.
pub(crate) fn share(share: &Interval) -> String {
    let reach = (share.high - share.low) / 2.0;
    let value = percent(share.value);
    if reach >= WORTH { format!("{value} ±{:.0}", 100.0 * reach) } else { value }
}

/// A factor with its interval: `5.1 times`, `5.1 times (4.6 to 5.6)`.
pub(crate) fn times(factor: &Interval) -> String {
    let value = format!("{} times", two_digits(factor.value));
    if (factor.high - factor.low) < 0.05 * factor.value {
        return value;
    }
    format!("{value} ({} to {})", two_digits(factor.low), two_digits(factor.high))
}

/// What is used of what the path gives.
pub(crate) fn uses(uses: &WatchUse) -> String {
    let order = if uses.pattern == Pattern::Sequential { "sequential" } else { "random" };
    format!(
        "{} of what this path gives at {} {order} ({} IOPS, {} deep), {} of what it gives {} deep",
        share(&uses.share_of_best),
        size(uses.size_bytes),
        thousands(uses.best_iops.value),
        uses.best_iodepth,
        share(&uses.share_at_depth),
        depth(uses.depth),
    )
}

/// What one request alone takes, and the application's: `one request of 8 KiB alone takes 92 µs here (p50), the
/// application's take 105 µs: 1.1 times as long`.
pub(crate) fn alone(one: &WatchAlone, probe: Option<&WatchProbe>) -> String {
    let reading = match one.reading {
        AloneReading::Alike => ", so the time is the device's own",
        AloneReading::Above => ", so they wait behind other requests, of others or their own",
        AloneReading::Open => "",
    };
    format!(
        "one request of {} alone takes {} {} (p50), the application's take {}: {} as long{reading}",
        size(one.size_bytes as f64),
        time_ns(one.alone_ns_p50 as f64),
        where_probed(probe),
        time_ns(one.own_ns_p50 as f64),
        times(&one.times)
    )
}

fn where_probed(probe: Option<&WatchProbe>) -> &'static str {
    if probe.is_none_or(|probe| probe.of_own_file) { "here" } else { "on the disk beneath" }
}

/// What the watch's own requests took, unless that is said already, and why they were ended; `None` if there is nothing to say.
pub(crate) fn probe(probe: &WatchProbe, is_said: bool) -> Option<String> {
    let place = where_probed(Some(probe));
    let of_size = |one: &WatchProbed| {
        let took = time_ns(one.latency_ns_p50 as f64);
        format!("one request of {} alone takes {took} {place} (p50 of {})", size(one.size_bytes as f64), one.count)
    };
    let mut texts: Vec<String> = Vec::new();
    if !is_said {
        texts.extend(probe.sizes.iter().filter(|one| one.count > 0).map(of_size));
    }
    let sent = match probe.requests {
        1 => "1 request".to_string(),
        many => format!("{many} requests"),
    };
    texts.extend(probe.stopped.map(|why| format!("the probe ended after {sent}: {}", probe_stop(why))));
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn probe_stop(why: ProbeStop) -> &'static str {
    match why {
        ProbeStop::ReadsSlower => "the application's reads took longer beside it",
        ProbeStop::SyncsSlower => "the application's syncs took longer beside it",
        ProbeStop::OwnSlower => "one of its requests took ten times as long as the others",
        ProbeStop::NeverIdle => "the disk was hardly ever without a request",
        ProbeStop::Unread => "the place cannot be read without waiting for what others do there",
    }
}

/// A disk as a whole: `nvme0n1: busy 62% of the time, 1.3 in flight while busy, 1,240 requests/s, 10.2 MB/s`.
pub(crate) fn disk(disk: &WatchDisk) -> String {
    format!(
        "{}: busy {} of the time, {} in flight while busy, {} requests/s, {}",
        escaped(&disk.name),
        percent(disk.busy_share),
        depth(disk.depth_while_busy),
        thousands(disk.iops),
        mbps(disk.mbps),
    )
}

/// Where it waits by counters alone.
pub(crate) fn counters(counters: &WatchCounters) -> String {
    let known = |share: Option<f64>, what: &str| share.map(|share| format!("{what} {}", percent(share)));
    let some_task = [
        known(counters.pressure_io_share, "for I/O"),
        known(counters.pressure_cpu_share, "for a processor"),
        known(counters.pressure_memory_share, "for memory"),
    ];
    let some_task: Vec<String> = some_task.into_iter().flatten().collect();
    let some_task = (!some_task.is_empty()).then(|| format!("some task waits {} of the time", some_task.join(", ")));
    let own = counters.block_io_share;
    let own = own.map(|share| format!("its threads wait for storage {} of the time of one", percent(share)));
    let texts: Vec<String> = some_task.into_iter().chain(own).collect();
    if texts.is_empty() {
        return "not known: operations were not traced, and the kernel counts no waits".to_string();
    }
    format!("by counters: {}", texts.join("; "))
}

/// What it does by counters alone.
pub(crate) fn counted_work(counters: &WatchCounters) -> String {
    let moved = |rate: &Option<Interval>, who: &str| rate.map(|rate| format!("{} by {who}", mbps(rate.value)));
    let bytes: Vec<String> =
        [moved(&counters.own_mbps, "itself"), moved(&counters.other_mbps, "others")].into_iter().flatten().collect();
    let bytes = if bytes.is_empty() { "bytes not known".to_string() } else { bytes.join(", ") };
    format!("{bytes}; {} processors", number(counters.processors))
}

/// Who else used the disks, a line each.
pub(crate) fn others(findings: &WatchFindings) -> Vec<String> {
    let counts = |one: &&WatchOther| one.bytes_share >= LEAST_BYTES || one.syncs_share >= LEAST_SYNCS;
    let named: Vec<&WatchOther> = findings.others.iter().filter(counts).collect();
    let mut lines: Vec<String> = named.iter().take(OTHERS).map(|one| other(one)).collect();
    if named.len() > OTHERS {
        lines.push(format!("and {} more", named.len() - OTHERS));
    }
    if !lines.is_empty() {
        return lines;
    }
    vec![match (findings.traced, findings.others_bytes_share) {
        (true, _) => "nobody moved 1% of the bytes".to_string(),
        (false, Some(share)) if share < LEAST_BYTES => "nobody moved 1% of the bytes".to_string(),
        (false, Some(share)) => format!("others moved {} of the bytes; who, is seen by root alone", percent(share)),
        (false, None) => "not known: seen by root alone".to_string(),
    }]
}

fn other(one: &WatchOther) -> String {
    let part = |share: f64, of: &str| (share >= LEAST_BYTES).then(|| format!("{} of the {of}", percent(share)));
    let mut takes: Vec<String> =
        [part(one.read_share, "reads"), part(one.written_share, "writes")].into_iter().flatten().collect();
    takes.extend((one.syncs_share >= LEAST_SYNCS).then(|| format!("{} of the syncs", percent(one.syncs_share))));
    let slowdown = one.slowdown.map_or_else(String::new, |slowdown| {
        let p99 = one.slowdown_p99.map_or_else(String::new, |p99| format!(", p99 {} times", two_digits(p99)));
        format!("; beside its requests operations take {} times as long{p99}", two_digits(slowdown))
    });
    format!("{} takes {}{slowdown}", who(one), takes.join(" and "))
}

/// `rsync (cgroup backup.slice)`.
fn who(one: &WatchOther) -> String {
    let name = escaped(&one.name);
    let name = match (one.pid, one.processes) {
        (Some(0), _) => format!("the kernel ({name}, for everybody)"),
        (_, many) if many > 1 => format!("{many} x {name}"),
        _ => name.into_owned(),
    };
    format!("{name}{}", in_group(&one.cgroup))
}

/// ` (cgroup backup.slice)`; nothing for the root group.
pub(crate) fn in_group(cgroup: &str) -> String {
    match cgroup.trim_start_matches('/') {
        "" => String::new(),
        group => format!(" (cgroup {})", escaped(group)),
    }
}

/// A source that could not be used.
pub(crate) fn unseen(one: &Unseen) -> String {
    format!("{} ({}): {}", escaped(&one.source), escaped(&one.why), escaped(&one.without))
}

/// What was left out of the trace.
pub(crate) fn untraced(watched: &Watched, counters: &WatchCounters) -> Vec<String> {
    let traced = watched.traced_ns as f64 / watched.span_ns.max(1) as f64;
    let in_slices = watched.traced_ns > 0 && watched.slices > 1 && traced < 1.0 - WORTH;
    let slices = in_slices.then(|| {
        format!("all but {} slices, {} of the time: tracing all would cost too much", watched.slices, percent(traced))
    });
    let lost = counters.lost_share;
    let lost = (lost >= WORTH).then(|| format!("{} of the events, which the kernel lost", percent(lost)));
    slices.into_iter().chain(lost).collect()
}
