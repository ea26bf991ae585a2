//! Measures `anatomy`: where a request's time goes below the system call.
//!
//! The plan: traced requests, small and large, single and queued, on one member and on all.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Direction, Pass, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::AnatomyAnswer as Answer;
pub use analysis::*;

/// A page, and a block so large that moving it is most of the work.
const BLOCKS: [Bytes; 2] = [Bytes(4096), Bytes(1 << 20)];
/// One request at a time, and a queue.
const DEPTHS: [u32; 2] = [1, 16];
/// The plain runs show what tracing adds.
const PASSES: &[Pass] = &[Pass::Plain, Pass::Traced];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    capabilities.can(&Ability::Trace)?;
    if capabilities.kind == TargetKind::Nothing {
        return Err("null: ends above the block layer, so there is nothing to trace".to_string());
    }
    let unit = capabilities.direct_unit.ok_or("the target takes no direct I/O, and the page cache asks as it likes")?;
    let parts: &[u32] = if capabilities.members > 1 { &[1, 0] } else { &[0] };
    let mut cells = Vec::new();
    for members in parts {
        for bs in BLOCKS.into_iter().filter(|bs| bs.0.is_multiple_of(unit.0) && bs.0 <= capabilities.span.0) {
            for iodepth in DEPTHS {
                let reading = ask.workload(Pattern::Random, Direction::Read, bs, iodepth);
                let workload = Workload {
                    options: WorkloadOptions { members: *members, ..WorkloadOptions::default() },
                    ..reading
                };
                cells.push(PlannedCell { passes: PASSES, ..PlannedCell::plain(workload) });
            }
        }
    }
    Ok(Plan::of(cells))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::Question;

    use super::*;

    fn planned(change: impl Fn(&mut Capabilities)) -> Result<Vec<PlannedCell>, String> {
        let mut capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            spread: None,
            members: 1,
            chunk: None,
            direct_unit: Some(Bytes(512)),
            unavailable: BTreeMap::new(),
            ..Capabilities::default()
        };
        change(&mut capabilities);
        let environment = Environment { capabilities, ..Environment::default() };
        Ok(plan(&PlanRequest { question: &Question::about("d"), environment: &environment })?.cells)
    }

    #[test]
    fn small_and_large_are_traced_alone_and_deep_on_one_member_and_on_all() {
        let cells = planned(|_| {}).unwrap();
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|cell| cell.passes.contains(&Pass::Traced) && cell.workload.cache.direct()));
        let members: Vec<u32> =
            planned(|at| at.members = 3).unwrap().iter().map(|c| c.workload.options.members).collect();
        assert_eq!(members, [1, 1, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn what_keeps_it_from_running_is_said() {
        let root = "that takes root".to_string();
        assert_eq!(planned(|at| drop(at.unavailable.insert(Ability::Trace, root.clone()))).unwrap_err(), root);
        assert!(planned(|at| at.kind = TargetKind::Nothing).unwrap_err().contains("null:"));
        assert!(planned(|at| at.direct_unit = None).unwrap_err().contains("direct I/O"));
    }
}
