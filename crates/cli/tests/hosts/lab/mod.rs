//! What measures with many processes, or kills them: the laboratory runs it.

mod devices;
mod kills;
mod servers;
mod slurm;
