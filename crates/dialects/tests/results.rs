//! Tests what is read of the results of other tools.

use halfpower_dialects::sqlio::{self, TraceLine};
use halfpower_dialects::{ImportedStudy, Measured, Results, ResultsError, diskspd, gathered, read_results};
use halfpower_record::{Environment, LaneRecord, LaneRole, LaneSide, Record, TargetKind, Tool, Unknown};
use halfpower_spec::{
    Bytes, Cache, Direction, EngineName, IoPriority, Jump, Nanos, Pattern, RandomDistribution, Region, Rw, Workload,
};

use crate::sample::record;

const FIO: &str = include_str!("data/fio.json");
const FIO_PLUS: &str = include_str!("data/fio-plus.json");
const DISKSPD: &str = include_str!("data/diskspd.xml");
const DISKSPD_TEXT: &str = include_str!("data/diskspd.txt");
const SQLIO_TEXT: &str = include_str!("data/sqlio.txt");
const FIO_TERSE: &str = include_str!("data/fio-terse.txt");
const ELBENCHO_CSV: &str = include_str!("data/elbencho.csv");
const ELBENCHO_JSON: &str = include_str!("data/elbencho.json");
const IOR: &str = include_str!("data/ior.json");

fn read(text: &str) -> Results {
    read_results("results", text.as_bytes()).unwrap()
}

fn one(text: &str) -> ImportedStudy {
    gathered(vec![read(text)], None).unwrap()
}

fn refused(text: &str) -> String {
    read_results("results", text.as_bytes()).unwrap_err().to_string()
}

fn p(record: &Record, quantile: f64) -> Option<f64> {
    record.latency_ns_at(quantile).map(|ns| ns as f64)
}

fn near(found: Option<f64>, listed: f64) -> bool {
    found.is_some_and(|found| (found / listed - 1.0).abs() < 1.0 / 128.0)
}

#[test]
fn jobs_of_fio_are_records_and_threads_of_a_job_are_one() {
    let results = read(FIO);
    assert_eq!(results.file.version.as_deref(), Some("fio-3.33"));
    assert_eq!(results.left_out.len(), 1, "{:?}", results.left_out);
    assert!(results.left_out[0].contains("job trimmed") && results.left_out[0].contains("randtrim"));
    let [reads, writes, rated] = &results.records[..] else { panic!("{:?}", results.records.len()) };
    let workload = &reads.run.workload;
    assert_eq!((workload.rw, workload.bs.0, workload.iodepth), (Rw::Randread, 4096, 8));
    assert_eq!((workload.cache, reads.engine, reads.span_bytes), (Cache::Device, EngineName::Libaio, 64 << 20));
    assert_eq!((reads.ios, reads.bytes, reads.elapsed_ns), (47_458, 194_387_968, 1_001_000_000));
    assert!(near(p(reads, 0.5), 132_096.0) && near(p(reads, 0.99), 700_416.0), "{:?}", p(reads, 0.99));
    assert_eq!(reads.cpu.user_ns, 63_000_000);
    assert!(!reads.knows(Unknown::Submission) && reads.knows(Unknown::ChargedTime));
    assert_eq!(p(reads, 0.42), None, "fio lists no 42nd percentile");
    // Two entries of a job with two threads: its requests, and the longer of both times.
    assert_eq!((writes.run.workload.threads, writes.ios), (2, 7804 + 7868));
    assert_eq!(writes.bytes, 511_442_944 + 515_637_248);
    assert!(rated.knows(Unknown::Latency) && !rated.walks(), "no cell has a rate of fio's");
    assert_eq!(rated.origin.as_ref().unwrap().settings, ["rate_iops=500"]);
}

#[test]
fn bins_of_fio_tell_every_percentile_and_both_sides() {
    let record = &read(FIO_PLUS).records[0];
    assert_eq!((record.run.workload.rw, record.run.workload.rwmixread), (Rw::Randmixed, 70));
    let side = |direction| record.side(direction).unwrap().ios;
    assert_eq!((side(Direction::Read), side(Direction::Write)), (26_836, 11_537));
    assert!(p(record, 0.42).is_some());
    assert_eq!(record.latency.count(), 26_836 + 11_537);
}

#[test]
fn sizes_of_fio_s_results_are_in_the_units_of_their_line() {
    let with = |options: serde_json::Value| {
        let mut document: serde_json::Value = serde_json::from_str(FIO_PLUS).unwrap();
        let object = document.as_object_mut().unwrap();
        object.remove("global options");
        object["jobs"][0]["job options"] = options;
        read(&document.to_string()).records.remove(0)
    };
    let plain = serde_json::json!({ "bs": "4k", "size": "64m", "rw": "randrw" });
    let of_1000 = serde_json::json!({ "bs": "4k", "size": "64MiB", "rw": "randrw", "kb_base": "1000" });
    let found = |record: &Record| (record.run.workload.bs.0, record.span_bytes);
    assert_eq!(found(&with(plain)), (4096, 64 << 20));
    let decimal = with(of_1000);
    assert_eq!(found(&decimal), (4000, 64 << 20));
    assert!(decimal.walks() && decimal.origin.as_ref().unwrap().settings.is_empty(), "{:?}", decimal.origin);
    let split = with(serde_json::json!({ "bssplit": "4k/50:8kB/50", "rw": "randrw", "kb_base": "1000" }));
    assert_eq!(split.run.workload.options.bssplit.unwrap().to_string(), "4000/50:8000/50");
    let reads = with(serde_json::json!({ "bssplit": "4k/50:8k/50,1m/100", "rw": "randread" })).run.workload;
    assert_eq!((reads.bs.0, reads.options.bssplit.unwrap().to_string()), (8192, "4KiB/50:8KiB/50".to_string()));
}

/// What a client of fio prints of its servers: their entries, and the sum of them as a further job.
fn of_servers(names: &[&str]) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_str(FIO_PLUS).unwrap();
    let jobs = document.as_object_mut().unwrap().remove("jobs").unwrap();
    let entry = |name: &str| {
        let mut job = jobs[0].clone();
        job["hostname"] = name.into();
        job["port"] = 8765.into();
        job
    };
    let mut entries: Vec<serde_json::Value> = names.iter().copied().map(entry).collect();
    if names.len() > 1 {
        let mut sum = entry(names[0]);
        sum["jobname"] = "All clients".into();
        sum.as_object_mut().unwrap().remove("job options");
        entries.push(sum);
    }
    document["client_stats"] = entries.into();
    document
}

#[test]
fn servers_of_a_client_are_one_load_and_their_sum_is_not_added_to_them() {
    let results = read(&of_servers(&["h1", "h2"]).to_string());
    assert_eq!((results.left_out.len(), results.host.as_deref()), (0, None), "{:?}", results.left_out);
    let [both] = &results.records[..] else { panic!("{} records", results.records.len()) };
    assert_eq!((both.ios, both.read_ios, both.run.workload.threads), (2 * 38_373, 2 * 26_836, 2));
    let origin = both.origin.as_ref().unwrap();
    assert!(origin.settings.contains(&"2 hosts".to_string()) && !both.walks(), "{:?}", origin.settings);
    assert!(origin.target.as_ref().is_none_or(|target| target.contains("h1:") && target.contains("h2:")));
    let single = read(&of_servers(&["h1"]).to_string());
    assert_eq!((single.host.as_deref(), single.records[0].ios), (Some("h1"), 38_373));
    // What the servers have in common is a list, an item for each.
    let mut listed = of_servers(&["h1", "h2"]);
    let item = |name: &str| serde_json::json!({"hostname": name, "port": 8765, "iodepth_low": "3"});
    listed["global options"] = vec![item("h1"), item("h2")].into();
    let settings = read(&listed.to_string()).records[0].origin.clone().unwrap().settings;
    assert!(settings.contains(&"iodepth_low=3".to_string()) && settings.len() == 2, "{settings:?}");
}

/// A job of writes that fio verified lists the reads of the check beside its writes.
#[test]
fn reads_of_a_check_are_not_added_to_the_writes_that_they_check() {
    let mut document: serde_json::Value = serde_json::from_str(FIO_PLUS).unwrap();
    document["jobs"][0]["job options"]["rw"] = "randwrite".into();
    let record = &read(&document.to_string()).records[0];
    assert_eq!((record.run.workload.rw, record.ios, record.read_ios), (Rw::Randwrite, 11_537, 0));
    assert_eq!(record.latency.count(), 11_537);
}

#[test]
fn an_engine_that_has_one_request_at_a_time_caps_the_depth() {
    for (engine, depth, ours) in
        [("psync", 1, EngineName::Sync), ("mmap", 1, EngineName::Mmap), ("posixaio", 32, EngineName::Pool)]
    {
        let mut document: serde_json::Value = serde_json::from_str(FIO_PLUS).unwrap();
        document["jobs"][0]["job options"]["ioengine"] = engine.into();
        document["jobs"][0]["job options"]["iodepth"] = "32".into();
        let record = &read(&document.to_string()).records[0];
        assert_eq!((record.run.workload.iodepth, record.engine), (depth, ours), "{engine}");
    }
}

#[test]
fn two_sides_of_which_percentiles_are_listed_have_none_together() {
    let mut document: serde_json::Value = serde_json::from_str(FIO_PLUS).unwrap();
    for side in ["read", "write"] {
        document["jobs"][0][side]["clat_ns"].as_object_mut().unwrap().remove("bins");
    }
    let record = &read(&document.to_string()).records[0];
    assert_eq!(p(record, 0.99), None);
    assert!(record.knows_side_latency_at(0.99) && !record.knows_side_latency_at(0.42));
}

#[test]
fn text_around_the_json_is_passed_over_and_lines_keep_their_numbers() {
    let around = format!("fio: a warning\n\n{FIO}\nr4k: (groupid=0)\n  read: IOPS=47k\n");
    assert_eq!(read(&around).records, read(FIO).records);
    let broken = around.replace("\"total_ios\": 47458", "\"total_ios\": \"many\"");
    let line = broken.lines().position(|line| line.contains("many")).unwrap() + 1;
    let said = refused(&broken);
    assert!(said.starts_with(&format!("results, line {line}: ")), "{said}");
}

#[test]
fn a_time_span_of_diskspd_is_a_record_over_its_targets_and_threads() {
    let results = read(DISKSPD);
    assert_eq!((results.host.as_deref(), results.file.version.as_deref()), (Some("STOR-7"), Some("2.2")));
    let [mixed, writes] = &results.records[..] else { panic!("{}", results.records.len()) };
    let workload = &mixed.run.workload;
    assert_eq!((workload.rw, workload.rwmixread, workload.threads, workload.iodepth), (Rw::Randmixed, 70, 2, 16));
    assert_eq!((mixed.ios, mixed.read_ios, mixed.bytes), (150_000, 105_000, 1_228_800_000));
    assert!(near(p(mixed, 0.99), 6e6) && near(p(mixed, 0.5), 1.3e6));
    assert_eq!(mixed.cpu.machine[0].user_ns, 1_000_000_000);
    assert!(!mixed.knows(Unknown::ChargedTime) && mixed.charged_ns().is_none());
    assert_eq!(mixed.started_unix_ms, 1_795_341_600_000);
    // Two targets of the same settings are one load; latency was not measured.
    assert_eq!((writes.run.workload.rw, writes.run.workload.cache), (Rw::Write, Cache::Os));
    assert_eq!((writes.run.workload.threads, writes.ios), (2, 15_000));
    assert_eq!((writes.span_bytes, p(writes, 0.5)), ((1 << 30) + (512 << 20), None));
}

#[test]
fn targets_that_differ_are_records_of_their_own_beside_the_cells() {
    let text = DISKSPD.replacen("<StrideSize>65536</StrideSize>", "<Random>65536</Random>", 1);
    let records = read(&text).records;
    assert_eq!(records.len(), 3);
    assert_eq!((records[1].run.workload.rw, records[2].run.workload.rw), (Rw::Randwrite, Rw::Write));
    assert_eq!((records[1].ios, records[2].ios), (10_000, 5000));
    assert!(!records[1].walks());
}

#[test]
fn diskspd_s_text_tells_what_its_xml_tells() {
    let results = read(DISKSPD_TEXT);
    assert_eq!((results.host.as_deref(), results.file.results), (Some("STOR-9"), 2), "{:?}", results.left_out);
    let [mixed, log] = &results.records[..] else { panic!("{}", results.records.len()) };
    let workload = &mixed.run.workload;
    assert_eq!((workload.rw, workload.rwmixread, workload.bs.0), (Rw::Randmixed, 70, 8192));
    assert_eq!((workload.threads, workload.iodepth, workload.cache), (2, 16, Cache::None));
    assert_eq!((mixed.ios, mixed.read_ios, mixed.bytes), (150_000, 105_000, 1_228_800_000));
    assert_eq!((mixed.elapsed_ns, mixed.span_bytes), (30_000_000_000, 10 << 30));
    assert!(near(p(mixed, 0.99), 9.2e6) && near(p(mixed, 0.999), 12.5e6), "{:?}", p(mixed, 0.99));
    assert!((mixed.latency.mean_ns() / 4.8e6 - 1.0).abs() < 1e-6);
    assert!(mixed.knows_side_latency_at(0.5) && p(mixed, 0.42).is_none());
    assert_eq!((mixed.cpu.machine.len(), mixed.cpu.machine[1].system_ns), (2, 2_400_000_000));
    assert_eq!(mixed.started_unix_ms, 1_795_341_600_000);
    let target = |record: &Record| record.origin.as_ref().unwrap().target.clone().unwrap();
    assert_eq!((target(mixed), target(log)), (r"E:\io.dat".to_string(), r"E:\log.dat".to_string()));
    assert_eq!((log.run.workload.rw, log.run.workload.cache, log.ios), (Rw::Write, Cache::Both, 10_000));
    assert!(!log.knows(Unknown::Span) && !log.knows(Unknown::Latency), "1.50GiB is rounded");
    let cut = &DISKSPD_TEXT[..DISKSPD_TEXT.find("Write IO").unwrap()];
    assert!(refused(cut).contains("no table `Write IO`"), "{}", refused(cut));
}

#[test]
fn sqlio_s_text_tells_rates_and_settings_and_no_latency() {
    let results = read(SQLIO_TEXT);
    assert_eq!(results.file.version.as_deref(), Some("1.5.SG"));
    let [reads, writes] = &results.records[..] else { panic!("{}", results.records.len()) };
    let workload = &reads.run.workload;
    assert_eq!((workload.rw, workload.bs.0, workload.threads, workload.iodepth), (Rw::Randread, 8192, 2, 8));
    assert_eq!((workload.cache, reads.span_bytes, reads.elapsed_ns), (Cache::None, 4 << 30, 30_000_000_000));
    assert!((reads.iops() - 2345.67).abs() < 0.02 && (reads.mbps() - 18.32 * 1.048_576).abs() < 0.01);
    assert!(!reads.knows(Unknown::Latency) && reads.walks());
    assert_eq!((writes.run.workload.rw, writes.engine), (Rw::Write, EngineName::Sync));
    assert_eq!(writes.run.workload.cache, Cache::Device);
    assert_eq!(reads.origin.as_ref().unwrap().target.as_deref(), Some(r"d:\testfile.dat"));
}

#[test]
fn a_terse_line_of_fio_tells_rates_and_no_settings() {
    let results = read(FIO_TERSE);
    assert_eq!((results.file.version.as_deref(), results.file.tool), (Some("fio-3.33"), Tool::Fio));
    let [reads, writes] = &results.records[..] else { panic!("{:?}", results.left_out) };
    assert_eq!((reads.run.workload.rw, reads.run.workload.bs.0), (Rw::UnknownRead, 4096));
    assert_eq!((reads.ios, reads.bytes, reads.elapsed_ns), (60_000, 245_760_000, 10_000_000_000));
    assert!(near(p(reads, 0.5), 120_000.0) && near(p(reads, 0.99), 310_000.0) && p(reads, 0.95).is_none());
    assert!((reads.latency.mean_ns() - 130_250.0).abs() < 1.0);
    for what in [Unknown::Order, Unknown::Depth, Unknown::Cache, Unknown::ChargedTime, Unknown::Errors] {
        assert!(!reads.knows(what), "{what:?}");
    }
    assert!(reads.knows(Unknown::BlockSize) && !reads.walks() && !reads.may_repeat());
    assert_eq!((writes.run.workload.bs.0, writes.ios, writes.error_count()), (1 << 20, 1024, 7));
    // With any other number of requests, no power of two is the block size.
    let odd = read(&FIO_TERSE.replace(";24000;6000;", ";24000;5000;"));
    assert!(!odd.records[0].knows(Unknown::BlockSize));
    // Lines of two files have equal settings only as far as they tell them: they are no repeats.
    let both = gathered(vec![read(FIO_TERSE), read(FIO_TERSE)], None).unwrap();
    assert_eq!(both.records.len(), 4);
    let cut = FIO_TERSE.lines().nth(1).unwrap().split_at(300).0;
    assert!(refused(cut).starts_with("results, line 1: "), "{}", refused(cut));
}

#[test]
fn the_json_of_fio_counts_where_terse_lines_stand_beside_it() {
    assert_eq!(read(&format!("{FIO}{FIO_TERSE}")).records, read(FIO).records);
}

#[test]
fn elbencho_s_csv_and_json_tell_the_same() {
    let csv = read(ELBENCHO_CSV);
    assert_eq!((csv.file.tool, csv.file.version.as_deref()), (Tool::Elbencho, Some("3.0-3")));
    assert!(csv.left_out[0].contains("MKDIRS of line 2"), "{:?}", csv.left_out);
    let [writes, reads] = &csv.records[..] else { panic!("{}", csv.records.len()) };
    let workload = &writes.run.workload;
    assert_eq!((workload.rw, workload.bs.0, workload.threads, workload.iodepth), (Rw::Write, 1 << 20, 4, 1));
    assert_eq!((writes.ios, writes.bytes, workload.cache), (2048, 2 << 30, Cache::Device));
    assert_eq!((writes.latency.min_ns(), writes.latency.max_ns()), (800_000, 21_000_000));
    assert!((writes.latency.mean_ns() / 3.9e6 - 1.0).abs() < 1e-6 && p(writes, 0.5).is_none());
    assert_eq!(writes.started_unix_ms, 1_795_341_601_000);
    assert_eq!((reads.run.workload.rw, reads.run.workload.iodepth, reads.run.workload.threads), (Rw::Randread, 16, 2));
    assert!((reads.iops() / 50_000.0 - 1.0).abs() < 0.001 && !reads.knows(Unknown::Latency), "{}", reads.iops());
    let targets: Vec<_> = csv.records.iter().map(|record| record.origin.clone().unwrap().target.unwrap()).collect();
    assert_eq!(targets, ["/mnt/scratch", "/dev/sdq"]);
    let json = read(ELBENCHO_JSON);
    let [same, mix] = &json.records[..] else { panic!("{}", json.records.len()) };
    assert_eq!((same.ios, same.bytes, same.elapsed_ns), (writes.ios, writes.bytes, writes.elapsed_ns));
    assert_eq!((same.run.workload, &same.latency), (writes.run.workload, &writes.latency));
    assert_eq!((mix.run.workload.rw, mix.run.workload.rwmixread, mix.run.workload.threads), (Rw::Randmixed, 70, 4));
    assert_eq!((mix.ios, mix.read_ios), (100_000, 70_000));
    assert_eq!(mix.origin.as_ref().unwrap().settings, ["2 hosts"]);
    assert!(refused(&ELBENCHO_CSV.replace(",1000,", ",many,")).starts_with("results, line 3: IOPS [last]: `many`"));
}

#[test]
fn each_repetition_of_ior_is_a_record() {
    let results = read(IOR);
    assert_eq!((results.host.as_deref(), results.file.version.as_deref()), (Some("node7"), Some("IOR-4.0.0")));
    let rates: Vec<(Rw, f64)> =
        results.records.iter().map(|record| (record.run.workload.rw, record.mbps() / 1.048_576)).collect();
    let expected = [(Rw::Write, 1024.0), (Rw::Read, 2048.0), (Rw::Write, 1000.0)];
    for ((rw, rate), (expected_rw, expected)) in rates.iter().zip(expected) {
        assert_eq!(*rw, expected_rw);
        assert!((rate / expected - 1.0).abs() < 1e-6, "{rates:?}");
    }
    let workload = results.records[0].run.workload;
    assert_eq!((workload.bs.0, workload.threads, workload.iodepth, workload.cache), (1 << 20, 8, 1, Cache::Device));
    assert_eq!((results.records[0].ios, results.records[0].span_bytes), (2048, 2 << 30));
    assert_eq!(results.records[0].origin.as_ref().unwrap().target.as_deref(), Some("/lustre/t/file"));
    assert_eq!(one(IOR).records.iter().map(|record| record.run.repeat).collect::<Vec<_>>(), [0, 0, 1]);
    assert!(refused(&IOR[..IOR.len() / 2]).contains("no JSON of IOR"), "{}", refused(&IOR[..IOR.len() / 2]));
}

/// A run of random reads by two threads.
fn of_two_threads() -> Record {
    let mut measured = record(3);
    measured.run.workload.rw = Rw::Randread;
    measured.run.workload.threads = 2;
    measured.run.workload.iodepth = 4;
    measured.read_ios = measured.ios;
    measured.engine = EngineName::IoUring;
    let reads = LaneSide { ios: measured.ios / 2, bytes: measured.bytes / 2, ..LaneSide::default() };
    let lane = LaneRecord {
        role: LaneRole::Own,
        cpu: None,
        elapsed_ns: measured.elapsed_ns,
        bytes: reads.bytes,
        ios: reads.ios,
        reads: Some(reads),
        writes: Some(LaneSide::default()),
    };
    measured.lanes = vec![lane, lane];
    measured
}

/// What halfpower prints as another tool is read back as what was measured.
#[test]
fn what_is_printed_in_another_tool_s_layout_comes_back() {
    let measured = of_two_threads();
    let lines = [("diskspd", "-b4K -d10 -o4 -t2 -r -L -Sh F"), ("sqlio", "-kR -s10 -frandom -b4 -o4 -t2 -LS F")];
    for (tool, line) in lines {
        let line = super::words(line);
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("F");
        std::fs::write(&file, [1; 4096]).unwrap();
        let line: Vec<_> = line.into_iter().map(|word| if word == "F" { file.clone().into() } else { word }).collect();
        let translate = if tool == "sqlio" { sqlio::translate } else { diskspd::translate };
        let translation = translate(&line).unwrap();
        let run = &translation.runs[0];
        let mut printed = Vec::new();
        let done = Measured { run, record: measured.clone(), environment: Environment::default() };
        translation.print(&[done], &mut printed).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let back = &read(&printed).records[0];
        let workload = back.run.workload;
        let expected = measured.run.workload;
        assert_eq!(
            (workload.rw, workload.bs, workload.threads),
            (expected.rw, expected.bs, expected.threads),
            "{tool}"
        );
        assert_eq!((workload.iodepth, workload.cache), (expected.iodepth, expected.cache), "{tool}");
        assert!((back.iops() / measured.iops() - 1.0).abs() < 0.001, "{tool}: {} {}", back.iops(), measured.iops());
        assert!((back.mbps() / measured.mbps() - 1.0).abs() < 0.001, "{tool}: {} {}", back.mbps(), measured.mbps());
        assert_eq!(back.origin.as_ref().unwrap().target.as_deref(), file.to_str(), "{tool}");
    }
}

#[test]
fn threads_of_several_files_are_those_of_all_in_sqlio_s_layout() {
    let translation = sqlio::translate(&super::words("-kR -s10 -frandom -b4 -o4 -t2 -LS sim: null:")).unwrap();
    let done = Measured { run: &translation.runs[0], record: of_two_threads(), environment: Environment::default() };
    let mut printed = Vec::new();
    translation.print(&[done], &mut printed).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let back = &read(&printed).records[0];
    assert_eq!((back.run.workload.threads, back.span_bytes), (4, 2 << 30), "{printed}");
    assert_eq!(back.origin.as_ref().unwrap().target.as_deref(), Some("sim:, null:"), "{printed}");
}

/// A record as the layout prints it that a line of diskspd asks for.
fn as_diskspd(line: &str, record: Record) -> String {
    let translation = diskspd::translate(&super::words(line)).unwrap();
    let done = Measured { run: &translation.runs[0], record, environment: Environment::default() };
    let mut printed = Vec::new();
    translation.print(&[done], &mut printed).unwrap();
    String::from_utf8(printed).unwrap()
}

#[test]
fn the_part_of_a_file_that_was_used_comes_back() {
    let mut measured = of_two_threads();
    measured.run.workload.options.region = Some(Region { from: Bytes(256 << 20), bytes: Bytes(512 << 20) });
    for form in ["text", "xml"] {
        let printed = as_diskspd(&format!("-b4K -d10 -o4 -t2 -r -L -Sh -R{form} sim:"), measured.clone());
        assert_eq!(read(&printed).records[0].span_bytes, 512 << 20, "{printed}");
    }
}

/// What a run of diskspd's line was asked for beside the usual is printed, and so does not come back as a usual run.
#[test]
fn options_of_diskspd_are_printed_and_come_back() {
    let back = |line: &str, change: fn(&mut Workload)| {
        let mut measured = of_two_threads();
        change(&mut measured.run.workload);
        let printed = as_diskspd(line, measured);
        let settings = read(&printed).records[0].origin.as_ref().unwrap().settings.clone();
        (printed, settings)
    };
    let changes: [fn(&mut Workload); 8] = [
        |workload| workload.options.blockalign = Bytes(16384),
        |workload| workload.options.jump = Jump::Share(30),
        |workload| workload.options.random_distribution = RandomDistribution::Zipf(1200),
        |workload| (workload.options.thinktime, workload.options.thinktime_blocks) = (Nanos(10_000_000), 100),
        |workload| (workload.rw, workload.options.stride) = (Rw::Read, Bytes(65536)),
        |workload| (workload.rw, workload.options.backwards) = (Rw::Read, true),
        |workload| (workload.rw, workload.options.same_blocks) = (Rw::Read, true),
        |_| {},
    ];
    for form in ["text", "xml"] {
        let line = format!("-b4K -d10 -o4 -t2 -r -L -Sh -R{form} sim:");
        let are_told = changes.map(|change| !back(&line, change).1.is_empty());
        assert_eq!(are_told, [true, true, true, true, true, true, true, false], "{form}");
        let (shown, _) = back(&line, |workload| {
            workload.options.io_priority = Some(IoPriority::of_numbers(3, 0, 0).unwrap());
        });
        let told = if form == "xml" { "<IOPriority>1</IOPriority>" } else { "IO priority: very low" };
        assert!(shown.contains(told), "{shown}");
        let (shown, _) = back(&format!("{line} null:"), |_| {});
        let told = if form == "xml" { "<ThreadCount>4</ThreadCount>" } else { "thread count:\t\t4\n" };
        assert!(shown.contains(told), "{shown}");
    }
}

#[test]
fn utf16_as_powershell_writes_it_is_read() {
    let wide: Vec<u8> = [0xfeff].into_iter().chain(DISKSPD.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_results("results", &wide).unwrap(), read(DISKSPD));
}

#[test]
fn a_trace_is_read_and_what_it_does_not_tell_is_unknown() {
    let text = "9.9,158.4,read,64,0,H,1,10,1024,10,,,then,old\n9.9,158.4,read,64,2,H,1,10,1024,10,1,2,then,random\n";
    let ImportedStudy { question, environment, records } = one(text);
    assert_eq!(environment.capabilities.kind, TargetKind::Imported);
    assert_eq!(records[0].run.workload.rw.pattern(), Pattern::Unknown);
    assert_eq!(records[1].run.workload.rw.pattern(), Pattern::Random);
    assert_eq!((records[0].charged_ns(), records[1].charged_ns()), (None, Some(3_000_000)));
    assert_eq!(question.target, "what results was measured on");
    let lines: Vec<String> = records.iter().map(|record| TraceLine::of(record).to_string()).collect();
    assert_eq!(lines[0], "9.900,158.400,read,64,0,H,1,10,1024,10.000000,,,then,old");
}

#[test]
fn broken_files_are_one_sentence_with_the_line() {
    let half = &DISKSPD[..DISKSPD.len() / 2];
    let no_number = DISKSPD.replace("<ReadCount>35000<", "<ReadCount>lots<");
    let line = no_number.lines().position(|line| line.contains("lots")).unwrap() + 1;
    let cases = [
        (half.to_string(), "results, line "),
        (no_number, &format!("results, line {line}: <ReadCount>: `lots` is not a number")),
        (FIO[..FIO.len() / 2].to_string(), "results, line "),
        ("1,2,read\n".to_string(), "results, line 1: BlockSize: "),
        ("hello\n".to_string(), "results, line 1: IO/s: "),
        ("<html></html>".to_string(), "results, line 1: <html> is not what diskspd writes"),
        (String::new(), "results: it holds no result"),
        (FIO.replace("fio-3.33", "fio-2.21"), "results: fio-2.21 wrote other units"),
    ];
    for (text, begins) in cases {
        let said = refused(&text);
        assert!(said.starts_with(begins), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn repeats_are_numbered_and_two_targets_are_no_repeats() {
    let both = gathered(vec![read(FIO), read(FIO)], None).unwrap();
    let repeats: Vec<u32> = both.records.iter().map(|record| record.run.repeat).collect();
    assert_eq!(repeats, [0, 0, 0, 1, 1, 1].map(|repeat| repeat), "{repeats:?}");
    let elsewhere = read(&FIO.replace("\"data\"", "\"other\""));
    let error = gathered(vec![read(FIO), elsewhere.clone()], None).unwrap_err();
    assert!(matches!(&error, ResultsError::Apart(why) if why.contains("--target")), "{error}");
    assert_eq!(gathered(vec![read(FIO), elsewhere], Some("both")).unwrap().question.target, "both");
}

/// What is not known to be equal is never pooled.
#[test]
fn results_that_do_not_name_their_target_are_no_repeats_of_each_other() {
    let unnamed = FIO.replace("\"filename\"", "\"description\"");
    let of_file = |name: &str| read_results(name, unnamed.as_bytes()).unwrap();
    let error = gathered(vec![of_file("a.json"), of_file("b.json")], None).unwrap_err().to_string();
    for part in ["of a.json was measured on", "of b.json was measured on", "--target NAME"] {
        assert!(error.contains(part), "{error}");
    }
    let together = gathered(vec![of_file("a.json"), of_file("b.json")], Some("sdb")).unwrap();
    assert_eq!((together.question.target.as_str(), together.records.len()), ("sdb", 6));
    // The same job of the same file is the same command.
    assert_eq!(gathered(vec![of_file("a.json"), of_file("a.json")], None).unwrap().records[3].run.repeat, 1);
    let other_job = unnamed.replace("\"jobname\": \"", "\"jobname\": \"other-");
    let other_job = read_results("a.json", other_job.as_bytes()).unwrap();
    assert!(gathered(vec![of_file("a.json"), other_job], None).is_err());
    // Files of the same name on two hosts are two targets.
    let elsewhere = read(&DISKSPD.replace("STOR-7", "STOR-8"));
    let error = gathered(vec![read(DISKSPD), elsewhere], None).unwrap_err().to_string();
    assert!(error.contains("on STOR-7") && error.contains("on STOR-8"), "{error}");
}
