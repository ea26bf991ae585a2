//! Checks which of the confirmed cells stands for the peak, and what is advised beside it.

use halfpower_analyse::{CellFinding, advice, cells, peak};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Cache, Direction, Pass, Rw};

use crate::built::{disk, record_at, workload};

/// Runs of two cells of sequential reads: one lucky plain run of each, and what three confirming runs gave, in MB/s.
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
    let cells = measured([1400.0, 1390.0], [[1000.0, 900.0, 1100.0], [1020.0, 1120.0, 930.0]]);
    assert_eq!(peak_bs_kib(&cells), 64);
}

#[test]
fn a_cell_that_the_confirming_runs_show_to_be_faster_is_the_peak() {
    let cells = measured([1400.0, 1390.0], [[500.0, 520.0, 480.0], [700.0, 690.0, 720.0]]);
    assert_eq!(peak_bs_kib(&cells), 128);
    let unconfirmed = measured([1400.0, 1500.0], [[500.0, 520.0, 480.0], [0.0; 3]]);
    assert_eq!(peak_bs_kib(&unconfirmed), 64, "one lucky run is no proof");
}

#[test]
fn nothing_is_advised_as_more_than_the_best() {
    let cells = measured([1400.0, 1390.0], [[800.0, 700.0, 900.0], [1000.0, 900.0, 1100.0]]);
    let advice = &advice(&cells)[0];
    assert_eq!((advice.settings.bs, advice.is_best, advice.share_of_peak), (Bytes(128 << 10), true, 1.0));
}
