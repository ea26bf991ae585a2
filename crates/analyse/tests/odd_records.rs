//! Checks that the analysis handles any records: interrupted, failed, empty or odd, without panic or NaN.

use crate::built::{disk, question, record, study, workload};
use halfpower_analyse::{Findings, MeasuredCeilings, StoppedBy, analyse};
use halfpower_record::{Environment, Level, Noise, Record, Soaker};
use halfpower_spec::{Bytes, Cache, EngineName, Pass, Question, Rate, Rw};
use proptest::prelude::*;

/// Findings as JSON, in which no required number is null (serde_json writes NaN and infinity as null).
#[track_caller]
fn sound(findings: &Findings) -> serde_json::Value {
    let Findings { cells, curves, limits, cost, attribution, advice, warnings, .. } = findings;
    let json = serde_json::json!([cells, curves, limits, cost, attribution, advice, warnings]);
    let optional = [
        "filesystem",
        "device",
        "virtualised",
        "pap_mbps",
        "rap_mbps",
        "n_half_bytes",
        "n_half_low_bytes",
        "n_half_high_bytes",
        "rap_over_pap",
        "fixed_us",
        "stream_mbps",
        "parallelism",
        "ceiling_mbps",
        "ceiling_iops",
        "soaker_us",
        "unseen_us",
        "unattributed_cores",
        "soaker_cores",
        "rap_over_pap_low",
        "rap_over_pap_high",
        "unsteady",
        "iodepth",
        "burst_mbps",
        "sustained_mbps",
        "within_run_reach",
        "memory_mbps",
        "flush_share",
        "steal_share",
        "pressure_io_share",
        "pressure_cpu_share",
        "foreign_share",
        "cpu_mhz",
        "rate",
        "chosen_mbps",
        "durable_mbps",
        "more_seconds",
        "issuing",
        "error",
        "p50_interval",
        "p99_interval",
        "latency_ns_p50_interval",
        "latency_ns_p99_interval",
        // Odd records have latencies that contradict their rate and depth.
        "min",
        "p50",
        "p90",
        "p99",
        "p999",
        "max",
        "mean",
        "latency_ns_p50",
        "latency_ns_p99",
    ];
    no_null(&json, "", &optional);
    for interval in findings.cells.iter().map(|cell| cell.mbps).chain(findings.cost.iter().map(|cost| cost.fixed_us)) {
        assert!(interval.low <= interval.value && interval.value <= interval.high, "{interval:?}");
    }
    json
}

#[track_caller]
fn no_null(value: &serde_json::Value, key: &str, optional: &[&str]) {
    match value {
        serde_json::Value::Null => assert!(optional.contains(&key), "{key} is null"),
        serde_json::Value::Array(values) => values.iter().for_each(|value| no_null(value, key, optional)),
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| no_null(value, key, optional)),
        _ => {}
    }
}

#[test]
fn nothing_measured_says_so() {
    let findings = analyse(&Question::about("/data"), &Environment::default(), &[], &MeasuredCeilings::default());
    sound(&findings);
    assert_eq!((&findings.bottleneck.stopped_by, findings.runs), (&StoppedBy::NothingMeasured, 0));
    assert_eq!(findings.bottleneck.level, None);
    assert!(findings.cells.is_empty() && findings.curves.is_empty() && findings.advice.is_empty());
}

#[test]
fn one_run_is_enough_for_what_one_run_can_say() {
    let one = record(&disk(""), workload(Rw::Read, Cache::Device, 64, 8), 0, Pass::Plain, 1.0);
    let findings = analyse(&question(), &Environment::default(), &[one], &MeasuredCeilings::default());
    sound(&findings);
    let curve = &findings.curves[0];
    assert_eq!((curve.half_power_bs_bytes, curve.half_power_bracketed, curve.n_half_bytes), (65536, false, None));
    assert_eq!((findings.cost.len(), findings.advice.len()), (0, 1));
    assert_eq!(findings.cells[0].mbps.low, findings.cells[0].mbps.high);
}

#[test]
fn runs_that_moved_nothing_give_no_numbers() {
    let question = question();
    for empty in [
        (|r: &mut Record| (r.bytes, r.ios, r.latency) = (0, 0, Default::default())) as fn(&mut Record),
        |r| r.elapsed_ns = 0,
        |r| r.ios = 0,
    ] {
        let mut records = study(&disk(""), &question);
        for record in &mut records {
            empty(record);
            record.errors.insert("EIO".to_string(), 1000);
        }
        let findings = analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default());
        sound(&findings);
        assert!(findings.curves.is_empty() && findings.cost.is_empty() && findings.advice.is_empty());
        assert_eq!((findings.cells.len(), findings.cells[0].runs), (54, 3));
    }
}

#[test]
fn a_study_cut_anywhere_is_analysed() {
    let question = Question { repeats: 2, ..question() };
    let records = study(&disk("disks=4,shared=1200MB/s,noise=3%"), &question);
    for kept in 0..records.len() {
        sound(&analyse(&question, &Environment::default(), &records[..kept], &MeasuredCeilings::default()));
    }
}

#[test]
fn the_order_of_the_records_does_not_matter() {
    let question = question();
    let mut records = study(&disk("disks=4,shared=1200MB/s"), &question);
    let findings = analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default());
    records.reverse();
    let reversed = analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default());
    assert!(reversed == findings, "the findings changed with the order");
}

prop_compose! {
    /// A record in which every number may be zero, ordinary or huge.
    fn odd_record()(
        rw in prop::sample::select(Rw::ALL),
        cache in prop::sample::select(Cache::ALL),
        engine in prop::sample::select(EngineName::ALL),
        pass in prop::sample::select(Pass::ALL),
        bs in prop::sample::select(&[0u64, 1, 512, 3000, 4096, 1 << 20, 1 << 60][..]),
        depths in (0u32..3, 0u32..70_000),
        numbers in prop::array::uniform8(prop::sample::select(&[0u64, 1, 1000, 1 << 20, 1_000_000_000, 1 << 60][..])),
        depth in prop::sample::select(&[0.0, 1.0, 31.5, f64::NAN, f64::INFINITY, -1.0][..]),
        harness in prop::sample::select(&[0.0, 55.0, f64::NAN, 1e300][..]),
        errors in prop::option::of(0..u64::MAX),
        cached in prop::option::of(0..u64::MAX),
    ) -> Record {
        let mut record = record(&disk(""), workload(rw, cache, 4, 1), 0, pass, 1.0);
        record.run.workload.bs = Bytes(bs);
        (record.run.workload.threads, record.run.workload.iodepth) = depths;
        record.engine = engine;
        [record.elapsed_ns, record.bytes, record.ios, record.short_transfers, record.span_bytes,
            record.cpu.user_ns, record.cpu.system_ns, record.series.step_ns] = numbers;
        (record.cpu.span_ns, record.cpu.ios) = (numbers[0], numbers[2]);
        record.cpu.soaker = (pass == Pass::Soaker).then_some(Soaker { lost_ns: numbers[0], baseline_share: depth });
        (record.achieved_depth, record.harness_ns_per_io, record.cached_bytes) = (depth, harness, cached);
        record.flush_ns = numbers[3];
        record.series.bytes = (0..numbers[1] % 200).map(|step| step.wrapping_mul(numbers[5]) % 7_777).collect();
        record.noise = Noise { device_bytes: cached, pressure_io_ns: cached, ..Noise::default() };
        record.errors = errors.map(|count| ("EIO".to_string(), count)).into_iter().collect();
        record.latency.add(numbers[2]);
        record
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn odd_records_are_analysed(
        records in prop::collection::vec(odd_record(), 0..40),
        pap in prop::option::of(prop::sample::select(&[0.0, 1e6, f64::NAN, f64::INFINITY][..])),
        repeats in 0u32..4,
    ) {
        let device = Level { name: "device".into(), pap: pap.map(Rate), pap_iops: pap, ..Level::default() };
        let environment = Environment { levels: vec![device], ..Environment::default() };
        let question = Question { repeats, peak: pap.map(Rate), ..question() };
        sound(&analyse(&question, &environment, &records, &MeasuredCeilings::default()));
    }
}

#[test]
fn faults_of_all_windows_are_found_wherever_they_were() {
    use halfpower_analyse::{FaultKind, faults};
    use halfpower_record::{DiscardReason, DiscardedWindow};

    let disk = disk("fixed=100us,rate=500MB/s");
    let one = |repeat| record(&disk, workload(Rw::Read, Cache::Device, 64, 8), repeat, Pass::Plain, 1.0);
    let mut records = vec![one(1), one(2)];
    assert!(faults(&records).is_empty());
    records[0].errors.insert("EIO".to_string(), 3);
    let errors = [("EIO".to_string(), 2), ("corrupt".to_string(), 1)].into();
    let window = DiscardedWindow { reason: DiscardReason::NotSteady, elapsed_ns: 1, errors, short_transfers: 4 };
    records[1].discarded.push(window);
    let found: Vec<_> = faults(&records).into_iter().map(|fault| (fault.kind, fault.requests, fault.runs)).collect();
    assert_eq!(found, [(FaultKind::WrongData, 1, 1), (FaultKind::Failed, 5, 2), (FaultKind::Short, 4, 1)]);
}
