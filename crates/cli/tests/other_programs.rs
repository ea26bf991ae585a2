//! Checks that the queries and scripts of `examples/` and fio-plot read a study's files.
//!
//! `HALFPOWER_PYTHON` names a Python interpreter with DuckDB, pandas, matplotlib and fio-plot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const DISK: &str = "sim:fixed=80us,rate=500MB/s,disks=4,noise=3%,seed=5";

/// The Python interpreter with `module`; `None` after printing why the test is skipped.
fn python(module: &str) -> Option<PathBuf> {
    let python = PathBuf::from(std::env::var_os("HALFPOWER_PYTHON").unwrap_or_else(|| "python3".into()));
    let mut import = Command::new(&python);
    import.args(["-c", &format!("import {module}")]).stdout(Stdio::null()).stderr(Stdio::null());
    if import.status().is_ok_and(|status| status.success()) {
        return Some(python);
    }
    skipped(&format!("{} has no {module}; name one that has it in HALFPOWER_PYTHON", python.display()));
    None
}

fn skipped(why: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Output of a program, which must succeed.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out.into_owned()
}

fn halfpower(folder: &Path, words: &[&str]) -> String {
    said(Command::new(env!("CARGO_BIN_EXE_halfpower")).current_dir(folder).args(words).stdin(Stdio::null()))
}

/// A folder with a study of a simulated disk, its findings, and its CSV.
fn studied() -> (TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let findings = halfpower(folder.path(), &["study", DISK, "--budget", "20s", "--json"]);
    halfpower(folder.path(), &["export", "study.halfpower", "--format", "csv", "--output", "study.csv"]);
    (folder, serde_json::from_str(&findings).unwrap())
}

/// Rows of the first answer among those of `queries.sql`, as maps would be: columns and cells.
fn first_answer(text: &str) -> (Vec<&str>, Vec<Vec<&str>>) {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows = lines.take_while(|row| row.len() == names.len() && row[0] != "direction").collect();
    (names, rows)
}

#[test]
#[ignore = "gate: other programs read it"]
fn sqlite_and_duckdb_answer_the_example_queries_as_the_analysis_does() {
    let (folder, findings) = studied();
    let Some(python) = python("duckdb") else { return };
    let script = examples().join("duckdb_queries.py");
    let by_duckdb = said(Command::new(python).arg(script).arg(folder.path().join("study.csv")).arg("--csv"));
    let (names, rows) = first_answer(&by_duckdb);
    let column = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let curves = findings["curves"].as_array().unwrap();
    assert_eq!(rows.len(), curves.len(), "a row for each curve");
    for curve in curves {
        let depth = curve["iodepth"].to_string();
        let same = |row: &&Vec<&str>| {
            ["pattern", "cache"].iter().all(|name| row[column(name)] == curve[*name])
                && row[column("direction")] == curve["rw"]
                && row[column("iodepth")] == depth
        };
        let row = rows.iter().find(same).unwrap_or_else(|| panic!("no row for {curve}"));
        let peak: f64 = row[column("peak_mbps")].parse().unwrap();
        assert!((peak - curve["peak_mbps"].as_f64().unwrap()).abs() <= 0.051, "{row:?} {curve}");
        assert_eq!(row[column("half_power_bs_bytes")], curve["half_power_bs_bytes"].to_string());
    }
    let Ok(queries) = fs::File::open(examples().join("queries.sql")) else { panic!("the queries are there") };
    let mut sqlite = Command::new("sqlite3");
    sqlite.args(["-csv", "-header"]).arg(folder.path().join("study.halfpower")).stdin(queries);
    match sqlite.output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout).replace('\r', ""), by_duckdb),
        Err(_) => skipped("sqlite3 is not installed, so the study file was not queried"),
    }
}

/// Runs of commits and of ways of issuing have the block size, depth and cache setting of a cell, and other rates.
#[test]
#[ignore = "gate: other programs read it"]
fn the_example_queries_leave_out_what_other_experiments_measured() {
    let Some(python) = python("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.csv");
    let run = |experiment: &str, pass: &str, bs: u32, threads: u32, mbps: f64| {
        format!("{experiment},random,write,{bs},1,{threads},device,{pass},1,0,{mbps:.1},1.0,1000,2000,100,9,9,5\n")
    };
    let head = "experiment,pattern,direction,bs_bytes,iodepth,threads,cache,pass,seed,errors,mbps,iops,\
                latency_ns_p50,latency_ns_p99,submitted,user_ns,system_ns,soaker_lost_ns\n";
    let runs = [
        run("random", "plain", 4096, 1, 40.0),
        run("random", "plain", 4096, 2, 80.0),
        run("random", "plain", 8192, 1, 100.0),
        run("random", "soaker", 8192, 1, 90.0),
        run("commits", "plain", 8192, 16, 900.0),
        run("engines", "plain", 4096, 1, 300.0),
    ];
    fs::write(&study, format!("{head}{}", runs.concat())).unwrap();
    let script = examples().join("duckdb_queries.py");
    let answer = said(Command::new(python).arg(script).arg(&study).arg("--csv"));
    let (names, rows) = first_answer(&answer);
    assert_eq!(names, ["pattern", "cache", "direction", "iodepth", "peak_mbps", "half_power_bs_bytes"]);
    assert_eq!(rows, [["random", "device", "write", "1", "100.0", "8192"]]);
}

#[test]
#[ignore = "gate: other programs read it"]
fn the_notebook_reads_the_csv_and_the_study_file() {
    let Some(python) = python("pandas, matplotlib") else { return };
    let (folder, findings) = studied();
    let mut notebook = Command::new(python);
    notebook.current_dir(folder.path()).arg(examples().join("notebook.py"));
    let text = said(notebook.args(["study.csv", "study.halfpower", "picture.png"]));
    assert!(text.contains(&format!("{} runs", findings["runs"])), "{text}");
    is_a_picture(&folder.path().join("picture.png"));
}

#[test]
#[ignore = "gate: other programs read it"]
fn fio_plot_draws_every_kind_of_chart_from_our_json() {
    let Some(python) = python("fio_plot") else { return };
    let (folder, _) = studied();
    halfpower(folder.path(), &["export", "study.halfpower", "--format", "fio", "--output", "fio"]);
    // The planner chooses the cells; the two of greatest depth are enough.
    let mut cells = exported(&folder.path().join("fio/device"), "randread");
    cells.sort_by_key(|(depth, _)| *depth);
    let [.., (other_depth, other), (depth, size)] = cells.as_slice() else { panic!("{cells:?}") };
    let depth = depth.to_string();
    let other_depth = other_depth.to_string();
    let size = format!("fio/device/{size}");
    let other = format!("fio/device/{other}");
    let kinds: [(&str, &[&str]); 4] = [
        ("depths.png", &["-i", &size, "-l"]),
        ("histogram.png", &["-i", &size, "-H", "-d", &depth]),
        ("other.png", &["-i", &other, "-H", "-d", &other_depth]),
        ("space.png", &["-i", &size, "-L", "-t", "iops", "-J", "1"]),
    ];
    for (picture, words) in kinds {
        let mut plot = Command::new(&python);
        plot.current_dir(folder.path()).args(["-m", "fio_plot", "-T", "a study", "-r", "randread", "-o", picture]);
        said(plot.args(words).env("MPLBACKEND", "Agg"));
        is_a_picture(&folder.path().join(picture));
    }
}

/// The depths and block sizes of the cells of one access pattern below a folder of fio documents.
fn exported(folder: &Path, rw: &str) -> Vec<(u32, String)> {
    let names = |folder: &Path| -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let depth = |name: &str| name.strip_prefix(&format!("{rw}-"))?.split('-').next()?.parse().ok();
    let of = |size: String| {
        let files = names(&folder.join(&size));
        files.iter().filter_map(|name| depth(name)).map(|depth| (depth, size.clone())).collect::<Vec<_>>()
    };
    names(folder).into_iter().flat_map(of).collect()
}

fn is_a_picture(path: &Path) {
    let picture = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{}: {} bytes", path.display(), picture.len());
}

#[test]
fn a_folder_for_fio_s_form_must_be_new() {
    let (folder, _) = studied();
    let export = |backend: &str| {
        Command::new(env!("CARGO_BIN_EXE_halfpower"))
            .current_dir(folder.path())
            .args(["export", "study.halfpower", "--format", "fio", "--output", backend])
            .output()
            .unwrap()
    };
    assert!(export("fio").status.success());
    for (backend, word) in [("fio", "not empty"), ("study.csv", "is a file")] {
        let refused = export(backend);
        assert_eq!(refused.status.code(), Some(2), "{backend}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(word), "{refused:?}");
    }
}
