//! Writes the rows of the first screen: rates, what stops each direction, what to set.

use halfpower_analyse::{
    BesideRow, Bottleneck, Ceiling, CellSettings, DepthGain, DirectionStop, FastestCell, Findings, HalfPowerSize,
    Headline, HeadlineDoubt, KnownLimit, ProcessorsOf, StopDoubt, StopTest, StoppedBy, StudyState, Sureness,
    ThreadLimit, ThreadScaling, ThreadStep, Use, UseAdvice,
};
use halfpower_experiments::IssuingChange;
use halfpower_spec::{Bytes, Cache, Pattern, cache_word, format};

use super::bottleneck::{busy, of_its_level};
use super::{far_end, issuing, levels, network, settings};

/// A path for the first column: `random read`, `seq. write buffered`.
pub(crate) fn row_name(cell: &CellSettings) -> String {
    let pattern = match cell.pattern {
        Pattern::Sequential => "seq.",
        Pattern::Random => "random",
        Pattern::Unknown => "order unknown,",
    };
    let cache = match cell.cache {
        Cache::Device => String::new(),
        cache => format!(" {}", cache_word(cache).trim_end_matches(" direct")),
    };
    format!("{pattern} {}{cache}", cell.rw)
}

/// A depth: `32 deep`, or with four threads `4 x 32 deep`.
pub(crate) fn depth(cell: &CellSettings) -> String {
    let threads = if cell.threads > 1 { format!("{} x ", cell.threads) } else { String::new() };
    format!("{threads}{} deep", cell.iodepth)
}

/// The number of threads that fill the device: `4 fill the device: 4,900,000 IOPS, one gives 1,380,000 (random read, 4
/// KiB)`.
pub(crate) fn threads(scaling: &ThreadScaling) -> String {
    let enough = scaling.steps.iter().find(|step| step.threads == scaling.cell.threads);
    let (Some(enough), Some(one)) = (enough, scaling.steps.first()) else { return String::new() };
    let of = format!(
        "{}, {}, {} deep",
        row_name(&scaling.cell),
        format::size(scaling.cell.bs_bytes as f64),
        scaling.cell.iodepth
    );
    let reached = format::iops(enough.iops);
    let given = |step: &ThreadStep| match step.threads {
        1 => format!("one gives {}", format::iops(step.iops)),
        some => format!("{some} give {}", format::iops(step.iops)),
    };
    let count = enough.threads;
    let reported = match scaling.limit {
        ThreadLimit::Device if count == one.threads => format!("no more than {count} are needed for {reached}"),
        ThreadLimit::Device => format!("{count} until the device is the limit: {reached}; {}", given(one)),
        ThreadLimit::Processors => format!("{count} fill all processors: {reached}; {}", given(one)),
        ThreadLimit::Unknown => format!("{count} reach {reached}, and more were not tried; {}", given(one)),
    };
    format!("{reported} ({of})")
}

/// Says that nothing can confirm where the bytes of requests came from; `None` if something can.
pub(crate) fn witness(headline: &[Headline]) -> Option<String> {
    let has = |of: HeadlineDoubt| headline.iter().any(|one| one.doubts.contains(&of));
    if has(HeadlineDoubt::NoWitness) {
        return Some("may be a cache's: no counter of a device confirms these bytes".to_string());
    }
    let guest = "may be a cache's: the host of this virtual machine may hold what the disk seems to give";
    has(HeadlineDoubt::GuestsHost).then(|| guest.to_string())
}

/// The name of a run outside the cells, such as `random mixed, rate_iops=500` or `random read, --bssplit
/// 4KiB/60:64KiB/40`.
pub(crate) fn beside_name(row: &BesideRow) -> String {
    let pattern = match row.workload.rw.pattern() {
        Pattern::Sequential => "seq.",
        Pattern::Random => "random",
        Pattern::Unknown => "order unknown,",
    };
    let direction = row.workload.rw.direction().map_or("mixed".to_string(), |direction| direction.to_string());
    let settings = if row.settings.is_empty() { String::new() } else { format!(", {}", row.settings.join(", ")) };
    let options = row.workload.options.to_string().replacen(' ', ", ", 1);
    format!("{pattern} {direction}{settings}{options}")
}

/// As [`depth`].
pub(crate) fn beside_depth(row: &BesideRow) -> String {
    let threads = if row.workload.threads > 1 { format!("{} x ", row.workload.threads) } else { String::new() };
    format!("{threads}{} deep", row.workload.iodepth)
}

/// The split of a mixed load: `12,000 reads, 5,000 writes`.
pub(crate) fn beside_split(row: &BesideRow) -> String {
    let reported =
        |[read, write]: [f64; 2]| format!("{} reads, {} writes", format::thousands(read), format::thousands(write));
    row.iops_apart.map_or(String::new(), reported)
}

/// The uncertainty of a rate, to follow it: `±4%`, or `±?` for a single run; empty if the rate is not known.
pub(crate) fn reach(sureness: &Sureness) -> String {
    match sureness {
        // A narrower interval would be luck.
        Sureness::Within { share } => format!("\u{b1}{:.0}%", (100.0 * share).max(1.0)),
        Sureness::SingleRun => "\u{b1}?".to_string(),
        Sureness::Unknown { .. } => String::new(),
    }
}

/// Measuring time still needed: `40 s`, `8 min`, `3 h`.
pub(crate) fn about(seconds: f64) -> String {
    match seconds {
        short if short < 90.0 => format!("{:.0} s", short.ceil()),
        long if long < 5400.0 => format!("{:.0} min", (long / 60.0).ceil()),
        longer => format!("{:.0} h", (longer / 3600.0).ceil()),
    }
}

/// Says that a figure is not known, and how much more time it needs.
pub(crate) fn not_known(more_seconds: Option<f64>) -> String {
    match more_seconds {
        Some(seconds) => format!("not known: its runs differ too much; needs about {} more", about(seconds)),
        None => "not known: its runs differ too much".to_string(),
    }
}

/// What stops a direction, in a line or two without a full stop.
pub(crate) fn stop(stop: &DirectionStop, found: &[IssuingChange]) -> String {
    let reported = match &stop.doubt {
        Some(doubt) => format!("unknown: {}", doubted(doubt)),
        None => known_of(stop, found) + &small_requests(&stop.bottleneck),
    };
    stop.test.as_ref().map_or(reported.clone(), |test| format!("{reported}. Test: {}", test_flags(test)))
}

/// What stops a direction if it is known. If direct requests from other pages are faster, the pages are the limit, not
/// the device.
fn known_of(stop: &DirectionStop, found: &[IssuingChange]) -> String {
    let bottleneck = &stop.bottleneck;
    let pages = issuing::other_pages(found, stop.rw).filter(|_| is_of_the_device(&bottleneck.stopped_by));
    match (pages, bottleneck.fastest) {
        (None, _) if matches!(bottleneck.stopped_by, StoppedBy::Ceiling { .. }) => {
            format!("{}, whatever is set", known(bottleneck))
        }
        (None, _) => known(bottleneck),
        (Some(pages), Some(fastest)) if fastest.cell.cache.direct() => {
            format!("the {} pages of their buffers: {}", pages.own, pages.reported)
        }
        (Some(pages), Some(fastest)) if pages.mbps >= issuing::MUCH * fastest.mbps => {
            format!("the page cache, not the device: direct, {}", pages.reported)
        }
        (Some(pages), _) => format!("{}; direct, {}", known(bottleneck), pages.reported),
    }
}

/// Whether the limit is a device's, and only the cells show it.
fn is_of_the_device(stopped_by: &StoppedBy) -> bool {
    use StoppedBy::{Ceiling, NoGainFromDepth, NoGainFromThreads, Parallelism, RequestTime};
    let by_trying = matches!(stopped_by, NoGainFromDepth { .. } | NoGainFromThreads { .. });
    by_trying || matches!(stopped_by, Ceiling { .. } | Parallelism { .. } | RequestTime { .. })
}

fn doubted(doubt: &StopDoubt) -> String {
    match doubt {
        StopDoubt::FasterThanReads => "faster than reads, so perhaps a host's cache".to_string(),
        StopDoubt::Contradicted { device_share } => {
            format!("the device moved only {} of the bytes, a cache the rest", format::percent(*device_share))
        }
        StopDoubt::RateUnknown { more_seconds: Some(seconds) } => {
            format!("runs differ too much; needs about {} more", about(*seconds))
        }
        StopDoubt::RateUnknown { more_seconds: None } => "runs differ too much".to_string(),
        StopDoubt::OneDepth => "no other depth tells what more would bring".to_string(),
    }
}

/// The flags of a study that would test it.
pub(crate) fn test_flags(test: &StopTest) -> String {
    match test {
        StopTest::LargerSpan { size_bytes } => format!("--size {} --budget 10m", Bytes(*size_bytes)),
        StopTest::Deeper { iodepth } => format!("--iodepth 1..{}", iodepth.next_power_of_two()),
    }
}

fn known(bottleneck: &Bottleneck) -> String {
    of_its_level(known_of_a_device(bottleneck), bottleneck)
}

fn known_of_a_device(bottleneck: &Bottleneck) -> String {
    let level = bottleneck.level.as_ref().map_or("unknown", levels::short_name);
    match &bottleneck.stopped_by {
        StoppedBy::NothingMeasured | StoppedBy::OnlyCached | StoppedBy::NothingMoved => "unknown".to_string(),
        StoppedBy::SharedPath { .. } => format!("the {level}: its members do not add up"),
        StoppedBy::KnownRate { limit, limit_mbps, share, .. } => {
            let how = match limit {
                KnownLimit::Attainable => "that get through it",
                KnownLimit::Advertised => "that it advertises",
                KnownLimit::SeenOnSharedPath => "that were seen on it",
            };
            format!("the {level}: {} of the {} {how}", format::percent(*share), format::mbps(*limit_mbps))
        }
        StoppedBy::KnownRequests { limit_iops, share, .. } => {
            format!("the {level}: {} of the {} that it admits", format::percent(*share), format::iops(*limit_iops))
        }
        StoppedBy::FullProcessor { processors_of, processors, share, waited_share, more_threads, more_mbps } => {
            let busy = busy(*share, *waited_share);
            let more = more_threads
                .zip(*more_mbps)
                .map(|(threads, mbps)| format!("; {threads} threads gave {}", format::mbps(mbps)));
            match (processors_of, *processors as u64) {
                (ProcessorsOf::Machine, all) => format!("the processors: all {all} are {busy}"),
                (ProcessorsOf::Threads, 0 | 1) => {
                    let test = more.unwrap_or_else(|| ". Test: --threads 2".to_string());
                    format!("the processor: its one thread is {busy}{test}")
                }
                (ProcessorsOf::Threads, all) => {
                    format!("the processors: the {all} that its threads can use are {busy}{}", more.unwrap_or_default())
                }
            }
        }
        StoppedBy::FarProcessors { .. } | StoppedBy::FarDisk { .. } | StoppedBy::FarDiskLimit { .. } => {
            far_end::brief(&bottleneck.stopped_by)
        }
        StoppedBy::OwnClient { .. } | StoppedBy::Window { .. } => {
            network::brief(&bottleneck.stopped_by, bottleneck.level.as_ref())
        }
        StoppedBy::Ceiling { ceiling, rate, virtualised, .. } => {
            let near = match ceiling {
                Ceiling::Bytes => format::mbps(*rate),
                Ceiling::Requests => format::iops(*rate),
            };
            let whose = if *virtualised { "the device or the hypervisor" } else { "the device or its controller" };
            // `near` is a mean over many cells, so the fastest is a little above it.
            format!("{whose}: about {near}")
        }
        StoppedBy::Parallelism { side_by_side: most, .. } => format!("the {level}: {}", side_by_side(*most)),
        StoppedBy::NoGainFromDepth { iodepth, .. } => {
            // Smaller blocks may still gain from more depth.
            let size = |fastest: &FastestCell| format!("at {}, ", format::size(fastest.cell.bs_bytes as f64));
            let at = bottleneck.fastest.as_ref().map_or(String::new(), size);
            format!("the {level}: {at}depth beyond {iodepth} adds nothing")
        }
        StoppedBy::NoGainFromThreads { threads, .. } => format!("the {level}: more threads than {threads} add nothing"),
        StoppedBy::RequestTime { deeper, .. } => request_time(bottleneck, *deeper),
    }
}

/// `about 6 requests go side by side`.
fn side_by_side(most: f64) -> String {
    match most.round() as u64 {
        0 | 1 => "requests go one at a time".to_string(),
        more => format!("about {more} requests go side by side"),
    }
}

fn request_time(bottleneck: &Bottleneck, deeper: Option<DepthGain>) -> String {
    match deeper.zip(bottleneck.fastest) {
        Some((DepthGain { from_iodepth, gain }, fastest)) => format!(
            "the time of each request: {} deep still gave {} more than {from_iodepth}",
            fastest.cell.iodepth,
            format::percent(gain)
        ),
        None => "the time of each request".to_string(),
    }
}

fn small_requests(bottleneck: &Bottleneck) -> String {
    bottleneck
        .request_ceiling
        .map_or(String::new(), |ceiling| format!("; small requests end at {}", format::iops(ceiling.iops)))
}

/// Why there is no advice, without a full stop.
pub(crate) fn no_advice(state: &StudyState) -> &'static str {
    match state {
        StudyState::Noisy { .. } => {
            "no advice: single runs of a noisy study say too little; repeat when idle, or with a larger --budget"
        }
        StudyState::Imported => "no advice: no block size has three depths measured",
        _ => "no advice yet: no block size has three depths measured; a larger --budget brings them",
    }
}

/// Whether requests went to a file server, where `direct` bypasses no cache of this machine.
pub(crate) fn is_of_a_share(findings: &Findings) -> bool {
    findings.cells.iter().any(|cell| cell.engine.is_of_a_share())
}

/// Advice as three columns: use, settings, result. If the rate is not known, the third column gives the basis of the
/// depth.
pub(crate) fn advice(advice: &UseAdvice, is_share: bool) -> [String; 3] {
    let cell = &advice.cell;
    let bs = format::size(cell.bs_bytes as f64);
    let way = match cell.cache {
        Cache::Device if is_share => String::new(),
        Cache::None if is_share => "durable, ".to_string(),
        cache => format!("{}, ", cache_word(cache)),
    };
    let (of, settings) = match advice.of {
        Use::Database => (format!("databases, {bs}"), format!("{way}{}", depth(cell))),
        Use::BulkRead => ("copy, reading".to_string(), format!("{way}{bs}, {}", depth(cell))),
        Use::BulkWrite => ("copy, writing".to_string(), format!("{way}{bs}, {}", depth(cell))),
    };
    let measured = advice.measured.map(|rate| match advice.of {
        Use::Database => {
            let p99 = rate.latency_ns_p99.map(|ns| format!(", p99 {}", format::time_ns(ns as f64)));
            // If the depth comes from the number of parallel requests, the best cell may be a lucky run.
            let gives = match advice.side_by_side {
                None => format!("{} of the best", format::percent(rate.share_of_best.min(1.0))),
                Some(_) => format::iops(rate.iops),
            };
            format!("{gives}{}", p99.unwrap_or_default())
        }
        _ => {
            let cost = rate.cpu_s_per_gb.map(|seconds| format!(", {} s CPU/GB", format::two_digits(seconds)));
            format!("{}{}", format::mbps(rate.mbps), cost.unwrap_or_default())
        }
    });
    let knee = || advice.side_by_side.map(side_by_side);
    [of, settings, measured.or_else(knee).unwrap_or_else(|| "rate not known".to_string())]
}

/// Half power and its path: `half the peak from 16 KiB at 16 deep, 512 KiB at 1 deep (random direct read)`; `None` if
/// it is not known.
pub(crate) fn half_power(sizes: &[HalfPowerSize]) -> Option<String> {
    let one = |size: &HalfPowerSize| {
        let or_less = if size.bracketed { "" } else { " or less" };
        format!("{}{or_less} at {} deep", format::size(size.bs_bytes as f64), size.iodepth)
    };
    let reported: Vec<String> = sizes.iter().map(one).collect();
    let path = settings::path(sizes.first()?.path);
    Some(format!("half the peak from {} ({path})", reported.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_share_no_cache_of_this_machine_is_passed() {
        let reported = |cache, is_share| {
            let (pattern, rw) = (Pattern::Sequential, halfpower_spec::Direction::Write);
            let cell = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 1 << 20, threads: 1 };
            let [_, settings, _] =
                advice(&UseAdvice { of: Use::BulkWrite, cell, measured: None, side_by_side: None }, is_share);
            settings
        };
        assert_eq!(reported(Cache::Device, true), "1 MiB, 8 deep");
        assert_eq!(reported(Cache::None, true), "durable, 1 MiB, 8 deep");
        assert_eq!(reported(Cache::Device, false), "direct, 1 MiB, 8 deep");
    }

    #[test]
    fn spans_and_sureness_are_short() {
        assert_eq!([about(12.2), about(480.0), about(7300.0)], ["13 s", "8 min", "3 h"]);
        assert_eq!(reach(&Sureness::Within { share: 0.0371 }), "\u{b1}4%");
        assert_eq!(reach(&Sureness::Unknown { more_seconds: None }), "");
        assert_eq!(not_known(Some(480.0)), "not known: its runs differ too much; needs about 8 min more");
    }

    #[test]
    fn half_power_is_said_at_each_depth() {
        let at = |iodepth, bs_bytes, bracketed| HalfPowerSize {
            path: halfpower_analyse::PathSettings {
                pattern: Pattern::Random,
                rw: halfpower_spec::Direction::Read,
                cache: Cache::Device,
            },
            iodepth,
            bs_bytes,
            bracketed,
        };
        let sizes = [at(16, 16 << 10, true), at(1, 512 << 10, false)];
        let text = "half the peak from 16 KiB at 16 deep, 512 KiB or less at 1 deep (random direct read)";
        assert_eq!(half_power(&sizes).as_deref(), Some(text));
        assert_eq!(half_power(&[]), None);
    }
}
