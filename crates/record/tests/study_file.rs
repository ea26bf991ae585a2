//! Checks that a study file keeps its contents and refuses invalid use with one clear error.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sample::{environment, question, record, records};
use halfpower_record::{
    Anatomy, Basis, CheckFinding, CheckResult, CheckState, Cost, Diagnosis, Environment, Evidence, HostPlace,
    HostShare, LaneRecord, LaneRole, LaneSide, Level, PathPart, Phase, PhaseTime, PlaceIdentity, Predicted, Record,
    RecordError, Severity, StudyFile, columns,
};
use halfpower_spec::{Bytes, Hosts, Nanos, Question};
use rusqlite::Connection;

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.halfpower");
    (folder, path)
}

fn study_of(path: &Path, records: &[Record]) {
    let mut file = StudyFile::create(path, &question(), &environment("6.1")).unwrap();
    records.iter().for_each(|record| file.append(record).unwrap());
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_appended_comes_back_bit_for_bit_and_in_order() {
    let (_folder, path) = place();
    study_of(&path, &records(40));
    let file = StudyFile::open(&path).unwrap();
    assert_eq!(file.records().unwrap(), records(40));
    assert_eq!((file.question(), file.environment()), (&question(), &environment("6.1")));
    assert_eq!(file.path(), path);
}

#[test]
fn the_finished_file_stands_alone() {
    let (folder, path) = place();
    study_of(&path, &records(3));
    assert_eq!(names_in(folder.path()), ["study.halfpower"]);
    StudyFile::open(&path).unwrap().records().unwrap();
    assert_eq!(names_in(folder.path()), ["study.halfpower"]);
}

#[test]
fn only_who_has_begun_a_study_withdraws_it_and_only_while_it_is_empty() {
    let (folder, path) = place();
    let begin = || StudyFile::open_or_create(&path, &question(), &environment("6.1")).unwrap();
    begin().withdraw_if_empty().unwrap();
    assert!(names_in(folder.path()).is_empty());
    drop(begin());
    begin().withdraw_if_empty().unwrap();
    assert_eq!(names_in(folder.path()), ["study.halfpower"], "it was begun before");
    fs::remove_file(&path).unwrap();
    let mut file = begin();
    file.append(&record(0)).unwrap();
    file.withdraw_if_empty().unwrap();
    assert_eq!(StudyFile::open(&path).unwrap().records().unwrap(), records(1));
    fs::remove_file(&path).unwrap();
    let file = begin();
    fs::rename(&path, folder.path().join("moved")).unwrap();
    fs::write(&path, "of somebody else").unwrap();
    file.withdraw_if_empty().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"of somebody else");
}

#[test]
fn a_resumed_study_goes_on_and_links_each_record_to_where_it_was_taken() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    for (kernel, number) in [("6.1", 2), ("6.2", 3), ("6.2", 4), ("6.1", 5)] {
        let mut file = StudyFile::open_or_create(&path, &question(), &environment(kernel)).unwrap();
        file.append(&record(number)).unwrap();
    }
    let file = StudyFile::open(&path).unwrap();
    assert_eq!(file.environments(), [environment("6.1"), environment("6.2")]);
    let mut of = Vec::new();
    file.each(|entry| of.push(entry.environment)).unwrap();
    assert_eq!(of, [0, 0, 0, 1, 1, 0]);
    assert_eq!(file.records().unwrap(), records(6));
}

#[test]
fn resuming_without_a_new_record_leaves_no_trace() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    let before = fs::read(&path).unwrap();
    drop(StudyFile::resume(&path, &question(), &environment("another")).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_different_question_is_refused_and_told_what_differs() {
    let (_folder, path) = place();
    study_of(&path, &[]);
    let before = fs::read(&path).unwrap();
    let other = Question { budget: Nanos(300_000_000_000), bs: vec![Bytes(4096)], ..question() };
    let error = StudyFile::open_or_create(&path, &other, &environment("6.1")).unwrap_err();
    assert!(matches!(error, RecordError::OtherQuestion { .. }), "{error}");
    let said = error.to_string();
    for part in ["study.halfpower", "budget is 120s there and 300s here", "and 4KiB here", "--output"] {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_appended_was_taken_at_the_studys_place_and_over_its_span() {
    let (_folder, path) = place();
    let machine = |name: &str| PlaceIdentity { machine: Some(name.to_string()), ..PlaceIdentity::default() };
    let there = Environment { place: machine("m"), ..environment("6.1") };
    let of_16_mib = Question { size: Some(Bytes(16 << 20)), ..question() };
    drop(StudyFile::create(&path, &of_16_mib, &there).unwrap());
    let file = StudyFile::open_to_append(&path).unwrap();
    file.check_place(&machine("m")).unwrap();
    file.check_place(&PlaceIdentity::default()).unwrap();
    let error = file.check_place(&machine("n")).unwrap_err();
    assert!(matches!(error, RecordError::OtherPlace { .. }), "{error}");
    assert!(error.to_string().contains("the machine is m there and n here"), "{error}");
    file.check_span(Some(Bytes(16 << 20)), false).unwrap();
    for (size, spread, differs) in [
        (Some(Bytes(256 << 20)), false, "the size is 16MiB there and 256MiB here"),
        (None, false, "the size is 16MiB there and not set here"),
        (Some(Bytes(16 << 20)), true, "the way the size lies is one part there and in pieces here"),
    ] {
        let error = file.check_span(size, spread).unwrap_err();
        assert!(matches!(error, RecordError::OtherQuestion { .. }) && error.to_string().contains(differs), "{error}");
    }
}

#[test]
fn what_could_not_be_read_back_is_not_stored() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    let endless = f64::INFINITY;
    let side = |mean: f64| LaneSide { ios: 1, bytes: 1, latency_ns_mean: mean, latency_ns_deviation: 0.0 };
    let lane = |mean: f64| LaneRecord {
        role: LaneRole::Own,
        cpu: None,
        elapsed_ns: 1,
        bytes: 1,
        ios: 1,
        reads: Some(side(mean)),
        writes: None,
    };
    let phase = PhaseTime { phase: Phase::Submit, mean_ns: endless, requests: 1 };
    let anatomy = Anatomy { phases: vec![phase], ..Anatomy::default() };
    let predicted = |high: f64| Some(Predicted { low: 0.5, high, beyond: false });
    let broken = [
        ("predicted.high", Record { predicted: predicted(endless), ..record(2) }),
        ("predicted.high", Record { predicted: predicted(f64::NAN), ..record(2) }),
        ("achieved_depth", Record { achieved_depth: endless, ..record(2) }),
        ("lanes.reads.latency_ns_mean", Record { lanes: vec![lane(1.0), lane(endless)], ..record(2) }),
        ("anatomy.phases.mean_ns", Record { anatomy: Some(anatomy), ..record(2) }),
    ];
    let mut file = StudyFile::resume(&path, &question(), &environment("6.1")).unwrap();
    for (figure, record) in broken {
        let error = file.append(&record).unwrap_err();
        assert!(matches!(error, RecordError::NotANumber { .. }) && error.to_string().contains(figure), "{error}");
    }
    let level = Level { member_pap_iops: vec![endless], ..Level::default() };
    let without_end = Environment { levels: vec![level], ..environment("6.3") };
    assert!(matches!(file.go_on_in(&without_end), Err(RecordError::NotANumber { .. })));
    file.append(&record(2)).unwrap();
    drop(file);
    let file = StudyFile::open(&path).unwrap();
    assert_eq!((file.records().unwrap(), file.environments().len()), (records(3), 1));
}

#[test]
fn a_larger_budget_extends_the_study_and_a_smaller_one_is_another_question() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    let longer = Question { budget: Nanos(2 * question().budget.0), ..question() };
    drop(StudyFile::resume(&path, &longer, &environment("6.1")).unwrap());
    let file = StudyFile::open(&path).unwrap();
    assert_eq!((file.question(), file.records().unwrap()), (&longer, records(2)));
    let before = fs::read(&path).unwrap();
    let error = StudyFile::resume(&path, &question(), &environment("6.1")).unwrap_err().to_string();
    assert!(error.contains("budget is 240s there and 120s here"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn one_study_at_a_time_holds_a_file() {
    let (_folder, path) = place();
    let held = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    let refused = [StudyFile::resume(&path, &question(), &environment("6.1")), StudyFile::open_to_append(&path)];
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(error, RecordError::Locked { .. }), "{error}");
    }
    drop(held);
    StudyFile::resume(&path, &question(), &environment("6.1")).unwrap();
}

#[test]
fn a_study_at_work_can_be_read_as_it_is_now() {
    let (_folder, path) = place();
    let mut held = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    held.append_all(&records(3)).unwrap();
    let early = StudyFile::open(&path).unwrap();
    held.go_on_in(&environment("6.2")).unwrap();
    held.append_all(&records(600)[3..]).unwrap();
    assert_eq!(early.records().unwrap(), records(3), "what came later is another reading");
    assert_eq!(early.environments().len(), 1);
    let late = StudyFile::open(&path).unwrap();
    assert_eq!(late.records().unwrap(), records(600));
    assert_eq!(late.environments().len(), 2);
    assert_eq!(held.records().unwrap(), records(600));
}

#[test]
fn what_is_learnt_while_runs_are_made_is_kept_with_what_was_known() {
    let (_folder, path) = place();
    let mut held = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    let learnt = Environment { notes: vec!["learnt later".to_string()], ..environment("6.1") };
    held.go_on_in(&learnt).unwrap();
    held.append_all(&records(1)).unwrap();
    let notes = StudyFile::open(&path).unwrap().notes();
    assert_eq!(notes, [environment("6.1").notes, learnt.notes].concat());
}

/// A study's environment with what a check found of the scheduler.
fn diagnosed(scheduler: &str) -> Environment {
    let finding = CheckFinding {
        severity: Severity::Warn,
        subject: "nvme0n1".to_string(),
        what: format!("scheduler {scheduler}"),
        evidence: vec![Evidence { file: "/sys/class/block/nvme0n1/queue/scheduler".into(), value: scheduler.into() }],
        cost: Cost::Share { least: 0.1, most: 1.0 / 3.0, of: "reads".into(), basis: Basis::Computed("so".into()) },
        change: Some("echo none > /sys/class/block/nvme0n1/queue/scheduler".to_string()),
        change_back: None,
        may_try: true,
    };
    let check = CheckResult {
        code: "scheduler".to_string(),
        title: "Scheduler".to_string(),
        part: Some(PathPart::Queue),
        limits_part: false,
        state: CheckState::Found,
        findings: vec![finding],
        unread: vec!["/sys/secret".to_string()],
        needs_root: true,
    };
    let diagnosis = Diagnosis {
        target: "/data".into(),
        path: "ext4 on nvme0n1".into(),
        checks: vec![check],
        ..Diagnosis::default()
    };
    Environment { diagnoses: vec![diagnosis], ..environment("6.1") }
}

#[test]
fn what_checks_found_before_and_after_is_kept() {
    let (_folder, path) = place();
    let mut held = StudyFile::create(&path, &question(), &diagnosed("bfq")).unwrap();
    held.append_all(&records(2)).unwrap();
    held.go_on_in(&diagnosed("bfq")).unwrap();
    assert_eq!(held.environments().len(), 1, "what did not change is kept once");
    held.go_on_in(&diagnosed("kyber")).unwrap();
    drop(held);
    let file = StudyFile::open(&path).unwrap();
    assert_eq!(file.environments(), [diagnosed("bfq"), diagnosed("kyber")]);
    drop(file);
    // The same again, as a resumed study finds it.
    let mut resumed = StudyFile::resume(&path, &question(), &diagnosed("bfq")).unwrap();
    resumed.go_on_in(&diagnosed("bfq")).unwrap();
    assert_eq!(resumed.environments().len(), 2);
}

#[test]
fn two_readers_may_read_at_once() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    let one = StudyFile::open(&path).unwrap();
    let other = StudyFile::open(&path).unwrap();
    assert_eq!(one.records().unwrap(), other.records().unwrap());
}

#[test]
fn a_study_that_is_removed_while_it_runs_says_so() {
    let (_folder, path) = place();
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    file.append(&record(1)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let error = file.append(&record(2)).unwrap_err();
    assert!(matches!(error, RecordError::Removed { .. }), "{error}");
}

#[test]
fn what_all_hosts_made_together_is_not_compared_with_what_fewer_of_them_make() {
    let (_folder, path) = place();
    let of = |hosts: u32| (0..hosts).map(|rank| HostPlace { rank, ..HostPlace::default() }).collect();
    let environment = |hosts| Environment { hosts: of(hosts), ..environment("6.1") };
    let made_by = |number, hosts: u32| {
        let hosts = (0..hosts).map(|rank| HostShare { rank, ..HostShare::default() }).collect();
        Record { hosts, ..record(number) }
    };
    let mut named = made_by(3, 4);
    named.run.workload.options.hosts = Some(Hosts::first(4));
    let mut file = StudyFile::create(&path, &question(), &environment(4)).unwrap();
    file.append_all(&[made_by(1, 4), named.clone()]).unwrap();
    assert_eq!(file.comparable_records().unwrap().len(), 2);
    file.go_on_in(&environment(2)).unwrap();
    file.append(&made_by(2, 2)).unwrap();
    assert_eq!(file.comparable_records().unwrap(), [named, made_by(2, 2)]);
    assert_eq!(file.records().unwrap().len(), 3, "nothing is lost");
}

#[test]
fn a_run_is_kept_once() {
    let (_folder, path) = place();
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    file.append(&record(2)).unwrap();
    // Record 2 belongs to no experiment, which counts as an experiment of its own here.
    let error = file.append(&record(2)).unwrap_err();
    assert!(matches!(error, RecordError::AlreadyRecorded { .. }), "{error}");
    let error = file.append_all(&[record(3), record(2)]).unwrap_err();
    assert!(matches!(error, RecordError::AlreadyRecorded { .. }), "{error}");
    assert_eq!(file.records().unwrap(), [record(2)]);
}

#[test]
fn a_record_that_json_cannot_carry_is_refused_before_it_spoils_the_file() {
    let (_folder, path) = place();
    let mut file = StudyFile::create(&path, &question(), &environment("6.1")).unwrap();
    let error = file.append(&Record { achieved_depth: f64::NAN, ..record(1) }).unwrap_err();
    assert!(error.to_string().starts_with("achieved_depth of the run"), "{error}");
    assert_eq!(file.records().unwrap(), []);
}

#[test]
fn what_is_not_ours_is_refused_and_left_alone() {
    let (folder, path) = place();
    let sqlite = folder.path().join("other.db");
    Connection::open(&sqlite).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let contents = [Vec::new(), b"SQLite".to_vec(), b"a letter to a friend".to_vec(), fs::read(&sqlite).unwrap()];
    for content in contents {
        fs::write(&path, &content).unwrap();
        let refused = [
            StudyFile::open(&path),
            StudyFile::resume(&path, &question(), &environment("6.1")),
            StudyFile::open_or_create(&path, &question(), &environment("6.1")),
        ];
        for error in refused.map(Result::unwrap_err) {
            assert!(matches!(error, RecordError::NotAStudyFile { .. }), "{error}");
        }
        let error = StudyFile::create(&path, &question(), &environment("6.1")).unwrap_err();
        assert!(matches!(error, RecordError::Exists { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(names_in(folder.path()), ["other.db", "study.halfpower"]);
    }
}

#[test]
fn a_file_from_the_future_is_refused() {
    let (_folder, path) = place();
    study_of(&path, &records(1));
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 7").unwrap();
    let error = StudyFile::open(&path).unwrap_err();
    assert!(matches!(error, RecordError::Newer { found: 7, known: 2, .. }), "{error}");
}

#[test]
fn a_record_that_was_changed_by_hand_is_noticed() {
    let (_folder, path) = place();
    study_of(&path, &records(2));
    let change = "UPDATE record SET record = replace(record, '\"ios\":200', '\"ios\":201') WHERE record_id = 2";
    assert_eq!(Connection::open(&path).unwrap().execute(change, []).unwrap(), 1);
    let error = StudyFile::open(&path).unwrap().records().unwrap_err();
    assert!(matches!(error, RecordError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("record 2"), "{error}");
}

#[test]
fn a_record_that_was_taken_out_is_missed() {
    let (_folder, path) = place();
    study_of(&path, &records(3));
    Connection::open(&path).unwrap().execute("DELETE FROM record WHERE record_id = 2", []).unwrap();
    let error = StudyFile::open(&path).unwrap().records().unwrap_err();
    assert!(error.to_string().contains("record 2 is missing"), "{error}");
}

#[test]
fn places_where_no_file_can_be_get_a_sentence() {
    let (folder, path) = place();
    let nowhere = folder.path().join("no/such/folder/study.halfpower");
    let error = StudyFile::open_or_create(&nowhere, &question(), &environment("6.1")).unwrap_err();
    assert!(matches!(error, RecordError::Unwritable { .. }), "{error}");
    assert!(error.to_string().contains("study.halfpower cannot be written: No such file"), "{error}");
    assert!(matches!(StudyFile::open(&nowhere).unwrap_err(), RecordError::Unreadable { .. }));
    assert!(matches!(StudyFile::open(folder.path()).unwrap_err(), RecordError::NotAStudyFile { .. }));
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    // A dangling link is followed.
    drop(StudyFile::create(&path, &question(), &environment("6.1")).unwrap());
    assert!(folder.path().join("nowhere").is_file() && path.is_symlink());
}

#[test]
fn the_journal_of_a_study_that_was_removed_is_not_played_into_a_new_one() {
    let (folder, path) = place();
    let journal = folder.path().join("study.halfpower-journal");
    fs::write(&journal, [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 1]).unwrap();
    study_of(&path, &records(2));
    assert_eq!(names_in(folder.path()), ["study.halfpower"]);
    fs::remove_file(&path).unwrap();
    fs::write(&journal, "a diary").unwrap();
    let error = StudyFile::create(&path, &question(), &environment("6.1")).unwrap_err();
    assert!(matches!(error, RecordError::Exists { .. }), "{error}");
    assert_eq!(fs::read(&journal).unwrap(), b"a diary");
}

#[test]
fn the_columns_say_what_the_record_says() {
    let (_folder, path) = place();
    study_of(&path, &records(8));
    let database = Connection::open(&path).unwrap();
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    let of = record(1);
    assert_eq!(
        one("SELECT rw || ' ' || bs_bytes || ' ' || pattern FROM record WHERE repeat = 1"),
        "write 1024 sequential"
    );
    assert_eq!(one("SELECT seed || ' ' || engine || ' ' || errors_by_kind FROM record WHERE repeat = 1"), {
        format!("{} sync EIO=3", of.run.seed)
    });
    assert_eq!(one("SELECT CAST(mbps AS TEXT) FROM record WHERE repeat = 1")[..6], of.mbps().to_string()[..6]);
    assert_eq!(one("SELECT CAST(count(*) AS TEXT) FROM record WHERE experiment IS NULL"), "2");
    assert_eq!(one("SELECT CAST(sum(soaker_lost_ns) AS TEXT) FROM record WHERE pass = 'soaker'"), "246913578");
}

/// The table of columns for the page, from their documentation.
fn column_table() -> String {
    let mut table = "| column | meaning |\n|---|---|\n".to_string();
    for column in columns() {
        let (first, rest) = column.doc.split_at(1);
        let meaning = format!("{}{rest}", first.to_lowercase());
        table += &format!("| `{}` | {} |\n", column.name, meaning.trim_end_matches('.'));
    }
    table
}

/// `HALFPOWER_BLESS=1` writes the table of columns on the page anew.
#[test]
fn the_page_about_the_study_file_describes_every_column_and_its_queries_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study-file.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- columns -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of columns -->\n").unwrap();
    let expected = format!("{before}<!-- columns -->\n{}<!-- end of columns -->\n{after}", column_table());
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "the columns have changed; HALFPOWER_BLESS=1 writes the table anew");
    }
    let (_folder, path) = place();
    study_of(&path, &records(24));
    let database = Connection::open(&path).unwrap();
    let queries: Vec<&str> = page.split("```sql").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(queries.len(), 2);
    for query in queries {
        database.prepare(query).and_then(|mut query| query.query([])?.next().map(drop)).unwrap();
    }
}
