//! Tests what output of strace and blkparse, and fio's logs, become.

use halfpower_dialects::{Foreign, ImportedCapture, ResultsError, captured, read_foreign, read_results};
use halfpower_record::{CaptureSource, CapturedFile, OperationKind};

const STRACE: &str = include_str!("data/strace.txt");
const STRACE_Y: &str = include_str!("data/strace-y.txt");
const BLKPARSE: &str = include_str!("data/blkparse.txt");
const FIO_LAT_LOG: &str = include_str!("data/fio-lat-log.txt");
const FIO_IO_LOG: &str = include_str!("data/fio-io-log.txt");

fn made(files: &[(&str, &str)]) -> Result<ImportedCapture, ResultsError> {
    let texts = files.iter().map(|(name, text)| match read_foreign(name, text.as_bytes()) {
        Ok(Foreign::Capture(text)) => text,
        other => panic!("{name}: {other:?}"),
    });
    captured(&texts.collect::<Vec<_>>(), true)
}

fn one(text: &str) -> ImportedCapture {
    made(&[("trace", text)]).unwrap()
}

fn refused(text: &str) -> String {
    made(&[("trace", text)]).unwrap_err().to_string()
}

/// Lane, beginning and length, kind, file, offset, bytes, and whether it was cached.
type Row = (u32, u64, u64, OperationKind, u32, u64, u64, bool);

fn rows(imported: &ImportedCapture) -> Vec<Row> {
    let row = |one: &halfpower_record::CapturedOperation| {
        (one.lane, one.at_ns, one.took_ns, one.kind, one.file, one.offset, one.bytes, one.cached)
    };
    imported.captured.operations.iter().map(row).collect()
}

fn file(name: &str, bytes: u64, direct: bool) -> CapturedFile {
    CapturedFile { bytes, direct, name: Some(name.to_string()) }
}

#[test]
fn calls_of_strace_are_followed_from_open_to_their_ends() {
    use OperationKind::{DurableWrite, Fdatasync, Read, Write};
    let imported = one(STRACE);
    assert_eq!(
        rows(&imported),
        [
            (0, 0, 450_000, Read, 0, 81920, 8192, false),
            (1, 100_000, 700_000, DurableWrite, 1, 0, 4096, false),
            (1, 1_000_000, 500_000, DurableWrite, 1, 4096, 100, false),
            (0, 2_000_000, 20_000, Write, 2, 0, 1000, true),
            (0, 2_100_000, 2_000_000, Fdatasync, 2, 0, 0, false),
            (0, 5_100_000, 10_000, Read, 2, 0, 1000, true),
        ]
    );
    let captured = &imported.captured;
    assert_eq!(
        captured.files,
        [file("/data/table", 90112, true), file("/data/wal", 0, false), file("/data/notes", 0, false)]
    );
    assert_eq!((captured.lanes, captured.slices.as_slice(), captured.left_out), (2, &[5_110_000][..], 0));
    assert_eq!((captured.subject.as_str(), captured.started_unix_ms), ("app", 1_700_000_000_000));
    assert_eq!(captured.source, CaptureSource::Strace);
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
}

#[test]
fn names_that_strace_gives_tell_files_from_sockets() {
    use OperationKind::{DurableWrite, Fsync, Read, Write};
    let imported = one(STRACE_Y);
    let found: Vec<_> = rows(&imported).iter().map(|row| (row.3, row.4, row.5, row.6)).collect();
    assert_eq!(
        found,
        [
            (Write, 0, 5000, 100),
            (Write, 0, 5100, 100),
            (Fsync, 0, 0, 0),
            (DurableWrite, 1, 1024, 512),
            (Read, 2, 0, 512),
        ]
    );
    // The same file by and past the page cache; nothing tells what of it was there before the write at 1024.
    let files = [file("/srv/x, (1)", 5000, false), file("/srv/y", 1024, false), file("/srv/y", 1536, true)];
    assert_eq!(imported.captured.files, files);
    assert_eq!((imported.captured.started_unix_ms, imported.captured.subject.as_str()), (0, "trace"));
}

#[test]
fn processes_have_descriptors_of_their_own_and_what_may_be_no_file_is_left_out() {
    let imported = one(concat!(
        "200 1700000000.000000 pipe2([3, 4], O_CLOEXEC) = 0 <0.000010>\n",
        "200 1700000000.001000 fork( <unfinished ...>\n",
        "201 1700000000.001200 close(3) = 0 <0.000005>\n",
        "201 1700000000.001300 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.000005>\n",
        "200 1700000000.001400 <... fork resumed>) = 201 <0.000400>\n",
        "201 1700000000.002000 read(3, \"\"..., 4096) = 4096 <0.000500>\n",
        "200 1700000000.003000 read(3, \"\"..., 4096) = 4096 <0.000500>\n",
        "200 1700000000.004000 read(7, \"\"..., 4096) = 4096 <0.000500>\n",
        "200 1700000000.004600 fstat(9, {st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0), ...}) = 0 <0.000005>\n",
        "200 1700000000.004700 read(9, \"\"..., 4096) = 4096 <0.000100>\n",
        "200 1700000000.005000 pread64(8, \"\"..., 4096, 8192) = 4096 <0.000500>\n",
        "200 1700000000.006000 read(8, \"\"..., 4096) = 4096 <0.000500>\n",
        "200 1700000000.007000 io_submit(0x7f15, 2, [{}, {}]) = 2 <0.000500>\n",
    ));
    assert_eq!(imported.captured.files, [file("/a", 4096, false), file("fd:8", 12288, false)]);
    assert_eq!((imported.captured.operations.len(), imported.captured.left_out), (3, 3));
    let notes = imported.notes.join("\n");
    assert!(notes.contains("left out 1: reads and writes of what was open") && notes.contains("libaio"), "{notes}");
}

#[test]
fn files_of_one_trace_are_read_together() {
    let first = "1700000000.000000 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3 <0.000010>\n\
                 1700000000.000100 clone(flags=CLONE_FILES) = 11 <0.000100>\n\
                 1700000000.002000 pread64(3, \"\", 4096, 0) = 4096 <0.001000>\n";
    let second = "1700000000.001000 pread64(3, \"\", 4096, 4096) = 4096 <0.003000>\n";
    let imported = made(&[("t.10", first), ("t.11", second)]).unwrap();
    assert_eq!(imported.captured.files, [file("/a", 8192, false)]);
    assert_eq!((imported.captured.operations.len(), imported.captured.lanes), (2, 2));
    let mixed = made(&[("t.10", first), ("blk", BLKPARSE)]).unwrap_err().to_string();
    assert!(mixed.contains("t.10 is what strace printed, and blk is what blkparse printed"), "{mixed}");
}

#[test]
fn midnight_is_no_step_back() {
    let imported = one(concat!(
        "1 23:59:59.900000 pread64(3, \"\", 4096, 0) = 4096 <0.200000>\n",
        "1 00:00:00.200000 pread64(3, \"\", 4096, 4096) = 4096 <0.001000>\n",
    ));
    let begins: Vec<u64> = imported.captured.operations.iter().map(|operation| operation.at_ns).collect();
    assert_eq!(begins, [0, 300_000_000]);
}

#[test]
fn what_a_trace_lacks_is_said_with_its_line() {
    let close = "1 1700000000.200000 close(3) = 0 <0.000001>\n";
    for (text, expected) in [
        ("1 1700000000.100000 fsync(3) = 0\n".to_string(), "trace, line 1: fsync does not tell how long it took"),
        ("read(3, \"\", 1) = 1\n".to_string(), "trace, line 1: this call has no time"),
        (format!("{close}1 1700000000.3 read(3, \"abc\n{close}"), "trace, line 2: this line of strace is not whole"),
        (close.to_string(), "trace: it has no operation on a file"),
        ("  8,0 1 1 0.000000000 5 Q R 10 + x [app]\n".to_string(), "trace, line 1: 'x' is no count of sectors"),
        ("0, 5, 1, 4096, 0, 0\n0, 5, 1, 4096\n".to_string(), "trace, line 2: this is no line of the log"),
        ("500, 8320, 0, 0, 0\n".to_string(), "trace: its lines are averages over time"),
        ("0, 5, 1, 4096, 0\n".to_string(), "trace: its lines have no offsets"),
        ("fio version 1 iolog\n".to_string(), "trace, line 1: it is no I/O log of version 2 or 3"),
        ("fio version 3 iolog\n5 f write 0\n".to_string(), "trace, line 2: an operation has an offset"),
        ("fio version 3 iolog\nf write 0 4096\n".to_string(), "trace, line 2: a line of version 3"),
    ] {
        let said = refused(&text);
        assert!(said.starts_with(expected), "{said}");
    }
    // A trace that was ended in the middle of a line is one.
    let text = format!("{STRACE}100  1700000000.010000 read(5, \"abc");
    assert_eq!(one(&text), one(STRACE));
    let said = read_results("trace", STRACE.as_bytes()).unwrap_err().to_string();
    assert!(said.contains("what strace printed") && said.contains("halfpower import"), "{said}");
}

#[test]
fn requests_are_of_whoever_queued_them_and_flushes_count_once() {
    use OperationKind::{DurableWrite, Fdatasync, Read};
    let imported = one(BLKPARSE);
    assert_eq!(
        rows(&imported),
        [
            (0, 0, 210_000, Read, 0, 512_000, 8192, false),
            (1, 1_010_000, 500_000, Fdatasync, 0, 0, 0, false),
            (0, 1_520_000, 100_000, DurableWrite, 0, 2_560_000, 4096, false),
            (2, 2_000_000, 510_000, Fdatasync, 0, 0, 0, false),
        ]
    );
    let captured = &imported.captured;
    assert_eq!(captured.files, [file("device 8,0", 5008 * 512, true)]);
    assert_eq!((captured.subject.as_str(), captured.source, captured.left_out), ("app", CaptureSource::Blkparse, 2));
}

#[test]
fn what_goes_through_two_devices_is_there_once() {
    let imported = one(concat!(
        "253,0 0 1 0.000000000 5 Q W 0 + 8 [app]\n",
        "8,0 0 2 0.000001000 5 A W 2048 + 8 <- (253,0) 0\n",
        "8,0 0 3 0.000002000 5 Q W 2048 + 8 [app]\n",
        "8,0 0 4 0.000003000 5 D W 2048 + 8 [app]\n",
        "8,0 0 5 0.000103000 0 C W 2048 + 8 [0]\n",
        "253,0 0 6 0.000105000 0 C W 0 + 8 [0]\n",
    ));
    assert_eq!(rows(&imported), [(0, 0, 105_000, OperationKind::Write, 0, 0, 4096, false)]);
    assert_eq!((imported.captured.files[0].name.as_deref(), imported.captured.left_out), (Some("device 253,0"), 1));
}

#[test]
fn a_job_that_waits_for_each_operation_has_one_lane() {
    use OperationKind::{Read, Write};
    let imported = one(FIO_LAT_LOG);
    assert_eq!(
        rows(&imported),
        [
            (0, 0, 300_000, Write, 0, 0, 4096, false),
            (0, 300_000, 300_000, Read, 0, 4096, 4096, false),
            (0, 600_000, 300_000, Write, 0, 8192, 4096, false),
            (0, 900_000, 300_000, Write, 0, 12288, 4096, false),
        ]
    );
    assert_eq!((imported.captured.lanes, imported.captured.left_out, imported.captured.files[0].bytes), (1, 1, 16384));
    assert_eq!((imported.captured.subject.as_str(), imported.captured.source), ("fio", CaptureSource::FioLog));
    let deep = one("10, 5000000, 0, 4096, 0, 0\n10, 5000000, 0, 4096, 8192, 0\n");
    assert_eq!(deep.captured.lanes, 2);
    // Each job has lanes of its own; rates of fio are thousands of bytes a second.
    let log = "7, 40960, 0, 4096, 8192, 0\n";
    let jobs = made(&[("out/a_bw.1.log", log), ("out/a_bw.2.log", log)]).unwrap();
    assert_eq!((jobs.captured.lanes, jobs.captured.operations[1].took_ns), (2, 100_000));
    let issued = one("0, 300000, 1, 4096, 0, 0, 5000000\n0, 300000, 1, 4096, 0, 0, 5400000\n");
    assert_eq!(issued.captured.operations[1].at_ns, 400_000);
}

#[test]
fn an_io_log_of_fio_tells_beginnings() {
    let imported = one(FIO_IO_LOG);
    let found: Vec<_> = rows(&imported).iter().map(|row| (row.1, row.2, row.3, row.5)).collect();
    assert_eq!(
        found,
        [
            (0, 0, OperationKind::Write, 0),
            (136_000, 0, OperationKind::Write, 45056),
            (161_000, 0, OperationKind::Fsync, 0),
            (2_224_000, 0, OperationKind::Write, 24576),
        ]
    );
    assert_eq!((imported.captured.left_out, &imported.captured.files[0]), (1, &file("f", 49152, true)));
    assert!(imported.notes.iter().any(|note| note.contains("--open")), "{:?}", imported.notes);
    let old = one("fio version 2 iolog\nf add\nf write 0 4096\nf wait 500 0\nf read 0 4096\nf datasync 0 0\nf close\n");
    let begins: Vec<u64> = old.captured.operations.iter().map(|operation| operation.at_ns).collect();
    assert_eq!(begins, [0, 500_000, 501_000]);
    assert!(old.notes.iter().any(|note| note.contains("version 2")), "{:?}", old.notes);
}
