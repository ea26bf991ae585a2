//! Says what stops reads and what stops writes, and which test would tell if that is not known.

use halfpower_record::{Environment, TargetKind};
use halfpower_spec::{Direction, JsonSchema};
use serde::Serialize;

use crate::bottleneck::{JudgedStudy, judge_direction};
use crate::explained::{StopExplanation, explanation};
use crate::{Bottleneck, Headline, HeadlineDoubt, InFlight, StoppedBy, Sureness};

/// Multiple of the tested span that is expected to exceed a host's cache.
const LARGER: u64 = 16;

/// What stops one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionStop {
    /// Which way the bytes go.
    pub rw: Direction,
    /// What its fastest cell shows.
    pub bottleneck: Bottleneck,
    /// Why this is not believed; `None` if it is.
    pub doubt: Option<StopDoubt>,
    /// A test that would tell more; `None` if nothing is open.
    pub test: Option<StopTest>,
    /// What a check of a setting found there, if it explains this; `None` if it is in doubt.
    pub explained: Option<StopExplanation>,
}

/// Why a cell's evidence does not show what stops its direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StopDoubt {
    /// Writes are faster than reads: some memory absorbed them.
    FasterThanReads,
    /// The device's own counter moved far fewer bytes than the requests did.
    Contradicted {
        /// Bytes that the device moved, as a share of those that the requests moved.
        device_share: f64,
    },
    /// The runs differ too much for any judgement.
    RateUnknown {
        /// Further seconds of measuring that would make the rate known; `None` if that cannot be estimated.
        more_seconds: Option<f64>,
    },
    /// No other depth was measured at this block size, or none that was slower: the effect of more depth is unknown.
    OneDepth,
}

/// What to measure to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StopTest {
    /// More of the target, so that no cache can hold it.
    LargerSpan {
        /// Bytes to use.
        size_bytes: u64,
    },
    /// More requests outstanding.
    Deeper {
        /// The depth to use.
        iodepth: u32,
    },
}

/// What stops each direction that has a cell to judge by.
pub(crate) fn direction_stops(
    environment: &Environment,
    study: &JudgedStudy<'_>,
    headlines: &[Headline],
) -> Vec<DirectionStop> {
    let stop = |headline: &Headline| {
        let bottleneck = judge_direction(study, headline.rw)?;
        let doubt = doubt(headline, &bottleneck);
        let test = test(environment, &bottleneck, doubt.as_ref());
        let explained = explanation(&environment.diagnoses, &bottleneck).filter(|_| doubt.is_none());
        Some(DirectionStop { rw: headline.rw, bottleneck, doubt, test, explained })
    };
    headlines.iter().filter_map(stop).collect()
}

/// What contradicts a judgement. Limits known by other means than the cells need no check.
fn doubt(headline: &Headline, bottleneck: &Bottleneck) -> Option<StopDoubt> {
    let stopped_by = &bottleneck.stopped_by;
    let more_seconds = headline.more_seconds;
    if !stopped_by.is_known_from_cells_alone() {
        return None;
    }
    let of_headline = headline.doubts.iter().find_map(|doubt| match *doubt {
        HeadlineDoubt::Contradicted { device_share } => Some(StopDoubt::Contradicted { device_share }),
        HeadlineDoubt::FasterThanReads => Some(StopDoubt::FasterThanReads),
        HeadlineDoubt::NoWitness | HeadlineDoubt::GuestsHost => None,
    });
    let is_known = Sureness::of(&headline.mbps, headline.runs, more_seconds).is_known();
    let unknown = || (!is_known).then_some(StopDoubt::RateUnknown { more_seconds });
    let alone = || matches!(stopped_by, StoppedBy::RequestTime { deeper: None, .. }).then_some(StopDoubt::OneDepth);
    of_headline.or_else(unknown).or_else(alone)
}

fn test(environment: &Environment, bottleneck: &Bottleneck, doubt: Option<&StopDoubt>) -> Option<StopTest> {
    if !environment.imported.is_empty() {
        return None;
    }
    let iodepth = 2 * bottleneck.fastest.map_or(1, |fastest| fastest.cell.iodepth);
    match (doubt, &bottleneck.stopped_by) {
        (Some(StopDoubt::FasterThanReads | StopDoubt::Contradicted { .. }), _) => {
            larger_span(environment).map(|size_bytes| StopTest::LargerSpan { size_bytes })
        }
        (Some(StopDoubt::RateUnknown { .. }), _) => None,
        (_, StoppedBy::RequestTime { .. } | StoppedBy::Window { in_flight: InFlight::Requests, .. }) => {
            Some(StopTest::Deeper { iodepth })
        }
        _ => None,
    }
}

/// A span of a folder's file that is `LARGER` times the tested one, if the device has room for it twice.
fn larger_span(environment: &Environment) -> Option<u64> {
    let span = environment.capabilities.span.0;
    let size_bytes = span.checked_mul(LARGER).filter(|size| *size > 0)?;
    let device_bytes = environment.device.as_ref().map_or(u64::MAX, |device| device.size.0);
    (environment.capabilities.kind == TargetKind::Folder && size_bytes <= device_bytes / 2).then_some(size_bytes)
}
