//! Writes what came of the search for the greatest depth at which latencies stay within a bound.

use halfpower_record::{DepthSearch, Record};
use halfpower_spec::format::time_ns;

/// The depth that was found, or that none was, as a sentence without a full stop; of the run that was then measured, if its
/// latencies did not stay within the bound.
pub(crate) fn found(search: &DepthSearch, record: &Record) -> String {
    let percentile = percentile(search);
    let bound = time_ns(search.most_ns as f64);
    let Some(depth) = search.found() else {
        let alone = search.tried.last().and_then(|tried| tried.latency_ns);
        let it_is = alone.map_or("is not known".to_string(), |latency_ns| format!("is {}", time_ns(latency_ns as f64)));
        return format!("NO depth keeps {percentile} within {bound}: at depth 1 it {it_is}");
    };
    let of_run = record.sought_latency_ns(search);
    let but = match of_run {
        _ if search.holds(of_run) => String::new(),
        Some(latency_ns) => format!("; in the run that was then measured there it was {}", time_ns(latency_ns as f64)),
        None => "; in the run that was then measured there it is not known".to_string(),
    };
    let which = match depth == search.most_depth {
        true => format!("depth {depth}, all that was allowed, keeps {percentile} within {bound}"),
        false => {
            format!("depth {depth} is the greatest up to {} that keeps {percentile} within {bound}", search.most_depth)
        }
    };
    format!("{which} ({}){but}", tried(search))
}

/// The percentile, as a noun: `p99`, or `the longest latency`.
fn percentile(search: &DepthSearch) -> String {
    if search.percent >= 100.0 { "the longest latency".to_string() } else { format!("p{}", search.percent) }
}

/// The depths that were tried, such as `tried for 1.0 s each: 32 gave 3.2 ms, 1 gave 100 µs`.
fn tried(search: &DepthSearch) -> String {
    let gave = |latency_ns: Option<u64>| match latency_ns {
        Some(latency_ns) => format!("gave {}", time_ns(latency_ns as f64)),
        None => "is not known".to_string(),
    };
    let each: Vec<String> =
        search.tried.iter().map(|tried| format!("{} {}", tried.depth, gave(tried.latency_ns))).collect();
    format!("tried for {} each: {}", time_ns(search.window_ns as f64), each.join(", "))
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Latency, TriedDepth};
    use halfpower_spec::{EngineName, Nanos, Pass, Run, Workload};

    use super::*;

    /// What is said of a search up to depth 8 with `tried`, and a run whose requests took `latency_ns`.
    fn said(percent: f64, tried: &[(u32, Option<u64>)], latency_ns: u64) -> String {
        let tried = tried.iter().map(|&(depth, latency_ns)| TriedDepth { depth, latency_ns }).collect();
        let search = DepthSearch { most_ns: 2_000_000, percent, window_ns: 1_000_000_000, most_depth: 8, tried };
        let workload = Workload::default();
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1), seed: 1 };
        let latency = Latency::of_percentiles(10, [latency_ns, latency_ns], latency_ns as f64, &[]);
        found(&search, &Record { latency, ..Record::empty(run, EngineName::Simulated) })
    }

    #[test]
    fn the_depth_and_what_was_tried_are_told() {
        let tried = [(8, Some(4_000_000)), (1, Some(500_000)), (4, Some(2_000_000)), (6, None), (5, Some(2_500_000))];
        let told = said(99.5, &tried, 2_000_000);
        assert!(
            told.starts_with("depth 4 is the greatest up to 8 that keeps p99.5 within 2.0 ms (tried for"),
            "{told}"
        );
        assert!(told.contains("8 gave 4.0 ms, 1 gave") && told.contains("6 is not known, 5 gave 2.5 ms)"), "{told}");
        let all = said(100.0, &[(8, Some(1))], 3_000_000);
        assert!(all.starts_with("depth 8, all that was allowed, keeps the longest latency within 2.0 ms"), "{all}");
        assert!(all.ends_with("in the run that was then measured there it was 3.0 ms"), "{all}");
        let none = said(99.0, &[(8, None), (1, Some(5_000_000))], 5_000_000);
        assert_eq!(none, "NO depth keeps p99 within 2.0 ms: at depth 1 it is 5.0 ms");
    }
}
