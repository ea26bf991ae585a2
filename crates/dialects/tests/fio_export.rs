//! Checks counts, rates and bins of the json+ export against the records.

use crate::sample::record;
use halfpower_dialects::fio::{fio_documents, translate, write_fio};
use halfpower_dialects::{Measured, read_results};
use halfpower_record::{
    DepthSearch, DeviceRequests, DeviceUse, Environment, HostShare, LaneLatencies, LaneRecord, LaneRole, LaneSide,
    Record, Unknown,
};
use halfpower_spec::{Arrival, Arrivals, EngineName, Nanos, Pass, RandomDistribution, Rw, Workload};
use serde_json::Value;

/// Three plain runs of one cell, and one run with the soaker.
fn runs() -> Vec<Record> {
    let mut plain = record(3);
    plain.run.workload.rw = Rw::Randread;
    plain.run.workload.threads = 1;
    plain.read_ios = plain.ios;
    plain.run.pass = Pass::Plain;
    let mut second = plain.clone();
    second.run.repeat = 1;
    second.elapsed_ns *= 2;
    let mut third = plain.clone();
    third.run.repeat = 2;
    third.latency.add(5_000_000_000);
    third.ios += 1;
    third.read_ios += 1;
    let mut soaker = plain.clone();
    soaker.run.pass = Pass::Soaker;
    vec![plain, second, third, soaker]
}

/// The same with requests in flight whose number is not known at each moment.
fn deep_runs() -> Vec<Record> {
    let mut records = runs();
    records.iter_mut().for_each(|record| record.engine = EngineName::IoUring);
    records
}

fn document(records: &[Record]) -> Value {
    let mut out = Vec::new();
    write_fio(records, "/data", &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn sum(bins: &Value) -> f64 {
    bins.as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum()
}

#[test]
fn a_cell_is_one_job_of_its_plain_runs() {
    let records = runs();
    let document = document(&records);
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1);
    let read = &jobs[0]["read"];
    let plain = &records[..3];
    let bytes: u64 = plain.iter().map(|record| record.bytes).sum();
    let ios: u64 = plain.iter().map(|record| record.ios).sum();
    let seconds: f64 = plain.iter().map(Record::seconds).sum();
    assert_eq!((&read["io_bytes"], &read["total_ios"]), (&bytes.into(), &ios.into()));
    assert!((read["bw"].as_f64().unwrap() / (bytes as f64 / 1024.0 / seconds) - 1.0).abs() < 0.01);
    assert!((read["iops"].as_f64().unwrap() / (ios as f64 / seconds) - 1.0).abs() < 1e-9);
    assert_eq!((&read["lat_ns"], &read["slat_ns"]["N"]), (&read["clat_ns"], &Value::from(0)));
    assert_eq!((&jobs[0]["write"]["iops"], &jobs[0]["trim"]["total_ios"]), (&Value::from(0.0), &Value::from(0)));
    let user: u64 = plain.iter().map(|record| record.cpu.user_ns).sum();
    let span: u64 = plain.iter().map(|record| record.cpu.span_ns).sum();
    let expected = 100.0 * user as f64 / span as f64;
    assert!((jobs[0]["usr_cpu"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9);
}

#[test]
fn processor_time_of_many_processes_is_a_share_of_the_time_of_all() {
    let mut of_two = runs().remove(0);
    (of_two.cpu.span_ns, of_two.cpu.user_ns) = (1_000_000_000, 1_000_000_000);
    let share = |rank| HostShare { rank, charged_ns: 500_000_000, span_ns: 1_000_000_000, ..HostShare::default() };
    of_two.hosts = (0..2).map(share).collect();
    assert_eq!(document(&[of_two])["jobs"][0]["usr_cpu"], 50.0);
}

#[test]
fn the_settings_are_text_under_fio_s_names() {
    let options = &document(&runs())["jobs"][0]["job options"];
    for (name, value) in [("rw", "randread"), ("bs", "4k"), ("iodepth", "8"), ("numjobs", "1"), ("direct", "1")] {
        assert_eq!(options[name], value, "{options}");
    }
    assert_eq!(options["ioengine"], "psync", "fio's name for our sync");
}

#[test]
fn what_else_was_asked_for_stands_there_and_makes_no_plain_cell() {
    let settings = |change: fn(&mut Workload)| {
        let mut records = runs();
        records.iter_mut().for_each(|record| change(&mut record.run.workload));
        let exported = document(&records).to_string();
        let back = read_results("exported", exported.as_bytes()).unwrap();
        back.records[0].origin.as_ref().unwrap().settings.join("; ")
    };
    assert_eq!(settings(|_| {}), "");
    assert_eq!(settings(|workload| workload.options.random_distribution = RandomDistribution::Shuffled), "");
    assert_eq!(settings(|workload| workload.options.connections = 4), "");
    let thinks = settings(|workload| workload.options.thinktime = Nanos(20_000));
    assert!(thinks.starts_with("halfpower_options=--thinktime "), "{thinks}");
    let paced = settings(|workload| workload.rate = Some(Arrival { iops: 100, arrivals: Arrivals::Poisson }));
    assert_eq!(paced, "halfpower_options=--rate-iops 100 --arrivals poisson");
}

#[test]
fn the_histograms_hold_every_request_where_it_belongs() {
    let job = &document(&runs())["jobs"][0];
    let bins = &job["read"]["clat_ns"]["bins"];
    assert_eq!(sum(bins), job["read"]["total_ios"].as_f64().unwrap());
    let all = sum(&job["latency_ns"]) + sum(&job["latency_us"]) + sum(&job["latency_ms"]);
    assert!((all - 100.0).abs() < 1e-6, "{all}");
    assert!(job["latency_ms"][">=2000"].as_f64().unwrap() > 0.0, "the one of five seconds");
    assert_eq!(job["latency_ns"].as_object().unwrap().len(), 10);
    assert_eq!(job["latency_ms"].as_object().unwrap().len(), 12);
    let lat = &job["read"]["lat_ns"];
    let spread = lat["stddev"].as_f64().unwrap();
    assert!(spread > 0.0 && spread < lat["max"].as_f64().unwrap());
    assert!(lat["percentile"]["99.000000"].as_u64().unwrap() >= lat["percentile"]["50.000000"].as_u64().unwrap());
}

#[test]
fn a_cell_that_reads_and_writes_is_split_by_its_requests() {
    let mut mixed = record(3);
    mixed.run.pass = Pass::Plain;
    mixed.run.workload.rw = Rw::Randmixed;
    mixed.read_ios = mixed.ios / 4;
    let job = &document(&[mixed.clone()])["jobs"][0];
    let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
    let bytes = |way: &str| job[way]["io_bytes"].as_u64().unwrap();
    assert_eq!((ios("read"), ios("read") + ios("write")), (mixed.read_ios, mixed.ios));
    assert_eq!(bytes("read") + bytes("write"), mixed.bytes);
    assert_eq!(job["job options"]["rwmixread"], "70");
}

#[test]
fn each_cell_has_a_file_of_its_own() {
    let mut records = runs();
    let mut other = records[0].clone();
    other.engine = EngineName::IoUring;
    let mut larger = records[0].clone();
    larger.run.workload.bs = halfpower_spec::Bytes(1 << 20);
    records.extend([other, larger]);
    let documents = fio_documents(&records, "/data");
    let places: Vec<String> = documents.iter().map(|one| format!("{}/{}", one.folder, one.file)).collect();
    assert_eq!(
        places,
        ["none/4k/randread-8-1.json", "none/4k/randread-8-1-io_uring-2.json", "none/1m/randread-8-1.json"]
    );
    for document in &documents {
        assert_eq!(document.json["jobs"].as_array().unwrap().len(), 1);
    }
}

/// The runs of [`runs`], printed as a line with these options prints them.
fn printed(options: &str) -> String {
    let line = format!("--name=job --filename=sim: --time_based {options}");
    let translation = translate(&crate::words(&line)).unwrap();
    let record = runs().remove(0);
    let done = Measured { run: &translation.runs[0], record, environment: Environment::default() };
    let mut out = Vec::new();
    translation.print(&[done], &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn what_the_machine_did_stands_beside_what_was_moved() {
    let mut records = runs();
    let requests = DeviceRequests { ios: 50, merges: 2, sectors: 400, ms: 90 };
    for record in &mut records {
        record.run.workload.iodepth = 1;
        (record.cpu.switches, record.cpu.major_faults, record.cpu.minor_faults) = (Some(7), Some(0), Some(3));
        let name = "vda".to_string();
        record.devices = vec![DeviceUse {
            name,
            reads: requests,
            busy_ms: 150,
            in_queue_ms: 95,
            span_ns: 300_000_000,
            ..DeviceUse::default()
        }];
    }
    let of_all = document(&records);
    let job = &of_all["jobs"][0];
    assert_eq!((&job["ctx"], &job["majf"], &job["minf"]), (&Value::from(21), &Value::from(0), &Value::from(9)));
    assert_eq!((&job["iodepth_level"]["1"], &job["iodepth_submit"]["4"]), (&Value::from(100.0), &Value::from(100.0)));
    assert_eq!((&job["latency_percentile"], &job["latency_target"]), (&Value::from(100.0), &Value::from(0)));
    let searched =
        DepthSearch { most_ns: 5_000_000, percent: 99.0, window_ns: 2_000_000, most_depth: 8, tried: Vec::new() };
    records.iter_mut().for_each(|record| record.depth_search = Some(Box::new(searched.clone())));
    let job = document(&records)["jobs"][0].clone();
    let told = ["latency_depth", "latency_target", "latency_percentile", "latency_window"].map(|key| job[key].clone());
    assert_eq!(told, [Value::from(1), Value::from(5_000_000), Value::from(99.0), Value::from(2_000)]);
    let disk = &of_all["disk_util"][0];
    assert_eq!((&disk["name"], &disk["read_ios"], &disk["read_sectors"]), (&"vda".into(), &150.into(), &1200.into()));
    assert_eq!((&disk["read_ticks"], &disk["write_ios"], &disk["util"]), (&270.into(), &0.into(), &50.0.into()));
    // What no record tells is left out, as the depths of a deeper job.
    let without = document(&deep_runs());
    for key in ["ctx", "majf", "minf", "iodepth_level", "iodepth_submit"] {
        assert_eq!(without["jobs"][0][key], Value::Null, "{key}");
    }
    assert_eq!(without["disk_util"], Value::Null);
}

#[test]
fn depths_are_told_as_far_as_they_are_known() {
    let in_turn = &document(&runs())["jobs"][0];
    for (key, name) in [("iodepth_level", "1"), ("iodepth_submit", "4"), ("iodepth_complete", "4")] {
        assert_eq!((sum(&in_turn[key]), &in_turn[key][name]), (100.0, &Value::from(100.0)), "one at a time: {key}");
    }
    let mut calls = deep_runs();
    calls.iter_mut().for_each(|record| record.run.workload.issuing = Some(halfpower_spec::Issuing::default()));
    let of_calls = &document(&calls)["jobs"][0];
    assert_eq!(of_calls["iodepth_submit"]["4"], Value::from(100.0), "a call for each request");
    assert_eq!((&of_calls["iodepth_level"], &of_calls["iodepth_complete"]), (&Value::Null, &Value::Null));
    calls.iter_mut().for_each(|record| record.run.workload.iodepth = 3);
    let few = &document(&calls)["jobs"][0];
    assert_eq!((&few["iodepth_level"], &few["iodepth_complete"]["4"]), (&Value::Null, &Value::from(100.0)));
}

/// The keys that fio prints of a job, in its order.
const OF_A_JOB: [&str; 29] = [
    "jobname",
    "groupid",
    "job_start",
    "error",
    "eta",
    "elapsed",
    "job options",
    "read",
    "write",
    "trim",
    "sync",
    "job_runtime",
    "usr_cpu",
    "sys_cpu",
    "ctx",
    "majf",
    "minf",
    "iodepth_level",
    "iodepth_submit",
    "iodepth_complete",
    "latency_ns",
    "latency_us",
    "latency_ms",
    "latency_depth",
    "latency_target",
    "latency_target_ns",
    "latency_percentile",
    "latency_window",
    "latency_window_us",
];

/// Those of one direction of a job.
const OF_A_SIDE: [&str; 23] = [
    "io_bytes",
    "io_kbytes",
    "bw_bytes",
    "bw",
    "iops",
    "runtime",
    "total_ios",
    "short_ios",
    "drop_ios",
    "slat_ns",
    "clat_ns",
    "lat_ns",
    "bw_min",
    "bw_max",
    "bw_agg",
    "bw_mean",
    "bw_dev",
    "bw_samples",
    "iops_min",
    "iops_max",
    "iops_mean",
    "iops_stddev",
    "iops_samples",
];

/// Those of a latency, the last two where there is any, and of a device.
const OF_A_LATENCY: [&str; 7] = ["min", "max", "mean", "stddev", "N", "percentile", "bins"];
const OF_A_DEVICE: [&str; 11] = [
    "name",
    "read_ios",
    "write_ios",
    "read_sectors",
    "write_sectors",
    "read_merges",
    "write_merges",
    "read_ticks",
    "write_ticks",
    "in_queue",
    "util",
];

/// The keys of an object that are not among `expected`, and those of `expected` that it lacks, each sorted.
fn differing<'a>(object: &'a Value, expected: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let keys: std::collections::BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let expected: std::collections::BTreeSet<&str> = expected.iter().copied().collect();
    (keys.difference(&expected).copied().collect(), expected.difference(&keys).copied().collect())
}

#[test]
fn the_keys_are_those_of_fio_and_few_more() {
    let nothing: (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut records = runs();
    for record in &mut records {
        record.run.workload.iodepth = 1;
        (record.cpu.switches, record.cpu.major_faults, record.cpu.minor_faults) = (Some(7), Some(0), Some(3));
        record.devices = vec![DeviceUse { name: "vda".to_string(), span_ns: 1_000_000, ..DeviceUse::default() }];
    }
    let all = document(&records);
    let of_all = ["fio version", "timestamp", "timestamp_ms", "time", "jobs", "disk_util"];
    assert_eq!(differing(&all, &of_all), nothing);
    let job = &all["jobs"][0];
    assert_eq!(differing(job, &OF_A_JOB), (vec!["halfpower_runs", "total_err"], vec![]));
    for side in ["read", "write", "trim"] {
        assert_eq!(differing(&job[side], &OF_A_SIDE), nothing, "{side}");
    }
    assert_eq!(differing(&job["sync"], &["total_ios", "lat_ns"]), nothing);
    assert_eq!(differing(&job["read"]["lat_ns"], &OF_A_LATENCY), nothing);
    assert_eq!(differing(&job["write"]["lat_ns"], &OF_A_LATENCY[..5]), nothing);
    assert_eq!(differing(&all["disk_util"][0], &OF_A_DEVICE), nothing);
    // What no record tells of deeper jobs.
    let deeper = document(&deep_runs());
    let (_, missing) = differing(&deeper["jobs"][0], &OF_A_JOB);
    for key in &missing {
        assert!(["ctx", "iodepth_complete", "iodepth_level", "iodepth_submit", "majf", "minf"].contains(key), "{key}");
    }
}

/// The entries of a line with these options whose two threads read three quarters and a quarter.
fn of_two_threads(options: &str) -> Vec<Value> {
    of_two_threads_with(options, Vec::new())
}

/// The same, from a record that keeps these latencies of each.
fn of_two_threads_with(options: &str, lane_latencies: Vec<LaneLatencies>) -> Vec<Value> {
    let line = format!("--name=job --ioengine=null --size=1m --output-format=json {options}");
    let translation = translate(&crate::words(&line)).unwrap();
    let mut record = runs().remove(0);
    record.run.workload.threads = 2;
    let lane = |ios: u64, latency_ns_mean: f64| {
        let reads = LaneSide { ios, bytes: ios * 4096, latency_ns_mean, latency_ns_deviation: 9.0 };
        LaneRecord {
            role: LaneRole::Own,
            cpu: None,
            elapsed_ns: record.elapsed_ns,
            bytes: ios * 4096,
            ios,
            reads: Some(reads),
            writes: Some(LaneSide::default()),
        }
    };
    let lanes = vec![lane(record.ios * 3 / 4, 50_000.0), lane(record.ios / 4, 70_000.0)];
    record.lanes = lanes;
    record.lane_latencies = lane_latencies;
    let done = Measured { run: &translation.runs[0], record, environment: Environment::default() };
    let mut out = Vec::new();
    translation.print(&[done], &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    document["jobs"].as_array().unwrap().clone()
}

#[test]
fn each_thread_has_an_entry_unless_the_group_is_reported() {
    let threads = of_two_threads("--numjobs=2");
    let whole = &runs()[0];
    assert_eq!(threads.len(), 2);
    for (thread, (ios, mean_ns, percent)) in
        threads.iter().zip([(whole.ios * 3 / 4, 50_000.0, 75.0), (whole.ios / 4, 70_000.0, 25.0)])
    {
        let read = &thread["read"];
        assert_eq!((&read["total_ios"], &read["io_bytes"]), (&ios.into(), &(ios * 4096).into()));
        assert!((read["iops"].as_f64().unwrap() / (ios as f64 / whole.seconds()) - 1.0).abs() < 1e-9);
        assert!((read["bw_agg"].as_f64().unwrap() - percent).abs() < 1e-9, "{read}");
        let latency = &read["clat_ns"];
        assert_eq!((&latency["mean"], &latency["stddev"], &latency["N"]), (&mean_ns.into(), &9.0.into(), &ios.into()));
        assert_eq!(latency["bins"], Value::Null, "which requests are whose is not known");
        assert!(latency["percentile"]["99.000000"].is_u64());
        assert_eq!((&thread["jobname"], &thread["groupid"]), (&"job".into(), &0.into()));
        assert_eq!(thread["job options"]["numjobs"], "2", "as fio has it in each");
        assert_eq!((&thread["ctx"], &thread["job_runtime"]), (&Value::Null, &(whole.elapsed_ns / 1_000_000).into()));
        assert!(thread["halfpower_notes"].to_string().contains("of all threads together"), "{thread}");
    }
    let grouped = of_two_threads("--numjobs=2 --group_reporting");
    let [group] = &grouped[..] else { panic!("one entry: {grouped:?}") };
    assert_eq!(group["read"]["total_ios"], Value::from(whole.ios));
    assert!(group["read"]["clat_ns"]["bins"].is_object());
    assert!(!group["halfpower_notes"].to_string().contains("together"), "{group}");
    let unknown = of_two_threads("--numjobs=3");
    assert!(unknown.len() == 1 && unknown[0]["halfpower_notes"].to_string().contains("does not tell them apart"));
}

#[test]
fn each_thread_has_percentiles_and_ranges_of_its_own_where_the_record_keeps_its_latencies() {
    let all = runs()[0].ios;
    let lane = |ios: u64, latency_ns: u64| {
        let mut latencies = LaneLatencies::default();
        (0..ios).for_each(|_| latencies.reads.add(latency_ns));
        latencies
    };
    let lanes = || vec![lane(all * 3 / 4, 50_000), lane(all / 4, 7_000_000)];
    let threads = of_two_threads_with("--numjobs=2", lanes());
    assert_eq!(threads.len(), 2);
    for (thread, (ios, latency_ns, range)) in threads
        .iter()
        .zip([(all * 3 / 4, 50_000_u64, ("latency_us", "100")), (all / 4, 7_000_000, ("latency_ms", "10"))])
    {
        let latency = &thread["read"]["clat_ns"];
        assert_eq!(
            (&latency["min"], &latency["max"], &latency["N"]),
            (&latency_ns.into(), &latency_ns.into(), &ios.into())
        );
        assert_eq!(latency["percentile"]["99.000000"], Value::from(latency_ns));
        assert!((sum(&latency["bins"]) - ios as f64).abs() < 1e-9, "{latency}");
        assert_eq!(thread[range.0][range.1], Value::from(100.0), "all of its requests are in one range: {thread}");
        let notes = thread["halfpower_notes"].to_string();
        assert!(notes.contains("processor time") && !notes.contains("percentiles"), "{notes}");
    }
    let whole = of_two_threads_with("--numjobs=2 --group_reporting", lanes());
    assert_eq!(whole.len(), 1, "the group is one entry all the same");
}

#[test]
fn jobs_of_a_group_have_shares_of_what_it_moves() {
    let translation =
        translate(&crate::words("--ioengine=null --size=1m --output-format=json,terse --name=a --name=b")).unwrap();
    let [first, second] = [1, 3].map(|times| {
        let mut record = runs().remove(0);
        record.bytes *= times;
        record
    });
    let done: Vec<Measured<'_>> = translation
        .runs
        .iter()
        .zip([first, second])
        .map(|(run, record)| Measured { run, record, environment: Environment::default() })
        .collect();
    let mut out = Vec::new();
    translation.print(&done, &mut out).unwrap();
    let printed = String::from_utf8(out).unwrap();
    let (lines, json) = printed.split_once('{').unwrap();
    // The 39th of 41 values of reads and of writes, behind the first five.
    let share = |line: &str, side: usize| line.split(';').nth(5 + 41 * side + 38).unwrap().to_string();
    let of_lines: Vec<[String; 2]> = lines.lines().map(|line| [share(line, 0), share(line, 1)]).collect();
    assert_eq!(of_lines, [["25.000000%", "0.000000%"], ["75.000000%", "0.000000%"]]);
    let document: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| job["groupid"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 0]);
    for (job, percent) in jobs.iter().zip([25.0, 75.0]) {
        assert!((job["read"]["bw_agg"].as_f64().unwrap() - percent).abs() < 1e-9, "{job}");
    }
    assert_eq!(jobs[0]["write"]["bw_agg"], Value::from(0.0));
}

#[test]
fn the_time_is_that_of_the_end_as_in_fio() {
    let records = runs();
    let document = document(&records[..1]);
    let ended_ms = records[0].started_unix_ms + records[0].elapsed_ns / 1_000_000;
    assert_eq!((&document["timestamp_ms"], &document["timestamp"]), (&ended_ms.into(), &(ended_ms / 1000).into()));
    assert_eq!(document["jobs"][0]["job_start"], records[0].started_unix_ms);
    assert_eq!(document["time"], "Sat Nov 21 21:54:41 2026");
}

#[test]
fn a_terse_line_has_its_values_where_fio_has_them() {
    for (options, version, values) in [
        ("--minimal", "3", 121),
        ("--output-format=terse --terse-version=4", "4", 162),
        ("--minimal --terse-version 5", "5", 180),
    ] {
        let line = printed(options);
        let fields: Vec<&str> = line.trim_end().split(';').collect();
        assert_eq!((fields[0], fields.len(), line.lines().count()), (version, values, 1), "{options}: {line}");
        assert_eq!((fields[2], fields[5]), ("job", (runs()[0].bytes / 1024).to_string().as_str()));
        let back = &read_results("terse", line.as_bytes()).unwrap().records[0];
        assert_eq!((back.ios, back.bytes), (runs()[0].ios, runs()[0].bytes), "{options}");
        assert!(!back.knows(Unknown::Depth));
    }
}

#[test]
fn several_formats_are_printed_one_after_the_other() {
    let both = printed("--output-format=terse,json --numjobs=2");
    let (line, json) = both.split_once('\n').unwrap();
    assert!(line.starts_with("3;halfpower-"), "{line}");
    let document: Value = serde_json::from_str(json).unwrap();
    let notes = document["jobs"][0]["halfpower_notes"].to_string();
    assert!(notes.contains("the threads of a job are one entry"), "{notes}");
    let translation = translate(&crate::words("--filename=sim: --output-format=normal,json")).unwrap();
    assert!(translation.is_printed_as_ours() && translation.holds_notes());
    assert!(!translate(&crate::words("--filename=sim: --output-format=json")).unwrap().is_printed_as_ours());
    let refused = crate::refusals(translate(&crate::words("--filename=sim: --output-format=yaml")));
    assert!(refused[0].contains("use normal, json, json+ or terse"), "{refused:?}");
}
