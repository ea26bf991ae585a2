//! Lists the parts in which a study file's question differs from the one asked now, in the words of the flags.

use halfpower_spec::Question;

/// Such as `the budget is 2m there and 5m here`, joined by commas; `None` for equal questions.
pub(crate) fn difference(there: &Question, here: &Question) -> Option<String> {
    let phrases: Vec<String> = parts(there)
        .into_iter()
        .zip(parts(here))
        .filter(|((_, there), (_, here))| there != here)
        .map(|((name, there), (_, here))| format!("the {name} is {there} there and {here} here"))
        .collect();
    (!phrases.is_empty()).then(|| phrases.join(", "))
}

/// Every part with its name. The question is destructured, so that a new part cannot be forgotten.
fn parts(question: &Question) -> [(&'static str, String); 25] {
    let Question {
        target,
        experiments,
        directions,
        bs,
        iodepth,
        cache,
        threads,
        connections,
        sealing,
        host_files,
        engine,
        issuing,
        size,
        spread,
        budget,
        runtime,
        repeats,
        peak,
        seed,
        write_cache,
        price,
        sustain_bytes,
        application,
        latency_bound,
        sessions,
    } = question;
    [
        ("target", target.clone()),
        ("list of experiments", list(experiments)),
        ("direction", list(directions)),
        ("block size", list(bs)),
        ("depth", list(iodepth)),
        ("cache setting", list(cache)),
        ("number of threads", threads.to_string()),
        ("number of connections", connections.to_string()),
        ("sealing of messages", sealing.to_string()),
        ("way hosts share it out", host_files.to_string()),
        ("engine", engine.to_string()),
        ("issuing", issuing.map_or("as in the first releases".to_string(), |issuing| issuing.to_string())),
        ("size", size.map_or("not set".to_string(), |size| size.to_string())),
        ("way the size lies", if *spread { "in pieces" } else { "one part" }.to_string()),
        ("budget", budget.to_string()),
        ("window", runtime.map_or("chosen by the planner".to_string(), |runtime| runtime.to_string())),
        ("number of repeats", repeats.to_string()),
        ("peak", peak.map_or("not set".to_string(), |peak| peak.to_string())),
        ("seed", seed.to_string()),
        ("write cache", write_cache.map_or("unchanged".to_string(), |position| position.to_string())),
        ("price", price.map_or("not set".to_string(), |price| price.to_string())),
        ("bound on what sustain writes", sustain_bytes.map_or("not set".to_string(), |bytes| bytes.to_string())),
        ("application", application.as_ref().map_or("none".to_string(), |application| application.to_string())),
        ("bound on latency", latency_bound.map_or("not set".to_string(), |bound| bound.to_string())),
        ("number of sessions", sessions.to_string()),
    ]
}

fn list(values: &[impl ToString]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::{Bytes, HostFiles, LatencyBound, Nanos, Percentile, Rate};

    #[test]
    fn equal_questions_have_no_difference() {
        assert_eq!(difference(&Question::about("a"), &Question::about("a")), None);
    }

    #[test]
    fn each_part_that_differs_is_named_with_both_values() {
        let there = Question::about("a");
        let here = Question { budget: Nanos(300_000_000_000), size: Some(Bytes(1 << 20)), ..there.clone() };
        let said = difference(&there, &here).unwrap();
        assert_eq!(said, "the size is not set there and 1MiB here, the budget is 120s there and 300s here");
    }

    #[test]
    fn a_difference_in_any_part_is_seen() {
        let there = Question::about("a");
        let others = [
            Question { target: "b".into(), ..there.clone() },
            Question { connections: 4, ..there.clone() },
            Question { sealing: halfpower_spec::Sealing::Signed, ..there.clone() },
            Question { host_files: HostFiles { reorder: true, ..HostFiles::default() }, ..there.clone() },
            Question { experiments: vec![], ..there.clone() },
            Question { directions: vec![], ..there.clone() },
            Question { bs: vec![], ..there.clone() },
            Question { iodepth: vec![], ..there.clone() },
            Question { cache: vec![], ..there.clone() },
            Question { threads: 2, ..there.clone() },
            Question { engine: halfpower_spec::EngineName::Sync, ..there.clone() },
            Question { issuing: Some(halfpower_spec::Issuing::default()), ..there.clone() },
            Question { size: Some(Bytes(1)), ..there.clone() },
            Question { spread: true, ..there.clone() },
            Question { budget: Nanos(1), ..there.clone() },
            Question { repeats: 9, ..there.clone() },
            Question { peak: Some(Rate(1e6)), ..there.clone() },
            Question { seed: 9, ..there.clone() },
            Question { price: Some(209.0), ..there.clone() },
            Question { sustain_bytes: Some(Bytes(1 << 30)), ..there.clone() },
            Question { application: halfpower_spec::Application::built_in("etcd"), ..there.clone() },
            Question {
                latency_bound: Some(LatencyBound { percentile: Percentile::P99, most: Nanos(1) }),
                ..there.clone()
            },
            Question { sessions: 5, ..there.clone() },
        ];
        for here in others {
            assert!(difference(&there, &here).is_some(), "{here:?}");
        }
    }
}
