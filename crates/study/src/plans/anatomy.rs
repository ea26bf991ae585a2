//! `anatomy`: where does the time of a request go, small and large, alone and among many, on one device and several?

use record::TargetKind;
use spec::{Bytes, Direction, Pass, Pattern, Twist, Workload};

use super::{Ask, Cell};

/// A page, and what is large enough that moving it is most of the work.
const BLOCKS: [Bytes; 2] = [Bytes(4096), Bytes(1 << 20)];
/// Alone, and with a queue.
const DEPTHS: [u32; 2] = [1, 16];
/// The plain runs say what tracing adds.
const PASSES: &[Pass] = &[Pass::Plain, Pass::Traced];

pub(super) fn plan(ask: &Ask) -> Result<Vec<Cell>, String> {
    let surroundings = ask.surroundings();
    surroundings.can("trace")?;
    if surroundings.kind == TargetKind::Nothing {
        return Err("null: ends above the block layer, so there is nothing to trace".to_string());
    }
    let unit = surroundings.direct_unit.ok_or("the target takes no direct I/O, and the page cache asks as it likes")?;
    let parts: &[u32] = if surroundings.members > 1 { &[1, 0] } else { &[0] };
    let mut cells = Vec::new();
    for members in parts {
        for bs in BLOCKS.into_iter().filter(|bs| bs.0.is_multiple_of(unit.0) && bs.0 <= surroundings.span.0) {
            for iodepth in DEPTHS {
                let reading = ask.workload(Pattern::Random, Direction::Read, bs, iodepth);
                let workload = Workload { twist: Twist { members: *members, ..Twist::default() }, ..reading };
                cells.push(Cell { workload, passes: PASSES, repeats: None });
            }
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use record::{Environment, Surroundings};
    use spec::Question;

    use super::*;

    fn planned(change: impl Fn(&mut Surroundings)) -> Result<Vec<Cell>, String> {
        let mut surroundings = Surroundings {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            members: 1,
            chunk: None,
            direct_unit: Some(Bytes(512)),
            cannot: BTreeMap::new(),
        };
        change(&mut surroundings);
        let environment = Environment { surroundings, ..Environment::default() };
        plan(&Ask { question: &Question::about("d"), environment: &environment })
    }

    #[test]
    fn small_and_large_are_traced_alone_and_deep_on_one_member_and_on_all() {
        let cells = planned(|_| {}).unwrap();
        assert_eq!(cells.len(), 4);
        assert!(cells.iter().all(|cell| cell.passes.contains(&Pass::Traced) && cell.workload.cache.direct()));
        let members: Vec<u32> =
            planned(|at| at.members = 3).unwrap().iter().map(|c| c.workload.twist.members).collect();
        assert_eq!(members, [1, 1, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn what_keeps_it_from_running_is_said() {
        let root = "that takes root".to_string();
        assert_eq!(planned(|at| drop(at.cannot.insert("trace".into(), root.clone()))).unwrap_err(), root);
        assert!(planned(|at| at.kind = TargetKind::Nothing).unwrap_err().contains("null:"));
        assert!(planned(|at| at.direct_unit = None).unwrap_err().contains("direct I/O"));
    }
}
