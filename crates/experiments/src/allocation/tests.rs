//! Checks the answers of `allocation` on records with known truth.

use halfpower_spec::{Bytes, Cache, Experiment, Layout, Rw, Workload, WorkloadOptions};

use crate::built_study::{answer, reported};

/// All layouts, depths and cache settings; `rate` gives MB/s by layout, depth, and whether requests are direct.
fn allocation(rate: impl Fn(Layout, u32, bool) -> f64) -> Vec<(Workload, f64)> {
    let mut cells = Vec::new();
    for cache in [Cache::Device, Cache::Both] {
        for iodepth in [1, 8] {
            for layout in Layout::ALL {
                let options = WorkloadOptions { layout: *layout, ..WorkloadOptions::default() };
                let bs = Bytes(64 << 10);
                let workload = Workload { rw: Rw::Write, bs, iodepth, cache, options, ..Workload::default() };
                cells.push((workload, rate(*layout, iodepth, cache.direct())));
            }
        }
    }
    cells
}

fn grows(layout: Layout) -> bool {
    !matches!(layout, Layout::Written | Layout::Fallocated)
}

#[test]
fn extension_that_takes_one_write_at_a_time_is_recognised() {
    let serial = |layout, iodepth, direct| match (direct, iodepth) {
        (false, _) => 300.0,
        (true, 8) if !grows(layout) => 500.0,
        (true, _) => 100.0,
    };
    let findings = reported(Experiment::Allocation, &allocation(serial), 0.03);
    let rows = &findings.rows.allocation.allocation;
    assert_eq!(rows.len(), 24);
    let new = rows.iter().find(|row| (row.case, row.cache, row.iodepth) == (Layout::New, Cache::Device, 8)).unwrap();
    assert!(new.low < 100.0 && new.high > 100.0 && (new.mbps - 100.0).abs() < 10.0, "{new:?}");
    let answer = answer(&findings);
    for part in [
        "Direct and 8 deep, a growing file gets 2",
        "extension takes one write at a time",
        "blocks that fallocate reserved get",
        "fallocate helps",
        "buffered, growing costs next to nothing",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(findings.experiments[0].pictures[0].lines.len(), 4);
    let found = serde_json::to_value(&findings.experiments[0].found).unwrap();
    let code = |path: &str| found.pointer(path).and_then(serde_json::Value::as_str);
    assert_eq!(code("/deepening/extension"), Some("one_at_a_time"), "{found}");
    assert_eq!(code("/direct/of_written/verdict"), Some("less"), "{found}");
    assert_eq!(code("/buffered/of_written/verdict"), Some("alike"), "{found}");
    assert!(found["direct"]["of_written"]["value"].as_f64().is_some_and(|share| share < 0.3), "{found}");
}

#[test]
fn extension_that_goes_side_by_side_is_not_called_serial() {
    let even = |layout, iodepth: u32, direct| match direct {
        true => f64::from(iodepth) * if grows(layout) { 50.0 } else { 60.0 },
        false => 300.0,
    };
    let answer = answer(&reported(Experiment::Allocation, &allocation(even), 0.02)).to_string();
    assert!(answer.contains("both are carried out side by side") && !answer.contains("at a time"), "{answer}");
    assert!(answer.contains("a growing file gets 8"), "{answer}");
    let alike = answer_of_noise();
    assert!(alike.contains("cannot tell what growing costs"), "{alike}");
    assert!(!alike.contains("a growing file gets"), "{alike}");
}

/// The answer for equal rates with 30% noise between runs.
fn answer_of_noise() -> String {
    answer(&reported(Experiment::Allocation, &allocation(|_, _, _| 200.0), 0.3)).to_string()
}
