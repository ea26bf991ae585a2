//! Writes the identity of a workload: the text from which its seeds and its key in a study file derive.
//!
//! The letters must never change: they are those of the first study files, so that a study begun then resumes with the
//! same seeds. Renamed flags and fields keep their letters. A new setting writes nothing at its default, so that
//! workloads of earlier studies keep their identity.

use std::fmt::{self, Display, Formatter};

use crate::workload::Arrival;
use crate::{Issuing, Workload};

/// A workload as text that is the same in every release; equal workloads have equal identities.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a>(pub &'a Workload);

impl Workload {
    /// The text that identifies this workload in study files and seeds.
    pub fn identity(&self) -> Identity<'_> {
        Identity(self)
    }
}

impl Display for Identity<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Workload { rw, rwmixread, bs, iodepth, threads, cache, engine, issuing, rate, options } = self.0;
        write!(f, "--rw {rw} ")?;
        if rw.direction().is_none() {
            write!(f, "--rwmixread {rwmixread} ")?;
        }
        write!(f, "--bs {bs} --iodepth {iodepth} --threads {threads} --cache {cache} --engine {engine}")?;
        if let Some(Issuing { iomem, iodepth_batch }) = issuing {
            write!(f, " --iomem {iomem} --iodepth-batch {iodepth_batch}")?;
        }
        if let Some(Arrival { iops, arrivals }) = rate {
            write!(f, " --rate {iops} --arrivals {arrivals}")?;
        }
        options.given().try_for_each(|(row, value)| row.write(f, row.pinned, &value))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Layout, Rw, Sealing, Switch, VolumeLayout, Way, Workload, WorkloadOptions};

    #[test]
    fn the_letters_of_the_first_study_files_stay() {
        let options = WorkloadOptions {
            layout: Layout::Append,
            misalign: Bytes(512),
            random_readers: 3,
            write_cache: Some(Switch::Off),
            members: 2,
            volume_layout: Some(VolumeLayout::Stripe),
            connections: 4,
            sealing: Sealing::Signed,
            way: Way::Local,
            verify: true,
            ..WorkloadOptions::default()
        };
        let workload = Workload { rw: Rw::Randmixed, options, ..Workload::default() };
        assert_eq!(
            workload.identity().to_string(),
            "--rw randrw --rwmixread 50 --bs 64KiB --iodepth 8 --threads 1 --cache device --engine auto \
             --layout append --shift 512 --randoms 3 --wce off --members 2 --join stripe --connections 4 \
             --sealing signed --way local --verify"
        );
    }
}
