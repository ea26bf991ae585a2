//! Finds out from the environment whether a launcher such as mpirun or srun started several of these processes, and
//! joins them.

use std::rc::Rc;

use crate::{HostsError, Ranks};

/// Variables that launchers set to the number of processes and to the rank of this one: Open MPI, PMI (MPICH and Intel
/// MPI), MVAPICH, and Slurm in a step. `SLURM_NTASKS` does not count: Slurm sets it in a batch script too.
const SIZES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];
/// PMIx sets only the rank.
const RANK: &str = "PMIX_RANK";

/// What a launcher's variables say about this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// The variable that shows it.
    pub by: &'static str,
    /// The rank of this process.
    pub rank: u32,
    /// Number of processes; `None` if the launcher does not say.
    pub size: Option<u32>,
}

impl Launched {
    /// Reads the variables; `None` if there is no launcher, or it started a single process.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let listed = SIZES.iter().find_map(|(size, rank)| {
            let by = *size;
            let size = number(size)?;
            Some(Self { by, rank: number(rank)?, size: Some(size) })
        });
        match (listed, number(RANK)) {
            (Some(listed), _) => Some(listed).filter(|listed| listed.size > Some(1)),
            (None, Some(rank)) if rank > 0 => Some(Self { by: RANK, rank, size: None }),
            (None, _) => None,
        }
    }

    /// Whether a launcher started this process, even as the only one.
    pub fn is_there(variable: impl Fn(&str) -> Option<String>) -> bool {
        SIZES.iter().any(|(size, _)| variable(size).is_some()) || variable(RANK).is_some()
    }

    /// Reads the environment of this process.
    pub fn here() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }
}

/// The processes that a launcher started with this one; `None` if it is alone.
///
/// # Errors
/// If there are others and this program cannot exchange messages with them.
pub fn join() -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    match Launched::here() {
        None => Ok(None),
        Some(launched) => joined(launched),
    }
}

#[cfg(feature = "mpi")]
fn joined(launched: Launched) -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    let ranks = crate::mpi_ranks::MpiRanks::start()?;
    match launched.size {
        Some(listed) if listed != ranks.size() => {
            Err(HostsError::OtherMpi { launcher: launched.by, listed, found: ranks.size() })
        }
        _ if ranks.size() == 1 => Ok(None),
        _ => Ok(Some(Rc::new(ranks))),
    }
}

#[cfg(not(feature = "mpi"))]
fn joined(launched: Launched) -> Result<Option<Rc<dyn Ranks>>, HostsError> {
    let how_often = launched.size.map_or("several times".to_string(), |size| format!("{size} times"));
    Err(HostsError::NoMpi { launcher: launched.by, how_often })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<(u32, Option<u32>)> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        Launched::of(value).map(|launched| (launched.rank, launched.size))
    }

    #[test]
    fn several_processes_are_seen_whoever_started_them() {
        assert_eq!(of(&[]), None);
        let ompi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "2"), ("PMIX_RANK", "2")];
        assert_eq!(of(&ompi), Some((2, Some(4))));
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0"), ("PMIX_RANK", "0")]), None);
        assert_eq!(of(&[("PMI_SIZE", "2"), ("PMI_RANK", "0")]), Some((0, Some(2))));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "16"), ("SLURM_PROCID", "3")]), Some((3, Some(16))));
        assert_eq!(of(&[("SLURM_NTASKS", "16"), ("SLURM_PROCID", "0")]), None, "a batch script starts it once");
        assert_eq!(of(&[("PMIX_RANK", "3")]), Some((3, None)));
        assert_eq!(of(&[("PMIX_RANK", "0")]), None);
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "many")]), None);
    }
}
