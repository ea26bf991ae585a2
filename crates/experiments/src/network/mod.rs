//! Measures `network`: the rates of a share by block size, depth, connections, sealing and way, and their cost at both
//! ends.

mod analysis;
pub mod sealed;
pub mod ways;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Direction, EngineName, Pattern, Sealing, Way, Workload, WorkloadOptions};

use self::sealed::Sealed;
use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::NetworkAnswer as Answer;
pub use analysis::*;

/// Block sizes and depths that section 9 of the paper of 2000 called for: 2 KiB to 1 MiB, at depths 1 and 8.
const SIZES: [Bytes; 6] =
    [Bytes(2 << 10), Bytes(4 << 10), Bytes(16 << 10), Bytes(64 << 10), Bytes(256 << 10), Bytes(1 << 20)];
const DEPTHS: [u32; 2] = [1, 8];
/// Block size and depths that compare connections; a depth is the number of requests in flight over all connections.
const SHARED: Bytes = Bytes(64 << 10);
const SHARED_DEPTHS: [u32; 2] = [8, 32];
const CONNECTIONS: [u32; 3] = [1, 2, 4];
/// Requests that compare sealings: small ones at depth 1, usual and large ones at depth 8.
const SEALED: [(Bytes, u32); 3] = [(Bytes(4 << 10), 1), (SHARED, 8), (Bytes(1 << 20), 8)];
/// Block sizes that the far end measures for each way it offers, at both depths; those at depth 8 also beside the
/// soaker, for the cost.
const SIZES_OF_WAYS: [Bytes; 5] = [Bytes(4 << 10), Bytes(16 << 10), Bytes(64 << 10), Bytes(256 << 10), Bytes(1 << 20)];
const BILLED: [Bytes; 2] = [SHARED, Bytes(1 << 20)];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind != TargetKind::Share {
        return Err("it is about shares that halfpower speaks to itself: name smb://server/share, \
                    nfs://server/export or s3://bucket/prefix"
            .to_string());
    }
    let can_turn = ask.capabilities().can(&Ability::Connections);
    let mut cells = Vec::new();
    for direction in Direction::ALL.iter().copied() {
        for (bs, iodepth) in SIZES.into_iter().flat_map(|bs| DEPTHS.map(|iodepth| (bs, iodepth))) {
            cells.extend(with_bill(cell(ask, direction, (bs, iodepth), 1)));
        }
        for (iodepth, connections) in
            SHARED_DEPTHS.into_iter().flat_map(|iodepth| CONNECTIONS.map(|connections| (iodepth, connections)))
        {
            // One connection at depth 8 is already in the walk above.
            if (iodepth, connections) != (DEPTHS[1], 1) && (connections == 1 || can_turn.is_ok()) {
                cells.push(PlannedCell::plain(cell(ask, direction, (SHARED, iodepth), connections)));
            }
        }
    }
    let sealed = sealed(ask);
    cells.extend(sealed.into_iter().flat_map(with_bill));
    cells.extend(other_ways(ask));
    let mut missing = missing(ask);
    missing.extend(can_turn.err().map(|why| format!("connections are not compared: {why}")));
    Ok(Plan { cells, missing })
}

fn cell(ask: &PlanRequest, direction: Direction, (bs, iodepth): (Bytes, u32), connections: u32) -> Workload {
    let options = WorkloadOptions { connections, ..ask.question.options() };
    Workload { options, ..ask.workload(Pattern::Sequential, direction, bs, iodepth) }
}

/// A cell, and the same beside the soaker if enough requests are in flight.
fn with_bill(workload: Workload) -> impl Iterator<Item = PlannedCell> {
    let plain = PlannedCell::plain(workload);
    let soaker = plain.beside_soaker();
    std::iter::once(plain).chain((workload.iodepth == DEPTHS[1]).then_some(soaker))
}

/// Signed and encrypted cells, and cells with the server's default if the study asks for another sealing.
fn sealed(ask: &PlanRequest) -> Vec<Workload> {
    let asked = Sealed::asked(ask.capabilities());
    let others = [Sealing::Signed, Sealing::Encrypted].into_iter();
    let mut sealings: Vec<Sealing> =
        others.filter(|sealing| Sealed::of(*sealing, asked) != asked && can(ask, *sealing).is_ok()).collect();
    if !sealings.is_empty() {
        sealings.push(Sealing::AsAsked);
    }
    sealings.retain(|sealing| *sealing != ask.question.sealing);
    let mut workloads = Vec::new();
    for (direction, sealing) in Direction::ALL.iter().flat_map(|rw| sealings.iter().map(move |sealing| (*rw, *sealing)))
    {
        workloads.extend(SEALED.map(|shape| {
            let workload = cell(ask, direction, shape, 1);
            Workload { options: WorkloadOptions { sealing, ..workload.options }, ..workload }
        }));
    }
    workloads
}

/// The same requests by each other way that a witness offers, each with the engine of its way.
fn other_ways(ask: &PlanRequest) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for (way, direction) in
        offered(ask).iter().flat_map(|way| Direction::ALL.iter().map(move |direction| (*way, *direction)))
    {
        for (bs, iodepth) in SIZES_OF_WAYS.into_iter().flat_map(|bs| DEPTHS.map(|iodepth| (bs, iodepth))) {
            let workload = ask.workload(Pattern::Sequential, direction, bs, iodepth);
            let options = WorkloadOptions { way, ..WorkloadOptions::default() };
            let cell = PlannedCell::plain(Workload { engine: EngineName::Auto, options, ..workload });
            let has_bill = iodepth == DEPTHS[1] && BILLED.contains(&bs);
            let soaker = cell.beside_soaker();
            cells.extend([Some(cell), has_bill.then_some(soaker)].into_iter().flatten());
        }
    }
    cells
}

fn offered<'a>(ask: &'a PlanRequest) -> &'a [Way] {
    ask.environment.far_end.as_ref().map_or(&[], |far_end| &far_end.ways)
}

fn can(ask: &PlanRequest, sealing: Sealing) -> Result<(), String> {
    ask.capabilities().can(&Ability::Sealing(sealing))
}

/// Parts of the paper's comparison that this experiment lacks.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let mut missing = Vec::new();
    for (way, what, flag) in [
        (Way::Local, "the way past the share", "--local FOLDER"),
        (Way::SameMachine, "the way through the share from the server itself", "--share ADDRESS"),
    ] {
        if !offered(ask).contains(&way) {
            missing
                .push(format!("{what} is not measured: --far-end 'ssh server halfpower witness {flag}' measures it"));
        }
    }
    for sealing in [Sealing::Signed, Sealing::Encrypted] {
        missing.extend(can(ask, sealing).err().map(|why| format!("what {sealing} messages cost is not known: {why}")));
    }
    let plain = ask.capabilities().can(&Ability::PlainMessages);
    missing.extend(plain.err().map(|why| format!("what plain messages cost is not known: {why}")));
    if ask.environment.far_end.is_none() {
        missing.push("the server's bill is not known without a witness there: add --far-end".to_string());
    }
    missing
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, FarEndMachine};
    use halfpower_spec::{Experiment, Pass, Question};

    use super::*;

    fn planned_with(kind: TargetKind, unavailable: &[Ability], sealing: Sealing) -> Result<Plan, String> {
        let unavailable = unavailable.iter().map(|what| (what.clone(), format!("no {what}"))).collect();
        let capabilities = Capabilities { kind, direct_unit: Some(Bytes(1)), unavailable, ..Capabilities::default() };
        let environment = Environment { capabilities, ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Network], sealing, ..Question::about("d") };
        plan(&PlanRequest { question: &question, environment: &environment })
    }

    fn planned(kind: TargetKind) -> Result<Plan, String> {
        planned_with(kind, &[], Sealing::AsAsked)
    }

    /// Cells with one sealing in the plain pass.
    fn sealed_so(cells: &[PlannedCell], sealing: Sealing) -> Vec<&PlannedCell> {
        let is_so = |cell: &&PlannedCell| cell.passes == [Pass::Plain] && cell.workload.options.sealing == sealing;
        cells.iter().filter(is_so).collect()
    }

    #[test]
    fn a_share_is_walked_and_its_connections_are_turned_alone() {
        let Plan { cells, missing } = planned(TargetKind::Share).unwrap();
        let asked = sealed_so(&cells, Sealing::AsAsked);
        let soaked = cells.iter().filter(|cell| cell.passes == [Pass::Soaker]).count();
        assert_eq!((asked.len(), soaked), (2 * (6 * 2 + 5), 2 * (6 + 4)));
        let turned = asked.iter().filter(|cell| cell.workload.options.connections > 1);
        assert!(turned.clone().count() == 8 && turned.clone().all(|cell| cell.workload.bs == SHARED));
        assert_eq!(missing.len(), 3, "{missing:?}");
        let plain = cells.iter().filter(|cell| cell.passes == [Pass::Plain]);
        let mut workloads: Vec<String> = plain.map(|cell| cell.workload.identity().to_string()).collect();
        let all = workloads.len();
        workloads.sort();
        workloads.dedup();
        assert_eq!((workloads.len(), all), (2 * (6 * 2 + 5 + 6), all), "each once");
    }

    #[test]
    fn signed_and_encrypted_cells_have_a_cell_as_asked_to_be_compared_with() {
        for (sealing, counts) in [(Sealing::AsAsked, [34, 6, 6]), (Sealing::Encrypted, [6, 6, 34])] {
            let cells = planned_with(TargetKind::Share, &[], sealing).unwrap().cells;
            assert_eq!(Sealing::ALL.iter().map(|of| sealed_so(&cells, *of).len()).collect::<Vec<_>>(), counts);
            for cell in sealed_so(&cells, Sealing::Signed) {
                let options = WorkloadOptions { sealing: Sealing::AsAsked, ..cell.workload.options };
                let same = Workload { options, ..cell.workload };
                assert!(cells.iter().any(|cell| cell.workload == same), "{same}");
            }
        }
    }

    #[test]
    fn what_cannot_be_sealed_is_missing_with_its_reason() {
        let [signed, encrypted] = [Sealing::Signed, Sealing::Encrypted].map(Ability::Sealing);
        for (unavailable, counts) in [
            (&[signed.clone(), encrypted.clone()][..], [34, 0, 0]),
            (&[encrypted], [34, 6, 0]),
            (&[Ability::PlainMessages], [34, 0, 6]),
            (&[Ability::PlainMessages, signed], [34, 0, 0]),
        ] {
            let Plan { cells, missing } = planned_with(TargetKind::Share, unavailable, Sealing::AsAsked).unwrap();
            let of = |sealing: &Sealing| sealed_so(&cells, *sealing).len();
            assert_eq!(Sealing::ALL.iter().map(of).collect::<Vec<_>>(), counts, "{unavailable:?}");
            let says = |what: &Ability| missing.iter().any(|line| line.ends_with(&format!("no {what}")));
            assert!(unavailable.iter().all(says), "{missing:?}");
            assert_eq!(missing.len(), 3 + unavailable.len(), "{missing:?}");
        }
    }

    #[test]
    fn the_ways_that_a_witness_offers_are_measured_by_the_same_requests() {
        let far_end = |ways: &[Way]| Some(FarEndMachine { ways: ways.to_vec(), ..FarEndMachine::default() });
        for ways in [&[][..], &[Way::Local], &[Way::SameMachine, Way::Local]] {
            let capabilities = Capabilities { kind: TargetKind::Share, ..Capabilities::default() };
            let environment = Environment { capabilities, far_end: far_end(ways), ..Environment::default() };
            let question = Question { experiments: vec![Experiment::Network], connections: 2, ..Question::about("d") };
            let Plan { cells, missing } =
                plan(&PlanRequest { question: &question, environment: &environment }).unwrap();
            let elsewhere: Vec<&PlannedCell> =
                cells.iter().filter(|cell| cell.workload.options.way != Way::Wire).collect();
            assert_eq!(elsewhere.len(), ways.len() * 2 * (5 * 2 + 2));
            assert_eq!(missing.len(), 2 - ways.len(), "{missing:?}");
            for workload in elsewhere.iter().map(|cell| cell.workload) {
                let over_the_wire = cells.iter().map(|cell| cell.workload).find(|wire| {
                    (wire.rw, wire.bs, wire.iodepth, wire.cache)
                        == (workload.rw, workload.bs, workload.iodepth, workload.cache)
                        && wire.options.way == Way::Wire
                });
                assert!(over_the_wire.is_some(), "{workload}");
                assert!(ways.contains(&workload.options.way));
            }
        }
    }

    #[test]
    fn where_depth_counts_connections_they_are_not_turned() {
        let Plan { cells, missing } =
            planned_with(TargetKind::Share, &[Ability::Connections], Sealing::AsAsked).unwrap();
        assert!(cells.iter().all(|cell| cell.workload.options.connections == 1) && !cells.is_empty());
        assert!(missing.iter().any(|why| why.ends_with("no connections")), "{missing:?}");
    }

    #[test]
    fn what_is_no_share_says_what_to_name() {
        assert!(planned(TargetKind::Folder).unwrap_err().contains("smb://server/share"));
    }
}
