//! Writes what stops the path, how that is known, what would stop it next, and what would disprove it.

use halfpower_analyse::{Bottleneck, NextLimit, NextLimitBy, StopDoubt};
use halfpower_spec::format;

use super::doubt::in_doubt;
use super::levels::name;
use super::settings::path;
use super::stops;

/// What is not known.
const UNKNOWN: &str = "unknown";

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

/// All sentences about the bottleneck, for the page and for JSON; why it is not known where it is in doubt.
pub(crate) fn words(bottleneck: &Bottleneck, doubt: Option<&StopDoubt>) -> BottleneckWords {
    if let Some(doubt) = doubt {
        let stops::StopWords { why, falsified_by, .. } = in_doubt(doubt);
        return BottleneckWords { level: UNKNOWN.to_string(), why, next: UNKNOWN.to_string(), falsified_by };
    }
    let stop = stops::words(bottleneck);
    BottleneckWords {
        level: bottleneck.level.as_ref().map_or(UNKNOWN.to_string(), name),
        why: stop.why + &small_requests(bottleneck),
        next: match &bottleneck.next {
            Some(next) => next_limit(next),
            None if bottleneck.level.is_none() => UNKNOWN.to_string(),
            None => "unknown: no other limit is known".to_string(),
        },
        falsified_by: stop.falsified_by,
    }
}

/// The bottleneck in one sentence: `What stops it: the device; ...`, or why it is not known.
pub(crate) fn sentence(bottleneck: &Bottleneck, doubt: Option<&StopDoubt>) -> String {
    doubt.map_or_else(|| stops::words(bottleneck), in_doubt).sentence
}

/// A further sentence if requests a second have a separate limit.
fn small_requests(bottleneck: &Bottleneck) -> String {
    bottleneck.request_ceiling.map_or(String::new(), |ceiling| {
        format!(" Small requests meet another limit: {} ({}s).", format::iops(ceiling.iops), path(ceiling.path))
    })
}

/// What would stop it next: `link, at 2,000 MB/s by its advertised peak`.
pub(crate) fn next_limit(next: &NextLimit) -> String {
    match next {
        NextLimit::Level { level, mbps, by } => {
            let how = match by {
                NextLimitBy::Attainable => "by what gets through it",
                NextLimitBy::Advertised => "by its advertised peak",
                NextLimitBy::ChargedTime => "where the charged time fills it",
                NextLimitBy::LargeBlocks => "by its rate on large blocks",
            };
            format!("{}, at {} {how}", name(level), format::mbps(*mbps))
        }
        NextLimit::Members => "the members themselves, each at what it gives alone".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_analyse::{
        Ceiling, CellSettings, DepthGain, FastestCell, KnownLimit, LevelId, LevelKind, LevelSource, PathSettings,
        ProcessorsOf, RequestCeiling, RequestTime, StoppedBy,
    };
    use halfpower_spec::{Cache, Direction, Pattern};

    use super::*;

    fn words(bottleneck: &Bottleneck) -> BottleneckWords {
        super::words(bottleneck, None)
    }

    fn sentence(bottleneck: &Bottleneck) -> String {
        super::sentence(bottleneck, None)
    }

    fn stopped(level: LevelId, stopped_by: StoppedBy) -> Bottleneck {
        let pattern = Pattern::Sequential;
        let rw = Direction::Read;
        let cache = Cache::Device;
        let cell = CellSettings { pattern, rw, cache, iodepth: 32, bs_bytes: 1 << 20, threads: 1 };
        let fastest = Some(FastestCell { cell, mbps: 1200.0 });
        let next = None;
        Bottleneck { level: Some(level), fastest, stopped_by, next, request_ceiling: None }
    }

    fn device(stopped_by: StoppedBy) -> Bottleneck {
        stopped(LevelId::of(LevelKind::Device), stopped_by)
    }

    #[test]
    fn a_known_limit_is_named_with_its_share_and_source() {
        let source = LevelSource::Environment("2 lanes".to_string());
        let limit = KnownLimit::Advertised;
        let limit_mbps = 1250.0;
        let share = 0.96;
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
        let ceiling = Ceiling::Bytes;
        let rate = 1200.0;
        let cells = 30;
        let from_iodepth = 4;
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
        let processors_of = ProcessorsOf::Threads;
        let share = 0.93;
        let full = |share, waited_share, more_threads: Option<u32>| {
            let more_mbps = more_threads.map(|_| 1250.0);
            let processors = 1.0;
            device(StoppedBy::FullProcessor {
                processors_of,
                processors,
                of_processors: 8.0,
                share,
                waited_share,
                more_threads,
                more_mbps,
            })
        };
        let why = words(&full(share, 0.0, None)).why;
        assert!(why.ends_with("and keep the one processor that its threads can use 93% busy."), "{why}");
        let why = words(&full(0.55, 0.4, Some(2))).why;
        let quota = device(StoppedBy::FullProcessor {
            processors_of: ProcessorsOf::Quota,
            processors: 0.5,
            of_processors: 0.5,
            share: 0.98,
            waited_share: 0.0,
            more_threads: None,
            more_mbps: None,
        });
        let told = "What stops it: a control group's quota; the fastest run keeps the 0.50 processors that a control \
                    group allows 98% busy.";
        assert_eq!(sentence(&quota), told);
        assert!(words(&quota).falsified_by.contains("cpu.max"));
        let others = "55% busy (others have the processor 40% of the time). 2 threads gave 1,250 MB/s.";
        assert!(why.ends_with(others), "{why}");
    }

    /// Four threads on the only processor are not "its one thread", and a second one could use no other.
    #[test]
    fn where_there_is_one_processor_no_more_threads_are_proposed() {
        let full = |of_processors| {
            let stopped_by = StoppedBy::FullProcessor {
                processors_of: ProcessorsOf::Threads,
                processors: 1.0,
                of_processors,
                share: 0.95,
                waited_share: 0.0,
                more_threads: None,
                more_mbps: None,
            };
            stops::words(&stopped(LevelId::of(LevelKind::Processor), stopped_by)).brief.to_string()
        };
        assert_eq!(full(8.0), "the processor: its one thread is 95% busy. Test: --threads 2");
        assert_eq!(full(1.0), "the processor: the one that its threads can use is 95% busy");
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

    #[test]
    fn what_is_in_doubt_is_said_not_to_be_known() {
        let time = device(StoppedBy::RequestTime { parts: None, deeper: None });
        let doubt = Some(&StopDoubt::OneDepth);
        let told = "What stops it is not known: no other depth tells what more would bring.";
        assert_eq!(super::sentence(&time, doubt), told);
        let BottleneckWords { level, why, next, falsified_by } = super::words(&time, doubt);
        assert_eq!((level.as_str(), next.as_str(), falsified_by.as_str()), ("unknown", "unknown", ""));
        assert_eq!(why, "Not known: no other depth tells what more would bring.");
    }
}
