//! Tests what is read of the results of SQLIO, fio and diskspd.

use halfpower_dialects::sqlio::TraceLine;
use halfpower_dialects::{ImportedStudy, Results, ResultsError, gathered, read_results};
use halfpower_record::{Record, TargetKind, Unknown};
use halfpower_spec::{Cache, Direction, EngineName, Pattern, Rw};

const FIO: &str = include_str!("data/fio.json");
const FIO_PLUS: &str = include_str!("data/fio-plus.json");
const DISKSPD: &str = include_str!("data/diskspd.xml");

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
