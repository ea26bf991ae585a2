//! Writes what stops a path: all texts about each kind of stop.

use halfpower_analyse::{
    Bottleneck, BusiestProcessor, Ceiling, DepthGain, FastestCell, InFlight, KnownLimit, LevelId, LevelKind,
    ProcessorsOf, StoppedBy,
};
use halfpower_experiments::commits::CommitStop;
use halfpower_spec::format::{factor, iops, mbps, percent, size, time_us, two_digits};

use super::levels::{name, short_name, source};
use super::settings::{capitalised, path, size_and_depth};
use super::stop_brief::StopBrief;

/// Smallest reported share of time that threads wait for a processor.
const WAITED: f64 = 0.02;
/// Smallest reported share of time that a hypervisor takes.
const STOLEN: f64 = 0.01;

/// The texts about one stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StopWords {
    /// For the first screen: a line or two without a full stop.
    pub brief: StopBrief,
    /// For the verdict: `What stops it: the device; ...`.
    pub sentence: String,
    /// How that is known: the measurement and the limit that it meets.
    pub why: String,
    /// The observation that would disprove it; empty if no limit is known.
    pub falsified_by: String,
}

/// What stops commits.
pub(crate) fn of_commits(stop: &CommitStop) -> StopBrief {
    match stop {
        CommitStop::DeviceFlush { share, write_share } => write_and_flush("the device's", "", *share, *write_share),
        CommitStop::VirtualDisk { share, write_share } => {
            write_and_flush("the virtual disk's", ", which its host answers", *share, *write_share)
        }
        CommitStop::FileLock { own_files } => {
            let times = factor(own_files.interval.value);
            StopBrief::of("the file's lock", format!(": writers with files of their own commit {times} times as often"))
        }
        CommitStop::MoreWriters => StopBrief::of("nothing yet", ": more writers commit more often"),
        CommitStop::Unknown => StopBrief::unknown("no write and flush explain the time of a commit"),
    }
}

/// The flush, or the write before it and the flush where only both are most of a commit.
fn write_and_flush(whose: &str, answered: &str, share: f64, write_share: Option<f64>) -> StopBrief {
    match write_share {
        None => StopBrief::of(format!("{whose} flush"), format!("{answered}: {} of a commit", percent(share))),
        Some(write_share) => {
            let [both, flush] = [share + write_share, share].map(percent);
            StopBrief::of(
                format!("{whose} write and flush"),
                format!("{answered}: {both} of a commit, the flush {flush}"),
            )
        }
    }
}

/// What the texts about a device call it: the device, or the far end of a share by its own name.
struct Subject {
    far_end: Option<String>,
}

impl Subject {
    fn of(level: Option<&LevelId>) -> Self {
        Self { far_end: level.filter(|level| level.kind == LevelKind::FileServer).map(short_name) }
    }

    /// Such as `the device`.
    fn the(&self) -> String {
        format!("the {}", self.far_end.as_deref().unwrap_or("device"))
    }

    /// Such as `the device or its controller`; a far end stands for all that lies before it.
    fn or(&self, other: &str) -> String {
        if self.far_end.is_some() { self.the() } else { format!("the device or {other}") }
    }
}

/// A stop in words. A new kind of stop does not compile without all of them.
pub(super) fn words(bottleneck: &Bottleneck) -> StopWords {
    let Bottleneck { level, fastest, stopped_by, .. } = bottleneck;
    let level = level.as_ref();
    let fastest = fastest.as_ref();
    let subject = Subject::of(level);
    let the_device = subject.the();
    let short = level.map_or("unknown".to_string(), short_name);
    let name = level.map_or("unknown".to_string(), name);
    let reach = reach(fastest);
    let twice_deep = 2 * fastest.map_or(0, |fastest| fastest.cell.iodepth);
    let more_through = |limit: String| {
        format!("a run above {limit} that no cache answered, or the same rate once the {name} lets more through")
    };
    let more_from_two = || {
        format!(
            "more from {twice_deep} deep, or two such devices side by side that give no more than one (a path that they \
             share)"
        )
    };
    match stopped_by {
        StoppedBy::NothingMeasured => not_known("no cell has a run yet"),
        StoppedBy::OnlyCached => {
            not_known("every result came out of a cache or with errors, so nothing says how fast the path itself is")
        }
        StoppedBy::NothingMoved => not_known("no run moved bytes without errors"),
        StoppedBy::SharedPath { source: known } => {
            let known = source(known);
            StopWords {
                brief: StopBrief::of(format!("the {short}"), ": its members do not add up"),
                sentence: format!("What stops it: the {name}, {known}."),
                why: format!("Members side by side do not add up any more: {known}."),
                falsified_by: "more from another number of members with the path as it is".to_string(),
            }
        }
        StoppedBy::KnownRate { limit, limit_mbps, share, source: known } => {
            let share = percent(*share);
            let limit_mbps = mbps(*limit_mbps);
            let (of_it, through_it, gets_through) = match limit {
                KnownLimit::Attainable => (
                    "that get through it",
                    format!("{short}, through which {limit_mbps} get at best"),
                    format!("get through {short} at best"),
                ),
                KnownLimit::Advertised => (
                    "that it advertises",
                    format!("the {name}, which advertises {limit_mbps}"),
                    format!("the {name} advertises"),
                ),
                KnownLimit::SeenOnSharedPath => (
                    "that were seen on it",
                    format!("the {name}, which has been seen to give {limit_mbps}"),
                    format!("the {name} has been seen to give"),
                ),
            };
            StopWords {
                brief: StopBrief::of(format!("the {short}"), format!(": {share} of the {limit_mbps} {of_it}")),
                sentence: format!("What stops it: {through_it}; {share} of that was reached."),
                why: format!("{reach}: {share} of the {limit_mbps} that {gets_through} ({}).", source(known)),
                falsified_by: more_through(limit_mbps),
            }
        }
        StoppedBy::KnownRequests { iops: reached, limit_iops, share, source: known } => {
            let share = percent(*share);
            let limit_iops = iops(*limit_iops);
            StopWords {
                brief: StopBrief::of(format!("the {short}"), format!(": {share} of the {limit_iops} that it admits")),
                sentence: format!("What stops it: the {name}, which admits {limit_iops}; {share} of that was reached."),
                why: format!(
                    "{reach} with {}: {share} of the {limit_iops} that the {name} admits ({}).",
                    iops(*reached),
                    source(known)
                ),
                falsified_by: more_through(limit_iops),
            }
        }
        StoppedBy::FullProcessor {
            processors_of,
            processors,
            of_processors,
            share,
            waited_share,
            more_threads,
            more_mbps,
        } => {
            let busy = busy(*share, *waited_share);
            let one_or_all =
                if *processors == 1.0 { "one processor".into() } else { format!("{processors:.0} processors") };
            let whose = match processors_of {
                ProcessorsOf::Threads => format!("the {one_or_all} that its threads can use"),
                ProcessorsOf::Machine => format!("the machine's {one_or_all}, by what the soaker lost"),
                ProcessorsOf::Quota => format!("the {processors:.2} processors that a control group allows"),
            };
            let more = more_threads.zip(*more_mbps);
            let more = more.map(|(threads, more_mbps)| format!("{threads} threads gave {}", mbps(more_mbps)));
            let then_more = more.as_ref().map_or(String::new(), |more| format!("; {more}"));
            let (what, larger) = match processors_of {
                ProcessorsOf::Quota => ("a control group's quota", "a larger quota of processors (cpu.max)"),
                ProcessorsOf::Threads | ProcessorsOf::Machine => ("the processor", "more processors"),
            };
            if *processors_of == ProcessorsOf::Threads && waited_share > share {
                return others_have_the_processor(*share, *waited_share);
            }
            StopWords {
                brief: match (processors_of, *processors as u64) {
                    (ProcessorsOf::Machine, all) => StopBrief::of("the processors", format!(": all {all} are {busy}")),
                    (ProcessorsOf::Quota, _) => StopBrief::of(
                        "a control group's quota",
                        format!(": the {processors:.2} processors it allows are {busy}"),
                    ),
                    // As many threads as one likes share it.
                    (ProcessorsOf::Threads, 0 | 1) if *of_processors == 1.0 => StopBrief::of(
                        "the processor",
                        format!(": the one that its threads can use is {busy}{then_more}"),
                    ),
                    (ProcessorsOf::Threads, 0 | 1) => {
                        let test = if more.is_some() { &then_more } else { ". Test: --threads 2" };
                        StopBrief::of("the processor", format!(": its one thread is {busy}{test}"))
                    }
                    (ProcessorsOf::Threads, all) => StopBrief::of(
                        "the processors",
                        format!(": the {all} that its threads can use are {busy}{then_more}"),
                    ),
                },
                sentence: format!("What stops it: {what}; the fastest run keeps {whose} {busy}."),
                why: format!(
                    "{reach} and keep {whose} {busy}.{}",
                    more.map_or(String::new(), |more| format!(" {more}."))
                ),
                falsified_by: format!(
                    "the same rate with {larger}, or with an engine that takes less of them for each request"
                ),
            }
        }
        StoppedBy::FullOfInterrupts { of_processors, busiest } => {
            let all = if *of_processors > 1.0 { format!(" of {of_processors:.0}") } else { String::new() };
            let taken = percent(busiest.taken_share());
            let brief = StopBrief::of(
                "one processor, full of interrupts",
                format!(
                    ": processor {}{all} is {taken} busy, {} of it in interrupts",
                    busiest.processor,
                    percent(busiest.interrupt_share() / busiest.taken_share())
                ),
            );
            StopWords {
                sentence: format!("What stops it: {brief}, so completions wait for it."),
                brief,
                why: format!(
                    "{reach}, while processor {}{all} has no time left: {}. Completions wait for it, whether or not \
                     others are idle.",
                    busiest.processor,
                    what_fills(busiest)
                ),
                falsified_by: "the same rate with the device's interrupts on another processor, or on several \
                               (/proc/irq/*/smp_affinity)"
                    .to_string(),
            }
        }
        StoppedBy::FarProcessors { processors, of_processors, share, steal_share } => {
            let share = percent(*share);
            let stolen = match *steal_share {
                steal if steal >= STOLEN => format!(", and {} taken by its hypervisor", percent(steal)),
                _ => String::new(),
            };
            let (brief, busy) = match (*processors, *of_processors) {
                (1, all) if all > 1 => (
                    StopBrief::of("the far end's processors", format!(": one of {all} is {share} busy")),
                    format!("one of the {all} processors of the far end is busy {share}"),
                ),
                (processors, _) => {
                    let all = if processors == 1 {
                        "the one processor".into()
                    } else {
                        format!("all {processors} processors")
                    };
                    (
                        StopBrief::of("the far end's processors", format!(": {share} busy{stolen}")),
                        format!("{all} of the far end are busy {share}{stolen}"),
                    )
                }
            };
            StopWords {
                sentence: format!("What stops it: {brief}."),
                brief,
                why: format!("{reach}, while {busy}."),
                falsified_by: "the same rate with the far end's processors less busy, or with more of them".to_string(),
            }
        }
        StoppedBy::FarDisk { disk, share } => {
            let share = percent(*share);
            let brief = StopBrief::of(
                format!("the far end's disk {disk}"),
                format!(": requests in flight {share} of the time"),
            );
            StopWords {
                sentence: format!("What stops it: {brief}."),
                brief,
                why: format!("{reach}, while {disk} at the far end has requests in flight {share} of the time."),
                falsified_by:
                    "more from another share or folder there, on the same disk and as busy (it serves requests \
                               side by side)"
                        .to_string(),
            }
        }
        StoppedBy::FarDiskLimit { disk, mbps: reached, limit_mbps, share, group } => {
            let share = percent(*share);
            let limit = mbps(*limit_mbps);
            let brief = StopBrief::of(
                format!("the far end's disk {disk}"),
                format!(": {share} of the {limit} that a control group there lets through"),
            );
            StopWords {
                sentence: format!("What stops it: {brief}."),
                brief,
                why: format!(
                    "{reach}, while {disk} at the far end moves {}, {share} of the {limit} that {group} lets through.",
                    mbps(*reached)
                ),
                falsified_by: more_through(limit),
            }
        }
        StoppedBy::OwnClient { limit_mbps, share } => {
            let share = percent(*share);
            let limit = mbps(*limit_mbps);
            let evidence = format!(
                "{share} of the {limit} that the same requests reach against a server in memory, over loopback and in \
                 this process: server and network could bring little more"
            );
            StopWords {
                brief: StopBrief::of(
                    short,
                    format!(": {share} of the {limit} that it does against memory. Test: --threads 2"),
                ),
                sentence: format!("What stops it: {name}; {evidence}."),
                why: format!("{reach}: {evidence}."),
                falsified_by: "no more from --threads 2, or from another client of the same share".to_string(),
            }
        }
        StoppedBy::OneRate { reads_mbps, writes_mbps, link_mbps } => {
            let near = mbps(reads_mbps.max(*writes_mbps));
            let own = link_mbps
                .map_or(String::new(), |link_mbps| format!("; this machine's own link advertises {}", mbps(link_mbps)));
            // The name of the wire goes on behind the cause.
            let whole = format!("the {short}");
            let (cause, or) = whole
                .split_once(" or ")
                .map_or((whole.as_str(), String::new()), |(cause, or)| (cause, format!(" or {or}")));
            StopWords {
                brief: StopBrief::of(cause, format!("{or}: about {near} either way")),
                sentence: format!("What stops it: the {name}; reads and writes both end near {near}."),
                why: format!(
                    "{reach}; reads end at {} and writes at {}, random and sequential alike, so all of them stand on one \
                     limit, the {name}{own}.",
                    mbps(*reads_mbps),
                    mbps(*writes_mbps)
                ),
                falsified_by: "the same rates over a faster wire, or reads and writes that differ on another day"
                    .to_string(),
            }
        }
        StoppedBy::DeviceQueue { queue_requests, alone_us, limit_iops, share } => {
            let share = percent(*share);
            let limit = iops(*limit_iops);
            let alone = time_us(*alone_us);
            let brief = StopBrief::of(
                format!("the {short}'s queue"),
                format!(": {share} of the {limit} that {queue_requests} requests of {alone} make"),
            );
            StopWords {
                sentence: format!("What stops it: {brief}."),
                brief,
                why: format!(
                    "{reach}: {share} of the {limit} that come of the {queue_requests} requests that the queue of \
                     {the_device} holds and the {alone} of one alone. More depth waits before that queue."
                ),
                falsified_by:
                    "the same rate from a deeper queue (nr_requests or the driver's queue depth), or the time of a \
                               request alone that has another reason"
                        .to_string(),
            }
        }
        StoppedBy::Window { in_flight, bytes, round_trip_us, limit_mbps, share } => {
            let bytes = size(*bytes);
            let round_trip = time_us(*round_trip_us);
            let (how, whose, falsified_by) = match in_flight {
                InFlight::Requests => (
                    format!(": {bytes} in flight over {round_trip}; more depth helps"),
                    "that the requests have in flight",
                    "no more from twice the depth",
                ),
                InFlight::TcpWindow => (
                    format!(": TCP's window lets {bytes} in flight over {round_trip}"),
                    "that TCP's window lets be in flight",
                    "no more from a larger window (net.ipv4.tcp_rmem and tcp_wmem at both ends) or from --connections 2",
                ),
            };
            let evidence = format!(
                "{} of the {} that come of {bytes} {whose} over the network's shortest round trip of {round_trip}",
                percent(*share),
                mbps(*limit_mbps)
            );
            StopWords {
                brief: StopBrief::of("the network's round trip", how),
                sentence: format!("What stops it: the {name}; {evidence}."),
                why: format!("{reach}: {evidence}."),
                falsified_by: falsified_by.to_string(),
            }
        }
        StoppedBy::Ceiling { ceiling, rate, cells, from_bs_bytes, from_iodepth, virtualised } => {
            let (near, blocks) = match ceiling {
                Ceiling::Bytes => (mbps(*rate), "larger"),
                Ceiling::Requests => (iops(*rate), "smaller"),
            };
            let (before, before_it) = match virtualised {
                true => ("the hypervisor", "the hypervisor before it"),
                false => ("its controller", "its controller"),
            };
            let of = fastest.map_or(String::new(), |fastest| path(fastest.cell.path()));
            let in_the_path = format!("in the path advertises such a limit, so it is {}", subject.or(before_it));
            let past = format!("ceiling near {near} that neither {blocks} blocks nor more depth get past");
            StopWords {
                // The rate is a mean over many cells, so the fastest is a little above it.
                brief: StopBrief::of(subject.or(before), format!(": about {near}")),
                sentence: format!("What stops it: a {past}; nothing {in_the_path}."),
                why: format!(
                    "A {past}: {cells} cells of {of}s stand on it, from {} at {from_iodepth} deep on. Nothing {in_the_path}.",
                    size(*from_bs_bytes as f64)
                ),
                falsified_by: format!(
                    "a run well above {near} by other sizes or depths, or a ceiling elsewhere from the same settings on \
                     another day"
                ),
            }
        }
        StoppedBy::Parallelism { side_by_side: most, larger_blocks_mbps } => {
            let at_once = match *most {
                most if most < 1.1 => "one request at a time".to_string(),
                most => format!("about {} requests side by side", two_digits(most)),
            };
            let larger = larger_blocks_mbps.map_or(String::new(), |larger_mbps| {
                format!("; larger blocks alone could bring it to {}", mbps(larger_mbps))
            });
            let serves = format!("serves {at_once}, and more depth only waits{larger}");
            StopWords {
                brief: StopBrief::of(format!("the {short}"), format!(": {}", side_by_side(*most))),
                sentence: format!("What stops it: {the_device}; it {serves}."),
                why: format!("{reach}; {the_device} {serves}."),
                falsified_by: more_from_two(),
            }
        }
        StoppedBy::NoGainFromDepth { iodepth, deeper_iodepth, deeper_mbps } => {
            // Smaller blocks may still gain from more depth.
            let at = fastest.map_or(String::new(), |fastest| format!("at {}, ", size(fastest.cell.bs_bytes as f64)));
            let evidence = format!(
                "more depth than {iodepth} brings no more ({} at {deeper_iodepth} deep), so {the_device} is as busy as it \
                 can be",
                mbps(*deeper_mbps)
            );
            StopWords {
                brief: StopBrief::of(format!("the {short}"), format!(": {at}depth beyond {iodepth} adds nothing")),
                sentence: format!("What stops it: {the_device}; {evidence}."),
                why: format!("{reach}; {evidence}."),
                falsified_by: more_from_two(),
            }
        }
        StoppedBy::NoGainFromThreads { threads, more_threads, more_mbps } => {
            let evidence = format!(
                "more threads than {threads} bring no more ({} with {more_threads}), so {the_device} is as busy as it can \
                 be",
                mbps(*more_mbps)
            );
            StopWords {
                brief: StopBrief::of(format!("the {short}"), format!(": more threads than {threads} add nothing")),
                sentence: format!("What stops it: {the_device}; {evidence}."),
                why: format!("{reach}; {evidence}."),
                falsified_by: more_from_two(),
            }
        }
        StoppedBy::RequestTime { parts, deeper } => {
            let parts = parts.map_or(String::new(), |parts| {
                let fixed = time_us(parts.fixed_us);
                format!(" (at {} deep {fixed} and {} a KiB)", parts.iodepth, time_us(parts.us_per_kib))
            });
            let (still, rose) = match deeper.zip(fastest) {
                Some((DepthGain { from_iodepth, gain }, FastestCell { cell, .. })) => {
                    let gain = percent(gain);
                    (
                        format!(": {} deep still gave {gain} more than {from_iodepth}", cell.iodepth),
                        format!("from {from_iodepth} to {} deep throughput still rose by {gain}", cell.iodepth),
                    )
                }
                None => (String::new(), "no other depth was measured beside it".to_string()),
            };
            StopWords {
                brief: StopBrief::of("the time of each request", still),
                sentence: format!(
                    "What stops it: the time that {the_device} takes for each request; {rose}, so more depth may help."
                ),
                why: format!(
                    "{reach}, limited by the time that each request takes{parts}: no advertised peak is near, no \
                     processor full, and {rose}, so more depth may help."
                ),
                falsified_by: format!("no more from {twice_deep} deep"),
            }
        }
    }
}

/// Nothing is known, for this reason.
fn not_known(reason: &str) -> StopWords {
    let why = format!("Nothing can be said: {reason}.");
    StopWords {
        brief: StopBrief::of("unknown", ""),
        sentence: format!("What stops it is not known. {why}"),
        why,
        falsified_by: String::new(),
    }
}

/// The beginning of a sentence: `Sequential direct reads reach 1,835 MB/s (1 MiB, 32 deep)`.
fn reach(fastest: Option<&FastestCell>) -> String {
    fastest.map_or(String::new(), |fastest| {
        let cell = &fastest.cell;
        capitalised(&format!("{}s reach {} ({})", path(cell.path()), mbps(fastest.mbps), size_and_depth(cell)))
    })
}

/// The busy share, such as `93% busy`, and how long threads waited while other tasks had the processors.
fn busy(share: f64, waited_share: f64) -> String {
    let busy = format!("{} busy", percent(share));
    if waited_share < WAITED {
        return busy;
    }
    format!("{busy} (others have the processor {} of the time)", percent(waited_share))
}

/// What fills a processor, such as `20% user, 45% kernel, 30% interrupts`; what is too little to tell is left out.
fn what_fills(busiest: &BusiestProcessor) -> String {
    let parts = [
        (busiest.user_share, "user"),
        (busiest.system_share, "kernel"),
        (busiest.irq_share, "interrupts"),
        (busiest.softirq_share, "deferred interrupts"),
        (busiest.steal_share, "taken by the hypervisor"),
    ];
    let told = parts.iter().filter(|(share, _)| *share >= WAITED);
    told.map(|(share, name)| format!("{} {name}", percent(*share))).collect::<Vec<_>>().join(", ")
}

/// Of threads that wait for a processor for longer than they run.
fn others_have_the_processor(share: f64, waited_share: f64) -> StopWords {
    let (share, waited) = (percent(share), percent(waited_share));
    StopWords {
        brief: StopBrief::of(
            "others, who have the processors",
            format!(": its threads ran {share} of the time and waited {waited}"),
        ),
        sentence: format!(
            "What stops it: other programs have the processors; its own threads ran {share} of the time and were ready \
             and waiting for {waited}."
        ),
        why: format!("Its threads were ready to run for {waited} of the time, while others had the processors."),
        falsified_by: "the same rate on an idle machine".to_string(),
    }
}

/// Such as `about 6 requests go side by side`.
pub(super) fn side_by_side(most: f64) -> String {
    match most.round() as u64 {
        0 | 1 => "requests go one at a time".to_string(),
        more => format!("about {more} requests go side by side"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use halfpower_analyse::{Interval, LevelSource};
    use halfpower_experiments::{RatioFinding, RatioVerdict};

    use super::*;

    /// Stops of all kinds, and in all forms in which a kind has texts of its own.
    fn every_kind() -> Vec<StoppedBy> {
        let source = || LevelSource::Unadvertised;
        let known = |limit| StoppedBy::KnownRate { limit, limit_mbps: 100.0, share: 0.96, source: source() };
        let full = |processors_of, processors, waited_share| StoppedBy::FullProcessor {
            processors_of,
            processors,
            of_processors: 8.0,
            share: 0.9,
            waited_share,
            more_threads: Some(2),
            more_mbps: Some(1250.0),
        };
        let window = |in_flight| StoppedBy::Window {
            in_flight,
            bytes: 65_536.0,
            round_trip_us: 1e4,
            limit_mbps: 6.5,
            share: 0.97,
        };
        let far = |processors| StoppedBy::FarProcessors { processors, of_processors: 8, share: 0.97, steal_share: 0.1 };
        let ceiling = |virtualised| StoppedBy::Ceiling {
            ceiling: Ceiling::Bytes,
            rate: 1200.0,
            cells: 30,
            from_bs_bytes: 64 << 10,
            from_iodepth: 4,
            virtualised,
        };
        let busiest = BusiestProcessor {
            processor: 13,
            user_share: 0.0,
            system_share: 0.1,
            irq_share: 0.5,
            softirq_share: 0.4,
            steal_share: 0.0,
        };
        let group = "io.max of /system.slice".to_string();
        let disk = || "nvme0n1".to_string();
        vec![
            StoppedBy::NothingMeasured,
            StoppedBy::OnlyCached,
            StoppedBy::NothingMoved,
            StoppedBy::SharedPath { source: source() },
            known(KnownLimit::Attainable),
            known(KnownLimit::Advertised),
            known(KnownLimit::SeenOnSharedPath),
            StoppedBy::KnownRequests { iops: 9e3, limit_iops: 1e4, share: 0.9, source: source() },
            full(ProcessorsOf::Machine, 8.0, 0.0),
            full(ProcessorsOf::Quota, 0.5, 0.0),
            full(ProcessorsOf::Threads, 1.0, 0.0),
            full(ProcessorsOf::Threads, 4.0, 0.0),
            full(ProcessorsOf::Threads, 4.0, 0.95),
            StoppedBy::FullOfInterrupts { of_processors: 64.0, busiest },
            far(1),
            far(8),
            StoppedBy::FarDisk { disk: disk(), share: 0.97 },
            StoppedBy::FarDiskLimit { disk: disk(), mbps: 29.0, limit_mbps: 30.0, share: 0.97, group },
            StoppedBy::OwnClient { limit_mbps: 2000.0, share: 0.91 },
            StoppedBy::OneRate { reads_mbps: 11.9, writes_mbps: 12.1, link_mbps: None },
            StoppedBy::DeviceQueue { queue_requests: 8, alone_us: 1000.0, limit_iops: 8000.0, share: 0.912 },
            window(InFlight::Requests),
            window(InFlight::TcpWindow),
            ceiling(false),
            ceiling(true),
            StoppedBy::Parallelism { side_by_side: 4.0, larger_blocks_mbps: None },
            StoppedBy::NoGainFromDepth { iodepth: 4, deeper_iodepth: 8, deeper_mbps: 1190.0 },
            StoppedBy::NoGainFromThreads { threads: 4, more_threads: 8, more_mbps: 1190.0 },
            StoppedBy::RequestTime { parts: None, deeper: None },
        ]
    }

    /// The number of a kind. A new kind does not compile without one.
    fn number(stop: &StoppedBy) -> usize {
        match stop {
            StoppedBy::NothingMeasured => 0,
            StoppedBy::OnlyCached => 1,
            StoppedBy::NothingMoved => 2,
            StoppedBy::SharedPath { .. } => 3,
            StoppedBy::KnownRate { .. } => 4,
            StoppedBy::KnownRequests { .. } => 5,
            StoppedBy::FullProcessor { .. } => 6,
            StoppedBy::FullOfInterrupts { .. } => 7,
            StoppedBy::FarProcessors { .. } => 8,
            StoppedBy::FarDisk { .. } => 9,
            StoppedBy::FarDiskLimit { .. } => 10,
            StoppedBy::OwnClient { .. } => 11,
            StoppedBy::OneRate { .. } => 12,
            StoppedBy::DeviceQueue { .. } => 13,
            StoppedBy::Window { .. } => 14,
            StoppedBy::Ceiling { .. } => 15,
            StoppedBy::Parallelism { .. } => 16,
            StoppedBy::NoGainFromDepth { .. } => 17,
            StoppedBy::NoGainFromThreads { .. } => 18,
            StoppedBy::RequestTime { .. } => 19,
        }
    }

    #[test]
    fn every_kind_of_stop_begins_with_its_cause_in_five_words() {
        let kinds: BTreeSet<usize> = every_kind().iter().map(number).collect();
        assert_eq!(kinds, (0..20).collect::<BTreeSet<usize>>(), "a kind is missing in the list above");
        let mut levels: Vec<LevelId> = [
            LevelKind::Memory,
            LevelKind::Processor,
            LevelKind::PageCache,
            LevelKind::Device,
            LevelKind::DataSheet,
            LevelKind::ControllerAndLink,
            LevelKind::SharedPath,
            LevelKind::SustainedLimit,
            LevelKind::UnnamedCeiling,
            LevelKind::Wire,
            LevelKind::OurClient,
            LevelKind::RoundTrip,
            LevelKind::FarProcessors,
            LevelKind::FarDisk,
        ]
        .map(LevelId::of)
        .to_vec();
        let names = ["PCIe uplink", "cgroup limit", "network or file server", "a part of a name that goes on and on"];
        levels.extend(names.map(|name| LevelId::named(name, None)));
        let briefs = every_kind().into_iter().flat_map(|stop| {
            levels.iter().map(move |level| of(level.clone(), stop.clone()).brief).collect::<Vec<StopBrief>>()
        });
        let own_files =
            RatioFinding { interval: Interval { value: 2.0, low: 1.8, high: 2.2 }, verdict: RatioVerdict::More };
        let of_commits = [
            CommitStop::DeviceFlush { share: 0.8, write_share: None },
            CommitStop::VirtualDisk { share: 0.4, write_share: Some(0.4) },
            CommitStop::FileLock { own_files },
            CommitStop::MoreWriters,
            CommitStop::Unknown,
        ];
        let pages = ["ordinary", "huge"].map(|own| StopBrief::of_pages(own, "2,400 MB/s"));
        let others = [StopBrief::unknown("runs differ too much"), StopBrief::of_page_cache("2,400 MB/s")];
        let all = briefs.chain(of_commits.iter().map(super::of_commits)).chain(pages).chain(others);
        for brief in all {
            let words = brief.cause.split_whitespace().count();
            assert!((1..=5).contains(&words), "{words} words: {brief}");
            let begins_well = brief.rest.is_empty() || brief.rest.starts_with([':', ',', ' ']);
            assert!(begins_well && brief.to_string().starts_with(&brief.cause), "{brief}");
        }
    }

    #[test]
    fn a_full_processor_and_a_long_name_have_a_short_cause() {
        let interrupts = every_kind().into_iter().find(|stop| number(stop) == 7).unwrap();
        let brief = of(LevelId::of(LevelKind::Processor), interrupts).brief;
        assert_eq!(brief.cause, "one processor, full of interrupts");
        assert!(brief.rest.starts_with(": processor 13 of 64 is "), "{brief}");
        let long = LevelId::named("part of a name that goes on", None);
        let stop = of(long, StoppedBy::NoGainFromThreads { threads: 4, more_threads: 8, more_mbps: 1190.0 });
        let told = "one part of the path, the part of a name that goes on: more threads than 4 add nothing";
        assert_eq!(stop.brief.to_string(), told);
    }

    fn of(level: LevelId, stopped_by: StoppedBy) -> StopWords {
        words(&Bottleneck { level: Some(level), fastest: None, stopped_by, next: None, request_ceiling: None })
    }

    #[test]
    fn the_client_and_the_window_are_told_with_their_evidence() {
        let ours = LevelId { name: Some("SMB".to_string()), ..LevelId::of(LevelKind::OurClient) };
        let client = of(ours, StoppedBy::OwnClient { limit_mbps: 2000.0, share: 0.91 });
        assert_eq!(
            client.brief.to_string(),
            "our SMB client: 91% of the 2,000 MB/s that it does against memory. Test: --threads 2"
        );
        let begin = "What stops it: our SMB client; 91% of the 2,000 MB/s that the same requests reach";
        assert!(client.sentence.starts_with(begin), "{}", client.sentence);
        let window = |in_flight| {
            let stop = StoppedBy::Window {
                in_flight,
                bytes: 65_536.0,
                round_trip_us: 10_000.0,
                limit_mbps: 6.55,
                share: 0.97,
            };
            of(LevelId::of(LevelKind::RoundTrip), stop)
        };
        let requests = window(InFlight::Requests);
        assert_eq!(
            requests.brief.to_string(),
            "the network's round trip: 64 KiB in flight over 10 ms; more depth helps"
        );
        let tcp = window(InFlight::TcpWindow);
        assert!(
            tcp.why.contains("64 KiB that TCP's window lets be in flight") && tcp.falsified_by.contains("tcp_rmem")
        );
    }

    #[test]
    fn a_wire_is_told_by_the_rates_that_end_on_it() {
        let wire = |link_mbps| {
            of(LevelId::of(LevelKind::Wire), StoppedBy::OneRate { reads_mbps: 11.9, writes_mbps: 12.1, link_mbps })
        };
        assert_eq!(wire(None).brief.to_string(), "the wire or the server's link: about 12.1 MB/s either way");
        assert!(wire(None).why.ends_with("so all of them stand on one limit, the wire or the server's link."));
        assert!(wire(Some(125.0)).why.ends_with("; this machine's own link advertises 125 MB/s."));
    }

    #[test]
    fn a_full_queue_is_told_with_what_it_holds() {
        let stop = StoppedBy::DeviceQueue { queue_requests: 8, alone_us: 1000.0, limit_iops: 8000.0, share: 0.912 };
        let queue = of(LevelId::of(LevelKind::Device), stop);
        assert_eq!(queue.brief.to_string(), "the device's queue: 91% of the 8,000 IOPS that 8 requests of 1.0 ms make");
        assert!(queue.why.contains("More depth waits before that queue"), "{}", queue.why);
    }

    #[test]
    fn a_far_end_is_called_by_its_name() {
        let ceiling = StoppedBy::Ceiling {
            ceiling: Ceiling::Bytes,
            rate: 1200.0,
            cells: 30,
            from_bs_bytes: 64 << 10,
            from_iodepth: 4,
            virtualised: true,
        };
        let server = LevelId::named("network or file server", None);
        let stop = of(server.clone(), ceiling.clone());
        assert_eq!(stop.brief.to_string(), "the network or file server: about 1,200 MB/s");
        assert!(stop.why.ends_with("so it is the network or file server."), "{}", stop.why);
        let device = of(LevelId::of(LevelKind::UnnamedCeiling), ceiling);
        assert_eq!(device.brief.to_string(), "the device or the hypervisor: about 1,200 MB/s");
        assert!(device.why.ends_with("so it is the device or the hypervisor before it."), "{}", device.why);
        let one = of(server, StoppedBy::Parallelism { side_by_side: 1.0, larger_blocks_mbps: None });
        assert_eq!(
            one.sentence,
            "What stops it: the network or file server; it serves one request at a time, and more depth only waits."
        );
    }
}
