//! Measures `allocation`: writes that extend a file, and writes into existing blocks.
//!
//! The plan: sequential writes into growing files and into existing blocks.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Cache, Direction, Layout, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::AllocationAnswer as Answer;
pub use analysis::*;

/// Block size that both papers used for file extension.
const BLOCK: Bytes = Bytes(64 << 10);
/// One at a time, and enough to keep a disk busy: the difference shows whether writes are carried out in parallel.
const DEPTHS: [u32; 2] = [1, 8];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    match ask.capabilities().kind {
        TargetKind::Folder => {}
        TargetKind::File | TargetKind::Device | TargetKind::Share | TargetKind::Imported | TargetKind::Nothing => {
            return Err("each case takes a file of its own, and those are made in folders alone: name one".to_string());
        }
        TargetKind::Simulated => ask.capabilities().can(&Ability::Layouts)?,
    }
    let mut caches = vec![ask.straight()];
    if caches[0] != Cache::Both && ask.page_cache().is_ok() {
        caches.push(Cache::Both);
    }
    // A file lies on a single member.
    let only_one = u32::from(ask.capabilities().members > 1);
    let mut cells = Vec::new();
    for cache in caches {
        for iodepth in DEPTHS {
            let writing = Workload { cache, ..ask.workload(Pattern::Sequential, Direction::Write, BLOCK, iodepth) };
            let options =
                |layout: &Layout| WorkloadOptions { layout: *layout, members: only_one, ..WorkloadOptions::default() };
            let of = |layout: &Layout| Workload { options: options(layout), ..writing };
            cells.extend(Layout::ALL.iter().map(of).map(PlannedCell::plain));
        }
    }
    Ok(Plan::of(cells))
}
