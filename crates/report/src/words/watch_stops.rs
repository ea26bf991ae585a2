//! Words of what stops a watched application, what to set, and what would refute it.

use halfpower_analyse::{TestChange, WatchAdvice, WatchStop, WatchTest, WatchUnknown};
use halfpower_spec::escaped;
use halfpower_spec::format::{factor, mbps, percent, size, thousands, time_ns, two_digits, whole_percent};

use super::stop_brief::StopBrief;
use super::watch::{depth, group, in_group, share, times};

/// Share of the time that the application asks for nothing, from which that is said.
const THINKS: f64 = 0.1;
/// Share of a device's queue, and factor inside of it, from which they are said.
const QUEUES: f64 = 0.1;
const SLOWER: f64 = 1.5;
/// Multiple of the flush that the write before it takes, from which it is said.
const WORTH_TELLING: f64 = 0.2;

/// What stops a group: the cause in at most five words, and what follows it, without a full stop.
pub(crate) fn stop(stop: &WatchStop) -> StopBrief {
    match stop {
        WatchStop::OwnDepth { .. } => StopBrief::of("its own depth", own_depth(stop)),
        WatchStop::Device { .. } => StopBrief::of("the device", device(stop)),
        WatchStop::GroupLimit { file, limits, limit, share, disk, .. } => {
            let on = if disk.is_empty() { String::new() } else { format!(" on {}", escaped(disk)) };
            let of = rate(limits, *limit);
            StopBrief::of("its control group's limit", format!(": {} of {of}{on} ({})", percent(*share), escaped(file)))
        }
        WatchStop::ProcessorQuota { file, limit, used, held_share } => {
            let held = match held_share {
                Some(held) => format!("held up {} of the time", percent(*held)),
                None => format!("{} are used", two_digits(*used)),
            };
            let of = two_digits(*limit);
            StopBrief::of("its control group's quota", format!(" of {of} processors: {held} ({})", escaped(file)))
        }
        WatchStop::OneProcessor { busy_share } => {
            let busy = percent(*busy_share);
            StopBrief::of("one full processor", format!(": its busiest thread is on it {busy} of the time"))
        }
        WatchStop::Processors { full, of, waited_share } => {
            let which = if full == of { format!("all {of} are full") } else { format!("{full} of {of} are full") };
            let waited = percent(*waited_share);
            StopBrief::of("the processors", format!(": {which}, and its threads wait {waited} of their time for one"))
        }
        WatchStop::Flush { mean_ns, of_ns, write_ns, together, gain_of_four, .. } => StopBrief::of(
            "the device's flush",
            format!(
                ": {} of {}{}, {} commits in each. Group commit of 4 would bring at most {} times",
                time_ns(*mean_ns),
                time_ns(*of_ns),
                after_its_write(*write_ns, *mean_ns),
                depth(*together),
                two_digits(*gain_of_four)
            ),
        ),
        WatchStop::Journal { mean_ns, of_ns, .. } => {
            StopBrief::of("the file system's journal", format!(": {} of {}", time_ns(*mean_ns), time_ns(*of_ns)))
        }
        WatchStop::Writeback { mean_ns, of_ns, .. } => StopBrief::of(
            "data that is written back",
            format!(" meanwhile: {} of {}", time_ns(*mean_ns), time_ns(*of_ns)),
        ),
        WatchStop::DirtyPages { share, mbps: rate, mean_ns } => StopBrief::of(
            "the kernel makes writers wait",
            format!(
                ", as too many pages are dirty: {} each, {} of their time, at {}",
                time_ns(*mean_ns),
                percent(*share),
                mbps(*rate)
            ),
        ),
        WatchStop::Neighbour { .. } => StopBrief::of("a neighbour", neighbour(stop)),
        WatchStop::SharedDevice { .. } => StopBrief::of("the device", shared_device(stop)),
        WatchStop::Memory { pressure_share, paging_share, read_again_share, .. } => {
            StopBrief::of("too little memory", memory(*pressure_share, *paging_share, *read_again_share))
        }
        WatchStop::Steal { share } => {
            StopBrief::of("the hypervisor", format!(": it takes {} of the processors' time", percent(*share)))
        }
        WatchStop::Itself { busy_share, most_gain } => StopBrief::of(
            "not storage",
            format!(
                ": operations are in progress at most {} of the time, and without them it would be at most {} times as fast",
                percent(*busy_share),
                factor(*most_gain)
            ),
        ),
        WatchStop::PageCache { share } => {
            StopBrief::of("not storage", format!(": memory answers {} of them", percent(*share)))
        }
        WatchStop::NotKnown { why } => StopBrief::of("not known", format!(": {}", unknown(why))),
    }
}

/// What a commit's own write takes before its flush; empty if that hardly counts.
fn after_its_write(write_ns: f64, flush_ns: f64) -> String {
    if write_ns >= WORTH_TELLING * flush_ns {
        format!(" (its write before: {})", time_ns(write_ns))
    } else {
        String::new()
    }
}

fn neighbour(stop: &WatchStop) -> String {
    let WatchStop::Neighbour { name, cgroup, bytes_share, syncs_share, slowdown, .. } = stop else {
        return String::new();
    };
    let takes = if bytes_share >= syncs_share {
        format!("{} of the bytes", percent(*bytes_share))
    } else {
        format!("{} of the syncs", percent(*syncs_share))
    };
    let longer = match slowdown {
        Some(slowdown) => format!("operations take {} as long beside it", times(slowdown)),
        None => "it never pauses, and requests wait behind its own".to_string(),
    };
    format!(", {}{}, with {takes}: {longer}", escaped(name), in_group(cgroup))
}

fn shared_device(stop: &WatchStop) -> String {
    let WatchStop::SharedDevice { disk, alone_ns, own_ns, times: longer, name, cgroup, bytes_share } = stop else {
        return String::new();
    };
    let disk = if disk.is_empty() { String::new() } else { format!(", {},", escaped(disk)) };
    format!(
        "{disk} is shared: one request alone takes {}, the application's {}, {} as long, beside {}{} with {} of the bytes",
        time_ns(*alone_ns),
        time_ns(*own_ns),
        times(longer),
        escaped(name),
        in_group(cgroup),
        percent(*bytes_share)
    )
}

fn memory(pressure_share: f64, paging_share: Option<f64>, read_again_share: Option<f64>) -> String {
    let is_said = |share: &f64| *share >= 0.01;
    let paging = paging_share.filter(is_said);
    let again = read_again_share.filter(is_said);
    let mut why = Vec::new();
    if is_said(&pressure_share) || paging.is_none() && again.is_none() {
        why.push(format!("tasks wait for it {} of the time", percent(pressure_share)));
    }
    why.extend(paging.map(|share| format!("{} of what it reads was taken from it before", percent(share))));
    why.extend(again.map(|share| format!("{} of what it reads had to leave its full memory before", percent(share))));
    format!(": {}", why.join(", and "))
}

fn own_depth(stop: &WatchStop) -> String {
    let WatchStop::OwnDepth { depth: own, device_share, idle_share, think_share, best_iodepth, gain } = stop else {
        return String::new();
    };
    let thinks = match think_share {
        share if *share >= THINKS => format!(". It asks for nothing {} of the time", whole_percent(*share)),
        _ => String::new(),
    };
    if let (Some(iodepth), Some(gain)) = (best_iodepth, gain) {
        return format!(". The device would give {} as much at {iodepth} deep{thinks}", times(gain));
    }
    let device =
        device_share.map_or_else(String::new, |share| format!(", {} of its time at the device", percent(share)));
    let idle = idle_share.map_or_else(String::new, |share| format!(", which is idle {} of the time", percent(share)));
    format!(": {} in flight{device}{idle}. How much more the device would give, a study tells{thinks}", depth(*own))
}

fn device(stop: &WatchStop) -> String {
    let WatchStop::Device { disk, busy_share, depth: own, queue_share, slower_inside, share_of_best } = stop else {
        return String::new();
    };
    let name = if disk.is_empty() { String::new() } else { format!(", {}", escaped(disk)) };
    let mut why = Vec::new();
    why.extend(share_of_best.as_ref().map(|of| format!("{} of the most that it gives at this size", share(of))));
    why.extend(busy_share.map(|busy| format!("busy {} of the time", percent(busy))));
    why.push(format!("{} in flight", depth(*own)));
    if *queue_share >= QUEUES {
        why.push(format!("which wait {} of their time before it gets them", percent(*queue_share)));
    }
    if let Some(slower) = slower_inside.filter(|slower| *slower >= SLOWER && share_of_best.is_none()) {
        why.push(format!("at the device {} times as long as the quickest", two_digits(slower)));
    }
    format!("{name}: {}", why.join(", "))
}

/// A limit in its unit: `20.0 MB/s of reads`, `500 writes a second`.
fn rate(limits: &str, limit: f64) -> String {
    match limits {
        "read_bps" => format!("{} of reads", mbps(limit / 1e6)),
        "write_bps" => format!("{} of writes", mbps(limit / 1e6)),
        "read_iops" => format!("{} reads a second", thousands(limit)),
        "write_iops" => format!("{} writes a second", thousands(limit)),
        "memory" => size(limit),
        _ => two_digits(limit),
    }
}

/// Why it is not known, and what would tell.
fn unknown(why: &WatchUnknown) -> String {
    match why {
        WatchUnknown::Nothing => "no operation was seen".to_string(),
        WatchUnknown::TooFew { count, traced_ns } => {
            let seconds = *traced_ns as f64 / 1e9;
            format!("{} operations in {} s are too few", thousands(*count as f64), two_digits(seconds))
        }
        WatchUnknown::LostEvents { share } => format!("the kernel lost {} of the events", percent(*share)),
        WatchUnknown::NotTraced { busy_share } => {
            let busy =
                busy_share.map_or_else(String::new, |busy| format!("the disk is busy {} of the time; ", percent(busy)));
            format!("{busy}which wait it is, tracing tells, for which the watch must run as root")
        }
        WatchUnknown::NoOneCause { share } => format!("no wait dominates; the longest has {}", percent(*share)),
        WatchUnknown::Unseen { share } => {
            format!("{} of their time is a lock, or something that is not seen", percent(*share))
        }
        WatchUnknown::NeedsStudy { depth: own, busy_share } => {
            let busy = busy_share.map_or_else(String::new, |busy| format!(", busy {} of the time", percent(busy)));
            format!("the device works on {} at once{busy}; whether it would give more, a study tells", depth(*own))
        }
        WatchUnknown::SlowerThanStudy { share } => {
            format!("the path gives {} of what its study found at this depth; something else slows it", percent(*share))
        }
        WatchUnknown::StudyTooWide { low, high } => {
            format!(
                "more depth would bring {low:.1} to {high:.1} times as much by the study, whose runs differ too much"
            )
        }
        WatchUnknown::Queue { share } => {
            format!(
                "requests wait {} of their time before the device gets them, though few are in flight",
                percent(*share)
            )
        }
        WatchUnknown::Throttle { share } => {
            format!("throttled {} of their time, by a limit that was not found", percent(*share))
        }
        WatchUnknown::RunQueue { share } => {
            format!(
                "threads wait {} of their time for a processor, though others are idle: bound to few?",
                percent(*share)
            )
        }
    }
}

/// What to set, without a full stop.
pub(crate) fn advice(advice: &WatchAdvice) -> String {
    match advice {
        WatchAdvice::Depth { iodepth: Some(iodepth), gain: Some(gain) } => {
            format!("{iodepth} requests in flight (threads, iodepth, effective_io_concurrency): {}", times(gain))
        }
        WatchAdvice::Depth { .. } => "more requests in flight (threads, iodepth, effective_io_concurrency)".to_string(),
        WatchAdvice::LessOfDevice => {
            "fewer and larger requests, more memory for a cache, or a faster device".to_string()
        }
        WatchAdvice::RaiseLimit { file } => format!("a higher limit in {}", escaped(file)),
        WatchAdvice::RaiseQuota { file } => format!("a higher quota in {}", escaped(file)),
        WatchAdvice::MoreThreads => "the work of its busiest thread on several".to_string(),
        WatchAdvice::MoreProcessors => "more processors, or less beside it".to_string(),
        WatchAdvice::GroupCommit { together, gain } => {
            format!("group commit of {} (at most {} times)", two_digits(*together), two_digits(*gain))
        }
        WatchAdvice::FasterFlush => "a device whose write cache survives a loss of power".to_string(),
        WatchAdvice::JournalElsewhere => "the journal on another disk, or files laid out in advance".to_string(),
        WatchAdvice::EarlierWriteback => {
            "writing back earlier: a smaller vm.dirty_background_bytes, sync_file_range, or direct writes".to_string()
        }
        WatchAdvice::LimitNeighbour { name, cgroup } => match cgroup.trim_start_matches('/') {
            "" => format!("the idle class (ionice -c 3), or a group with io.max, for {}", escaped(name)),
            group => format!("io.max or the idle class for {}", escaped(group)),
        },
        WatchAdvice::MoreMemory { file: Some(file) } => format!("more memory: {}", escaped(file)),
        WatchAdvice::MoreMemory { file: None } => "more memory, or less beside it".to_string(),
        WatchAdvice::OtherHost => "another host, or less on this one".to_string(),
        WatchAdvice::Study => "to know more: halfpower study of this path, then watch --study FILE".to_string(),
        WatchAdvice::AsRoot => "to know more: watch as root".to_string(),
        WatchAdvice::WatchLonger => "to know more: watch longer".to_string(),
    }
}

/// The experiment and the result that would refute the verdict, without a full stop.
pub(crate) fn test(test: &WatchTest) -> String {
    let change = match &test.change {
        TestChange::Depth { iodepth } => format!("raise depth to {iodepth}"),
        TestChange::TwiceTheLimit { file } => format!("double the limit in {}", escaped(file)),
        TestChange::TwoThreads => "split the work of the busiest thread in two".to_string(),
        TestChange::ProcessorsFree => "stop what else uses the processors".to_string(),
        TestChange::NoFlush => "commit to memory (tmpfs)".to_string(),
        TestChange::OtherFileSystem => "put the files on a file system of their own".to_string(),
        TestChange::NoWriteback => "stop what is written back meanwhile".to_string(),
        TestChange::WithoutNeighbour { name } => format!("stop {} for a minute", escaped(name)),
        TestChange::TwiceTheMemory => "give it twice the memory".to_string(),
        TestChange::OtherHost => "run it on a host of its own".to_string(),
        TestChange::DataInMemory => "put its data into memory (tmpfs)".to_string(),
    };
    let subject = match group(test.group) {
        "all" => "its rate".to_string(),
        of => format!("the rate of {of}"),
    };
    let factor = two_digits(test.factor);
    if test.at_least {
        format!("{change}: if {subject} does not rise by {factor} times or more, this is wrong")
    } else {
        format!("{change}: if {subject} rises by more than {factor} times, this is wrong")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halfpower_analyse::Interval;

    use super::*;

    fn every_kind() -> Vec<WatchStop> {
        let times = Interval { value: 3.0, low: 2.5, high: 3.5 };
        let of = || "nvme0n1".to_string();
        let file = || "/sys/fs/cgroup/a/io.max".to_string();
        let own_depth = |best_iodepth, gain| WatchStop::OwnDepth {
            depth: 1.0,
            device_share: Some(0.9),
            idle_share: Some(0.1),
            think_share: 0.2,
            best_iodepth,
            gain,
        };
        let device = |disk| WatchStop::Device {
            disk,
            busy_share: Some(0.99),
            depth: 30.0,
            queue_share: 0.2,
            slower_inside: None,
            share_of_best: None,
        };
        let shared = |disk| WatchStop::SharedDevice {
            disk,
            alone_ns: 1e5,
            own_ns: 4e5,
            times,
            name: "rsync".to_string(),
            cgroup: "/backup".to_string(),
            bytes_share: 0.6,
        };
        vec![
            own_depth(None, None),
            own_depth(Some(8), Some(times)),
            device(of()),
            device(String::new()),
            WatchStop::GroupLimit {
                file: file(),
                limits: "read_bps".to_string(),
                disk: of(),
                limit: 20e6,
                used: 19.8e6,
                share: 0.99,
            },
            WatchStop::ProcessorQuota { file: file(), limit: 2.0, used: 2.0, held_share: Some(0.4) },
            WatchStop::OneProcessor { busy_share: 0.99 },
            WatchStop::Processors { full: 2, of: 2, waited_share: 0.4 },
            WatchStop::Flush { share: 0.8, mean_ns: 2e6, of_ns: 3e6, write_ns: 5e5, together: 1.0, gain_of_four: 3.1 },
            WatchStop::Journal { share: 0.8, mean_ns: 2e6, of_ns: 3e6 },
            WatchStop::Writeback { share: 0.8, mean_ns: 2e6, of_ns: 3e6 },
            WatchStop::DirtyPages { share: 0.8, mean_ns: 2e6, mbps: 100.0 },
            WatchStop::Neighbour {
                name: "rsync".to_string(),
                cgroup: "/backup".to_string(),
                bytes_share: 0.6,
                syncs_share: 0.0,
                slowdown: Some(times),
                excess_share: None,
            },
            shared(of()),
            shared(String::new()),
            WatchStop::Memory { pressure_share: 0.2, paging_share: None, read_again_share: None, file: None },
            WatchStop::Steal { share: 0.2 },
            WatchStop::Itself { busy_share: 0.1, most_gain: 1.1 },
            WatchStop::PageCache { share: 0.99 },
            WatchStop::NotKnown { why: WatchUnknown::Nothing },
        ]
    }

    /// The number of a kind. A new kind does not compile without one.
    fn number(stop: &WatchStop) -> usize {
        match stop {
            WatchStop::OwnDepth { .. } => 0,
            WatchStop::Device { .. } => 1,
            WatchStop::GroupLimit { .. } => 2,
            WatchStop::ProcessorQuota { .. } => 3,
            WatchStop::OneProcessor { .. } => 4,
            WatchStop::Processors { .. } => 5,
            WatchStop::Flush { .. } => 6,
            WatchStop::Journal { .. } => 7,
            WatchStop::Writeback { .. } => 8,
            WatchStop::DirtyPages { .. } => 9,
            WatchStop::Neighbour { .. } => 10,
            WatchStop::SharedDevice { .. } => 11,
            WatchStop::Memory { .. } => 12,
            WatchStop::Steal { .. } => 13,
            WatchStop::Itself { .. } => 14,
            WatchStop::PageCache { .. } => 15,
            WatchStop::NotKnown { .. } => 16,
        }
    }

    #[test]
    fn every_kind_of_stop_begins_with_its_cause_in_five_words() {
        let kinds: BTreeSet<usize> = every_kind().iter().map(number).collect();
        assert_eq!(kinds, (0..17).collect::<BTreeSet<usize>>(), "a kind is missing in the list above");
        for brief in every_kind().iter().map(stop) {
            let words = brief.cause.split_whitespace().count();
            assert!((1..=5).contains(&words), "{words} words: {brief}");
            assert!(brief.rest.starts_with([':', ',', '.', ' ']), "{brief}");
        }
    }
}
