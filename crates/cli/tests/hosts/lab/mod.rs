//! Holds the tests that measure with many processes or kill them, for the laboratory.

mod devices;
mod kills;
mod servers;
mod slurm;
