//! Plans `network`: reads and writes of a share by block size and depth, and the same requests on several connections.

use halfpower_record::TargetKind;
use halfpower_spec::{Bytes, Direction, Pass, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

/// What section 9 of the paper of 2000 asked for: 2 KiB to 1 MiB, one at a time and eight.
const SIZES: [Bytes; 6] =
    [Bytes(2 << 10), Bytes(4 << 10), Bytes(16 << 10), Bytes(64 << 10), Bytes(256 << 10), Bytes(1 << 20)];
const DEPTHS: [u32; 2] = [1, 8];
/// What connections are compared by: requests of this size, so many in flight over all of them.
const SHARED: Bytes = Bytes(64 << 10);
const SHARED_DEPTHS: [u32; 2] = [8, 32];
const CONNECTIONS: [u32; 3] = [1, 2, 4];
/// Runs beside the soaker: it knows time to a share of the whole, so that many would tell no more.
const SOAKER_RUNS: u32 = 2;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind != TargetKind::Share {
        return Err("it is about shares that halfpower speaks to itself: name smb://server/share, \
                    nfs://server/export or s3://bucket/prefix"
            .to_string());
    }
    let cell = |direction, bs, iodepth, connections| {
        let options = WorkloadOptions { connections, ..WorkloadOptions::default() };
        Workload { options, ..ask.workload(Pattern::Sequential, direction, bs, iodepth) }
    };
    let can_turn = ask.capabilities().can("connections");
    let mut cells = Vec::new();
    for direction in Direction::ALL.iter().copied() {
        for (bs, iodepth) in SIZES.into_iter().flat_map(|bs| DEPTHS.map(|iodepth| (bs, iodepth))) {
            let workload = cell(direction, bs, iodepth, 1);
            cells.push(PlannedCell::plain(workload));
            if iodepth == DEPTHS[1] {
                let soaker = PlannedCell::plain(workload);
                cells.push(PlannedCell { passes: &[Pass::Soaker], repeats: Some(SOAKER_RUNS), ..soaker });
            }
        }
        for (iodepth, connections) in
            SHARED_DEPTHS.into_iter().flat_map(|iodepth| CONNECTIONS.map(|connections| (iodepth, connections)))
        {
            // One connection eight deep is measured above.
            if (iodepth, connections) != (DEPTHS[1], 1) && (connections == 1 || can_turn.is_ok()) {
                cells.push(PlannedCell::plain(cell(direction, SHARED, iodepth, connections)));
            }
        }
    }
    let mut missing = missing(ask);
    missing.extend(can_turn.err().map(|why| format!("connections are not compared: {why}")));
    Ok(Plan { cells, missing })
}

/// What the paper compared and this does not.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let mut missing = vec![
        "signing and encryption are as the server asks for them: what they cost shows where its settings change between \
         two studies (`halfpower compare`)"
            .to_string(),
        "the local way and the share on the same machine are studies of their own: run them at the server and compare"
            .to_string(),
    ];
    if ask.environment.far_end.is_none() {
        missing.push("the server's bill is not known without a witness there: add --far-end".to_string());
    }
    missing
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{Experiment, Question};

    use super::*;

    fn of(kind: TargetKind) -> Capabilities {
        Capabilities { kind, direct_unit: Some(Bytes(1)), ..Capabilities::default() }
    }

    fn planned(kind: TargetKind) -> Result<Plan, String> {
        planned_with(of(kind))
    }

    fn planned_with(capabilities: Capabilities) -> Result<Plan, String> {
        let environment = Environment { capabilities, ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Network], ..Question::about("d") };
        plan(&PlanRequest { question: &question, environment: &environment })
    }

    #[test]
    fn a_share_is_walked_and_its_connections_are_turned_alone() {
        let Plan { cells, missing } = planned(TargetKind::Share).unwrap();
        let plain: Vec<&PlannedCell> = cells.iter().filter(|cell| cell.passes == [Pass::Plain]).collect();
        assert_eq!((plain.len(), cells.len()), (2 * (6 * 2 + 5), 2 * (6 * 2 + 5 + 6)));
        let turned = plain.iter().filter(|cell| cell.workload.options.connections > 1);
        assert!(turned.clone().count() == 8 && turned.clone().all(|cell| cell.workload.bs == SHARED));
        assert_eq!(missing.len(), 3, "{missing:?}");
        let mut workloads: Vec<String> = plain.iter().map(|cell| cell.workload.identity().to_string()).collect();
        workloads.sort();
        workloads.dedup();
        assert_eq!(workloads.len(), plain.len(), "each once");
    }

    #[test]
    fn where_depth_counts_connections_they_are_not_turned() {
        let unavailable = std::iter::once(("connections".to_string(), "depth counts them".to_string())).collect();
        let capabilities = Capabilities { unavailable, ..of(TargetKind::Share) };
        let Plan { cells, missing } = planned_with(capabilities).unwrap();
        assert!(cells.iter().all(|cell| cell.workload.options.connections == 1) && !cells.is_empty());
        assert!(missing.iter().any(|why| why.contains("depth counts them")), "{missing:?}");
    }

    #[test]
    fn what_is_no_share_says_what_to_name() {
        assert!(planned(TargetKind::Folder).unwrap_err().contains("smb://server/share"));
    }
}
