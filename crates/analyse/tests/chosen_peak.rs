//! Checks which confirmed cell represents the peak, what is advised with it, and how well it is known.

use halfpower_analyse::{
    CellFinding, Condition, MeasuredCeilings, RateRole, Warning, advice, analyse, cells, check_conditions, how_fast,
    path_peak, peak,
};
use halfpower_record::{Environment, Latency, Record};
use halfpower_spec::{Bytes, Cache, Direction, Pass, Rw, Workload};

use crate::built::{compared, disk, question, record_at, study, workload};

/// Runs of two cells of sequential reads: one lucky plain run of each, and three confirming runs, in MB/s.
fn measured(lucky: [f64; 2], confirmed: [[f64; 3]; 2]) -> Vec<CellFinding> {
    let disk = disk("fixed=80us,rate=2000MB/s");
    let mut records: Vec<Record> = Vec::new();
    for (bs_kib, (lucky, confirmed)) in [64, 128].into_iter().zip(lucky.into_iter().zip(confirmed)) {
        let workload = workload(Rw::Read, Cache::Device, bs_kib, 4);
        records.push(record_at(&disk, workload, 0, Pass::Plain, lucky * 1e6));
        let runs = (0..).zip(confirmed);
        records.extend(runs.map(|(repeat, mbps)| record_at(&disk, workload, repeat, Pass::Confirm, mbps * 1e6)));
    }
    cells(&records)
}

fn peak_bs_kib(cells: &[CellFinding]) -> u64 {
    peak(cells, Direction::Read).unwrap().bs_bytes / 1024
}

#[test]
fn the_plain_runs_choose_where_the_confirming_ones_leave_it_open() {
    let cells = measured([1400.0, 1390.0], [[1000.0, 920.0, 1080.0], [1020.0, 1120.0, 930.0]]);
    assert_eq!(peak_bs_kib(&cells), 64);
}

/// One page called 1,080 MB/s the fastest reads and advised a setting of 1,172.
#[test]
fn what_gave_more_and_is_known_as_well_is_the_best() {
    let known_better = measured([1400.0, 1390.0], [[1080.0, 950.0, 1210.0], [1172.0, 1120.0, 1220.0]]);
    assert_eq!(peak_bs_kib(&known_better), 128);
    let advised = &advice(&known_better)[0];
    assert_eq!((advised.settings.bs, advised.is_best), (Bytes(128 << 10), true));
    let known_worse = measured([1400.0, 1390.0], [[1080.0, 1060.0, 1100.0], [1172.0, 1040.0, 1300.0]]);
    assert_eq!(peak_bs_kib(&known_worse), 64);
}

#[test]
fn a_cell_that_the_confirming_runs_show_to_be_faster_is_the_peak() {
    let cells = measured([1400.0, 1390.0], [[500.0, 520.0, 480.0], [700.0, 690.0, 720.0]]);
    assert_eq!(peak_bs_kib(&cells), 128);
    let unconfirmed = measured([1400.0, 1500.0], [[500.0, 520.0, 480.0], [0.0; 3]]);
    assert_eq!(peak_bs_kib(&unconfirmed), 64, "one lucky run is no proof");
}

/// A page cache that gives 2,800 MB/s at one time and 678 at another says less of a path than 1,000 MB/s at all times.
#[test]
fn a_cell_whose_rate_is_not_known_is_no_peak_beside_one_whose_rate_is() {
    let cells = measured([1390.0, 2800.0], [[1000.0, 990.0, 1010.0], [2800.0, 678.0, 1500.0]]);
    assert_eq!(peak_bs_kib(&cells), 64);
    let rows = how_fast(&cells, 1.0);
    let roles: Vec<_> =
        rows.iter().map(|row| (row.role, row.cell.bs_bytes >> 10, row.rate.sureness.is_known())).collect();
    assert_eq!(roles, [(RateRole::SmallDeep, 64, true), (RateRole::Unsure, 128, false)]);
    let rounded = |mbps: f64| mbps.round() as u64;
    assert_eq!((rounded(rows[1].rate.least_mbps), rounded(rows[1].rate.most_mbps)), (678, 2800));

    let both_wild = measured([1390.0, 2800.0], [[1000.0, 99.0, 3010.0], [2800.0, 678.0, 1500.0]]);
    assert_eq!(peak_bs_kib(&both_wild), 128, "the best of what nobody knows");
}

#[test]
fn nothing_is_advised_as_more_than_the_best() {
    let cells = measured([1400.0, 1390.0], [[800.0, 750.0, 850.0], [1000.0, 850.0, 1150.0]]);
    let advice = &advice(&cells)[0];
    assert_eq!((advice.settings.bs, advice.is_best, advice.share_of_peak), (Bytes(128 << 10), false, 1.0));
    let best = peak(&cells, Direction::Read).unwrap();
    let told = (advice.best.cell, advice.best.mbps);
    assert_eq!(told, (best.settings, best.mbps.value), "a page has one best");
    assert_eq!(path_peak(&cells, best.path()).map(|cell| cell.settings), Some(best.settings));
}

#[test]
fn an_advised_cell_that_is_badly_known_is_warned_of() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s"), &question);
    let analysed =
        |records: &[Record]| analyse(&question, &Environment::default(), records, &MeasuredCeilings::default());
    let before = analysed(&records);
    let advice = &before.advice[0];
    assert!(!advice.is_best, "it stands beside the best: {advice:?}");
    assert!(before.warnings.iter().all(|warning| !matches!(warning, Warning::WideInterval { .. })));
    let is_advised = |record: &&mut Record| {
        let of = |workload: &Workload| (workload.bs, workload.iodepth, workload.cache);
        of(&record.run.workload) == of(&advice.settings) && record.run.pass == Pass::Plain
    };
    for record in records.iter_mut().filter(is_advised) {
        record.elapsed_ns = record.elapsed_ns * [108, 100, 93][record.run.repeat as usize] / 100;
    }
    let after = analysed(&records);
    assert_eq!(after.advice[0].settings, advice.settings, "it is advised as before");
    let advised = (advice.settings.bs.0, advice.settings.iodepth);
    let is_it = |warning: &Warning| matches!(warning, Warning::WideInterval { cells: 1, worst, .. } if (worst.bs_bytes, worst.iodepth) == advised);
    assert!(after.warnings.iter().any(is_it), "{:?}", after.warnings);
}

/// The mean of one lucky run and two others may be far above all confirmed rates.
#[test]
fn a_rate_whose_runs_differ_too_much_is_not_told_with_its_settings() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s"), &question);
    let advised = |records: &[Record]| {
        let found = analyse(&question, &Environment::default(), records, &MeasuredCeilings::default());
        found.summary.what_to_set.uses[0].clone()
    };
    let before = advised(&records);
    assert!(before.measured.is_some());
    let is_it = |record: &&mut Record| {
        let workload = &record.run.workload;
        let settings = (workload.bs.0, workload.iodepth, workload.cache);
        settings == (before.cell.bs_bytes, before.cell.iodepth, before.cell.cache) && record.run.pass == Pass::Plain
    };
    // 2.2, 0.4 and 0.4 times the rate: the same mean.
    for record in records.iter_mut().filter(is_it) {
        record.elapsed_ns = record.elapsed_ns * 10 / [22, 4, 4][record.run.repeat as usize];
    }
    let after = advised(&records);
    assert_eq!((after.cell, after.measured), (before.cell, None));
}

#[test]
fn latencies_of_a_confirmed_cell_are_compared_by_its_confirming_runs() {
    let workload = workload(Rw::Randread, Cache::Device, 64, 1);
    let run = |pass, repeat, us: u64| {
        let mut latency = Latency::default();
        (0..1000).for_each(|_| latency.add(1000 * us));
        let disk = disk("fixed=80us,rate=2000MB/s");
        Record { latency, ..record_at(&disk, workload, repeat, pass, 65_536e6 / us as f64) }
    };
    // One fast run chose the cell.
    let study = |confirming_us: [u64; 3]| -> Vec<Record> {
        let confirming = (0..).zip(confirming_us).map(|(repeat, us)| run(Pass::Confirm, repeat, us));
        std::iter::once(run(Pass::Plain, 0, 50)).chain(confirming).collect()
    };
    let comparison = compared(&question(), &study([100, 103, 106]), &study([130, 134, 138]));
    let cell = &comparison.cells[0];
    for change in [cell.latency_ns_p50, cell.latency_ns_p99].map(Option::unwrap) {
        let are_near = (change.a / 103e3 - 1.0).abs() < 0.02 && (change.b / 134e3 - 1.0).abs() < 0.02;
        assert!(are_near && change.interval().is_some(), "{change:?}");
    }
    let condition: Condition = "bs=64k p99 > +10%".parse().unwrap();
    let checked = check_conditions(&[condition], std::slice::from_ref(&comparison));
    assert!(checked[0][0].can_be_decided() && checked[0][0].holds, "{checked:?}");
}
