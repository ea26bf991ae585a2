//! Measures `layers`: the same reads through each block device of the stack beneath a target.
//!
//! The plan: random direct reads of the target's bytes, through the target and then from each device that holds them. What
//! two devices next to each other differ by is what the upper one adds.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Direction, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::LayersAnswer as Answer;
pub use analysis::*;

/// A small request, alone and with many in flight, and a large one.
const SMALL: Bytes = Bytes(4 << 10);
const LARGE: Bytes = Bytes(256 << 10);
const DEPTH: u32 = 32;
const LARGE_DEPTH: u32 = 8;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let capabilities = ask.capabilities();
    if capabilities.kind == TargetKind::Nothing {
        return Err("there is no storage here, and nothing beneath it".to_string());
    }
    capabilities.can(&Ability::Layers)?;
    let Some(unit) = capabilities.direct_unit else {
        return Err("direct I/O is not to be had here, and other reads do not reach each layer".to_string());
    };
    if ask.question.engine.sends_commands() {
        return Err("commands past the block layer pass its layers by: take another engine".to_string());
    }
    let readable: Vec<u32> = (1..)
        .zip(&capabilities.layers)
        .filter(|(_, layer)| layer.refused.is_none())
        .map(|(number, _)| number)
        .collect();
    if readable.is_empty() {
        return Err("no block device beneath the target is known".to_string());
    }
    let small = Bytes(SMALL.0.max(unit.0));
    let kinds = [(small, 1), (small, DEPTH), (LARGE, LARGE_DEPTH)];
    let read = |layer: u32, (bs, depth): (Bytes, u32)| {
        let reads = ask.workload(Pattern::Random, Direction::Read, bs, depth);
        let options = WorkloadOptions { layer, ..reads.options };
        PlannedCell::plain(Workload { threads: 1, options, ..reads })
    };
    let cells = std::iter::once(0).chain(readable).flat_map(|layer| kinds.map(|kind| read(layer, kind)));
    // What other threads of the kernel do for a layer, as to decrypt, the soaker alone sees.
    let cells = cells.flat_map(|cell| {
        let soaked = (cell.workload.iodepth > 1).then(|| cell.beside_soaker());
        std::iter::once(cell).chain(soaked)
    });
    let missing = capabilities.layers.iter().filter_map(|layer| {
        let why = layer.refused.as_ref()?;
        Some(format!("{} is not read by itself: {why}", layer.full_name()))
    });
    let end = capabilities.layers_end.as_ref().map(|why| format!("what lies further beneath is not read: {why}"));
    Ok(Plan { cells: cells.collect(), missing: missing.chain(end).collect() })
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Environment, LayerPlace};
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn planned(layers: &[(&str, Option<&str>)], unavailable: &[Ability]) -> Result<Plan, String> {
        let question = Question { experiments: vec![Experiment::Layers], ..Question::about("d") };
        let mut capabilities = folder_without(Some(Bytes(512)), unavailable, "it cannot");
        capabilities.layers = layers
            .iter()
            .map(|(name, refused)| LayerPlace {
                name: (*name).to_string(),
                what: "disk".to_string(),
                side_by_side: 1,
                refused: refused.map(str::to_string),
            })
            .collect();
        capabilities.layers_end = Some("it is thin".to_string());
        let environment = Environment { capabilities, ..Environment::default() };
        plan(&PlanRequest { question: &question, environment: &environment })
    }

    #[test]
    fn the_target_and_each_device_that_can_be_opened_are_read_alike() {
        let Plan { cells, missing } =
            planned(&[("dm-0", None), ("vda1", Some("it may not")), ("vda", None)], &[]).unwrap();
        let of = |layer: u32| -> Vec<_> {
            let of_layer = cells.iter().filter(|cell| cell.workload.options.layer == layer);
            of_layer.map(|cell| (cell.workload.bs, cell.workload.iodepth, cell.passes)).collect()
        };
        assert_eq!(of(0).len(), 5);
        assert!(of(1) == of(0) && of(3) == of(0) && of(2).is_empty());
        assert!(cells.iter().all(|cell| !cell.workload.writes() && cell.workload.cache.direct()));
        let expected =
            ["disk (vda1) is not read by itself: it may not", "what lies further beneath is not read: it is thin"];
        assert_eq!(missing, expected);
    }

    #[test]
    fn nothing_is_planned_where_no_device_can_be_read() {
        assert!(planned(&[], &[]).is_err());
        assert!(planned(&[("vda", Some("it may not"))], &[]).is_err());
        assert_eq!(planned(&[("vda", None)], &[Ability::Layers]).unwrap_err(), "it cannot");
    }
}
