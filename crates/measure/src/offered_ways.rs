//! Measures for a halfpower on another machine: on a folder of this machine, or through the share that serves it.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use halfpower_record::Record;
use halfpower_share::Access;
use halfpower_spec::{Bytes, Nanos, Run, ShareAddress, Way, Workload, WorkloadOptions};
use halfpower_witness::Ways;

use crate::real::{RealTarget, RealTargetOptions, ShareTarget};
use crate::{MeasureError, TargetBackend, measure};

/// Time limit of laying out a file, which ends up smaller then. The client waits at most twice that.
const LAYOUT: Nanos = Nanos(60_000_000_000);

/// The ways by which a witness can measure; either or both may be missing.
pub struct OfferedWays {
    local: Option<PathBuf>,
    share: Option<(ShareAddress, Access)>,
    /// The ways opened so far, each with the size of its file.
    open: Vec<(Way, Bytes, Box<dyn TargetBackend>)>,
}

impl OfferedWays {
    /// Offers the folder that a share serves, and the share with the credentials for it; opens nothing yet.
    pub fn new(local: Option<PathBuf>, share: Option<(ShareAddress, Access)>) -> Self {
        Self { local, share, open: Vec::new() }
    }

    /// The target of a way with a file of this size; lays the file out the first time.
    fn target(&mut self, way: Way, size: Bytes, seed: u64) -> Result<&mut dyn TargetBackend, MeasureError> {
        let targets = &mut self.open;
        let place = match targets.iter().position(|(open, of, _)| (*open, *of) == (way, size)) {
            Some(place) => place,
            None => {
                // A file of another size is not needed any more.
                targets.retain(|(open, ..)| *open != way);
                let mut target = open(self.local.as_ref(), self.share.as_ref(), way, &wanted(size, seed))?;
                target.make_ready(None, &AtomicBool::new(false))?;
                targets.push((way, size, target));
                targets.len() - 1
            }
        };
        Ok(targets[place].2.as_mut())
    }
}

impl Ways for OfferedWays {
    fn offered(&self) -> Vec<Way> {
        let ways = [(Way::Local, self.local.is_some()), (Way::SameMachine, self.share.is_some())];
        ways.into_iter().filter_map(|(way, is_there)| is_there.then_some(way)).collect()
    }

    fn measure(&mut self, run: &Run, size: Bytes) -> Result<Record, String> {
        let options = WorkloadOptions { way: Way::Wire, ..run.workload.options };
        let here = Run { workload: Workload { options, ..run.workload }, ..*run };
        let target = self.target(run.workload.options.way, size, run.seed).map_err(|error| error.to_string())?;
        let record = measure(target, &here, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
        Ok(Record { run: *run, ..record })
    }
}

fn open(
    local: Option<&PathBuf>,
    share: Option<&(ShareAddress, Access)>,
    way: Way,
    wanted: &RealTargetOptions,
) -> Result<Box<dyn TargetBackend>, MeasureError> {
    let what = format!("this witness measures nothing by the way {way}");
    match (way, local, share) {
        // A file or a device may hold somebody's data.
        (Way::Local, Some(folder), _) if !folder.is_dir() => {
            let what = "--local takes the folder that the share serves".to_string();
            Err(MeasureError::Target { path: folder.clone(), what })
        }
        (Way::Local, Some(folder), _) => Ok(Box::new(RealTarget::open(folder, wanted)?)),
        (Way::SameMachine, _, Some((address, access))) => Ok(Box::new(ShareTarget::open(address, access, wanted)?)),
        _ => Err(MeasureError::Unfit { what }),
    }
}

fn wanted(size: Bytes, seed: u64) -> RealTargetOptions {
    RealTargetOptions { size: Some(size), writes: true, seed, layout_limit: LAYOUT, ..RealTargetOptions::default() }
}
