//! Says in one word how far a study can be believed.

use halfpower_record::{Environment, TargetKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::in_memory::is_in_memory;
use crate::{CellFinding, Headline, HeadlineDoubt, RateRow, Sureness, Warning};

/// Share of the cells that others have disturbed, or that were not steady, from which on the study is noisy.
const MANY: f64 = 0.25;
/// Share of the processors' time that the hypervisor may take before the study is noisy.
const MUCH_STEAL: f64 = 0.05;
/// Half of an interval, as a share, from which on a rate of the answer makes the study noisy.
const WIDE: f64 = 0.15;

/// The state of a study: the first of these that holds, what harms belief most first.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum StudyState {
    /// It was cut short.
    Unfinished {
        /// Share of its budget that was spent, in 0 to 1.
        share: f64,
    },
    /// No run moved bytes without errors.
    Failed,
    /// Another tool measured it: who else was at work is not known.
    Imported,
    /// Time was virtual: it tells of a model.
    Simulated,
    /// The file system lies in main memory.
    Memory,
    /// A cache answered what was asked of the device.
    Cached,
    /// Others or the target itself made it uncertain.
    Noisy {
        /// The sign of it.
        by: NoisySign,
    },
    /// Every request went through the page cache.
    Buffered,
    /// Nothing stands against it.
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
}

/// What a state is judged by.
pub(crate) struct StateGrounds<'a> {
    pub environment: &'a Environment,
    pub cells: &'a [CellFinding],
    pub headline: &'a [Headline],
    pub rows: &'a [RateRow],
    pub warnings: &'a [Warning],
    pub runs: usize,
}

/// The state of a study as far as its records tell; whether it was finished they do not.
pub(crate) fn study_state(grounds: &StateGrounds<'_>) -> StudyState {
    let StateGrounds { environment, cells, .. } = grounds;
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

/// A cache answered everything, or by the device's own counter what stands for a direction.
fn is_cached(grounds: &StateGrounds<'_>) -> bool {
    let contradicted = |doubt: &HeadlineDoubt| matches!(doubt, HeadlineDoubt::Contradicted { .. });
    let doubted = grounds.headline.iter().any(|headline| headline.doubts.iter().any(contradicted));
    doubted || (grounds.headline.is_empty() && grounds.cells.iter().any(|cell| cell.cached))
}

fn noisy_sign(grounds: &StateGrounds<'_>) -> Option<NoisySign> {
    let many = |cells: usize| cells as f64 >= MANY * grounds.cells.len() as f64;
    let of_warning = |warning: &Warning| match warning {
        Warning::OthersUsedTheDisk { cells, .. } if many(*cells) => Some(NoisySign::OthersUsedTheDisk),
        Warning::HypervisorTookTime { share, .. } if *share >= MUCH_STEAL => Some(NoisySign::HypervisorTookTime),
        Warning::NotSteady { cells, .. } if many(*cells) => Some(NoisySign::NotSteady),
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
