//! Tries to overwrite foreign files, studies, pipes and devices with the outputs of every command.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::program::{command, folder, run, skip};

const DISK: &str = "sim:fixed=80us,rate=500MB/s";
const FOREIGN: &str = "what somebody else wrote\n";

fn done(folder: &Path, words: &[&str]) -> Output {
    let output = run(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The error of a command, which must refuse.
fn refused(folder: &Path, words: &[&str]) -> String {
    let output = run(folder, words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    assert!(output.stdout.is_empty(), "{words:?}");
    said
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder with a small study, `s.halfpower`, and its report.
fn studied() -> TempDir {
    let folder = folder();
    let small = ["--bs", "4KiB,64KiB", "--iodepth", "1,4", "--budget", "5s", "--output", "s.halfpower"];
    done(folder.path(), &[&["study", DISK], &small[..]].concat());
    folder
}

#[test]
fn what_root_makes_under_sudo_belongs_to_the_caller_in_folders_of_the_caller() {
    const CALLER: u32 = 65_534;
    let own = folder();
    let others = folder();
    if std::os::unix::fs::chown(own.path(), Some(CALLER), Some(CALLER)).is_err() {
        return skip("files cannot be given away, which needs root");
    }
    for (here, owner) in [(own.path(), CALLER), (others.path(), 0)] {
        let small = ["--bs", "4KiB", "--iodepth", "1", "--budget", "5s", "--output", "s.halfpower"];
        for words in [
            &[&["study", DISK], &small[..]].concat()[..],
            &["export", "s.halfpower", "--format", "csv", "-o", "s.csv"],
            &["export", "s.halfpower", "--format", "csv", "-o", "s.csv"],
        ] {
            // What was there before is for its owner alone.
            let before = fs::set_permissions(here.join("s.csv"), fs::Permissions::from_mode(0o600));
            assert_eq!(before.is_ok(), here.join("s.csv").exists());
            let mut made = command(here, words);
            let output = made.env("SUDO_UID", CALLER.to_string()).env("SUDO_GID", CALLER.to_string()).output().unwrap();
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        for name in names(here) {
            let metadata = here.join(&name).metadata().unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (owner, owner), "{name}");
        }
        assert_eq!(here.join("s.csv").metadata().unwrap().mode() & 0o777, 0o600, "as it was before");
    }
}

#[test]
fn a_study_is_never_replaced_whatever_it_is_called() {
    let folder = studied();
    let here = folder.path();
    let study = fs::read(here.join("s.halfpower")).unwrap();
    fs::create_dir(here.join("x")).unwrap();
    fs::hard_link(here.join("s.halfpower"), here.join("hard.csv")).unwrap();
    symlink("s.halfpower", here.join("soft.toml")).unwrap();
    let before = names(here);
    for name in ["s.halfpower", "./x/../s.halfpower", "hard.csv", "soft.toml"] {
        for words in [
            &["export", "s.halfpower", "--format", "csv", "-o", name][..],
            &["export", "s.halfpower", "--format", "fio", "-o", name],
            &["report", "s.halfpower", "--html", name],
            &["compare", "s.halfpower", "s.halfpower", "--html", name],
            &["calibrate", "s.halfpower", "-o", name],
        ] {
            for force in [&[][..], &["--force"]] {
                let said = refused(here, &[words, force].concat());
                let helps = said.contains("name another file") || said.contains("name a folder");
                assert!(said.contains(name) && helps, "{words:?}: {said}");
            }
        }
    }
    assert!(fs::read(here.join("s.halfpower")).unwrap() == study);
    assert_eq!(names(here), before);
}

#[test]
fn a_study_does_not_replace_a_foreign_report_and_says_so_before_it_measures() {
    let folder = folder();
    let here = folder.path();
    fs::write(here.join("notes.html"), FOREIGN).unwrap();
    let words = ["study", DISK, "--budget", "5s", "--bs", "4KiB", "--iodepth", "1", "--output", "notes.halfpower"];
    let said = refused(here, &words);
    assert!(said.contains("notes.html") && said.contains("--force"), "{said}");
    assert_eq!(names(here), ["notes.html"], "nothing was measured");
    assert_eq!(fs::read_to_string(here.join("notes.html")).unwrap(), FOREIGN);
    done(here, &[&words[..], &["--force"]].concat());
    // It replaces its own file without --force.
    done(here, &words);
    assert_eq!(names(here), ["notes.halfpower", "notes.html"]);
    assert!(fs::read_to_string(here.join("notes.html")).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_report_does_not_replace_the_file_that_is_measured() {
    let folder = studied();
    let here = folder.path();
    fs::rename(here.join("s.html"), here.join("new.html")).unwrap();
    let page = fs::read(here.join("new.html")).unwrap();
    let words = ["study", "new.html", "--budget", "5s", "--output", "new.halfpower"];
    assert!(refused(here, &words).contains("the same file as new.html"));
    assert!(fs::read(here.join("new.html")).unwrap() == page);
}

#[test]
fn only_a_file_of_the_same_form_that_halfpower_made_is_replaced() {
    let folder = studied();
    let here = folder.path();
    let export = |format, name| vec!["export", "s.halfpower", "--format", format, "-o", name];
    let files = [
        (export("csv", "out.csv"), "out.csv"),
        (export("json", "out.json"), "out.json"),
        (export("sqlio", "out.trace"), "out.trace"),
        (vec!["report", "s.halfpower", "--html", "out.html"], "out.html"),
        (vec!["compare", "s.halfpower", "s.halfpower", "--html", "both.html"], "both.html"),
        (vec!["calibrate", "s.halfpower", "-o", "out.toml"], "out.toml"),
    ];
    for (words, name) in &files {
        fs::write(here.join(name), FOREIGN).unwrap();
        fs::write(here.join(format!("{name}.part")), FOREIGN).unwrap();
        let said = refused(here, words);
        assert!(said.contains(name) && said.contains("--force"), "{said}");
        assert_eq!(fs::read_to_string(here.join(name)).unwrap(), FOREIGN, "{words:?}");
        done(here, &[&words[..], &["--force"]].concat());
        let made = fs::read(here.join(name)).unwrap();
        done(here, words);
        assert!(fs::read(here.join(name)).unwrap() == made, "{words:?}");
        assert_eq!(fs::read_to_string(here.join(format!("{name}.part"))).unwrap(), FOREIGN, "{words:?}");
    }
    // A file that halfpower made in another form is protected too.
    let table = fs::read(here.join("out.csv")).unwrap();
    assert!(refused(here, &export("json", "out.csv")).contains("not a JSON file"));
    assert!(fs::read(here.join("out.csv")).unwrap() == table);
    fs::write(here.join("empty.csv"), "").unwrap();
    done(here, &export("csv", "empty.csv"));
}

#[test]
fn what_a_line_of_fio_wrote_is_replaced_in_each_of_its_formats() {
    let folder = folder();
    let here = folder.path();
    let formats = ["json", "json+", "normal", "terse", "terse,json", "normal,terse", "normal,json"];
    let named = formats.map(|format| vec!["--output-format", format]);
    let others = [vec!["--minimal", "--terse-version=4"], vec!["--minimal", "--terse-version=5"], vec!["--json"]];
    for (number, options) in named.into_iter().chain(others).enumerate() {
        let name = format!("out-{number}");
        let output = format!("--output={name}");
        let words = [&["run", "--name=j", "--filename=sim:", "--size=1m", &output][..], &options].concat();
        done(here, &words);
        done(here, &words);
        fs::write(here.join(&name), FOREIGN).unwrap();
        assert!(refused(here, &words).contains("is left as it is"), "{options:?}");
    }
}

#[test]
fn a_trace_that_another_tool_may_have_written_is_left_and_that_is_told() {
    let folder = folder();
    let here = folder.path();
    let line = "12.5,1600,read,8,4,N,1,30,65536,30.01,100,200,2000-06-16 12:00:00,mine\n";
    fs::write(here.join("trace.csv"), line).unwrap();
    done(here, &["import", "trace.csv", "-o", "s.halfpower"]);
    let words = ["export", "s.halfpower", "--format", "sqlio", "-o", "out.csv"];
    done(here, &words);
    let said = refused(here, &words);
    assert!(said.contains("imported from a trace") && said.contains("--force"), "{said}");
    done(here, &[&words[..], &["--force"]].concat());
}

#[test]
fn a_link_means_the_file_that_it_leads_to() {
    let folder = studied();
    let here = folder.path();
    fs::create_dir(here.join("far")).unwrap();
    symlink("far/away.csv", here.join("link.csv")).unwrap();
    let words = ["export", "s.halfpower", "--format", "csv", "-o", "link.csv"];
    done(here, &words);
    done(here, &words);
    assert!(here.join("link.csv").symlink_metadata().unwrap().is_symlink());
    assert!(here.join("far/away.csv").symlink_metadata().unwrap().is_file());
    fs::write(here.join("far/away.csv"), FOREIGN).unwrap();
    refused(here, &words);
    assert_eq!(fs::read_to_string(here.join("far/away.csv")).unwrap(), FOREIGN);
}

#[test]
fn pipes_and_devices_are_written_to_and_stay_what_they_are() {
    let folder = studied();
    let here = folder.path();
    let table = done(here, &["export", "s.halfpower", "--format", "csv"]).stdout;
    let null = fs::metadata("/dev/null").unwrap().ino();
    done(here, &["report", "s.halfpower", "--html", "/dev/null"]);
    assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(fs::metadata("/dev/null").unwrap().ino(), null);
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let output = done(here, &["export", "s.halfpower", "--format", "csv", "-o", name]);
        assert!(output.stdout == table, "{name}");
        assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    }
    for words in [["report", "s.halfpower", "--html", "-"], ["calibrate", "s.halfpower", "-o", "-"]] {
        assert!(done(here, &words).stdout.len() > 100, "{words:?}");
    }
    for words in [&["compare", "s.halfpower", "s.halfpower", "--html", "-"][..], &["history", "s.halfpower", "-o", "-"]]
    {
        let why = refused(here, &[words, &["--json"]].concat());
        assert!(why.contains("only one can go there"), "{why}");
    }
    // Standard output may be a file that the shell opened.
    let mut to_file = command(here, &["export", "s.halfpower", "--format", "csv", "-o", "/dev/stdout"]);
    assert!(to_file.stdout(fs::File::create(here.join("shell")).unwrap()).status().unwrap().success());
    assert!(fs::read(here.join("shell")).unwrap() == table);

    assert!(Command::new("mkfifo").arg(here.join("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = here.join("pipe");
        move || fs::read(pipe).unwrap()
    });
    done(here, &["export", "s.halfpower", "--format", "csv", "-o", "pipe"]);
    assert!(reader.join().unwrap() == table);
    assert!(fs::symlink_metadata(here.join("pipe")).unwrap().file_type().is_fifo());
    assert!(!names(here).iter().any(|name| name == "-"), "- is no file");
}

#[test]
fn a_study_is_not_written_to_through_a_descriptor_either() {
    let folder = studied();
    let here = folder.path();
    let study = fs::read(here.join("s.halfpower")).unwrap();
    let shell = format!(
        "exec 9<>s.halfpower; {} export s.halfpower --format csv -o /dev/fd/9",
        env!("CARGO_BIN_EXE_halfpower")
    );
    let output = Command::new("sh").current_dir(here).args(["-c", &shell]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read(here.join("s.halfpower")).unwrap() == study);
}

#[test]
fn folders_and_block_devices_are_refused() {
    let folder = studied();
    let here = folder.path();
    let said = refused(here, &["export", "s.halfpower", "--format", "csv", "-o", "."]);
    assert!(said.contains("name a file in it"), "{said}");
    let said = refused(here, &["export", "s.halfpower", "--format", "csv", "-o", "nowhere/out.csv"]);
    assert!(said.contains("nowhere/out.csv") && said.contains("check the folder"), "{said}");
}

#[test]
fn a_failure_leaves_what_was_there_and_nothing_beside_it() {
    let folder = studied();
    let here = folder.path();
    let words = ["export", "s.halfpower", "--format", "json", "-o", "out.json"];
    done(here, &words);
    let made = fs::read(here.join("out.json")).unwrap();
    let before = names(here);
    let limit = |name: &str| {
        let shell =
            format!("ulimit -f 2; exec {} export s.halfpower --format json -o {name}", env!("CARGO_BIN_EXE_halfpower"));
        let output = Command::new("bash").current_dir(here).args(["-c", &shell]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    };
    limit("out.json");
    limit("other.json");
    assert!(fs::read(here.join("out.json")).unwrap() == made);
    assert_eq!(names(here), before);
}

#[test]
fn kills_leave_nothing_unfinished() {
    let folder = studied();
    let here = folder.path();
    let words = ["report", "s.halfpower", "--html", "killed.html"];
    for round in 0..30_u64 {
        let mut child = command(here, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(round * round * 100));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = done(here, &words);
    let left: Vec<String> = names(here).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(here), ["killed.html", "s.halfpower", "s.html"]);
}

#[test]
fn what_a_kill_left_is_removed_and_told_and_what_is_held_is_not() {
    let folder = studied();
    let here = folder.path();
    let left = ".halfpower-0123456789abcdef.unfinished";
    let held = ".halfpower-fedcba9876543210.unfinished";
    fs::write(here.join(left), "half").unwrap();
    let holder = fs::File::create(here.join(held)).unwrap();
    holder.lock().unwrap();
    fs::write(here.join(".halfpower-notes.unfinished"), FOREIGN).unwrap();
    let output = done(here, &["report", "s.halfpower", "--html", "page.html"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(left) && said.contains("removed"), "{said}");
    let names = names(here);
    assert!(!names.iter().any(|name| name == left));
    assert!(names.iter().any(|name| name == held) && names.iter().any(|name| name == ".halfpower-notes.unfinished"));
}

/// While a report waits for the reader of its page, it has read the study.
#[test]
fn commands_that_only_read_shut_themselves_out_from_all_else() {
    let folder = studied();
    let here = folder.path();
    done(here, &["watch", "--no-trace", "-o", "app.watch.json", "--", "true"]);
    for words in [
        &["report", "s.halfpower", "--html", "page.html", "--force"][..],
        &["watch", "--show", "app.watch.json", "-o", "page.html"],
    ] {
        shuts_itself_out(here, words);
    }
}

/// Runs a command that writes to the pipe `page.html`, which nobody reads until it has shut itself out.
fn shuts_itself_out(here: &Path, words: &[&str]) {
    let pipe = here.join("page.html");
    let _ = fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = command(here, words).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let is_shut = || fs::read_to_string(&status).is_ok_and(|text| text.contains("Seccomp:\t2"));
    // Where a kernel has no such filter it waits for a reader for ever.
    for _ in 0..12_000 {
        if is_shut() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let was_shut = is_shut();
    let page = fs::read_to_string(pipe).unwrap();
    assert!(page.contains("<html") && child.wait().unwrap().success());
    assert!(was_shut, "{words:?}: it reads what may be anybody's");
}

#[test]
fn a_finished_study_is_told_also_where_its_report_cannot_be_written() {
    let folder = folder();
    let here = folder.path();
    symlink("/dev/full", here.join("s.html")).unwrap();
    let words = ["study", DISK, "--bs", "4KiB", "--iodepth", "1", "--budget", "5s", "--output", "s.halfpower"];
    let output = run(here, &words);
    let [out, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(out.contains("Study file: s.halfpower") && !out.contains("Report:"), "{out}");
    assert!(said.contains("s.html cannot be written: No space left"), "{said}");
    fs::remove_file(here.join("s.html")).unwrap();
    done(here, &words);
    symlink("/dev/full", here.join("full.csv")).unwrap();
    let said = refused(here, &["export", "s.halfpower", "--format", "csv", "-o", "full.csv"]);
    assert!(said.contains("full.csv cannot be written: No space left"), "{said}");
}

#[test]
fn each_study_has_a_report_of_its_own() {
    let folder = folder();
    let here = folder.path();
    let small = ["study", DISK, "--bs", "4KiB", "--iodepth", "1", "--budget", "5s"];
    for name in ["node.1", "node.2", "plain", "s.halfpower"] {
        done(here, &[&small[..], &["--output", name]].concat());
    }
    let all = ["node.1", "node.1.html", "node.2", "node.2.html", "plain", "plain.html", "s.halfpower", "s.html"];
    assert_eq!(names(here), all);
    let again = done(here, &[&small[..], &["--output", "node.1"]].concat());
    assert!(String::from_utf8(again.stdout).unwrap().contains("--again measures anew, into node-2.1."));
    let said = refused(here, &[&small[..], &["--output", "page.html"]].concat());
    assert!(said.contains("is the name of a report"), "{said}");
    let said = refused(here, &[&small[..], &["--output", "nowhere/"]].concat());
    assert!(said.contains("nowhere/ is a folder; name a file in it"), "{said}");
    let said = refused(here, &["export", "s.halfpower", "--format", "csv", "-o", "nowhere/"]);
    assert!(said.contains("nowhere/ is a folder; name a file in it"), "{said}");
    assert_eq!(names(here), all);
}

#[test]
fn a_name_that_is_no_utf8_stays_what_it_is_beside_itself() {
    use std::os::unix::ffi::OsStrExt;

    let folder = folder();
    let here = folder.path();
    let name = std::ffi::OsStr::from_bytes(b"s\xff.halfpower");
    for _ in 0..2 {
        let small = ["study", DISK, "--bs", "4KiB", "--iodepth", "1", "--budget", "5s", "--again", "--output"];
        assert!(command(here, &small).arg(name).output().unwrap().status.success());
    }
    let mut left: Vec<_> = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    let expected: [&[u8]; 4] = [b"s\xff-2.halfpower", b"s\xff-2.html", b"s\xff.halfpower", b"s\xff.html"];
    assert_eq!(left.iter().map(|name| name.as_bytes()).collect::<Vec<_>>(), expected);
}
