//! Checks the judgement of the analysis: which level stops the path, what a cache answered, what to set, what to doubt.

use crate::built::{disk, question, record, record_at, study, workload};
use halfpower_analyse::{
    Ceiling, CellFinding, DepthGain, Findings, KnownLimit, LevelId, LevelKind, MeasuredCeilings, NextLimit,
    NextLimitBy, NoisySign, PathSettings, ProcessorsOf, StoppedBy, StudyState, Warning, analyse, cells, how_fast, peak,
};
use halfpower_record::{CpuTimes, Environment, HostPlace, Level, Machine, Record};
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Experiment, Pass, Pattern, Question, Rate, Rw};

fn level(name: &str, mbps: Option<f64>) -> Level {
    Level {
        name: name.to_string(),
        pap: mbps.map(|mbps| Rate(mbps * 1e6)),
        source: format!("{name} figure"),
        ..Level::default()
    }
}

fn environment(levels: Vec<Level>) -> Environment {
    Environment { levels, machine: Machine { cpus: 2, ..Machine::default() }, ..Environment::default() }
}

fn findings(constants: &str, levels: Vec<Level>) -> Findings {
    let question = question();
    analyse(&question, &environment(levels), &study(&disk(constants), &question), &MeasuredCeilings::default())
}

#[track_caller]
fn narrowest(findings: &Findings) -> LevelId {
    let marked: Vec<LevelId> =
        findings.levels.iter().filter(|level| level.narrowest).map(|level| level.id.clone()).collect();
    assert_eq!(Some(&marked[0]), findings.bottleneck.level.as_ref(), "the bottleneck is marked");
    assert_eq!(marked.len(), 1, "and it alone");
    marked[0].clone()
}

#[track_caller]
fn warned(findings: &Findings, is_it: impl Fn(&Warning) -> bool) {
    assert!(findings.warnings.iter().any(is_it), "{:#?}", findings.warnings);
}

fn device() -> LevelId {
    LevelId::of(LevelKind::Device)
}

#[test]
fn an_advertised_peak_that_is_all_but_reached_is_the_bottleneck() {
    let levels = vec![level("memory", Some(1_500.0)), level("link", Some(1_250.0)), level("device", Some(3_500.0))];
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", levels);
    let link = LevelId::named("link", None);
    assert_eq!(narrowest(&findings), link);
    let StoppedBy::KnownRate { limit, limit_mbps, share, .. } = findings.bottleneck.stopped_by else {
        panic!("{:?}", findings.bottleneck)
    };
    assert_eq!((limit, limit_mbps, (share * 100.0).round()), (KnownLimit::Advertised, 1_250.0, 96.0));
    let Some(NextLimit::Level { level, mbps, by }) = &findings.bottleneck.next else { panic!("{findings:?}") };
    assert_eq!((level, mbps.round(), *by), (&device(), 2_000.0, NextLimitBy::LargeBlocks));
    let link = findings.levels.iter().find(|level| level.id == link).unwrap();
    assert_eq!((link.pap_mbps, link.rap_mbps.unwrap().round()), (Some(1_250.0), 1_200.0));
    assert!((findings.curves[5].rap_over_pap.unwrap() - 0.96).abs() < 1e-3);
}

#[test]
fn a_ceiling_that_nothing_advertises_is_called_so() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", vec![level("device", Some(3_500.0))]);
    assert_eq!(narrowest(&findings), LevelId::of(LevelKind::UnnamedCeiling));
    let StoppedBy::Ceiling { ceiling, rate, from_bs_bytes, .. } = findings.bottleneck.stopped_by else {
        panic!("{:?}", findings.bottleneck)
    };
    assert_eq!((ceiling, rate.round(), from_bs_bytes), (Ceiling::Bytes, 1_200.0, 64 << 10));
}

#[test]
fn a_full_processor_stops_the_path() {
    // A request costs 1 ms of processor time, 98% of it charged: about as long as 1 MiB takes at 1,050 MB/s.
    let findings = findings("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s,cpu_fixed=1ms,unseen=2%", vec![]);
    assert_eq!(narrowest(&findings), LevelId::of(LevelKind::Processor));
    let full = &findings.bottleneck.stopped_by;
    let is_one = |processors: f64, share: f64| processors == 1.0 && (0.9..=1.0).contains(&share);
    assert!(
        matches!(full, StoppedBy::FullProcessor { processors_of: ProcessorsOf::Threads, processors, share, .. }
            if is_one(*processors, *share)),
        "{full:?}"
    );
}

#[test]
fn a_disk_that_serves_one_at_a_time_is_the_device() {
    let findings = findings("fixed=80us,rate=500MB/s", vec![level("device", None)]);
    assert_eq!(narrowest(&findings), device());
    let (side_by_side, larger) = parallelism(&findings);
    assert!(side_by_side < 1.1 && larger.is_some(), "{:?}", findings.bottleneck);
}

#[test]
fn larger_blocks_that_were_seen_to_be_slower_are_not_promised_to_help() {
    let own = |bytes: f64| bytes / (80e-6 + bytes / 500e6);
    let findings = findings_of(|bytes, _| own(bytes) * if bytes > 524_288.0 { 0.9 } else { 1.0 });
    let (side_by_side, larger) = parallelism(&findings);
    assert!(side_by_side < 1.1 && larger.is_none(), "{:?}", findings.bottleneck);
}

#[test]
fn a_number_side_by_side_is_told_only_where_a_shallower_cell_was_faster_for_each() {
    let disk = disk("fixed=80us,rate=500MB/s,disks=8");
    let of_depths = |iodepth: Vec<u32>| {
        let question = Question { iodepth, ..question() };
        let records = study(&disk, &question);
        analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default()).bottleneck.stopped_by
    };
    let StoppedBy::Parallelism { side_by_side, .. } = of_depths(vec![1, 4, 16, 64]) else { panic!() };
    assert!((side_by_side - 8.0).abs() < 0.1, "{side_by_side}");
    let stopped_by = of_depths(vec![16, 32, 64]);
    assert!(matches!(stopped_by, StoppedBy::NoGainFromDepth { iodepth: 16, .. }), "{stopped_by:?}");
}

#[test]
fn requests_of_one_size_show_no_limit_of_requests() {
    let disk = disk("fixed=80us,rate=500MB/s,disks=8,iops=5000");
    let found = |bs: Vec<Bytes>| {
        let question = Question { bs, ..question() };
        let records = study(&disk, &question);
        analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
    };
    let ceiling = |findings: &Findings| findings.limits.iter().find_map(|limits| limits.ceiling_iops);
    let one = found(vec![Bytes(4096)]);
    assert_eq!(ceiling(&one), None, "5,000 requests and 20.5 MB/s are the same here");
    assert!(!matches!(one.bottleneck.stopped_by, StoppedBy::Ceiling { ceiling: Ceiling::Requests, .. }), "{one:?}");
    let several = found(vec![Bytes(4096), Bytes(8192), Bytes(16384)]);
    assert!((ceiling(&several).unwrap().value / 5000.0 - 1.0).abs() < 0.02, "{several:?}");
}

/// Requests in parallel that stop the path, and what larger blocks could bring.
#[track_caller]
fn parallelism(findings: &Findings) -> (f64, Option<f64>) {
    match findings.bottleneck.stopped_by {
        StoppedBy::Parallelism { side_by_side, larger_blocks_mbps } => (side_by_side, larger_blocks_mbps),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn without_any_limit_the_time_of_a_request_is_what_stops_it() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=64", vec![level("link", Some(1e6))]);
    assert_eq!(narrowest(&findings), device());
    let (gain, from) = gain(&findings);
    assert_eq!((gain, from), (100.0, 16));
    let StoppedBy::RequestTime { parts: Some(parts), .. } = findings.bottleneck.stopped_by else { panic!() };
    assert!((parts.fixed_us - 80.0).abs() < 1.0, "{parts:?}");
}

/// Gain of the last step in depth in percent, if the time of a request stops the path; and the depth before it.
#[track_caller]
fn gain(findings: &Findings) -> (f64, u32) {
    match findings.bottleneck.stopped_by {
        StoppedBy::RequestTime { deeper: Some(DepthGain { from_iodepth, gain }), .. } => {
            ((100.0 * gain).round(), from_iodepth)
        }
        ref other => panic!("{other:?}"),
    }
}

/// A study of a path with a given rate at (bytes, depth).
fn findings_of(rate: impl Fn(f64, f64) -> f64) -> Findings {
    let question = question();
    let mut records = Vec::new();
    for workload in crate::built::workloads(&question) {
        let rate = rate(workload.bs.0 as f64, f64::from(workload.iodepth));
        records.extend((0..3).map(|repeat| record_at(&disk(""), workload, repeat, Pass::Plain, rate)));
    }
    analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default())
}

#[test]
fn a_ceiling_with_a_rounded_knee_is_one_all_the_same() {
    let findings = findings_of(|bytes, depth| {
        let own = bytes * depth / (80e-6 + bytes / 500e6);
        1.0 / (1.0 / own.powi(2) + 1.0 / 1.2e9f64.powi(2)).sqrt()
    });
    let ceiling = findings.limits[0].ceiling_mbps.unwrap();
    assert!((ceiling.value / 1200.0 - 1.0).abs() < 0.02, "{ceiling:?}");
    assert_eq!(narrowest(&findings), LevelId::of(LevelKind::UnnamedCeiling));
}

#[test]
fn a_result_above_a_ceiling_is_not_stopped_by_it() {
    let findings = findings_of(|bytes, depth| match (bytes as u64, depth as u32) {
        (1_048_576, 4) => 1.9e9,
        _ => (bytes * depth / (80e-6 + bytes / 500e6)).min(1.2e9),
    });
    let ceiling = findings.limits[0].ceiling_mbps.unwrap();
    assert!((ceiling.value / 1200.0 - 1.0).abs() < 0.02, "{ceiling:?}");
    assert_eq!(narrowest(&findings), device());
    assert!(!matches!(findings.bottleneck.stopped_by, StoppedBy::Ceiling { .. }), "{:?}", findings.bottleneck);
}

#[test]
fn what_still_rises_or_falls_with_depth_is_no_plateau() {
    let own = |bytes: f64| bytes / (80e-6 + bytes / 500e6);
    let rising = findings_of(|bytes, depth| own(bytes) * depth / (1.0 + depth / 10.0));
    assert_eq!(gain(&rising), (24.0, 16));
    let falling = findings_of(|bytes, depth| own(bytes) * depth.min(4.0) * (1.0 - depth / 100.0));
    let no_gain = &falling.bottleneck.stopped_by;
    assert!(matches!(no_gain, StoppedBy::NoGainFromDepth { iodepth: 4, .. }), "{no_gain:?}");
    for findings in [rising, falling] {
        let limits = &findings.limits[0];
        assert_eq!((limits.parallelism, limits.ceiling_mbps, limits.ceiling_iops), (None, None, None));
        assert!(findings.curves.iter().all(|curve| (curve.n_half_bytes.unwrap() / 40_000.0 - 1.0).abs() < 0.01));
    }
}

#[test]
fn a_level_for_writes_alone_says_nothing_of_reads() {
    let writes = Level { direction: Some(Direction::Write), ..level("cgroup limit", Some(100.0)) };
    let findings = findings("fixed=80us,rate=500MB/s", vec![writes, level("device", None)]);
    assert!(findings.cells.iter().all(|cell| !cell.cached));
    assert_eq!(narrowest(&findings), device());
    let limit = LevelId::named("cgroup limit", Some(Direction::Write));
    assert_eq!((&findings.levels[0].id, findings.levels[0].rap_mbps), (&limit, None));
}

#[test]
fn the_data_sheet_stands_at_the_device() {
    let question = Question { peak: Some(Rate(500e6)), ..question() };
    let records = study(&disk("fixed=80us,rate=500MB/s"), &question);
    let findings =
        analyse(&question, &environment(vec![level("device", None)]), &records, &MeasuredCeilings::default());
    assert_eq!(findings.levels.len(), 1);
    assert_eq!((findings.levels[0].pap_mbps, narrowest(&findings)), (Some(500.0), device()));
}

fn buffered_at(factor: f64, cached_bytes: u64) -> Vec<Record> {
    let disk = disk("fixed=80us,rate=500MB/s");
    let mut records = Vec::new();
    for bs_kib in [64, 256, 1024] {
        let direct = workload(Rw::Read, Cache::Device, bs_kib, 8);
        let rate = halfpower_model::throughput(&disk, direct.bs, 8).0;
        let buffered = workload(Rw::Read, Cache::Both, bs_kib, 8);
        for repeat in 0..3 {
            records.push(record_at(&disk, direct, repeat, Pass::Plain, rate));
            let mut record = record_at(&disk, buffered, repeat, Pass::Plain, rate * factor);
            record.cached_bytes = Some(cached_bytes);
            records.push(record);
        }
    }
    records
}

#[test]
fn what_a_cache_answered_is_labelled_and_never_advised() {
    let cases = [
        (buffered_at(10.0, 0), vec![]),
        (buffered_at(1.0, 1 << 28), vec![]),
        (buffered_at(10.0, 0), vec![level("link", Some(600.0))]),
    ];
    for (records, levels) in cases {
        let findings = analyse(&question(), &environment(levels), &records, &MeasuredCeilings::default());
        for cell in &findings.cells {
            assert_eq!(cell.cached, cell.cache == Cache::Both, "{cell:?}");
        }
        assert_eq!(findings.advice[0].settings.cache, Cache::Device);
        assert!(peak(&findings.cells, Direction::Read).unwrap().cache.direct());
        warned(&findings, |warning| {
            matches!(warning, Warning::AboveAdvertised { .. } | Warning::PageCacheAnswered { .. })
        });
        // Its curve exists nevertheless: nothing else was measured there.
        assert!(findings.curves.iter().any(|curve| curve.cache == Cache::Both && curve.rap_over_pap.is_none()));
    }
    let honest = analyse(&question(), &environment(vec![]), &buffered_at(1.2, 0), &MeasuredCeilings::default());
    assert!(honest.cells.iter().all(|cell| !cell.cached));
}

#[test]
fn what_the_device_moved_by_its_own_counter_is_no_caches_however_slow_direct_reads_are() {
    let moved = |share: f64, unreported: usize| {
        let mut records = buffered_at(4.0, 0);
        let reported = records.len() - unreported;
        for record in &mut records[..reported] {
            record.noise.device_bytes = Some((record.submitted_bytes() * share) as u64);
        }
        analyse(&question(), &environment(vec![]), &records, &MeasuredCeilings::default())
    };
    let cached = |findings: &Findings| findings.cells.iter().filter(|cell| cell.cached).count();
    assert_eq!(cached(&moved(1.0, 0)), 0);
    assert_eq!(peak(&moved(1.0, 0).cells, Direction::Read).unwrap().cache, Cache::Both);
    assert_eq!(cached(&moved(0.8, 0)), 3, "a fifth came from elsewhere");
    assert_eq!(cached(&moved(1.0, 1)), 1, "of one run nobody knows");
}

#[test]
fn requests_above_a_known_limit_on_them_are_not_the_paths() {
    // 12,500 requests a second one at a time, and a limit of 10,000: 64 KiB and more stay below it.
    let limit = Level { pap_iops: Some(10_000.0), ..level("cgroup limit", None) };
    let findings = findings("fixed=70us,rate=1GB/s", vec![limit, level("device", None)]);
    let above = |cell: &&CellFinding| cell.iops > 10_500.0;
    for cell in &findings.cells {
        assert_eq!(cell.cached, above(&cell), "{} requests of {} bytes", cell.iops, cell.bs_bytes);
    }
    warned(&findings, |warning| matches!(warning, Warning::AboveAdvertised { .. }));
}

#[test]
fn advice_is_the_cheapest_near_the_best_and_the_smallest_of_equals() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", vec![]);
    let advice = &findings.advice[0];
    // From 64 KiB at 4 deep, all cells are within 5%; larger blocks cost less a megabyte, 1 MiB the least.
    assert_eq!((advice.settings.bs, advice.settings.iodepth), (Bytes(1 << 20), 4));
    assert_eq!((advice.pattern, advice.rw, advice.mbps.round()), (Pattern::Sequential, Direction::Read, 1200.0));
    assert!(advice.cpu_ms_per_mb > Some(0.0) && advice.latency_ns_p99 > Some(0), "{advice:?}");
    // If all the cost is per byte, 64 KiB costs no more than 1 MiB.
    let flat = self::findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,cpu_fixed=0us", vec![]);
    assert_eq!((flat.advice[0].settings.bs, flat.advice[0].settings.iodepth), (Bytes(64 << 10), 4));
}

#[test]
fn cells_with_errors_bear_no_conclusion() {
    let question = question();
    let disk = disk("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s");
    let mut records = study(&disk, &question);
    for record in records.iter_mut().filter(|r| r.run.workload.iodepth == 4) {
        record.errors.insert("EIO".to_string(), 3);
    }
    let findings = analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default());
    assert_eq!(findings.advice[0].settings.iodepth, 8);
    assert!(findings.curves.iter().all(|curve| curve.iodepth != 4));
    warned(
        &findings,
        |warning| matches!(warning, Warning::RequestsFailed { cells: 9, errors, .. } if *errors == ["EIO"]),
    );
}

#[test]
fn each_doubt_is_said() {
    let question = question();
    let disk = disk("fixed=80us,rate=500MB/s,disks=4");
    let mut records = study(&disk, &question);
    records.retain(|record| record.run.pass == Pass::Plain);
    for record in &mut records {
        let workload = record.run.workload;
        record.achieved_depth = record.achieved_depth.min(6.0);
        record.short_transfers = u64::from(workload.bs.0 == 4096);
        record.harness_ns_per_io = 9_000.0;
        if record.run.repeat == 1 {
            record.elapsed_ns = record.elapsed_ns * 3 / 2;
        }
    }
    let environment = Environment { notes: vec!["io_uring is forbidden here".to_string()], ..environment(vec![]) };
    let findings = analyse(&question, &environment, &records, &MeasuredCeilings::default());
    let path = PathSettings { pattern: Pattern::Sequential, rw: Direction::Read, cache: Cache::Device };
    warned(&findings, |w| matches!(w, Warning::Environment { note } if note == "io_uring is forbidden here"));
    warned(&findings, |w| matches!(w, Warning::ShortTransfers { cells: 6, .. }));
    warned(
        &findings,
        |w| matches!(w, Warning::ShallowQueue { path: found, cells: 27, of_cells: 45, .. } if *found == path),
    );
    warned(&findings, |w| matches!(w, Warning::WideInterval { .. }));
    warned(
        &findings,
        |w| matches!(w, Warning::HarnessShare { harness_ns_per_io, .. } if *harness_ns_per_io == 9_000.0),
    );
    warned(&findings, |w| *w == Warning::NoSoaker);
    // Two processes keep twice as much in flight, and are asked for twice as much.
    let hosts = (0..2).map(|rank| HostPlace { rank, ..HostPlace::default() }).collect();
    for record in &mut records {
        record.achieved_depth *= 2.0;
    }
    let findings = analyse(&question, &Environment { hosts, ..environment }, &records, &MeasuredCeilings::default());
    warned(&findings, |w| matches!(w, Warning::ShallowQueue { path: found, cells: 27, .. } if *found == path));
}

/// Cells with few runs: how many, of how many, and the place of the warning; and the place of that of wide intervals.
fn few_runs(records: &[Record]) -> (Option<(usize, usize, usize)>, Option<usize>) {
    let findings = analyse(&question(), &environment(vec![]), records, &MeasuredCeilings::default());
    let wide = findings.warnings.iter().position(|warning| matches!(warning, Warning::WideInterval { .. }));
    let few = findings.warnings.iter().enumerate().find_map(|(at, warning)| match warning {
        Warning::FewRuns { cells, of_cells, wanted_runs: 3 } => Some((*cells, *of_cells, at)),
        _ => None,
    });
    (few, wide)
}

#[test]
fn few_runs_count_in_cells_that_decide_and_stand_behind_the_intervals() {
    let mut records = study(&disk("fixed=80us,rate=500MB/s,disks=4"), &question());
    records.retain(|record| record.run.pass == Pass::Plain);
    assert_eq!(few_runs(&records).0, None);
    let small = |record: &Record| record.run.workload.bs == Bytes(4096) && record.run.workload.iodepth == 1;
    let without_small: Vec<Record> =
        records.iter().filter(|record| !small(record) || record.run.repeat == 0).cloned().collect();
    assert!(without_small.len() < records.len());
    assert_eq!(few_runs(&without_small).0, None, "the slowest cells decide nothing");
    // Two runs of each cell, which differ by half.
    records.retain(|record| record.run.repeat < 2);
    for record in records.iter_mut().filter(|record| record.run.repeat == 1) {
        record.elapsed_ns = record.elapsed_ns * 3 / 2;
    }
    let (few, wide) = few_runs(&records);
    let (cells, of_cells, at) = few.unwrap();
    assert!(cells == of_cells && cells < 27, "{cells} of {of_cells} of all 54 cells");
    assert!(wide.unwrap() < at, "what the intervals say stands before");
}

#[test]
fn a_soaker_below_the_charge_is_reported_and_doubted() {
    let question = question();
    let mut records = study(&disk("unseen=50%"), &question);
    for soaker in records.iter_mut().filter_map(|record| record.cpu.soaker.as_mut()) {
        soaker.lost_ns /= 4;
    }
    let findings = analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default());
    assert_eq!(findings.cost.len(), 2);
    warned(
        &findings,
        |w| matches!(w, Warning::SoakerBelowCharged { cells: 54, of_cells: 54, paths } if paths.len() == 1),
    );
    let [charged, soaker] = &findings.cost[..] else { panic!("{:?}", findings.cost) };
    assert_eq!((soaker.fixed_us.value, soaker.ms_per_mb), (charged.fixed_us.value, charged.ms_per_mb));
    let sane = self::findings("unseen=50%", vec![]);
    let doubts = |w: &Warning| matches!(w, Warning::NoSoaker | Warning::SoakerBelowCharged { .. });
    assert!(!sane.warnings.iter().any(doubts), "{:#?}", sane.warnings);
}

#[test]
fn others_at_work_are_named_and_which_way() {
    let question = question();
    let disturbed = |disturb: &dyn Fn(&mut Record)| {
        let mut records = study(&disk("fixed=80us,rate=500MB/s"), &question);
        for record in records.iter_mut().filter(|record| record.run.workload.iodepth == 1) {
            disturb(record);
        }
        analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default())
    };
    let device = |share: f64| move |r: &mut Record| r.noise.device_bytes = Some((r.bytes as f64 * share) as u64);
    warned(&disturbed(&device(1.05)), |w| matches!(w, Warning::OthersUsedTheDisk { cells: 9, .. }));
    warned(&disturbed(&device(0.5)), |w| matches!(w, Warning::NeverReachedTheDisk { cells: 9, .. }));
    assert_eq!(disturbed(&device(1.005)).warnings, []);
    let steal = |r: &mut Record| {
        let steal_ns = r.cpu.span_ns / 20;
        r.cpu.machine = vec![CpuTimes { steal_ns, ..CpuTimes::default() }; 2];
    };
    let stolen = disturbed(&steal);
    let is_5_percent = |share: f64| (share - 0.05).abs() < 1e-6;
    warned(&stolen, |w| matches!(w, Warning::HypervisorTookTime { share, .. } if is_5_percent(*share)));
    assert!((stolen.cells[0].noise.steal_share.unwrap() - 0.05).abs() < 1e-6);
}

#[test]
fn the_processors_time_is_attributed() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=500MB/s,cpu_fixed=20us,unseen=50%"), &question);
    for record in &mut records {
        let span_ns = record.cpu.span_ns;
        let charged_ns = record.cpu.charged_ns();
        // A tenth of the uncharged time is interrupts and two tenths are soft ones; 1% of a core is elsewhere.
        let each = CpuTimes {
            system_ns: charged_ns / 2 + span_ns / 200,
            irq_ns: charged_ns / 20,
            softirq_ns: charged_ns / 10,
            ..CpuTimes::default()
        };
        record.cpu.machine = vec![each; 2];
    }
    let findings = analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default());
    let found = &findings.attribution[0];
    let charged = found.charged_cores;
    let near = |value: f64, truth: f64| assert!((value - truth).abs() < 0.002, "{value} for {truth}: {found:?}");
    assert_eq!((found.pattern, found.rw, found.cache), (Pattern::Sequential, Direction::Read, Cache::Device));
    assert_eq!(found.cells, 54);
    near(found.soaker_cores.unwrap(), 2.0 * charged);
    near(found.irq_cores, 0.1 * charged);
    near(found.softirq_cores, 0.2 * charged);
    near(found.elsewhere_cores, 0.01);
    near(found.unattributed_cores.unwrap(), 0.7 * charged - 0.01);
}

#[test]
fn an_undisturbed_study_has_no_warnings() {
    let question = Question {
        experiments: vec![Experiment::Sequential, Experiment::Random],
        directions: vec![Direction::Read, Direction::Write],
        ..question()
    };
    let findings = analyse(&question, &environment(vec![]), &study(&disk(""), &question), &MeasuredCeilings::default());
    assert_eq!(findings.warnings, []);
    assert_eq!((findings.advice.len(), findings.curves.len()), (4, 24));
}

#[test]
fn cells_are_sorted_and_keep_engines_apart() {
    let disk = disk("");
    let mut records: Vec<Record> = Vec::new();
    for (rw, bs_kib, depth) in [(Rw::Randwrite, 4, 1), (Rw::Read, 64, 8), (Rw::Read, 4, 8), (Rw::Read, 4, 1)] {
        records.push(record(&disk, workload(rw, Cache::Device, bs_kib, depth), 0, Pass::Plain, 1.0));
    }
    let mut other = records[3].clone();
    other.engine = EngineName::Sync;
    records.push(other);
    records.push(record(&disk, workload(Rw::Mixed, Cache::Device, 4, 1), 0, Pass::Plain, 1.0));
    records.push(record(&disk, workload(Rw::Write, Cache::Device, 4, 1), 0, Pass::Soaker, 1.0));
    let cells = halfpower_analyse::cells(&records);
    let order: Vec<_> = cells.iter().map(|cell| (cell.pattern, cell.rw, cell.iodepth, cell.bs_bytes)).collect();
    let sequential = |depth, bs| (Pattern::Sequential, Direction::Read, depth, bs);
    assert_eq!(
        order,
        [
            sequential(1, 4096),
            sequential(1, 4096),
            sequential(8, 4096),
            sequential(8, 65536),
            (Pattern::Random, Direction::Write, 1, 4096)
        ]
    );
}

#[test]
fn a_study_whose_experiments_repeat_badly_is_not_quiet() {
    let disk = disk("fixed=80us,rate=500MB/s");
    let question = Question { experiments: vec![Experiment::Durability], ..question() };
    let state = |factors: [f64; 3]| {
        let runs = factors.into_iter().enumerate().map(|(at, factor)| {
            let of = workload(Rw::Randwrite, Cache::Device, 4, 1);
            let mut record = record(&disk, of, at as u32, Pass::Plain, factor);
            record.run.experiment = Some(Experiment::Durability);
            record
        });
        let records: Vec<Record> = runs.collect();
        analyse(&question, &environment(vec![]), &records, &MeasuredCeilings::default())
    };
    assert_eq!(state([1.0, 1.05, 0.97]).summary.state, StudyState::Quiet);
    let torn = state([1.0, 0.3, 0.9]);
    assert_eq!(torn.summary.state, StudyState::Noisy { by: NoisySign::RepeatsDiffer });
    warned(&torn, |warning| matches!(warning, Warning::RepeatsDiffer { cells: 1, of_cells: 1, .. }));
}

/// Reads of 16 KiB in order, one at a time, at this rate; the device's counter confirms their bytes.
fn reads_in_order(cache: Cache, mbps: f64) -> Vec<Record> {
    let run = |repeat: u32| {
        let workload = workload(Rw::Read, cache, 16, 1);
        let mut record = record_at(&disk("fixed=1us,rate=4GB/s"), workload, repeat, Pass::Plain, mbps * 1e6);
        record.noise.device_bytes = Some(record.cpu.ios * workload.bs.0);
        record
    };
    (0..3).map(run).collect()
}

#[test]
fn a_median_of_bytes_that_read_ahead_fetched_in_time_is_told() {
    // Each request takes 5 µs at 3 GB/s, and none waits for the device; past the page cache each takes 91 µs.
    let buffered = reads_in_order(Cache::Both, 3000.0);
    let is_ahead = |records: &[Record]| {
        let rows = how_fast(&cells(records), 1.0);
        rows.iter().find(|row| !row.cell.cache.direct()).expect("a row of buffered reads").rate.read_ahead
    };
    assert!(is_ahead(&[buffered.clone(), reads_in_order(Cache::Device, 180.0)].concat()));
    assert!(!is_ahead(&[buffered.clone(), reads_in_order(Cache::Device, 2000.0)].concat()), "the device is as fast");
    assert!(!is_ahead(&buffered), "nothing tells what the device takes");
}
