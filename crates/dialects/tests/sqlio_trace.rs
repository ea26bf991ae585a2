//! Checks that the trace is SQLIO's, field by field, and reads back as it was written.

use crate::sample::{record, records};
use halfpower_dialects::sqlio::{TRACE_FIELDS, TraceLine, read_trace, write_trace};
use halfpower_record::Record;
use halfpower_spec::{Bytes, Cache, Direction, EngineName, Rw};

fn written(records: &[Record]) -> String {
    let mut out = Vec::new();
    write_trace(records, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A record of round figures: 100 MiB in 0.4 s with 64 KiB requests.
fn round() -> Record {
    let mut record = record(3);
    record.run.workload.rw = Rw::Randwrite;
    record.run.workload.bs = Bytes(65536);
    record.run.workload.iodepth = 8;
    record.run.workload.cache = Cache::Device;
    record.run.workload.threads = 2;
    record.engine = EngineName::IoUring;
    (record.bytes, record.ios, record.elapsed_ns) = (104_857_600, 1600, 400_000_000);
    record.started_unix_ms = 961_156_800_999;
    record
}

#[test]
fn a_line_is_the_fourteen_fields_in_order() {
    assert_eq!(
        written(&[round()]),
        "250.000,4000.000,write,64,8,H,2,0.3,1048576,0.400000,10.000,40.500,2000-06-16 12:00:00,\
         rw=randwrite pattern=random experiment=sequential engine=io_uring pass=plain repeat=3\n"
    );
}

#[test]
fn one_request_at_a_time_of_the_sync_engine_is_synchronous() {
    let mut record = round();
    record.engine = EngineName::Sync;
    assert_eq!(TraceLine::of(&record).outstanding_ios, 8);
    record.run.workload.iodepth = 1;
    assert_eq!(TraceLine::of(&record).outstanding_ios, 0);
}

#[test]
fn a_mixed_run_is_named_by_what_most_requests_were() {
    let mut record = round();
    record.run.workload.rw = Rw::Randmixed;
    record.read_ios = 1100;
    assert_eq!(TraceLine::of(&record).operation, Direction::Read);
    record.read_ios = 500;
    assert_eq!(TraceLine::of(&record).operation, Direction::Write);
    assert!(TraceLine::of(&record).comment.contains("rw=randrw"));
}

#[test]
fn what_was_written_is_read_back() {
    let text = written(&records(48));
    let lines = read_trace(&text).unwrap();
    assert_eq!(lines.len(), 48);
    let again: String = lines.iter().map(|(_, line)| format!("{line}\n")).collect();
    assert_eq!(again, text);
    for ((_, line), record) in lines.iter().zip(records(48)) {
        let exact = TraceLine::of(&record);
        assert!((line.mib_per_s - exact.mib_per_s).abs() <= 0.0005, "{line}");
        assert!((line.clock_s - exact.clock_s).abs() <= 0.5e-6, "{line}");
        let rounded = TraceLine {
            mib_per_s: line.mib_per_s,
            iops: line.iops,
            clock_s: line.clock_s,
            user_ms: line.user_ms,
            kernel_ms: line.kernel_ms,
            ..exact
        };
        assert_eq!(*line, rounded);
    }
}

#[test]
fn a_foreign_trace_with_a_heading_and_spaces_is_read() {
    let text = format!(
        "{}\r\n\r\n 19.50, 312.0, Read, 64, 0, O, 1, 10, 102400, 10.01, 15.6, 46.8, 6/16/00 12:00, atlas 10k\r\n",
        TRACE_FIELDS.join(",")
    );
    let lines = read_trace(&text).unwrap();
    assert_eq!(lines.len(), 1);
    let (number, line) = &lines[0];
    assert_eq!(*number, 3);
    assert_eq!((line.operation, line.buffering, line.outstanding_ios), (Direction::Read, Cache::Both, 0));
    assert_eq!((line.time_stamp.as_str(), line.comment.as_str()), ("6/16/00 12:00", "atlas 10k"));
}

#[test]
fn each_field_that_does_not_fit_is_named_with_its_line() {
    let good = written(&[round()]);
    let good = good.trim_end();
    for at in (0..12).chain([14]) {
        let mut fields: Vec<&str> = good.split(',').collect();
        if at < 14 {
            fields[at] = "x"
        } else {
            fields.push("x")
        }
        let error = read_trace(&format!("{good}\n\n{}\n", fields.join(","))).unwrap_err();
        assert_eq!((error.line, error.field), (3, TRACE_FIELDS[at.min(13)]), "{error}");
    }
    let error = read_trace("1,2,read").unwrap_err();
    assert!(error.to_string().starts_with("line 1 of the trace, BlockSize: "), "{error}");
}

#[test]
fn a_comment_with_commas_stays_one_field() {
    let line = TraceLine { comment: "a, b\nc".into(), ..TraceLine::of(&round()) };
    assert_eq!(read_trace(&line.to_string()).unwrap()[0].1.comment, "a; b c");
}

#[test]
fn a_stream_that_takes_no_more_is_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert!(write_trace(&[record(1)], full()).is_err());
}
