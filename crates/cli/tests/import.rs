//! Tests `halfpower import`: results of other tools become studies that every command reads, and their traces captures.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use halfpower_record::{Captured, OperationKind, read_capture};

use crate::program::{folder, skip};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dialects/tests/data");

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_halfpower")).args(words).output().unwrap()
}

fn imported(at: &Path, files: &[&str]) -> String {
    let study = at.join("imported.halfpower").display().to_string();
    let mut words = vec!["import"];
    words.extend(files);
    words.extend(["-o", &study]);
    let output = run(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    study
}

fn text(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_trace_comes_back_field_for_field() {
    let at = folder();
    let study = at.path().join("own.halfpower").display().to_string();
    let disk = "sim:fixed=80us,rate=500MB/s,noise=3%";
    text(&["study", disk, "--budget", "20s", "--output", &study, "--json"]);
    let trace = text(&["export", &study, "--format", "sqlio"]);
    assert!(trace.lines().count() > 3);
    let file = at.path().join("trace.csv");
    fs::write(&file, &trace).unwrap();
    let again = imported(at.path(), &[file.to_str().unwrap()]);
    assert_eq!(text(&["export", &again, "--format", "sqlio"]), trace);
}

#[test]
fn the_first_screen_claims_nothing_that_is_not_known() {
    let at = folder();
    let file = at.path().join("old.csv");
    fs::write(&file, "19.5,312,read,64,0,Y,1,10,102400,10.01,15.6,46.8,6/16/00 12:00,atlas\n").unwrap();
    let study = imported(at.path(), &[file.to_str().unwrap()]);
    let screen = text(&["report", &study]);
    let row = screen.lines().find(|line| line.contains("64 KiB")).expect("its row");
    assert!(row.contains("order unknown, read buffered") && row.contains(" -    -     1"), "{screen}");
    assert!(screen.contains("IMPORTED") && screen.contains("imported") && screen.contains("SQLIO"), "{screen}");
    assert!(!screen.contains("budget") && !screen.contains("seq."), "{screen}");
    let json: serde_json::Value = serde_json::from_str(&text(&["report", &study, "--json"])).unwrap();
    let cell = &json["cells"][0];
    assert_eq!(
        (&cell["latency_ns"]["p99"], &cell["achieved_depth"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!((&json["harness_ns_per_io"], &json["imported"][0]["tool"]), (&serde_json::Value::Null, &"sqlio".into()));
    let csv = text(&["export", &study, "--format", "csv"]);
    let column = |name: &str| {
        let at = csv.lines().next().unwrap().split(',').position(|one| one == name).unwrap();
        csv.lines().nth(1).unwrap().split(',').nth(at).unwrap().to_string()
    };
    for name in ["latency_ns_p50", "achieved_depth", "seed", "flush_ns", "harness_ns_per_io", "started_unix_ms"] {
        assert_eq!(column(name), "", "{name}");
    }
    assert_eq!((column("pattern").as_str(), column("user_ns").as_str()), ("unknown", "15600000"));
}

/// Each reason is that of the results at hand, not of a study that we measured.
#[test]
fn what_results_lack_is_not_told_as_what_a_study_lacks() {
    let at = [folder(), folder(), folder(), folder()];
    let data = |name: &str| format!("{FIXTURES}/{name}");
    let ior = imported(at[0].path(), &[&data("ior.json")]);
    let screen = text(&["report", &ior]);
    assert!(screen.contains("the results of the other tool do not tell it") && !screen.contains("Little"), "{screen}");
    let elbencho = imported(at[1].path(), &[&data("elbencho.csv")]);
    let json: serde_json::Value = serde_json::from_str(&text(&["report", &elbencho, "--json"])).unwrap();
    let [how_fast, stops, set] = [0, 1, 2].map(|sentence| json["verdict"][sentence].as_str().unwrap());
    let unknown = "What stops it is not known: no other depth tells what more would bring.";
    assert!(how_fast.starts_with("How fast: ") && stops == unknown, "{how_fast} {stops}");
    assert!(set.contains("2 x 16 deep"), "with its threads: {set}");
    assert_eq!(
        (&json["bottleneck"]["level"], &json["bottleneck"]["doubt"]["code"]),
        (&"unknown".into(), &"one-depth".into())
    );
    let levels = json["levels"].as_array().unwrap();
    assert!(levels.iter().all(|level| level["narrowest"] == false), "{levels:?}");
    let page = text(&["report", &elbencho, "--html", "-"]);
    assert!(page.contains("halfpower run TARGET") && !page.contains("[write]\n"), "it names no target of this machine");
    let mixed = imported(at[2].path(), &[&data("fio-plus.json")]);
    let screen = text(&["report", &mixed]);
    assert!(screen.contains("not known: no run is of one cell; all stand beside the cells"), "{screen}");
    let page = text(&["report", &mixed, "--html", "-"]);
    assert!(page.contains("Runs beside the cells") && page.contains("38,335"), "the page has these rows, too");
    let diskspd = imported(at[3].path(), &[&data("diskspd.txt")]);
    let page = text(&["report", &diskspd, "--html", "-"]);
    assert!(page.contains("Reads stand beside the cells."), "their mixed load has some");
}

#[test]
fn results_of_three_tools_are_reported_compared_and_exported() {
    let at = folder();
    let files = ["fio.json", "fio-plus.json", "diskspd.xml"].map(|name| format!("{FIXTURES}/{name}"));
    let study = imported(at.path(), &files.each_ref().map(String::as_str));
    let screen = text(&["report", &study]);
    assert!(screen.contains("BESIDE THE CELLS") && screen.contains("rate_iops=500"), "{screen}");
    let page = at.path().join("page.html").display().to_string();
    text(&["report", &study, "--html", &page]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Another tool measured these") && page.contains("diskspd 2.2"), "the page says whose it is");
    text(&["compare", &study, &study]);
    for format in ["sqlio", "csv", "json", "fio"] {
        assert!(!text(&["export", &study, "--format", format]).is_empty());
    }
}

#[test]
fn a_terse_line_claims_no_settings_on_screen_and_in_exports() {
    let at = folder();
    let study = imported(at.path(), &[&format!("{FIXTURES}/fio-terse.txt")]);
    let screen = text(&["report", &study]);
    let row = screen.lines().find(|line| line.contains("job r4k")).unwrap_or_else(|| panic!("{screen}"));
    assert!(row.contains("order unknown, read, job r4k") && row.contains("4 KiB") && !row.contains("deep"), "{screen}");
    let csv = text(&["export", &study, "--format", "csv"]);
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    for name in ["iodepth", "threads", "cache"] {
        let place = names.iter().position(|one| *one == name).unwrap();
        assert_eq!(csv.lines().nth(1).unwrap().split(',').nth(place), Some(""), "{name}: {csv}");
    }
    let fio: serde_json::Value = serde_json::from_str(&text(&["export", &study, "--format", "fio"])).unwrap();
    assert_eq!(fio["jobs"][0]["job options"]["iodepth"], serde_json::Value::Null);
    let trace = text(&["export", &study, "--format", "sqlio"]);
    assert!(trace.lines().next().unwrap().contains("unknown=depth;cache"), "{trace}");
    let file = at.path().join("trace.csv");
    fs::write(&file, &trace).unwrap();
    let again = at.path().join("again.halfpower").display().to_string();
    text(&["import", file.to_str().unwrap(), "-o", &again]);
    let back = text(&["export", &again, "--format", "json"]);
    let back: serde_json::Value = serde_json::from_str(&back).unwrap();
    assert_eq!((&back[0]["iodepth"], &back[0]["bs_bytes"]), (&serde_json::Value::Null, &4096.into()));
}

#[test]
fn results_of_five_tools_stand_in_one_study() {
    let at = folder();
    let names =
        ["fio-plus.json", "fio-terse.txt", "diskspd.txt", "sqlio.txt", "elbencho.csv", "elbencho.json", "ior.json"];
    let files = names.map(|name| format!("{FIXTURES}/{name}"));
    let study = at.path().join("all.halfpower").display().to_string();
    let mut words = vec!["import", "-o", &study, "--target", "the shelf"];
    words.extend(files.iter().map(String::as_str));
    text(&words);
    let json: serde_json::Value = serde_json::from_str(&text(&["report", &study, "--json"])).unwrap();
    let tools: Vec<&str> =
        json["imported"].as_array().unwrap().iter().map(|file| file["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["fio", "fio", "diskspd", "sqlio", "elbencho", "elbencho", "ior"]);
    let page = at.path().join("page.html").display().to_string();
    text(&["report", &study, "--html", &page]);
    text(&["compare", &study, &study]);
}

#[test]
fn a_broken_file_leaves_nothing_and_a_study_is_never_replaced() {
    let at = folder();
    let broken = at.path().join("broken.csv");
    let study = at.path().join("s.halfpower");
    fs::write(&broken, "19.5,312,read,64,0,Y,1,10,102400,10.01,15.6,46.8,then,x\n1,2,3\n").unwrap();
    let good = format!("{FIXTURES}/fio.json");
    let words = ["import", &good, broken.to_str().unwrap(), "-o", study.to_str().unwrap()];
    let output = run(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("broken.csv, line 2: BlockSize"), "{said}");
    assert!(!study.exists(), "nothing is half imported");
    fs::write(&study, "mine").unwrap();
    let output = run(&["import", &good, "-o", study.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&study).unwrap(), "mine");
}

#[test]
fn sizes_that_were_drawn_are_no_single_size() {
    let at = folder();
    let path = |name: &str| at.path().join(name).to_str().unwrap().to_string();
    let study = path("own.halfpower");
    let trace = path("trace.csv");
    text(&["plan", "sim:fixed=1ms", "--output", &study]);
    let sizes = "4k/60:64k/40,8k";
    run(&["run", "sim:fixed=1ms", "--rw", "randrw", "--bssplit", sizes, "--runtime", "1s", "--output", &study]);
    let reported = "--bssplit 4KiB/60:64KiB/40,8KiB/100";
    for (format, name) in [("sqlio", &trace), ("fio", &path("fio.json"))] {
        fs::write(name, text(&["export", &study, "--format", format])).unwrap();
        let back = path(&format!("{format}.halfpower"));
        text(&["import", name, "-o", &back]);
        let json: serde_json::Value = serde_json::from_str(&text(&["export", &back, "--format", "json"])).unwrap();
        let workload = &json[0]["record"]["run"]["workload"];
        assert_eq!(workload["options"]["bssplit"], "4KiB/60:64KiB/40,8KiB/100", "{format}: {workload}");
        assert_eq!(workload["bs"], 65536);
        let report = text(&["report", &back]);
        assert!(report.contains(reported), "{format}: {report}");
    }
}

#[test]
fn what_fio_prints_today_is_imported() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("fio is not installed");
    }
    let at = folder();
    let data = at.path().join("data");
    let results = at.path().join("fio.json");
    let output = Command::new("fio")
        .args(["--name=mix", "--rw=randrw", "--rwmixread=70", "--bs=4k", "--size=1m", "--output-format=json+"])
        .args(["--ioengine=psync", "--end_fsync=0"])
        .arg(format!("--filename={}", data.display()))
        .arg(format!("--output={}", results.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let study = imported(at.path(), &[results.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&text(&["export", &study, "--format", "json"])).unwrap();
    let row = &json[0];
    assert_eq!((&row["rw"], &row["ios"], &row["bytes"]), (&"randrw".into(), &256.into(), &(1 << 20).into()));
    assert!(row["read_latency_ns_p99"].as_u64() > Some(0) && row["latency_ns_p99"].as_u64() > Some(0), "{row}");
    assert!(row["record"]["origin"]["file"].as_str().unwrap().ends_with("fio.json"));
}

#[test]
fn a_trace_of_another_tool_becomes_a_capture() {
    let at = folder();
    let app = at.path().join("app.halfpower");
    let trace = format!("{FIXTURES}/strace.txt");
    let capture = app.to_str().unwrap();
    let said = text(&["import", &trace, "-o", capture]);
    let kept = "6 operations of 2 lanes on 3 files, 5.1 ms; ask them again with `halfpower run --workload ";
    assert!(said.contains(kept), "{said}");
    assert!(read_capture(&app).unwrap().files.iter().all(|file| file.name.is_none()), "names are kept on demand");
    // A capture takes the place of one, as a study never does.
    text(&["import", &trace, "--names", "-o", capture]);
    assert_eq!(read_capture(&app).unwrap().files[0].name.as_deref(), Some("/data/table"));
    assert!(text(&["import", &trace, "-o", "-"]).starts_with("{\"capture_by\":\"halfpower "));
    for name in ["blkparse.txt", "fio-lat-log.txt", "fio-io-log.txt"] {
        text(&["import", &format!("{FIXTURES}/{name}"), "-o", capture]);
        assert_eq!(read_capture(&app).unwrap().operations.len(), 4, "{name}");
    }
}

#[test]
fn an_import_says_what_it_lacks() {
    let at = folder();
    let path = |name: &str| at.path().join(name).display().to_string();
    let trace = format!("{FIXTURES}/strace.txt");
    let results = format!("{FIXTURES}/fio.json");
    let out = path("out");
    let app = path("app");
    text(&["import", &trace, "-o", &app]);
    for (words, expected) in [
        (vec!["import", &trace], "is what strace printed: name the capture to make of it, such as -o app.halfpower"),
        (vec!["import", &results], "name the study file to write, such as -o study.halfpower"),
        (vec!["import", &results, &trace, "-o", &out], "import them one after the other"),
        (vec!["import", &trace, "--target", "x", "-o", &out], "--target"),
        (vec!["import", &results, "--names", "-o", &out], "--names"),
        (vec!["import", &results, "-o", &app], "already exists"),
    ] {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(!Path::new(&out).exists(), "{words:?}");
    }
}

/// What a file of this run became: the operations on files whose name ends so.
fn operations(captured: &Captured, name: &str) -> Vec<(OperationKind, u64, u64)> {
    let is_named = |file: u32| captured.files[file as usize].name.as_ref().is_some_and(|found| found.ends_with(name));
    let found = captured.operations.iter().filter(|operation| is_named(operation.file));
    found.map(|operation| (operation.kind, operation.offset, operation.bytes)).collect()
}

#[test]
fn what_strace_prints_today_becomes_a_capture() {
    let at = folder();
    let trace = at.path().join("trace.txt");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-ttt", "-T", "-s", "0", "-e", "trace=desc,process", "-o"]).arg(&trace);
    strace.args(["dd", "if=/dev/zero", "of=written", "bs=4096", "count=3", "conv=fsync"]).current_dir(at.path());
    if !strace.output().is_ok_and(|output| output.status.success()) {
        return skip("strace is not there, or may not trace");
    }
    let app = at.path().join("app.halfpower");
    text(&["import", trace.to_str().unwrap(), "--names", "-o", app.to_str().unwrap()]);
    let captured = read_capture(&app).unwrap();
    let written = [0, 4096, 8192].map(|offset| (OperationKind::Write, offset, 4096));
    let expected: Vec<_> = written.into_iter().chain([(OperationKind::Fsync, 0, 0)]).collect();
    assert_eq!(operations(&captured, "/written"), expected);
    assert_eq!(captured.subject, "dd");
}

#[test]
fn what_fio_logs_today_becomes_a_capture() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("fio is not installed");
    }
    let at = folder();
    let output = Command::new("fio")
        .args(["--name=mix", "--rw=randrw", "--rwmixread=70", "--bs=4k", "--size=1m", "--ioengine=psync"])
        .args(["--filename=data", "--fdatasync=100", "--write_lat_log=log", "--log_offset=1", "--write_iolog=io.log"])
        .current_dir(at.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let app = at.path().join("app.halfpower");
    for (log, most_lanes) in [("log_lat.1.log", 2), ("io.log", 1)] {
        let log = at.path().join(log);
        text(&["import", log.to_str().unwrap(), "-o", app.to_str().unwrap()]);
        let captured = read_capture(&app).unwrap();
        let moved = captured.operations.iter().filter(|operation| operation.bytes == 4096).count();
        assert_eq!(moved, 256, "{}", log.display());
        assert!(captured.lanes <= most_lanes, "{}: {} lanes", log.display(), captured.lanes);
    }
}
