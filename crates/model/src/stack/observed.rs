//! Counts what passes over the disks' buses: commands, sizes, bus time and active disks.

use crate::{Moment, Operation};

/// Counts since the path was made.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Read commands to disks.
    pub reads: u64,
    /// Write commands to disks.
    pub writes: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Distinct sizes of read commands, in the order of their first appearance.
    pub read_sizes: Vec<u32>,
    /// The same for write commands.
    pub write_sizes: Vec<u32>,
    /// Most commands outstanding at the same time.
    pub most_outstanding: u64,
    /// Bus time used besides data, in picoseconds.
    pub bus_setup_ps: u64,
    /// Bus time used for data, in picoseconds.
    pub bus_data_ps: u64,
    /// Time for which 0, 1, 2, ... disks had commands, in picoseconds.
    pub disks_at_work_ps: Vec<u64>,
    outstanding: u64,
    at_work: usize,
    since: Moment,
}

/// Most distinct sizes that are kept.
const MOST_SIZES: usize = 16;

impl Observed {
    pub(super) fn new(disks: u32) -> Self {
        Self { disks_at_work_ps: vec![0; disks as usize + 1], ..Self::default() }
    }

    pub(super) fn sent(&mut self, now: Moment, operation: Operation, length: u32, disk_was_idle: bool) {
        let sizes = if operation == Operation::Write {
            self.writes += 1;
            self.written_bytes += u64::from(length);
            &mut self.write_sizes
        } else {
            self.reads += 1;
            self.read_bytes += u64::from(length);
            &mut self.read_sizes
        };
        if sizes.last() != Some(&length) && sizes.len() < MOST_SIZES && !sizes.contains(&length) {
            sizes.push(length);
        }
        self.outstanding += 1;
        self.most_outstanding = self.most_outstanding.max(self.outstanding);
        if disk_was_idle {
            self.pass(now);
            self.at_work += 1;
        }
    }

    pub(super) fn over(&mut self, now: Moment, disk_is_idle: bool) {
        self.outstanding -= 1;
        if disk_is_idle {
            self.pass(now);
            self.at_work -= 1;
        }
    }

    pub(super) fn bus(&mut self, setup_ps: u64, data_ps: u64) {
        self.bus_setup_ps += setup_ps;
        self.bus_data_ps += data_ps;
    }

    fn pass(&mut self, now: Moment) {
        self.disks_at_work_ps[self.at_work] += now.ps() - self.since.ps();
        self.since = now;
    }
}
