//! Writes the identity of a workload: the text that its seeds and its key in a study file derive from.
//!
//! The letters are frozen. They are those of the first study files, so that a study begun then resumes with the same
//! seeds; flags and fields may be renamed without touching this file. A setting that is new writes nothing where it has
//! its default, so that workloads of earlier studies keep their identity.

use std::fmt::{self, Display, Formatter};

use crate::workload::Arrival;
use crate::{Issuing, Workload, WorkloadOptions};

/// A workload in letters that no release changes; equal workloads have equal identities.
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
        write_options(options, f)
    }
}

fn write_options(options: &WorkloadOptions, f: &mut Formatter<'_>) -> fmt::Result {
    let default = WorkloadOptions::default();
    let WorkloadOptions { layout, misalign, region, fdatasync, thinktime, affinity, streams, random_readers, .. } =
        options;
    let WorkloadOptions { page_cache, fadvise, write_cache, members, volume_layout, kernel, verify, .. } = options;
    let WorkloadOptions { random_distribution, ramp_time, bssplit, connections, sealing, way, hosts, .. } = options;
    let mut part = |differs: bool, name: &str, value: &dyn Display| {
        if differs { write!(f, " --{name} {value}") } else { Ok(()) }
    };
    part(*layout != default.layout, "layout", layout)?;
    part(*misalign != default.misalign, "shift", misalign)?;
    region.iter().try_for_each(|region| part(true, "region", region))?;
    part(*fdatasync != default.fdatasync, "fdatasync", fdatasync)?;
    part(*thinktime != default.thinktime, "thinktime", thinktime)?;
    part(*affinity != default.affinity, "affinity", affinity)?;
    part(*streams != default.streams, "streams", streams)?;
    part(*random_readers != default.random_readers, "randoms", random_readers)?;
    part(*page_cache != default.page_cache, "page-cache", page_cache)?;
    part(*fadvise != default.fadvise, "fadvise", fadvise)?;
    write_cache.iter().try_for_each(|switch| part(true, "wce", switch))?;
    part(*members != default.members, "members", members)?;
    volume_layout.iter().try_for_each(|layout| part(true, "join", layout))?;
    kernel.iter().try_for_each(|kernel| part(true, "kernel", kernel))?;
    part(*random_distribution != default.random_distribution, "random-distribution", random_distribution)?;
    part(*ramp_time != default.ramp_time, "ramp-time", ramp_time)?;
    bssplit.iter().try_for_each(|sizes| part(true, "bssplit", sizes))?;
    part(*connections != default.connections, "connections", connections)?;
    part(*sealing != default.sealing, "sealing", sealing)?;
    part(*way != default.way, "way", way)?;
    hosts.iter().try_for_each(|hosts| part(true, "hosts", hosts))?;
    if *verify { f.write_str(" --verify") } else { Ok(()) }
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
