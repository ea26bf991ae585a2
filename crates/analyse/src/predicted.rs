//! Says what an application would get on another path, from captures that a model of that path gave.
//!
//! Pure in the captures, in the requests that the model had, and in what is known of the model's error.

use halfpower_model::{Demand, Fitted};
use halfpower_record::Captured;
use halfpower_spec::{Direction, JsonSchema, Pattern};
use serde::Serialize;

use crate::{Interval, PathSettings, ReplayFindings, ReplayRow, prediction_findings};

/// Share of all requests from which it is told that they are predicted from others.
const LEAST_SHARE: f64 = 0.01;
/// What a path without a limit that was not seen gives more, and what computing takes longer, from which it is told.
const LEAST_MORE: f64 = 1.02;
/// Share of the processors that it can use, from which they are told.
const NEARLY_ALL: f64 = 0.9;
/// How many times as many operations it takes, from which unknown processors, and what there would be without computing, are told.
const FAR_MORE: f64 = 1.1;

/// What an application would get on another path.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PredictFindings {
    /// What it got, and what it would get there, in all and for each kind of operation.
    #[serde(flatten)]
    pub operations: ReplayFindings,
    /// What it would get if computing took no time, where it would be busier than when it was captured; `null` where that is not
    /// known or makes no difference. Computing is taken to need what it needed, and processors that rest less need less.
    pub without_computing: Option<WithoutComputing>,
    /// How long a flush takes there, and who says so.
    pub flush: PredictedFlush,
    /// What the prediction rests on, and where it may be wrong.
    pub notes: Vec<PredictNote>,
}

/// What an application would get if its computing took no time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithoutComputing {
    /// Operations a second.
    pub per_second: f64,
    /// Commits a second; `null` if none count.
    pub commits_per_second: Option<f64>,
}

/// How long a flush takes on the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum PredictedFlush {
    /// The application makes nothing durable.
    NotNeeded,
    /// As long as the simulated system says.
    OfSystem,
    /// As long as the study's runs of commits saw.
    Measured {
        /// Time of a flush of the device in nanoseconds.
        ns: Interval,
    },
    /// Nobody knows: what is durable takes the time that was captured.
    Unknown,
}

/// What a prediction rests on, or where it may be wrong.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum PredictNote {
    /// Requests are smaller or larger than those that were studied, and no limit was seen that would hold there.
    SizesBeyond {
        /// Whether they continue where the ones before ended.
        pattern: Pattern,
        /// Which way the bytes go.
        rw: Direction,
        /// Smallest and largest that the application makes, in bytes.
        asked_bytes: [u64; 2],
        /// Smallest and largest that were studied, in bytes.
        studied_bytes: [u64; 2],
    },
    /// More requests are in flight than were studied, and the path may serve them side by side.
    DepthBeyond {
        /// The deepest that was studied.
        studied_depth: u64,
        /// Operations a second if it serves all of them side by side: the most that it can give.
        at_most_per_second: f64,
    },
    /// A single request's time may be a limit of rate that lets requests through evenly: the application then gets more,
    /// since what passes after a rest does not wait.
    MayBeLimit {
        /// Operations a second if it is.
        at_most_per_second: f64,
    },
    /// Requests are taken as others, since the study has none of their pattern past the page cache.
    StandIn {
        /// Whether they continue where the ones before ended.
        pattern: Pattern,
        /// Which way the bytes go.
        rw: Direction,
        /// What they are taken as.
        taken_as: PathSettings,
        /// Their share of all requests.
        share: f64,
    },
    /// Nothing is known of the model's error, so there is no interval.
    NoInterval,
    /// Bytes that were written into the page cache and never synced: they are written back some time, which is left out.
    NeverSynced {
        /// How many.
        bytes: u64,
    },
    /// The path is smaller than the files, so that places were folded into it.
    Folded {
        /// Bytes that the files take.
        bytes: u64,
    },
    /// Some thread did not come to the end of what it did, so its last part is left out.
    Cut,
    /// Operations that the capture lacks.
    LeftOut {
        /// How many.
        operations: u64,
    },
    /// Pauses that lasted until another lane's sync had ended: so they do there.
    WaitsForSyncs {
        /// How many.
        pauses: u64,
    },
    /// The rate there changes how many threads compute at once, and so how long that takes; or nearly all processors that it can
    /// use are in use.
    Processors {
        /// Processors that the application used when it was captured, with all its threads at work.
        used_before: f64,
        /// Processors that it would use there.
        used: f64,
        /// Processors that it can use.
        usable: f64,
        /// How many times as long as when it was captured computing takes.
        longer: f64,
    },
    /// The capture does not tell how much processor time its operations take, which may allow fewer of them.
    ProcessorsUnknown,
}

/// What processors do there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedProcessors {
    /// Processors that the application used when it was captured, with all its threads at work.
    pub before: f64,
    /// Processors that it would use there.
    pub there: f64,
    /// Processors that it can use.
    pub usable: f64,
    /// How many times as long as when it was captured computing takes.
    pub longer: f64,
}

/// What a prediction was made from.
#[derive(Debug, Clone, Copy)]
pub struct PredictBasis<'a> {
    /// The model, if it was fitted to a study.
    pub fitted: Option<&'a Fitted>,
    /// The requests that reached the path.
    pub demands: &'a [Demand],
    /// The same with each path's limit left out that no study has seen.
    pub at_most: Option<&'a Captured>,
    /// The same with limits of rate in place of the times that may be such.
    pub if_limited: Option<&'a Captured>,
    /// Whether the simulated system says how long a flush takes.
    pub flush_of_system: bool,
    /// Time of a flush in nanoseconds, if a study tells it.
    pub flush_ns: Option<Interval>,
    /// Bytes that were written and never synced.
    pub unsynced_bytes: u64,
    /// Bytes that the files take, if the path holds fewer.
    pub folded_bytes: Option<u64>,
    /// Whether each lane came to the end of its script.
    pub is_whole: bool,
    /// Pauses of the capture that last until another lane's sync has ended.
    pub waits: u64,
    /// What processors do there, if the capture tells.
    pub processors: Option<PredictedProcessors>,
    /// The same with computing that takes no time, if the capture tells how much it computes.
    pub without_computing: Option<&'a Captured>,
}

impl PredictFindings {
    /// The operations that make data durable and take the most of the time; `None` if there are none that count.
    pub fn commits(&self) -> Option<&ReplayRow> {
        self.operations.commits()
    }
}

/// What the application of `before` would get on a path, from `draws`: one capture for each likely state of the path.
pub fn predict_findings(before: &Captured, draws: &[Captured], basis: &PredictBasis<'_>) -> PredictFindings {
    let operations = prediction_findings(before, draws);
    let flushes = before.operations.iter().any(|operation| operation.kind.is_durable() && !operation.cached);
    let flush = match basis.flush_ns {
        _ if !flushes => PredictedFlush::NotNeeded,
        _ if basis.flush_of_system => PredictedFlush::OfSystem,
        Some(ns) => PredictedFlush::Measured { ns },
        None => PredictedFlush::Unknown,
    };
    let mut notes = Vec::new();
    if let Some(fitted) = basis.fitted {
        notes.extend(of_model(fitted, basis.demands));
        let per_second = operations.whole.after.per_second.value;
        let more = |path: Option<&Captured>| {
            let most = prediction_findings(before, std::slice::from_ref(path?)).whole.after.per_second.value;
            (most > per_second * LEAST_MORE).then_some(most)
        };
        notes.extend(more(basis.at_most).and_then(|at_most_per_second| depth_beyond(fitted, at_most_per_second)));
        let if_limited = more(basis.if_limited);
        notes.extend(if_limited.map(|at_most_per_second| PredictNote::MayBeLimit { at_most_per_second }));
    }
    let sums = [
        (basis.unsynced_bytes > 0).then_some(PredictNote::NeverSynced { bytes: basis.unsynced_bytes }),
        basis.folded_bytes.map(|bytes| PredictNote::Folded { bytes }),
        (!basis.is_whole).then_some(PredictNote::Cut),
        (before.left_out > 0).then_some(PredictNote::LeftOut { operations: before.left_out }),
        (basis.waits > 0).then_some(PredictNote::WaitsForSyncs { pauses: basis.waits }),
    ];
    notes.extend(sums.into_iter().flatten());
    notes.extend(of_processors(&operations, basis.processors));
    let without_computing = basis.without_computing.and_then(|most| without_computing(before, most, &operations));
    PredictFindings { operations, without_computing, flush, notes }
}

/// What there would be without computing, if that is more and the application is busier there.
fn without_computing(before: &Captured, most: &Captured, there: &ReplayFindings) -> Option<WithoutComputing> {
    let is_busier = there.whole.rate.ratio.is_some_and(|ratio| ratio.value >= FAR_MORE);
    let most = prediction_findings(before, std::slice::from_ref(most));
    let per_second = most.whole.after.per_second.value;
    let commits_per_second = most.commits().map(|commits| commits.after.per_second.value);
    let is_more = per_second > there.whole.after.per_second.value * FAR_MORE;
    (is_busier && is_more).then_some(WithoutComputing { per_second, commits_per_second })
}

/// What is told of processors.
fn of_processors(operations: &ReplayFindings, processors: Option<PredictedProcessors>) -> Option<PredictNote> {
    let Some(PredictedProcessors { before, there, usable, longer }) = processors else {
        let times = operations.whole.rate.ratio?.value;
        return (times >= FAR_MORE).then_some(PredictNote::ProcessorsUnknown);
    };
    let is_told = !(1.0 / LEAST_MORE..LEAST_MORE).contains(&longer) || there >= NEARLY_ALL * usable;
    is_told.then_some(PredictNote::Processors { used_before: before, used: there, usable, longer })
}

/// What a fitted model knows too little of.
fn of_model(fitted: &Fitted, demands: &[Demand]) -> Vec<PredictNote> {
    let all: u64 = demands.iter().map(|demand| demand.requests).sum();
    let mut notes = Vec::new();
    let mut has_error = false;
    for demand in demands {
        let Demand { pattern, direction, .. } = *demand;
        let share = demand.requests as f64 / all.max(1) as f64;
        let Some((taken, cache)) = fitted.path_of(pattern, direction).filter(|_| share >= LEAST_SHARE) else {
            continue;
        };
        if taken != pattern || !cache.direct() {
            let taken_as = PathSettings { pattern: taken, rw: direction, cache };
            notes.push(PredictNote::StandIn { pattern, rw: direction, taken_as, share });
        }
        let key = Fitted::key(taken, cache, direction);
        let (Some(error), Some(constants)) = (fitted.error.get(&key), fitted.path.get(&key)) else { continue };
        has_error = true;
        let [least, most] = error.bs_bytes;
        let is_smaller = demand.bs_bytes[0] < least && constants.ceiling_iops.is_none();
        let is_larger = demand.bs_bytes[1] > most && constants.ceiling_mbps.is_none();
        if is_smaller || is_larger {
            let asked_bytes = demand.bs_bytes;
            let studied_bytes = error.bs_bytes;
            notes.push(PredictNote::SizesBeyond { pattern, rw: direction, asked_bytes, studied_bytes });
        }
    }
    if !has_error && all > 0 {
        notes.push(PredictNote::NoInterval);
    }
    notes
}

/// How deep was studied, where a path that served more side by side would give so many operations a second.
fn depth_beyond(fitted: &Fitted, at_most_per_second: f64) -> Option<PredictNote> {
    let unseen = fitted.error.values().filter(|error| !error.side_by_side_seen);
    let studied_depth = unseen.map(|error| error.depths[1]).min()?;
    Some(PredictNote::DepthBeyond { studied_depth, at_most_per_second })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use halfpower_model::{FitError, FittedDevice, FittedShared, PathConstants};
    use halfpower_record::{CaptureSource, CapturedFile, CapturedOperation, OperationKind};
    use halfpower_spec::Cache;

    use super::*;

    fn fitted(pattern: Pattern, cache: Cache) -> Fitted {
        let key = Fitted::key(pattern, cache, Direction::Read);
        let error =
            FitError { bs_bytes: [4096, 65_536], depths: [1, 8], cells: 20, freedom: 18, ..FitError::default() };
        Fitted {
            about: String::new(),
            device: FittedDevice { name: "x".to_string(), measured_mib: 64, processors: 2, ceilings_each_way: false },
            shared: FittedShared::default(),
            path: BTreeMap::from([(key.clone(), PathConstants { fixed_us: 100.0, ..PathConstants::default() })]),
            error: BTreeMap::from([(key, error)]),
        }
    }

    fn captured(kind: OperationKind, took_ns: u64) -> Captured {
        let operation = |turn: u64| CapturedOperation {
            slice: 0,
            lane: 0,
            at_ns: turn * took_ns,
            took_ns,
            kind,
            file: 0,
            offset: 0,
            bytes: 4096,
            cached: false,
        };
        Captured {
            source: CaptureSource::Prediction,
            slices: vec![100 * took_ns],
            files: vec![CapturedFile::default()],
            lanes: 1,
            operations: (0..100).map(operation).collect(),
            ..Captured::default()
        }
    }

    fn demand(pattern: Pattern, bs_bytes: [u64; 2]) -> Demand {
        Demand { pattern, direction: Direction::Read, requests: 100, bytes: 409_600, bs_bytes }
    }

    const PLAIN: PredictBasis<'static> = PredictBasis {
        fitted: None,
        demands: &[],
        at_most: None,
        if_limited: None,
        flush_of_system: false,
        flush_ns: None,
        unsynced_bytes: 0,
        folded_bytes: None,
        is_whole: true,
        waits: 0,
        processors: None,
        without_computing: None,
    };

    #[test]
    fn who_says_how_long_a_flush_takes() {
        let fitted = fitted(Pattern::Random, Cache::Device);
        let of = |kind, basis: &PredictBasis<'_>| {
            let before = captured(kind, 1_000_000);
            predict_findings(&before, std::slice::from_ref(&before), basis).flush
        };
        let studied = PredictBasis { fitted: Some(&fitted), ..PLAIN };
        let ns = Interval::exact(1e6);
        assert_eq!(of(OperationKind::Read, &studied), PredictedFlush::NotNeeded);
        assert_eq!(
            of(OperationKind::Fsync, &PredictBasis { flush_of_system: true, ..PLAIN }),
            PredictedFlush::OfSystem
        );
        assert_eq!(of(OperationKind::Fsync, &PLAIN), PredictedFlush::Unknown);
        assert_eq!(of(OperationKind::Fsync, &studied), PredictedFlush::Unknown);
        let known = PredictBasis { flush_ns: Some(ns), ..studied };
        assert_eq!(of(OperationKind::DurableWrite, &known), PredictedFlush::Measured { ns });
    }

    #[test]
    fn what_was_not_studied_is_told() {
        let before = captured(OperationKind::Read, 1_000_000);
        let notes = |fitted: &Fitted, demands: &[Demand], at_most: Option<&Captured>| {
            let basis = PredictBasis { fitted: Some(fitted), demands, at_most, ..PLAIN };
            predict_findings(&before, std::slice::from_ref(&before), &basis).notes
        };
        let random = fitted(Pattern::Random, Cache::Device);
        let within = [demand(Pattern::Random, [4096, 65_536])];
        assert!(notes(&random, &within, None).is_empty());
        assert!(notes(&random, &within, Some(&before)).is_empty());
        let twice = captured(OperationKind::Read, 500_000);
        let deeper = notes(&random, &within, Some(&twice));
        assert_eq!(deeper, [PredictNote::DepthBeyond { studied_depth: 8, at_most_per_second: 2000.0 }]);
        let basis = PredictBasis { fitted: Some(&random), demands: &within, if_limited: Some(&twice), ..PLAIN };
        let limited = predict_findings(&before, std::slice::from_ref(&before), &basis).notes;
        assert_eq!(limited, [PredictNote::MayBeLimit { at_most_per_second: 2000.0 }]);
        let larger = notes(&random, &[demand(Pattern::Random, [4096, 1 << 20])], None);
        assert!(matches!(&larger[..], [PredictNote::SizesBeyond { studied_bytes: [4096, 65_536], .. }]), "{larger:?}");
        let other = notes(&random, &[demand(Pattern::Sequential, [4096, 4096])], None);
        let [PredictNote::StandIn { taken_as, share, .. }] = &other[..] else { panic!("{other:?}") };
        assert_eq!((taken_as.pattern, *share), (Pattern::Random, 1.0));
        let buffered = notes(&fitted(Pattern::Random, Cache::Both), &within, None);
        assert!(matches!(&buffered[..], [PredictNote::StandIn { .. }]), "{buffered:?}");
        let unknown = Fitted { error: BTreeMap::new(), ..random };
        assert_eq!(notes(&unknown, &within, None), [PredictNote::NoInterval]);
    }

    #[test]
    fn processors_are_told_where_they_matter_or_are_not_known() {
        let before = captured(OperationKind::Read, 1_000_000);
        let seen = |longer, there| PredictedProcessors { before: 0.5, there, usable: 2.0, longer };
        let notes = |after: &Captured, processors| {
            let basis = PredictBasis { processors, ..PLAIN };
            predict_findings(&before, std::slice::from_ref(after), &basis).notes
        };
        assert!(notes(&before, Some(seen(1.0, 0.5))).is_empty());
        for (longer, there) in [(1.5, 1.0), (0.5, 0.2), (1.0, 1.9)] {
            let found = notes(&before, Some(seen(longer, there)));
            assert!(matches!(found[..], [PredictNote::Processors { used, .. }] if used == there), "{found:?}");
        }
        // Twice as many of unknown cost; as many cost what they did.
        let twice = captured(OperationKind::Read, 500_000);
        assert_eq!(notes(&twice, None), [PredictNote::ProcessorsUnknown]);
        assert!(notes(&before, None).is_empty());
    }

    #[test]
    fn what_there_would_be_without_computing_is_told_of_a_busier_application() {
        let before = captured(OperationKind::Fsync, 1_000_000);
        let without = |after_ns, most_ns| {
            let [after, most] = [after_ns, most_ns].map(|ns| captured(OperationKind::Fsync, ns));
            let basis = PredictBasis { without_computing: Some(&most), ..PLAIN };
            predict_findings(&before, std::slice::from_ref(&after), &basis).without_computing
        };
        let found = without(500_000, 250_000).unwrap();
        assert_eq!((found.per_second, found.commits_per_second), (4000.0, Some(4000.0)));
        assert_eq!((without(500_000, 490_000), without(1_000_000, 500_000)), (None, None));
    }

    #[test]
    fn what_a_round_could_not_hold_is_told() {
        let before = Captured { left_out: 7, ..captured(OperationKind::Write, 1_000) };
        let basis = PredictBasis { unsynced_bytes: 10, folded_bytes: Some(20), is_whole: false, waits: 3, ..PLAIN };
        let found = predict_findings(&before, std::slice::from_ref(&before), &basis);
        let told = [
            PredictNote::NeverSynced { bytes: 10 },
            PredictNote::Folded { bytes: 20 },
            PredictNote::Cut,
            PredictNote::LeftOut { operations: 7 },
            PredictNote::WaitsForSyncs { pauses: 3 },
        ];
        assert_eq!(found.notes, told);
        assert_eq!(found.commits(), None);
    }
}
