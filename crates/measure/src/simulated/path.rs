//! Opens the path of a simulated system for requests of somebody else's making, without a run.

use halfpower_model::{Fitted, Stack};
use halfpower_spec::SimulatedSystem;

use super::fitted::Calibrated;
use super::system::Machine;
use crate::MeasureError;

/// The path of a simulated system.
#[derive(Debug)]
pub enum SimulatedPath {
    /// Of a machine made of parts, past its file cache.
    Machine(Box<Stack>),
    /// Of devices that are calibrated from a study.
    Calibrated {
        /// One of them.
        fitted: Fitted,
        /// How many there are.
        disks: u32,
        /// Bytes that their stripe puts on one before the next; `None` if they follow each other.
        chunk: Option<u64>,
    },
}

/// The idle path of a system.
///
/// # Errors
/// If its text describes none, or it lacks what its setup asks for.
pub fn simulated_path(system: &SimulatedSystem) -> Result<SimulatedPath, MeasureError> {
    if Fitted::is_told_by(&system.text) {
        let (fitted, disks, chunk) = Calibrated::new(system, None)?.into_devices();
        return Ok(SimulatedPath::Calibrated { fitted, disks, chunk });
    }
    Ok(SimulatedPath::Machine(Box::new(Machine::new(system, None, true)?.path()?)))
}
