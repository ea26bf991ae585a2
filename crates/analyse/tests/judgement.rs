//! Does the analysis say the right thing: which level stops the path, what is a cache's, what to set, what to doubt?

mod built;

use analyse::{Findings, analyse};
use built::{disk, question, record, record_at, study, workload};
use record::{CpuTimes, Environment, Level, Machine, Record};
use spec::{Bytes, Cache, Direction, EngineName, Experiment, Pass, Pattern, Question, Rate, Rw};

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
    analyse(&question, &environment(levels), &study(&disk(constants), &question))
}

#[track_caller]
fn narrowest(findings: &Findings) -> &str {
    let marked: Vec<&str> =
        findings.levels.iter().filter(|level| level.narrowest).map(|level| level.level.as_str()).collect();
    assert_eq!(marked, [findings.bottleneck.level.as_str()], "exactly the bottleneck is marked");
    marked[0]
}

#[track_caller]
fn warned(findings: &Findings, words: &str) {
    assert!(findings.warnings.iter().any(|text| text.contains(words)), "`{words}` in {:#?}", findings.warnings);
}

#[test]
fn an_advertised_peak_that_is_all_but_reached_is_the_bottleneck() {
    let levels = vec![level("memory", Some(1_500.0)), level("link", Some(1_250.0)), level("device", Some(3_500.0))];
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", levels);
    assert_eq!(narrowest(&findings), "link");
    assert!(findings.bottleneck.why.contains("96% of the 1,250 MB/s"), "{}", findings.bottleneck.why);
    assert!(findings.bottleneck.next.starts_with("device, at 2,000 MB/s"), "{}", findings.bottleneck.next);
    let link = findings.levels.iter().find(|level| level.level == "link").unwrap();
    assert_eq!((link.pap_mbps, link.rap_mbps.unwrap().round()), (Some(1_250.0), 1_200.0));
    assert!((findings.curves[5].rap_over_pap.unwrap() - 0.96).abs() < 1e-3);
}

#[test]
fn a_ceiling_that_nothing_advertises_is_called_so() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", vec![level("device", Some(3_500.0))]);
    assert_eq!(narrowest(&findings), "unnamed ceiling");
    let why = &findings.bottleneck.why;
    assert!(why.contains("A ceiling near 1,200 MB/s that neither larger") && why.contains("from 64 KiB"), "{why}");
}

#[test]
fn a_full_processor_stops_the_path() {
    // 1 MiB costs 1 ms of which 90% are charged, as long as it takes.
    let findings = findings("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s,cpu_fixed=1ms,unseen=2%", vec![]);
    assert_eq!(narrowest(&findings), "processor");
    assert!(findings.bottleneck.why.contains("one processor"), "{}", findings.bottleneck.why);
}

#[test]
fn a_disk_that_serves_one_at_a_time_is_the_device() {
    let findings = findings("fixed=80us,rate=500MB/s", vec![level("device", None)]);
    assert_eq!(narrowest(&findings), "device");
    let why = &findings.bottleneck.why;
    assert!(why.contains("one request at a time") && why.contains("larger blocks alone could bring it to"), "{why}");
}

#[test]
fn larger_blocks_that_were_seen_to_be_slower_are_not_promised_to_help() {
    let own = |bytes: f64| bytes / (80e-6 + bytes / 500e6);
    let findings = findings_of(|bytes, _| own(bytes) * if bytes > 524_288.0 { 0.9 } else { 1.0 });
    let why = &findings.bottleneck.why;
    assert!(why.contains("one request at a time") && !why.contains("larger blocks"), "{why}");
}

#[test]
fn without_any_limit_the_time_of_a_request_is_what_stops_it() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=64", vec![level("link", Some(1e6))]);
    assert_eq!(narrowest(&findings), "device");
    let why = &findings.bottleneck.why;
    assert!(why.contains("80 µs") && why.contains("from 16 to 32 deep throughput still rose by 100%"), "{why}");
}

/// A study of a path whose rate at (bytes, depth) is any function.
fn findings_of(rate: impl Fn(f64, f64) -> f64) -> Findings {
    let question = question();
    let mut records = Vec::new();
    for workload in built::workloads(&question) {
        let rate = rate(workload.bs.0 as f64, f64::from(workload.iodepth));
        records.extend((0..3).map(|repeat| record_at(&disk(""), workload, repeat, Pass::Plain, rate)));
    }
    analyse(&question, &environment(vec![]), &records)
}

#[test]
fn a_ceiling_with_a_rounded_knee_is_one_all_the_same() {
    let findings = findings_of(|bytes, depth| {
        let own = bytes * depth / (80e-6 + bytes / 500e6);
        1.0 / (1.0 / own.powi(2) + 1.0 / 1.2e9f64.powi(2)).sqrt()
    });
    let ceiling = findings.limits[0].ceiling_mbps.unwrap();
    assert!((ceiling.value / 1200.0 - 1.0).abs() < 0.02, "{ceiling:?}");
    assert_eq!(narrowest(&findings), "unnamed ceiling");
}

#[test]
fn a_result_above_a_ceiling_is_not_stopped_by_it() {
    let findings = findings_of(|bytes, depth| match (bytes as u64, depth as u32) {
        (1_048_576, 4) => 1.9e9,
        _ => (bytes * depth / (80e-6 + bytes / 500e6)).min(1.2e9),
    });
    let ceiling = findings.limits[0].ceiling_mbps.unwrap();
    assert!((ceiling.value / 1200.0 - 1.0).abs() < 0.02, "{ceiling:?}");
    assert_eq!(narrowest(&findings), "device");
    assert!(!findings.verdict[1].contains("ceiling"), "{:?}", findings.verdict);
}

#[test]
fn what_still_rises_or_falls_with_depth_is_no_plateau() {
    let own = |bytes: f64| bytes / (80e-6 + bytes / 500e6);
    let rising = findings_of(|bytes, depth| own(bytes) * depth / (1.0 + depth / 10.0));
    assert!(
        rising.bottleneck.why.contains("from 16 to 32 deep throughput still rose by 24%"),
        "{}",
        rising.bottleneck.why
    );
    let falling = findings_of(|bytes, depth| own(bytes) * depth.min(4.0) * (1.0 - depth / 100.0));
    assert!(falling.bottleneck.why.contains("more depth than 4 brings no more"), "{}", falling.bottleneck.why);
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
    assert_eq!(narrowest(&findings), "device");
    assert_eq!((findings.levels[0].level.as_str(), findings.levels[0].rap_mbps), ("cgroup limit (write)", None));
}

#[test]
fn the_data_sheet_stands_at_the_device() {
    let question = Question { peak: Some(Rate(500e6)), ..question() };
    let records = study(&disk("fixed=80us,rate=500MB/s"), &question);
    let findings = analyse(&question, &environment(vec![level("device", None)]), &records);
    assert_eq!(findings.levels.len(), 1);
    assert_eq!((findings.levels[0].pap_mbps, narrowest(&findings)), (Some(500.0), "device"));
}

/// Direct and buffered sequential reads of one disk, the buffered ones `factor` times as fast.
fn buffered_at(factor: f64, cached_bytes: u64) -> Vec<Record> {
    let disk = disk("fixed=80us,rate=500MB/s");
    let mut records = Vec::new();
    for bs_kib in [64, 256, 1024] {
        let direct = workload(Rw::Read, Cache::Device, bs_kib, 8);
        let rate = model::throughput(&disk, direct.bs, 8).0;
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
        let findings = analyse(&question(), &environment(levels), &records);
        for cell in &findings.cells {
            assert_eq!(cell.cached, cell.cache == Cache::Both, "{cell:?}");
        }
        assert_eq!(findings.advice[0].settings.cache, Cache::Device);
        assert!(findings.verdict[0].contains("direct"), "{:?}", findings.verdict);
        warned(&findings, "not used for any conclusion");
        // Its curve is drawn nonetheless: it is all that was measured there.
        assert!(findings.curves.iter().any(|curve| curve.cache == Cache::Both && curve.rap_over_pap.is_none()));
    }
    let honest = analyse(&question(), &environment(vec![]), &buffered_at(1.2, 0));
    assert!(honest.cells.iter().all(|cell| !cell.cached));
}

#[test]
fn advice_is_the_cheapest_near_the_best_and_the_smallest_of_equals() {
    let findings = findings("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s", vec![]);
    let advice = &findings.advice[0];
    // From 64 KiB at 4 deep on all cells are within 5%; larger blocks cost less a megabyte: 1 MiB least.
    assert_eq!((advice.settings.bs, advice.settings.iodepth), (Bytes(1 << 20), 4));
    assert!(advice.sentence.starts_with("For sequential reads: direct I/O, 1 MiB blocks, 4 deep: 1,200 MB/s"));
    assert!(advice.sentence.contains("ms of processor a megabyte, p99"), "{}", advice.sentence);
    // Where a byte costs all there is, 64 KiB costs no more than 1 MiB.
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
    let findings = analyse(&question, &environment(vec![]), &records);
    assert_eq!(findings.advice[0].settings.iodepth, 8);
    assert!(findings.curves.iter().all(|curve| curve.iodepth != 4));
    warned(&findings, "Requests failed in 9 cells (EIO)");
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
    records.truncate(records.len() - 1);
    let environment = Environment { notes: vec!["io_uring is forbidden here".to_string()], ..environment(vec![]) };
    let findings = analyse(&question, &environment, &records);
    for words in [
        "io_uring is forbidden here",
        "moved fewer bytes than asked in 6 cells",
        "27 of 45 sequential direct read cells deeper than 1 kept less than 80%",
        "1 of 54 cells have fewer than 3 runs",
        "wider than ±5%",
        "halfpower's own 9.0 µs",
        "No run beside the soaker",
    ] {
        warned(&findings, words);
    }
}

#[test]
fn a_soaker_below_the_charge_is_reported_and_doubted() {
    let question = question();
    let mut records = study(&disk("unseen=50%"), &question);
    for soaker in records.iter_mut().filter_map(|record| record.cpu.soaker.as_mut()) {
        soaker.lost_ns /= 4;
    }
    let findings = analyse(&question, &environment(vec![]), &records);
    assert_eq!(findings.cost.len(), 2);
    warned(&findings, "The soaker lost less than the process was charged in 54 of 54 cells (sequential direct read)");
    let [charged, soaker] = &findings.cost[..] else { panic!("{:?}", findings.cost) };
    assert_eq!((soaker.fixed_us.value, soaker.ms_per_mb), (charged.fixed_us.value, charged.ms_per_mb));
    let sane = self::findings("unseen=50%", vec![]);
    assert!(!sane.warnings.iter().any(|text| text.contains("soaker")), "{:#?}", sane.warnings);
}

#[test]
fn others_at_work_are_named_and_which_way() {
    let question = question();
    let disturbed = |disturb: &dyn Fn(&mut Record)| {
        let mut records = study(&disk("fixed=80us,rate=500MB/s"), &question);
        for record in records.iter_mut().filter(|record| record.run.workload.iodepth == 1) {
            disturb(record);
        }
        analyse(&question, &environment(vec![]), &records)
    };
    let device = |share: f64| move |r: &mut Record| r.noise.device_bytes = Some((r.bytes as f64 * share) as u64);
    warned(&disturbed(&device(1.05)), "over 1.0% more bytes than were asked of it in 9 cells; most in sequential");
    warned(&disturbed(&device(0.5)), "over 1.0% fewer bytes than were asked for in 9 cells of direct I/O");
    assert_eq!(disturbed(&device(1.005)).warnings, Vec::<String>::new());
    let steal = |r: &mut Record| {
        let steal_ns = r.cpu.span_ns / 20;
        r.cpu.machine = vec![CpuTimes { steal_ns, ..CpuTimes::default() }; 2];
    };
    let stolen = disturbed(&steal);
    warned(&stolen, "The hypervisor took 5.0% of the processors' time");
    assert!((stolen.cells[0].noise.steal_share.unwrap() - 0.05).abs() < 1e-6);
}

#[test]
fn the_processors_time_is_attributed() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=500MB/s,cpu_fixed=20us,unseen=50%"), &question);
    for record in &mut records {
        let (span_ns, charged_ns) = (record.cpu.span_ns, record.cpu.charged_ns());
        // Of what nobody is charged for a tenth is interrupts and two tenths are soft ones; 1% of a core is elsewhere.
        let each = CpuTimes {
            system_ns: charged_ns / 2 + span_ns / 200,
            irq_ns: charged_ns / 20,
            softirq_ns: charged_ns / 10,
            ..CpuTimes::default()
        };
        record.cpu.machine = vec![each; 2];
    }
    let findings = analyse(&question, &environment(vec![]), &records);
    let found = &findings.attribution[0];
    let charged = found.charged_cores;
    let near = |value: f64, truth: f64| assert!((value - truth).abs() < 0.002, "{value} for {truth}: {found:?}");
    assert_eq!((found.path.as_str(), found.cells, found.cache), ("sequential direct read", 54, Cache::Device));
    near(found.soaker_cores.unwrap(), 2.0 * charged);
    near(found.irq_cores, 0.1 * charged);
    near(found.softirq_cores, 0.2 * charged);
    near(found.elsewhere_cores, 0.01);
    near(found.unattributed_cores.unwrap(), 0.7 * charged - 0.01);
}

#[test]
fn an_undisturbed_study_has_no_warnings_and_three_sentences() {
    let question = Question {
        experiments: vec![Experiment::Sequential, Experiment::Random],
        directions: vec![Direction::Read, Direction::Write],
        ..question()
    };
    let findings = analyse(&question, &environment(vec![]), &study(&disk(""), &question));
    assert_eq!(findings.warnings, Vec::<String>::new());
    assert_eq!((findings.verdict.len(), findings.advice.len(), findings.curves.len()), (3, 4, 24));
    assert!(findings.verdict.iter().all(|sentence| sentence.ends_with('.')), "{:#?}", findings.verdict);
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
    let cells = analyse::cells(&records);
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
