//! Tells from the environment whether a launcher such as mpirun or srun started several of this process.

/// Variables by which launchers tell how many processes they started, and which of them this is: Open MPI's, those of PMI as
/// MPICH's and Intel's set them, MVAPICH's, and Slurm's of a step. `SLURM_NTASKS` says nothing: a batch script has it too.
const SIZES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];
/// PMIx tells the rank alone.
const RANK: &str = "PMIX_RANK";

/// What a launcher says of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// The variable that tells it.
    pub by: &'static str,
    /// The number of this process.
    pub rank: u32,
    /// How many there are; `None` where that is not told.
    pub size: Option<u32>,
}

impl Launched {
    /// What the variables say; `None` without a launcher, and where it started one process.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let told = SIZES.iter().find_map(|(size, rank)| {
            let (by, size) = (*size, number(size)?);
            Some(Self { by, rank: number(rank)?, size: Some(size) })
        });
        match (told, number(RANK)) {
            (Some(told), _) => Some(told).filter(|told| told.size > Some(1)),
            (None, Some(rank)) if rank > 0 => Some(Self { by: RANK, rank, size: None }),
            (None, _) => None,
        }
    }

    /// Whether a launcher started this process, be it alone.
    pub fn is_there(variable: impl Fn(&str) -> Option<String>) -> bool {
        SIZES.iter().any(|(size, _)| variable(size).is_some()) || variable(RANK).is_some()
    }

    /// As of this process.
    pub fn here() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }
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
