//! Writes what stops the path, how that is known, what would stop it next, and what would disprove it.

use halfpower_analyse::{
    Bottleneck, Ceiling, DepthGain, FastestCell, KnownLimit, LevelId, LevelKind, NextLimit, NextLimitBy, ProcessorsOf,
    RequestTime, StoppedBy,
};
use halfpower_spec::format;

use super::levels::{name, short_name, source};
use super::settings::{capitalised, path, size_and_depth};
use super::{far_end, network};

/// Smallest reported share of time that threads wait for a processor.
const WAITED: f64 = 0.02;

/// The sentences about a bottleneck.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BottleneckWords {
    /// Name of the level.
    pub level: String,
    /// How that is known: the measurement and the limit that it meets.
    pub why: String,
    /// What would stop it next.
    pub next: String,
    /// The observation that would disprove this; empty if no limit is known.
    pub falsified_by: String,
}

/// All sentences about the bottleneck, for the page and for JSON.
pub(crate) fn words(bottleneck: &Bottleneck) -> BottleneckWords {
    BottleneckWords {
        level: bottleneck.level.as_ref().map_or("unknown".to_string(), name),
        why: of_its_level(why(bottleneck), bottleneck),
        next: next(bottleneck),
        falsified_by: falsified_by(bottleneck),
    }
}

/// The bottleneck in one sentence: `What stops it: the device; ...`.
pub(crate) fn sentence(bottleneck: &Bottleneck) -> String {
    match nothing_known(&bottleneck.stopped_by) {
        Some(why) => format!("What stops it is not known. {why}"),
        None => format!("What stops it: {}.", of_its_level(short(bottleneck), bottleneck)),
    }
}

/// Replaces "the device" by a share's far end, if that is the level.
pub(super) fn of_its_level(text: String, bottleneck: &Bottleneck) -> String {
    let Some(level) = bottleneck.level.as_ref().filter(|level| level.is_of_a_share()) else { return text };
    let far_end = format!("the {}", short_name(level));
    [" or the hypervisor before it", " or the hypervisor", " or its controller", ""]
        .iter()
        .fold(text, |text, other| text.replace(&format!("the device{other}"), &far_end))
}

fn nothing_known(stopped_by: &StoppedBy) -> Option<String> {
    let why = match stopped_by {
        StoppedBy::NothingMeasured => "no cell has a run yet",
        StoppedBy::OnlyCached => {
            "every result came out of a cache or with errors, so nothing says how fast the path itself is"
        }
        StoppedBy::NothingMoved => "no run moved bytes without errors",
        _ => return None,
    };
    Some(format!("Nothing can be said: {why}."))
}

/// The beginning of a sentence: `Sequential direct reads reach 1,835 MB/s (1 MiB, 32 deep)`.
fn reach(fastest: Option<&FastestCell>) -> String {
    fastest.map_or(String::new(), |FastestCell { cell, mbps }| {
        let words = format!("{}s reach {} ({})", path(cell.path()), format::mbps(*mbps), size_and_depth(cell));
        capitalised(&words)
    })
}

/// What stops it, to follow a colon, without a full stop.
fn short(bottleneck: &Bottleneck) -> String {
    let level = || bottleneck.level.as_ref().map_or("unknown".to_string(), name);
    match &bottleneck.stopped_by {
        StoppedBy::NothingMeasured | StoppedBy::OnlyCached | StoppedBy::NothingMoved => String::new(),
        StoppedBy::SharedPath { source: known } => format!("the {}, {}", level(), source(known)),
        StoppedBy::KnownRate { limit, limit_mbps, share, .. } => {
            let (mbps, share) = (format::mbps(*limit_mbps), format::percent(*share));
            match limit {
                KnownLimit::Attainable => {
                    let part = bottleneck.level.as_ref().map_or("it", short_name);
                    format!("{part}, through which {mbps} get at best; {share} of that was reached")
                }
                limit => format!("the {}, which {} {mbps}; {share} of that was reached", level(), gives(*limit)),
            }
        }
        StoppedBy::KnownRequests { limit_iops, share, .. } => {
            let (iops, share) = (format::iops(*limit_iops), format::percent(*share));
            format!("the {}, which admits {iops}; {share} of that was reached", level())
        }
        StoppedBy::FullProcessor { processors_of, processors, share, waited_share, .. } => {
            let of = processors_words(*processors_of, *processors);
            format!("the processor; the fastest run keeps {of} {}", busy(*share, *waited_share))
        }
        StoppedBy::FarProcessors { .. } | StoppedBy::FarDisk { .. } | StoppedBy::FarDiskLimit { .. } => {
            far_end::brief(&bottleneck.stopped_by)
        }
        StoppedBy::OwnClient { .. } | StoppedBy::Window { .. } => {
            format!("the {}; {}", level(), network::evidence(&bottleneck.stopped_by)).replace("the our", "our")
        }
        StoppedBy::Ceiling { ceiling, rate, virtualised, .. } => format!(
            "{}; nothing in the path advertises such a limit, so it is {}",
            ceiling_words("a", *ceiling, *rate),
            whose(*virtualised)
        ),
        StoppedBy::Parallelism { .. } | StoppedBy::NoGainFromDepth { .. } | StoppedBy::NoGainFromThreads { .. } => {
            let why = device_words(&bottleneck.stopped_by);
            format!("the device; {}", why.strip_prefix("the device ").map_or(why.clone(), |rest| format!("it {rest}")))
        }
        StoppedBy::RequestTime { deeper, .. } => {
            format!("the time that the device takes for each request; {}", depth_words(bottleneck, *deeper))
        }
    }
}

fn why(bottleneck: &Bottleneck) -> String {
    if let Some(nothing) = nothing_known(&bottleneck.stopped_by) {
        return nothing;
    }
    let reach = reach(bottleneck.fastest.as_ref());
    let level = bottleneck.level.as_ref();
    let why = match &bottleneck.stopped_by {
        StoppedBy::NothingMeasured | StoppedBy::OnlyCached | StoppedBy::NothingMoved => String::new(),
        StoppedBy::SharedPath { source: known } => {
            format!("Members side by side do not add up any more: {}.", source(known))
        }
        StoppedBy::KnownRate { limit, limit_mbps, share, source: known } => {
            let (mbps, share) = (format::mbps(*limit_mbps), format::percent(*share));
            let through = match limit {
                KnownLimit::Attainable => format!("get through {} at best", level.map_or("it", short_name)),
                limit => format!("the {} {}", level.map_or(String::new(), name), gives(*limit)),
            };
            format!("{reach}: {share} of the {mbps} that {through} ({}).", source(known))
        }
        StoppedBy::KnownRequests { iops, limit_iops, share, source: known } => format!(
            "{reach} with {}: {} of the {} that the {} admits ({}).",
            format::iops(*iops),
            format::percent(*share),
            format::iops(*limit_iops),
            level.map_or(String::new(), name),
            source(known)
        ),
        StoppedBy::FullProcessor { processors_of, processors, share, waited_share, more_threads, more_mbps } => {
            let of = processors_words(*processors_of, *processors);
            let more = more_threads
                .zip(*more_mbps)
                .map_or(String::new(), |(threads, mbps)| format!(" {threads} threads gave {}.", format::mbps(mbps)));
            format!("{reach} and keep {of} {}.{more}", busy(*share, *waited_share))
        }
        StoppedBy::OwnClient { .. } | StoppedBy::Window { .. } => {
            format!("{reach}: {}.", network::evidence(&bottleneck.stopped_by))
        }
        StoppedBy::FarProcessors { .. } | StoppedBy::FarDisk { .. } | StoppedBy::FarDiskLimit { .. } => {
            format!("{reach}, while {}.", far_end::evidence(&bottleneck.stopped_by))
        }
        StoppedBy::Ceiling { ceiling, rate, cells, from_bs_bytes, from_iodepth, virtualised } => format!(
            "{}: {cells} cells of {}s stand on it, from {} at {from_iodepth} deep on. Nothing in the path advertises \
             such a limit, so it is {}.",
            ceiling_words("A", *ceiling, *rate),
            bottleneck.fastest.map_or(String::new(), |fastest| path(fastest.cell.path())),
            format::size(*from_bs_bytes as f64),
            whose(*virtualised)
        ),
        StoppedBy::Parallelism { .. } | StoppedBy::NoGainFromDepth { .. } | StoppedBy::NoGainFromThreads { .. } => {
            format!("{reach}; {}.", device_words(&bottleneck.stopped_by))
        }
        StoppedBy::RequestTime { parts, deeper } => format!(
            "{reach}, limited by the time that each request takes{}: no advertised peak is near, no processor full, \
             and {}.",
            parts.map_or(String::new(), parts_words),
            depth_words(bottleneck, *deeper)
        ),
    };
    why + &small_requests(bottleneck)
}

fn gives(limit: KnownLimit) -> &'static str {
    match limit {
        KnownLimit::SeenOnSharedPath => "has been seen to give",
        KnownLimit::Attainable | KnownLimit::Advertised => "advertises",
    }
}

/// The busy share, such as `93% busy`, and how long threads waited while other tasks had the processors.
pub(super) fn busy(share: f64, waited_share: f64) -> String {
    let busy = format!("{} busy", format::percent(share));
    if waited_share < WAITED {
        return busy;
    }
    format!("{busy} (others have the processor {} of the time)", format::percent(waited_share))
}

fn processors_words(whose: ProcessorsOf, count: f64) -> String {
    let processors = if count == 1.0 { "one processor".to_string() } else { format!("{count:.0} processors") };
    match whose {
        ProcessorsOf::Threads => format!("the {processors} that its threads can use"),
        ProcessorsOf::Machine => format!("the machine's {processors}, by what the soaker lost"),
    }
}

fn ceiling_rate(ceiling: Ceiling, rate: f64) -> String {
    match ceiling {
        Ceiling::Bytes => format::mbps(rate),
        Ceiling::Requests => format::iops(rate),
    }
}

/// Describes a ceiling with this article: `a ceiling near 1,200 MB/s that neither larger blocks nor more depth get
/// past`.
fn ceiling_words(article: &str, ceiling: Ceiling, rate: f64) -> String {
    let blocks = match ceiling {
        Ceiling::Bytes => "larger",
        Ceiling::Requests => "smaller",
    };
    let near = ceiling_rate(ceiling, rate);
    format!("{article} ceiling near {near} that neither {blocks} blocks nor more depth get past")
}

fn whose(virtualised: bool) -> &'static str {
    if virtualised { "the device or the hypervisor before it" } else { "the device or its controller" }
}

/// Why the device is not faster, to follow a semicolon.
fn device_words(stopped_by: &StoppedBy) -> String {
    match stopped_by {
        StoppedBy::Parallelism { side_by_side, larger_blocks_mbps } => {
            let most = match *side_by_side {
                most if most < 1.1 => "one request at a time".to_string(),
                most => format!("about {} requests side by side", format::two_digits(most)),
            };
            let larger = larger_blocks_mbps.map_or(String::new(), |mbps| {
                format!("; larger blocks alone could bring it to {}", format::mbps(mbps))
            });
            format!("the device serves {most}, and more depth only waits{larger}")
        }
        StoppedBy::NoGainFromDepth { iodepth, deeper_iodepth, deeper_mbps } => format!(
            "more depth than {iodepth} brings no more ({} at {deeper_iodepth} deep), so the device is as busy as it \
             can be",
            format::mbps(*deeper_mbps)
        ),
        StoppedBy::NoGainFromThreads { threads, more_threads, more_mbps } => format!(
            "more threads than {threads} bring no more ({} with {more_threads}), so the device is as busy as it can be",
            format::mbps(*more_mbps)
        ),
        _ => String::new(),
    }
}

fn parts_words(parts: RequestTime) -> String {
    let (fixed, per_kib) = (format::time_us(parts.fixed_us), format::time_us(parts.us_per_kib));
    format!(" (at {} deep {fixed} and {per_kib} a KiB)", parts.iodepth)
}

fn depth_words(bottleneck: &Bottleneck, deeper: Option<DepthGain>) -> String {
    match deeper.zip(bottleneck.fastest) {
        Some((DepthGain { from_iodepth, gain }, fastest)) => format!(
            "from {from_iodepth} to {} deep throughput still rose by {}, so more depth may help",
            fastest.cell.iodepth,
            format::percent(gain)
        ),
        None => "no other depth was measured beside it, so more depth may help".to_string(),
    }
}

/// A further sentence if requests a second have a separate limit.
fn small_requests(bottleneck: &Bottleneck) -> String {
    bottleneck.request_ceiling.map_or(String::new(), |ceiling| {
        format!(" Small requests meet another limit: {} ({}s).", format::iops(ceiling.iops), path(ceiling.path))
    })
}

fn next(bottleneck: &Bottleneck) -> String {
    match &bottleneck.next {
        Some(NextLimit::Level { level, mbps, by }) => {
            let how = match by {
                NextLimitBy::Attainable => "by what gets through it",
                NextLimitBy::Advertised => "by its advertised peak",
                NextLimitBy::ChargedTime => "where the charged time fills it",
                NextLimitBy::LargeBlocks => "by its rate on large blocks",
            };
            format!("{}, at {} {how}", name(level), format::mbps(*mbps))
        }
        Some(NextLimit::Members) => "the members themselves, each at what it gives alone".to_string(),
        None if bottleneck.level.is_none() => "unknown".to_string(),
        None => "unknown: no other limit is known".to_string(),
    }
}

fn falsified_by(bottleneck: &Bottleneck) -> String {
    let twice = 2 * bottleneck.fastest.map_or(0, |fastest| fastest.cell.iodepth);
    let device = LevelId::of(LevelKind::Device);
    let level = name(bottleneck.level.as_ref().unwrap_or(&device));
    let wider = |limit: String| {
        format!("a run above {limit} that no cache answered, or the same rate once the {level} lets more through")
    };
    match &bottleneck.stopped_by {
        StoppedBy::NothingMeasured | StoppedBy::OnlyCached | StoppedBy::NothingMoved => String::new(),
        StoppedBy::SharedPath { .. } => "more from another number of members with the path as it is".to_string(),
        StoppedBy::KnownRate { limit_mbps, .. } => wider(format::mbps(*limit_mbps)),
        StoppedBy::KnownRequests { limit_iops, .. } => wider(format::iops(*limit_iops)),
        StoppedBy::FullProcessor { .. } => {
            "the same rate with more processors, or with an engine that takes less of them for each request".to_string()
        }
        StoppedBy::FarProcessors { .. } => {
            "the same rate with the far end's processors less busy, or with more of them".to_string()
        }
        StoppedBy::FarDiskLimit { limit_mbps, .. } => wider(format::mbps(*limit_mbps)),
        StoppedBy::OwnClient { .. } | StoppedBy::Window { .. } => network::falsified_by(&bottleneck.stopped_by),
        StoppedBy::FarDisk { .. } => {
            "more from another share or folder there, on the same disk and as busy (it serves requests side by side)"
                .to_string()
        }
        StoppedBy::Ceiling { ceiling, rate, .. } => format!(
            "a run well above {} by other sizes or depths, or a ceiling elsewhere from the same settings on another day",
            ceiling_rate(*ceiling, *rate)
        ),
        StoppedBy::Parallelism { .. } | StoppedBy::NoGainFromDepth { .. } | StoppedBy::NoGainFromThreads { .. } => {
            format!(
                "more from {twice} deep, or two such devices side by side that give no more than one (a path that they \
             share)"
            )
        }
        StoppedBy::RequestTime { .. } => format!("no more from {twice} deep"),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{CellSettings, LevelSource, PathSettings, RequestCeiling};
    use halfpower_spec::{Cache, Direction, Pattern};

    use super::*;

    fn stopped(level: LevelId, stopped_by: StoppedBy) -> Bottleneck {
        let (pattern, rw, cache) = (Pattern::Sequential, Direction::Read, Cache::Device);
        let cell = CellSettings { pattern, rw, cache, iodepth: 32, bs_bytes: 1 << 20, threads: 1 };
        let (fastest, next) = (Some(FastestCell { cell, mbps: 1200.0 }), None);
        Bottleneck { level: Some(level), fastest, stopped_by, next, request_ceiling: None }
    }

    fn device(stopped_by: StoppedBy) -> Bottleneck {
        stopped(LevelId::of(LevelKind::Device), stopped_by)
    }

    #[test]
    fn a_known_limit_is_named_with_its_share_and_source() {
        let source = LevelSource::Environment("2 lanes".to_string());
        let (limit, limit_mbps, share) = (KnownLimit::Advertised, 1250.0, 0.96);
        let link = LevelId::named("link", Some(Direction::Read));
        let found = stopped(link, StoppedBy::KnownRate { limit, limit_mbps, share, source });
        let reported = words(&found);
        assert_eq!(
            reported.why,
            "Sequential direct reads reach 1,200 MB/s (1 MiB, 32 deep): 96% of the 1,250 MB/s that the link (read) \
             advertises (2 lanes)."
        );
        assert_eq!(
            (reported.level.as_str(), reported.next.as_str()),
            ("link (read)", "unknown: no other limit is known")
        );
        assert_eq!(
            reported.falsified_by,
            "a run above 1,250 MB/s that no cache answered, or the same rate once the link (read) lets more through"
        );
        assert_eq!(
            sentence(&found),
            "What stops it: the link (read), which advertises 1,250 MB/s; 96% of that was reached."
        );
    }

    #[test]
    fn what_the_device_does_is_said_of_it() {
        let one = device(StoppedBy::Parallelism { side_by_side: 1.0, larger_blocks_mbps: Some(1300.0) });
        assert!(words(&one).why.ends_with(
            "; the device serves one request at a time, and more depth only waits; larger blocks alone could bring it \
             to 1,300 MB/s."
        ));
        assert!(sentence(&one).starts_with("What stops it: the device; it serves one request at a time"));
        let no_gain = StoppedBy::NoGainFromDepth { iodepth: 4, deeper_iodepth: 8, deeper_mbps: 1190.0 };
        assert!(sentence(&device(no_gain)).contains("more depth than 4 brings no more (1,190 MB/s at 8 deep)"));
        let parts = Some(RequestTime { iodepth: 1, fixed_us: 80.0, us_per_kib: 2.0 });
        let deeper = Some(DepthGain { from_iodepth: 16, gain: 1.0 });
        let time = words(&device(StoppedBy::RequestTime { parts, deeper }));
        assert!(time.why.contains("(at 1 deep 80 µs and 2.0 µs a KiB)"), "{}", time.why);
        assert!(time.why.contains("from 16 to 32 deep throughput still rose by 100%"), "{}", time.why);
        assert_eq!(time.falsified_by, "no more from 64 deep");
    }

    #[test]
    fn a_ceiling_and_a_full_processor_say_whose_they_are() {
        let (ceiling, rate, cells, from_iodepth) = (Ceiling::Bytes, 1200.0, 30, 4);
        let seen = |virtualised| {
            let from_bs_bytes = 64 << 10;
            device(StoppedBy::Ceiling { ceiling, rate, cells, from_bs_bytes, from_iodepth, virtualised })
        };
        let why = words(&seen(true)).why;
        assert!(
            why.starts_with("A ceiling near 1,200 MB/s that neither larger blocks nor more depth get past: 30 cells")
        );
        assert!(why.contains("from 64 KiB at 4 deep on") && why.ends_with("the hypervisor before it."), "{why}");
        assert!(words(&seen(false)).why.ends_with("the device or its controller."));
        let (processors_of, share) = (ProcessorsOf::Threads, 0.93);
        let full = |share, waited_share, more_threads: Option<u32>| {
            let more_mbps = more_threads.map(|_| 1250.0);
            let processors = 1.0;
            device(StoppedBy::FullProcessor { processors_of, processors, share, waited_share, more_threads, more_mbps })
        };
        let why = words(&full(share, 0.0, None)).why;
        assert!(why.ends_with("and keep the one processor that its threads can use 93% busy."), "{why}");
        let why = words(&full(0.55, 0.4, Some(2))).why;
        let others = "55% busy (others have the processor 40% of the time). 2 threads gave 1,250 MB/s.";
        assert!(why.ends_with(others), "{why}");
    }

    #[test]
    fn small_requests_and_the_next_limit_are_added() {
        let mut found = device(StoppedBy::Parallelism { side_by_side: 4.0, larger_blocks_mbps: None });
        let path = PathSettings { pattern: Pattern::Random, rw: Direction::Write, cache: Cache::Device };
        found.request_ceiling = Some(RequestCeiling { path, iops: 20_000.0 });
        found.next =
            Some(NextLimit::Level { level: LevelId::named("link", None), mbps: 2000.0, by: NextLimitBy::Advertised });
        let reported = words(&found);
        assert!(reported.why.ends_with(" Small requests meet another limit: 20,000 IOPS (random direct writes)."));
        assert_eq!(reported.next, "link, at 2,000 MB/s by its advertised peak");
    }
}
