//! Tests both sides of the protocol: with a real witness in this process, and with commands that imitate faulty ones.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use halfpower_record::Record;
use halfpower_spec::{Bytes, Nanos, Pass, Run, Way, Workload, WorkloadOptions};
use halfpower_witness::{NoWays, Patience, Reply, Ways, Witness, WitnessError, serve};

fn answers(asked: &str, processes: &[&str]) -> Vec<String> {
    let mut said = Vec::new();
    let processes: Vec<String> = processes.iter().map(ToString::to_string).collect();
    serve(asked.as_bytes(), &mut said, &processes, &mut NoWays).unwrap();
    String::from_utf8(said).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn garbage_gets_a_line_each_and_the_talk_goes_on() {
    let long = "x".repeat(10_000);
    let said = answers(
        &format!("\n{{}}\n\u{0}\u{1}\n[1,2]\n{long}\n{{\"id\":5,\"do\":\"nothing\"}}\n{{\"id\":6,\"do\":\"time\"}}"),
        &[],
    );
    assert_eq!(said.len(), 7);
    assert!(said[..6].iter().all(|line| line.starts_with(r#"{"id":null,"error":"no request"#)), "{said:#?}");
    assert!(said[6].starts_with(r#"{"id":6,"time":"#), "{}", said[6]);
}

#[test]
fn a_bill_is_of_the_window_that_was_begun() {
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    let asked = "{\"id\":1,\"do\":\"end\"}\n{\"id\":2,\"do\":\"begin\",\"soaker\":true}\n{\"id\":3,\"do\":\"end\"}\n{\"id\":4,\"do\":\"end\"}\n";
    let said = answers(asked, &[own.trim_end(), "no such name"]);
    assert_eq!(said[0], r#"{"id":1,"error":"no window has begun"}"#);
    assert_eq!(said[1], r#"{"id":2,"begun":true}"#);
    assert_eq!(said[3], r#"{"id":4,"error":"no window has begun"}"#);
    let reply = Reply::read(said[2].as_bytes()).unwrap();
    let bill = reply.bill().unwrap();
    assert!(
        bill.span_ns > 0 && !bill.machine.is_empty() && bill.soaker.is_none(),
        "nobody started the soaker: {bill:?}"
    );
    assert_eq!(bill.processes.iter().map(|of| of.processes > 0).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn the_soaker_runs_for_the_window_that_comes_next() {
    let window = "{\"id\":2,\"do\":\"begin\",\"soaker\":true}\n{\"id\":3,\"do\":\"end\"}\n";
    let said = answers(&format!("{{\"id\":1,\"do\":\"soak\"}}\n{window}{window}"), &[]);
    assert!(said[0].starts_with(r#"{"id":1,"soaking":"#), "{}", said[0]);
    let soaked = |line: &str| Reply::read(line.as_bytes()).unwrap().bill().unwrap().soaker.is_some();
    assert!(soaked(&said[2]) && !soaked(&said[4]), "{said:#?}");
}

/// A shell script that answers as a witness, except for the `case` branches in `odd`; `$id` is the request's number and
/// `$count` the line's.
fn fake(odd: &str) -> String {
    let machine = r#"{\"kernel\":\"6\",\"cpu_model\":\"c\",\"cpus\":1,\"memory\":1,\"virtualised\":null}"#;
    let noise = r#"{\"pressure_io_ns\":null,\"pressure_cpu_ns\":null,\"device_bytes\":null,\"cpu_mhz\":null}"#;
    let script = format!(
        r#"count=0
        while read -r line; do
            count=$((count + 1)); id=${{line#*:}}; id=${{id%%,*}}
            case "$count $line" in
                {odd}
                *hello*) echo "{{\"id\":$id,\"greeting\":{{\"protocol\":1,\"program\":\"0\",\"boot\":null,\"machine\":{machine},\"processes\":[]}}}}";;
                *time*) echo "{{\"id\":$id,\"time\":$(date +%s%N)}}";;
                *begin*) echo "{{\"id\":$id,\"begun\":true}}";;
                *end*) echo "{{\"id\":$id,\"bill\":{{\"span_ns\":5,\"machine\":[],\"soaker\":null,\"processes\":[],\"disks\":[],\"interfaces\":[],\"noise\":{noise}}}}}";;
            esac
        done"#
    );
    assert!(!script.contains('\''), "it stands in single quotes");
    format!("/bin/sh -c '{script}'")
}

/// Patience that even a loaded machine does not exhaust.
const PATIENCE: Patience = Patience {
    greeting: Duration::from_secs(120),
    reply: Duration::from_secs(120),
    measurement: Duration::from_secs(120),
};
/// Requests before the first window: the greeting, five round trips, and a window on the idle machine.
const BEFORE: u32 = 8;

fn refusal(command: &str) -> WitnessError {
    Witness::start(command, PATIENCE).err().expect("no witness")
}

#[test]
fn what_is_no_witness_of_this_version_is_refused_before_anything_is_measured() {
    assert!(matches!(refusal("exit 3"), WitnessError::Ended { how, .. } if how == " with exit status 3"));
    assert!(matches!(refusal("kill -9 $$"), WitnessError::Ended { how, .. } if how == " by signal 9"));
    assert!(matches!(refusal("echo Welcome; cat"), WitnessError::Garbage { said, .. } if said == "Welcome"));
    assert!(
        matches!(refusal("head -c 9000000 /dev/zero; cat"), WitnessError::Garbage { said, .. } if said == "a line without end")
    );
    let newer = fake(r#"*hello*) echo "{\"id\":0,\"greeting\":{\"protocol\":2,\"program\":\"9.1.0\",\"new\":{}}}";;"#);
    let error = refusal(&newer);
    assert!(matches!(&error, WitnessError::OtherVersion { protocol: 2, program } if program == "9.1.0"), "{error}");
    assert!(error.to_string().ends_with("install one release at both ends"), "{error}");
    let brief = Patience { greeting: Duration::from_millis(50), ..PATIENCE };
    let silent = Witness::start("cat >/dev/null", brief).err().unwrap();
    assert!(matches!(silent, WitnessError::Silent { .. }), "{silent}");
}

#[test]
fn words_and_quotes_are_the_shells() {
    let folder = tempfile::tempdir().unwrap();
    let reported = folder.path().join("it's told");
    let text = reported.to_str().unwrap().replace('\'', r"'\''");
    let _ = refusal(&format!("printf '%s|' one 'two  three' \"$HOME\" >'{text}'"));
    let home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(std::fs::read_to_string(reported).unwrap(), format!("one|two  three|{home}|"));
}

#[test]
fn a_far_end_that_dies_is_told_of_once() {
    let mut witness = Witness::start(&fake(&format!("{}*) exit 7;;", BEFORE + 7)), PATIENCE).unwrap();
    witness.prepare(false);
    witness.begin();
    assert_eq!((witness.end(), witness.take_notes().len()), (None, 1));
    for _ in 0..3 {
        witness.prepare(true);
        witness.begin();
        assert_eq!((witness.end(), witness.take_notes().len()), (None, 0), "nobody asks it again");
    }
}

#[test]
fn garbage_in_the_middle_is_told_of_and_ends_the_asking() {
    let odd = format!("{}*) echo \"{{\\\"id\\\":$id,\\\"bill\\\":17}}\";;", BEFORE + 7);
    let mut witness = Witness::start(&fake(&odd), PATIENCE).unwrap();
    witness.prepare(false);
    witness.begin();
    assert_eq!(witness.end(), None);
    let notes = witness.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("is no reply of a witness"), "{notes:?}");
    assert!(notes[0].ends_with("is not known from then on"), "{notes:?}");
}

/// Lets an answer come only after a patience of so many seconds is over; the error is what was told otherwise than that.
fn passed_over(seconds: u64) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let over = folder.path().join("over");
    let waits = format!("until [ -e {} ]; do sleep 0.1; done", over.display());
    let odd = format!("{}*) {waits}; echo \"{{\\\"id\\\":$id,\\\"begun\\\":true}}\";;", BEFORE + 1);
    let patience = Patience { reply: Duration::from_secs(seconds), ..PATIENCE };
    let mut witness = Witness::start(&fake(&odd), patience).map_err(|error| error.to_string())?;
    witness.begin();
    let (end, notes) = (witness.end(), witness.take_notes());
    std::fs::write(&over, "").unwrap();
    let words = format!("did not answer within {seconds} s; the far end is asked again");
    if end.is_some() || notes.len() != 1 || !notes[0].ends_with(&words) {
        return Err(format!("{end:?}, {notes:?}"));
    }
    witness.begin();
    witness.end().map(drop).ok_or_else(|| format!("{:?}", witness.take_notes()))
}

#[test]
fn an_answer_that_comes_too_late_is_passed_over() {
    // On a busy machine the other answers, too, may take longer than a second.
    let failed: Vec<String> = [1, 5, 25].into_iter().map_while(|seconds| passed_over(seconds).err()).collect();
    assert!(failed.len() < 3, "{failed:#?}");
}

/// A short run by the local way, past the share.
fn local_run() -> Run {
    let options = WorkloadOptions { way: Way::Local, ..WorkloadOptions::default() };
    let workload = Workload { options, ..Workload::default() };
    Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1_000_000), seed: u64::MAX }
}

fn measured(witness: &mut Witness) -> Result<Record, WitnessError> {
    witness.measure(&local_run(), Bytes(1 << 20), &AtomicBool::new(false))
}

#[test]
fn a_run_is_asked_for_with_all_its_digits_and_its_record_comes_back() {
    struct Echo;
    impl Ways for Echo {
        fn offered(&self) -> Vec<Way> {
            vec![Way::Local]
        }

        fn measure(&mut self, run: &Run, size: Bytes) -> Result<Record, String> {
            assert_eq!((*run, size), (local_run(), Bytes(1 << 20)));
            Err("no room here".to_string())
        }
    }
    let run = serde_json::to_string(&local_run()).unwrap();
    let asked =
        format!("{{\"id\":0,\"do\":\"hello\"}}\n{{\"id\":1,\"do\":\"measure\",\"run\":{run},\"size\":1048576}}\n");
    let mut said = Vec::new();
    serve(asked.as_bytes(), &mut said, &[], &mut Echo).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains(r#""ways":["local"]"#) && said.contains(r#"{"id":1,"error":"no room here"}"#), "{said}");
    assert!(answers(&asked, &[])[1].contains("measures nothing by the way local"));
}

#[test]
fn what_is_no_record_of_the_run_is_garbage_and_ends_the_asking() {
    for answer in [r#"\"record\":\"{}\""#, r#"\"record\":7"#, r#"\"begun\":true"#, r#"\"time\":5"#] {
        let odd = format!(r#"*measure*) echo "{{\"id\":$id,{answer}}}";;"#);
        let mut witness = Witness::start(&fake(&odd), PATIENCE).unwrap();
        let error = measured(&mut witness).unwrap_err();
        assert!(matches!(error, WitnessError::Garbage { .. }), "{answer}: {error}");
        assert!(matches!(measured(&mut witness), Err(WitnessError::Lost { .. })), "nobody asks it again");
    }
}

#[test]
fn a_run_that_never_comes_back_is_given_up_in_time_or_when_somebody_asks_for_it() {
    let patience = Patience { measurement: Duration::from_millis(200), ..PATIENCE };
    let mut witness = Witness::start(&fake("*measure*) : ;;"), patience).unwrap();
    assert!(matches!(measured(&mut witness), Err(WitnessError::Silent { .. })));
    assert!(matches!(measured(&mut witness), Err(WitnessError::Lost { .. })), "nobody waits for it again");
    let mut witness = Witness::start(&fake("*measure*) : ;;"), PATIENCE).unwrap();
    let stopped = witness.measure(&local_run(), Bytes(1 << 20), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(WitnessError::Interrupted)));
}

#[test]
fn the_offset_of_a_clock_is_within_its_reach() {
    let odd = r#"*time*) echo "{\"id\":$id,\"time\":$(($(date +%s%N) + 5000000000))}";;"#;
    let mut witness = Witness::start(&fake(odd), PATIENCE).unwrap();
    witness.prepare(false);
    witness.begin();
    let end = witness.end().unwrap();
    let missed_ns = (end.clock_offset_ns - 5_000_000_000).unsigned_abs();
    assert!(missed_ns <= end.clock_offset_reach_ns, "{end:?}");
    assert!(end.clock_offset_reach_ns > 0);
}
