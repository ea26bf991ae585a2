//! Collects the ceilings that experiments measured, for the analysis of the path.

use halfpower_analyse::{MeasuredCeilings, SharedCeiling};
use halfpower_spec::Direction;

use crate::table::ExperimentRows;
use crate::{burst, credit, hosts, memory, scaling};

/// The path's ceilings that the experiments measured.
pub(crate) fn measured_ceilings(rows: &ExperimentRows) -> MeasuredCeilings {
    let shared = |rw: &Direction| -> Option<SharedCeiling> {
        let of_hosts = || hosts::shared_ceiling(&rows.hosts.hosts, *rw);
        scaling::shared_ceiling(&rows.scaling.scaling, *rw).or_else(of_hosts)
    };
    MeasuredCeilings {
        memory: memory::measured_copy(&rows.memory.memory),
        link: burst::measured_link(&rows.burst.burst),
        shared: Direction::ALL.iter().filter_map(shared).collect(),
        sustained: credit::sustained(&rows.credit.credit),
    }
}
