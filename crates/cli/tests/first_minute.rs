//! Tests a newcomer's first commands: wrong lines get helpful errors, and output fits every kind of terminal.

use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::program::{command, folder, run, skip};

fn line(folder: &TempDir, words: &str) -> Output {
    run(folder.path(), &words.split(' ').collect::<Vec<_>>())
}

#[test]
fn a_clumsy_line_says_what_where_and_what_to_do() {
    let here = folder();
    for (words, what) in [
        ("run", "<TARGET>"),
        ("run /nowhere", "/nowhere does not exist: name a folder, a file or a device"),
        ("run sim: --bs 4k-1m", "`halfpower study --bs 4k-1m` walks through many"),
        ("run sim: --bs 4k,8k", "`halfpower run --bssplit 4k:64k` draws from several"),
        ("run sim: --bs 0", "a size must be at least one byte"),
        ("run sim: --size 10%", "there is no unit `%`; write it like 4096, 4KiB or 1MiB"),
        ("run sim: --rw rnd", "write one of read, write, randread"),
        ("run sim: --direct=2", "0..=1"),
        ("run sim: --write", "the direction and the order are one flag: --rw"),
        ("run . --runtime 5 min", "is a unit and no target: write number and unit as one word"),
        ("run sim: --runtime 0", "give a time such as 3s"),
        ("run . --size 100k", "ask for 1MiB or more"),
        ("run job.fio", "job.fio: cannot be read"),
        ("run . --output-format xml", "use normal, json, json+ or terse"),
        ("run sim: --output none.halfpower", "`halfpower plan TARGET --output none.halfpower` creates it"),
        ("study sim: --sise 16m", "'--size'"),
        ("study sim: --threads 0", "0 is not in 1..=1024"),
        ("study sim: --warmup 3", "leaves out the warm-up by itself"),
        ("study sim: --runs 10", "--budget says how long"),
        ("study sim: --export-json out.json", "`--json` of study, run, report and compare prints JSON"),
        ("study sim: --dry-run", "`halfpower plan` prints the runs"),
        ("study sim: --iodepth=4k", "--iodepth"),
        ("studdy .", "'study'"),
        ("report none.halfpower", "none.halfpower cannot be read"),
        ("compare --baseline none a", "there is no baseline `none`"),
        ("probe /nowhere", "/nowhere: name an existing folder, file or device"),
        ("sqlio -k", "write -kR or -kW"),
        ("diskspd -b4K -d1 -Sx F", "-Sx: there is no letter `x`; use b, h, m, u or w"),
        ("import none.json -o out.halfpower", "none.json"),
    ] {
        let output = line(&here, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert!(said.contains(what), "{words}: {said}");
        assert!(!said.contains("as a value, use '--") && !said.contains("panicked"), "{words}: {said}");
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn an_error_that_nobody_reads_is_still_an_error() {
    let here = folder();
    let mut child = command(here.path(), &["run", "/nowhere"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

/// Output of the program on a terminal with `columns` columns.
fn on_terminal(here: &TempDir, columns: u32, variables: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_halfpower");
    let line = format!("stty cols {columns} rows 50; {variables} '{program}' report s.halfpower");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(here.path()).stdin(Stdio::null());
    let output = script.env("TERM", "xterm-256color").env("COLUMNS", "200").env_remove("NO_COLOR").output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

#[test]
fn the_terminal_is_asked_for_its_width_and_its_colours_are_respected() {
    let here = folder();
    assert!(line(&here, "study sim:fixed=1ms --budget 20s --output s.halfpower").status.success());
    let Some(coloured) = on_terminal(&here, 80, "") else { return skip("script is not installed") };
    assert!(coloured.contains('\u{1b}') && coloured.contains("SIMULATED"), "{coloured}");
    for variables in ["NO_COLOR=1", "TERM=dumb"] {
        for columns in [80, 120] {
            let shown = on_terminal(&here, columns, variables).unwrap();
            assert!(shown.contains("HOW FAST") && !shown.contains('\u{1b}'), "{variables}: {shown}");
            let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns as usize, "{widest} of {columns} columns: {shown}");
            assert!(shown.lines().count() < 50, "the answer needs no scrolling: {shown}");
        }
    }
    let piped = String::from_utf8(line(&here, "report s.halfpower").stdout).unwrap();
    assert!(piped.contains("HOW FAST") && !piped.contains('\u{1b}'), "no terminal, no colour: {piped}");
}

#[test]
fn a_run_that_is_interrupted_prints_what_there_is() {
    // On a busy machine nothing may have been measured soon after the first lane begins.
    let waits = [300, 3_000, 30_000].map(std::time::Duration::from_millis);
    let (shown, said) = waits.into_iter().map(interrupted).find(|(shown, _)| shown.contains("throughput")).unwrap();
    assert!(!shown.contains("each block came once"), "{shown}");
    assert!(said.contains("the figures are of that time"), "{said}");
}

/// What a run prints that is interrupted this long after its first lane has begun, on both outputs.
fn interrupted(after: std::time::Duration) -> (String, String) {
    let here = folder();
    let mut child = command(here.path(), &["run", ".", "--size", "4m", "--runtime", "10m"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Lanes are separate threads; once they exist, the window is about to open.
    let tasks = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&tasks).is_ok_and(|tasks| {
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        !tasks.flatten().any(|task| name(task).starts_with("lane"))
    }) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(after);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let output = child.wait_with_output().unwrap();
    [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).into()
}
