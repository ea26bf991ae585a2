//! Compares signed or encrypted messages with messages sealed as the server asks.

use halfpower_analyse::{CellFinding, ExperimentCell, FarCell};
use halfpower_record::{Ability, Capabilities};
use halfpower_spec::{Direction, InOrder, JsonSchema, Sealing, Workload, WorkloadOptions};
use serde::Serialize;

use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// How messages are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sealed {
    /// Neither signed nor encrypted.
    Plain,
    /// Signed.
    Signed,
    /// Encrypted.
    Encrypted,
}

/// The cost of signing or encryption.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SealingCost {
    /// Which way the bytes go.
    pub rw: Direction,
    /// Block size.
    pub bs_bytes: u64,
    /// Requests in flight.
    pub iodepth: u32,
    /// The protection measured.
    pub sealed: Sealed,
    /// The protection it is compared with: the one that the server asks for.
    pub than: Sealed,
    /// Rate as a multiple of that with `than`.
    pub times: RatioFinding,
    /// Processor time at this end per decimal megabyte; `null` unless it is known for both.
    pub near: Option<CostOfMb>,
    /// Processor time at the far end per decimal megabyte, without what it spends at rest; `null` unless it is known
    /// for both.
    pub far: Option<CostOfMb>,
}

/// Processor time per decimal megabyte, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostOfMb {
    /// With the measured protection.
    pub ms: f64,
    /// With the protection that the server asks for.
    pub than_ms: f64,
}

impl Sealed {
    /// The protection that the server asks for.
    pub fn asked(capabilities: &Capabilities) -> Self {
        match () {
            () if capabilities.can(&Ability::PlainMessages).is_ok() => Self::Plain,
            // If everything is encrypted, signing alone is not available.
            () if capabilities.can(&Ability::Sealing(Sealing::Signed)).is_ok() => Self::Signed,
            () => Self::Encrypted,
        }
    }

    /// The protection with `sealing`, given that the server asks for `asked`.
    pub fn of(sealing: Sealing, asked: Self) -> Self {
        match sealing {
            Sealing::AsAsked => asked,
            Sealing::Signed => Self::Signed,
            Sealing::Encrypted => Self::Encrypted,
        }
    }

    /// The word for this protection.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Signed => "signed",
            Self::Encrypted => "encrypted",
        }
    }
}

/// Compares each cell whose sealing differs from the server's default with the same cell at that default.
pub(crate) fn sealing_costs(data: &ExperimentData) -> Vec<SealingCost> {
    let asked = Sealed::asked(&data.environment.capabilities);
    let scale = Scale::of(data.sound());
    let idle_cores = data.environment.far_end.as_ref().and_then(|machine| machine.idle_cores).unwrap_or(0.0);
    let mut costs = Vec::new();
    for cell in data.sound().filter(|cell| cell.workload.options.sealing != Sealing::AsAsked) {
        let Workload { bs, iodepth, options, .. } = cell.workload;
        let options = WorkloadOptions { sealing: Sealing::AsAsked, ..options };
        let other = Workload { options, ..cell.workload };
        let Some(other) = data.sound().find(|one| one.workload == other) else { continue };
        let Some(times) = scale.times(&[cell], &[other]) else { continue };
        let both = |figure: &dyn Fn(&CellFinding) -> Option<f64>| cost_of_mb(cell, other, figure);
        let far = |figure: fn(&FarCell) -> Option<f64>| both(&|cell| figure(cell.far_end.as_ref()?));
        let working = |cell: &CellFinding| {
            let far = cell.far_end.as_ref()?;
            Some((far.machine_us - idle_cores * far.span_us).max(0.0))
        };
        costs.push(SealingCost {
            rw: cell.finding.rw,
            bs_bytes: bs.0,
            iodepth,
            sealed: Sealed::of(cell.workload.options.sealing, asked),
            than: asked,
            times,
            near: both(&soaked_us).or_else(|| both(&|cell| cell.charged_us)),
            far: far(|far| far.soaker_us).or_else(|| both(&working)),
        });
    }
    costs.retain(|cost| cost.sealed != cost.than);
    costs.order_by_key(|cost| (cost.rw, cost.sealed as u8, std::cmp::Reverse(cost.bs_bytes)));
    costs
}

/// Microseconds per request that the soaker lost, but at least the charge, since the soaker's error is a share of the
/// time.
pub(super) fn soaked_us(cell: &CellFinding) -> Option<f64> {
    cell.soaker_us.map(|us| us.max(cell.charged_us.unwrap_or(0.0)))
}

/// Converts a figure of both cells from microseconds per request to time per megabyte; `None` if either is missing.
fn cost_of_mb(
    cell: &ExperimentCell,
    other: &ExperimentCell,
    figure: &dyn Fn(&CellFinding) -> Option<f64>,
) -> Option<CostOfMb> {
    // 1 us per byte is 1,000 ms per decimal megabyte.
    let ms = |cell: &ExperimentCell| Some(figure(&cell.finding)? * 1e3 / cell.workload.bs.0 as f64);
    Some(CostOfMb { ms: ms(cell)?, than_ms: ms(other)? })
}
