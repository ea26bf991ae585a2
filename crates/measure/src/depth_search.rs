//! Finds the greatest depth at which the latencies of a workload stay within a bound.

use std::sync::atomic::AtomicBool;

use halfpower_record::{DepthSearch, TriedDepth};
use halfpower_spec::{Nanos, Pass, Run, Workload, WorkloadOptions};

use crate::measure_run::measure;
use crate::{MeasureError, TargetBackend};

/// Tries depths of a run's workload, each in a window of its own, until `search` has the greatest that holds, or none of
/// them does. `told` hears of each depth before it is tried.
///
/// The greatest depth that is allowed comes first, then 1, then the middle between the greatest that held and the least that
/// did not. A window ends by its time alone, and each has other offsets.
///
/// # Errors
/// As [`measure`], also if the user wishes to stop.
pub fn find_depth(
    backend: &mut dyn TargetBackend,
    run: &Run,
    mut search: DepthSearch,
    told: &mut dyn FnMut(u32),
    stop: &AtomicBool,
) -> Result<DepthSearch, MeasureError> {
    while let Some(depth) = next(&search) {
        told(depth);
        let record = measure(backend, &window(run, &search, depth), stop)?;
        let latency_ns = record.sought_latency_ns(&search);
        search.tried.push(TriedDepth { depth, latency_ns });
    }
    Ok(search)
}

/// The depth to try next; `None` if the search is over.
fn next(search: &DepthSearch) -> Option<u32> {
    let depths = |held: bool| {
        let is_it = move |tried: &&TriedDepth| search.holds(tried.latency_ns) == held;
        search.tried.iter().filter(is_it).map(|tried| tried.depth)
    };
    let most = search.most_depth.max(1);
    match (depths(true).max(), depths(false).min()) {
        (None, None) => Some(most),
        (None, Some(1)) | (Some(_), None) => None,
        (None, Some(_)) => Some(1),
        (Some(held), Some(not_held)) => (not_held > held + 1).then(|| held + (not_held - held) / 2),
    }
}

/// The run that tries a depth.
fn window(run: &Run, search: &DepthSearch, depth: u32) -> Run {
    let options = WorkloadOptions { io_size: None, steady_state: None, ramp_time: Nanos(0), ..run.workload.options };
    let workload = Workload { iodepth: depth, options, ..run.workload };
    let nth = search.tried.len() as u64 + 1;
    Run { workload, pass: Pass::Plain, runtime: Nanos(search.window_ns), seed: run.seed.wrapping_add(nth), ..*run }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth that is found where depth `n` has a latency of `n`, and how many were tried.
    fn found(most_depth: u32, most_ns: u64) -> (Option<u32>, usize) {
        let mut search = DepthSearch { most_ns, percent: 99.0, window_ns: 1, most_depth, tried: Vec::new() };
        while let Some(depth) = next(&search) {
            assert!(!search.tried.iter().any(|tried| tried.depth == depth), "no depth is tried twice");
            search.tried.push(TriedDepth { depth, latency_ns: Some(depth.into()) });
        }
        (search.found(), search.tried.len())
    }

    #[test]
    fn the_greatest_depth_that_holds_is_found_by_halving() {
        assert_eq!(found(32, 32), (Some(32), 1), "the greatest comes first");
        assert_eq!(found(32, 0), (None, 2), "not even one at a time");
        assert_eq!((found(1, 1), found(1, 0)), ((Some(1), 1), (None, 1)));
        for most_ns in 1..300 {
            let (depth, tries) = found(300, most_ns);
            assert_eq!(depth, Some(most_ns as u32));
            assert!(tries <= 11, "{most_ns}: {tries}");
        }
    }

    #[test]
    fn a_depth_without_a_known_latency_does_not_hold() {
        let mut search = DepthSearch { most_ns: 5, percent: 99.0, window_ns: 1, most_depth: 8, tried: Vec::new() };
        search.tried.push(TriedDepth { depth: 8, latency_ns: None });
        assert_eq!((next(&search), search.found()), (Some(1), None));
    }

    #[test]
    fn a_window_ends_by_its_time_alone() {
        let options = WorkloadOptions {
            ramp_time: Nanos(7),
            io_size: Some("100%".parse().unwrap()),
            ..WorkloadOptions::default()
        };
        let workload = Workload { iodepth: 8, options, ..Workload::default() };
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Soaker, runtime: Nanos(9), seed: 3 };
        let search = DepthSearch { most_ns: 5, percent: 99.0, window_ns: 4, most_depth: 8, tried: Vec::new() };
        let own = window(&run, &search, 2);
        assert_eq!((own.workload.iodepth, own.runtime, own.pass, own.seed), (2, Nanos(4), Pass::Plain, 4));
        assert_eq!(own.workload.options, WorkloadOptions::default());
    }
}
