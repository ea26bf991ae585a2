//! Sums up a study for a reader with half a minute: its state, how fast, what stops it, what to set.

use halfpower_record::{Environment, TargetKind};
use halfpower_spec::JsonSchema;
use serde::Serialize;

use crate::bottleneck::JudgedStudy;
use crate::direction_stop::direction_stops;
use crate::headline::is_in_memory;
use crate::how_fast::how_fast;
use crate::to_change::settings_to_change;
use crate::what_to_set::what_to_set;
use crate::{
    Advice, Bottleneck, CellFinding, Curve, DirectionStop, Headline, HeadlineDoubt, NoUse, RateRow, SessionsFinding,
    StopDoubt, Sureness, UseAdvice, Warning, WhatToSet,
};

/// The answer of a study in a few rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Summary {
    /// How far the study can be believed, in a word.
    pub state: StudyState,
    /// How fast: small requests and the best, reads first.
    pub how_fast: Vec<RateRow>,
    /// What stops reads, and what stops writes.
    #[serde(skip)]
    pub stops: Vec<DirectionStop>,
    /// What to set, by use.
    pub what_to_set: WhatToSet,
    /// The sessions behind the figures; `None` for an ordinary study, which is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionsFinding>,
}

impl Summary {
    /// The doubt about what stops the direction of this bottleneck; `None` if there is none.
    pub(crate) fn doubt_of(&self, bottleneck: &Bottleneck) -> Option<&StopDoubt> {
        let rw = bottleneck.fastest?.cell.rw;
        self.stops.iter().find(|stop| stop.rw == rw)?.doubt.as_ref()
    }
}

/// The summary of a judged study with its findings; the last argument is the number of runs and their mean time in
/// seconds.
pub(crate) fn summary(
    environment: &Environment,
    study: &JudgedStudy<'_>,
    headline: &[Headline],
    curves: &[Curve],
    advice: &[Advice],
    warnings: &[Warning],
    (runs, seconds_a_run): (usize, f64),
) -> Summary {
    let rows = how_fast(study.cells, seconds_a_run);
    let state = StateInputs { environment, cells: study.cells, headline, rows: &rows, warnings, runs };
    let state = study_state(&state);
    let mut what_to_set = what_to_set(study, headline, curves, advice);
    if matches!(state, StudyState::Noisy { .. }) {
        let had_any = !what_to_set.uses.is_empty();
        what_to_set.uses.retain(|advice| is_repeated(study.cells, advice));
        if had_any && what_to_set.uses.is_empty() {
            what_to_set.no_use = Some(NoUse::SingleRuns);
        }
    }
    let stops = direction_stops(environment, study, headline);
    (what_to_set.to_change, what_to_set.more_to_change) =
        settings_to_change(&environment.diagnoses, study.cells, &stops);
    Summary { state, stops, what_to_set, how_fast: rows, sessions: None }
}

/// Whether advice rests on more than one run, or on no single cell: in a noisy study, one fast run is probably luck.
fn is_repeated(cells: &[CellFinding], advice: &UseAdvice) -> bool {
    let its = cells.iter().find(|cell| cell.settings == advice.cell).filter(|_| advice.measured.is_some());
    its.is_none_or(|cell| cell.run_mbps.len() > 1)
}

/// Share of disturbed or unsteady cells from which the study counts as noisy.
const MANY: f64 = 0.25;
/// Share of the processors' time taken by the hypervisor from which the study counts as noisy.
const MUCH_STEAL: f64 = 0.05;
/// Relative half width of an interval above which a rate of the answer makes the study noisy.
const WIDE: f64 = 0.15;

/// The state of a study: the first of these that applies, the most harmful first.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StudyState {
    /// It was cut short.
    Unfinished {
        /// Share of its budget that was spent, in 0 to 1.
        share: f64,
    },
    /// None of the experiments asked for can run on this target.
    NotRun,
    /// No run moved bytes without errors.
    Failed,
    /// Another tool measured it; other activity is unknown.
    Imported,
    /// Time was virtual: the result describes a model.
    Simulated,
    /// The file system lies in main memory.
    Memory,
    /// A cache answered what was asked of the device.
    Cached,
    /// Other activity, or the target itself, made it uncertain.
    Noisy {
        /// The sign that shows it.
        by: NoisySign,
    },
    /// Every request went through the page cache.
    Buffered,
    /// Nothing speaks against it.
    #[default]
    Quiet,
}

/// What shows that a study was disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoisySign {
    /// Others used the disk in many cells.
    OthersUsedTheDisk,
    /// The hypervisor took processor time.
    HypervisorTookTime,
    /// Many cells were not steady.
    NotSteady,
    /// The runs of a cell that the answer rests on differ.
    RunsDiffer,
    /// Repeated runs of many cells of experiments differ.
    RepeatsDiffer,
}

/// Input of the state.
struct StateInputs<'a> {
    pub environment: &'a Environment,
    pub cells: &'a [CellFinding],
    pub headline: &'a [Headline],
    pub rows: &'a [RateRow],
    pub warnings: &'a [Warning],
    pub runs: usize,
}

/// The state of a study from its records; they do not show whether it was finished.
fn study_state(grounds: &StateInputs<'_>) -> StudyState {
    let StateInputs { environment, cells, .. } = grounds;
    if grounds.runs == 0 {
        StudyState::Unfinished { share: 0.0 }
    } else if !cells.is_empty() && cells.iter().all(|cell| cell.errors > 0 || cell.mbps.value <= 0.0) {
        StudyState::Failed
    } else if environment.capabilities.kind == TargetKind::Imported {
        StudyState::Imported
    } else if environment.capabilities.kind == TargetKind::Simulated {
        StudyState::Simulated
    } else if is_in_memory(environment) {
        StudyState::Memory
    } else if is_cached(grounds) {
        StudyState::Cached
    } else if let Some(by) = noisy_sign(grounds) {
        StudyState::Noisy { by }
    } else if !cells.is_empty() && cells.iter().all(|cell| !cell.cache.direct()) {
        StudyState::Buffered
    } else {
        StudyState::Quiet
    }
}

/// Whether a cache answered everything or, by the device's own counter, the cell that represents a direction.
fn is_cached(grounds: &StateInputs<'_>) -> bool {
    let contradicted = |doubt: &HeadlineDoubt| matches!(doubt, HeadlineDoubt::Contradicted { .. });
    let doubted = grounds.headline.iter().any(|headline| headline.doubts.iter().any(contradicted));
    doubted || (grounds.headline.is_empty() && grounds.cells.iter().any(|cell| cell.cached))
}

fn noisy_sign(grounds: &StateInputs<'_>) -> Option<NoisySign> {
    let many = |cells: usize| cells as f64 >= MANY * grounds.cells.len() as f64;
    let of_warning = |warning: &Warning| match warning {
        Warning::OthersUsedTheDisk { cells, .. } if many(*cells) => Some(NoisySign::OthersUsedTheDisk),
        Warning::HypervisorTookTime { share, .. } if *share >= MUCH_STEAL => Some(NoisySign::HypervisorTookTime),
        Warning::NotSteady { cells, .. } if many(*cells) => Some(NoisySign::NotSteady),
        Warning::RepeatsDiffer { cells, of_cells, .. } if *cells as f64 >= MANY * *of_cells as f64 => {
            Some(NoisySign::RepeatsDiffer)
        }
        _ => None,
    };
    let differs = |row: &RateRow| match row.rate.sureness {
        Sureness::Within { share } => share > WIDE,
        Sureness::SingleRun => false,
        Sureness::Unknown { .. } => true,
    };
    let signs = grounds.warnings.iter().find_map(of_warning);
    signs.or_else(|| grounds.rows.iter().any(differs).then_some(NoisySign::RunsDiffer))
}
