//! Tests fio's lines and job files.

use super::{refusals, runs, words};
use halfpower_dialects::fio::{speaks, translate};
use std::path::PathBuf;

fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("job.fio");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_line_and_fio_s_defaults() {
    let line = "--filename sim: --rw randrw --rwmixread 70 --bs 4k --iodepth 32 --numjobs 4 --direct 1 --ioengine libaio \
                --size 1G --runtime 5 --time_based --output-format json";
    assert_eq!(
        runs(translate(&words(line))),
        ["sim: --rw randrw --rwmixread 70 --bs 4KiB --iodepth 32 --threads 4 --direct 1 --runtime 5s --engine libaio \
          --size 1GiB"]
    );
    let translation = translate(&words("--filename=sim: --time_based=1")).unwrap();
    assert!(translation.notes().iter().all(|note| note.contains("page cache")), "{:?}", translation.notes());
    assert_eq!(
        runs(Ok(translation)),
        ["sim: --engine sync --rw read --bs 4KiB --iodepth 1 --direct 0"].map(|line| line.replace("4KiB", "4k"))
    );
}

#[test]
fn both_spellings_and_own_words_stand_side_by_side() {
    let lines = [
        "--filename=sim: --time-based --group-reporting --rate_iops=100 --thinktime=0 --soaker --timeout 9s",
        "--filename sim: --time_based --group_reporting --rate-iops 100 --thinktime 0 --soaker --timeout 9s",
    ];
    let [first, second] = lines.map(|line| runs(translate(&words(line))));
    assert_eq!(first, second);
    assert!(first[0].ends_with("--soaker --timeout 9s"), "{first:?}");
}

#[test]
fn only_what_fio_alone_has_makes_a_line_fio_s() {
    for ours in ["sim: --rw read --bs 4k --direct=1", "sim: --overwrite --timeout 3s --verify", "--help"] {
        assert!(!speaks(&words(ours)), "{ours}");
    }
    for theirs in
        ["--filename sim:", "sim: --time_based", "x.fio", "sim: --output-format=json", "sim: --bssplit=4k/50:8k/50"]
    {
        assert!(speaks(&words(theirs)), "{theirs}");
    }
}

#[test]
fn a_named_target_keeps_our_defaults() {
    assert_eq!(runs(translate(&words("sim: --norandommap --time_based"))), ["sim:"]);
}

#[test]
fn a_job_file_has_globals_sections_comments_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let text = "; a comment\n[global]\nfilename=sim:\ntime_based\nbs=8k ; inline\n\n[one]\nrw=randread\n# more\n[global]\n\
                iodepth=${PATH_THAT_IS_NOT_SET}\n[two]\nstonewall\nrw = write\nbs=64k\n";
    let path = file(&folder, text);
    let line = words(path.to_str().unwrap());
    assert!(
        refusals(translate(&line))[0]
            .ends_with("job.fio, line 11: iodepth: the variable PATH_THAT_IS_NOT_SET is not set in the environment")
    );
    file(&folder, &text.replace("${PATH_THAT_IS_NOT_SET}", "4"));
    let translation = translate(&line).unwrap();
    assert_eq!(translation.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        runs(Ok(translation)),
        [
            "sim: --bs 8KiB --rw randread --engine sync --iodepth 1 --direct 0",
            "sim: --iodepth 4 --rw write --bs 64KiB --engine sync --direct 0"
        ]
    );
    let only = words(&format!("{} --section=two", path.display()));
    assert_eq!(translate(&only).unwrap().runs.len(), 1);
}

#[test]
fn each_key_that_is_not_taken_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "[job]\nfilename=sim:\nbssplit=4k/50:8k/40\nrw=trimread\nbogus=1\nbs\nrandrepeat=0\n");
    let named = refusals(translate(&words(path.to_str().unwrap())));
    for (refusal, place) in named.iter().zip(["3: bssplit", "4: rw", "5: bogus", "6: bs", "7: randrepeat"]) {
        assert!(refusal.contains(&format!("job.fio, line {place}: ")), "{refusal}");
    }
    assert_eq!(named.len(), 5, "{named:?}");
}

#[test]
fn jobs_that_fio_runs_at_once_are_not_run_in_turn_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "[global]\nfilename=sim:\n[a]\nrw=read\n[b]\nrw=write\n");
    let line = path.to_str().unwrap();
    assert!(refusals(translate(&words(line)))[0].contains("[b]: fio runs this job and the one before it at once"));
    assert_eq!(runs(translate(&words(&format!("--stonewall {line}")))).len(), 2);
}

#[test]
fn what_is_otherwise_is_said() {
    let notes = |line: &str| translate(&words(line)).unwrap().notes().join("\n");
    assert!(notes("--filename sim: --runtime 5").contains("takes its whole time (5s)"));
    assert!(notes("--filename sim: --rw read --numjobs 4 --time_based").contains("a part of its own"));
    assert!(refusals(translate(&words("--filename sim: --rw rw --rate 1m")))[0].contains("reads and writes each"));
    assert!(refusals(translate(&words("--filename sim: --output x.txt")))[0].contains("> FILE"));
}

#[test]
fn io_uring_is_the_form_that_fio_uses() {
    let engine = |more: &str| {
        let run =
            runs(translate(&words(&format!("--filename sim: --ioengine io_uring --time_based {more}")))).remove(0);
        run.split("--engine ").nth(1).unwrap().split(' ').next().unwrap().to_string()
    };
    for (more, expected) in [
        ("", "io_uring_plain"),
        ("--fixedbufs", "io_uring"),
        ("--hipri=1", "io_uring_iopoll"),
        ("--sqthread_poll 1", "io_uring_sqpoll"),
    ] {
        assert_eq!(engine(more), expected, "{more}");
    }
    assert!(refusals(translate(&words("--filename sim: --ioengine rbd")))[0].contains("no engine `rbd`"));
}

/// What a line names is what is measured.
#[test]
fn a_section_that_names_a_file_or_device_is_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, vec![0; 1 << 20]).unwrap();
    let job = file(&folder, &format!("[{}]\nrw=read\ntime_based\nruntime=1\n", target.display()));
    let [run] = &runs(translate(&words(&job.display().to_string())))[..] else { panic!() };
    assert!(run.starts_with(&target.display().to_string()), "{run}");
    // A name that is no file is a name.
    let job = file(&folder, "[no-such-file]\nrw=read\ntime_based\nruntime=1\nfilename=sim:\n");
    assert!(runs(translate(&words(&job.display().to_string())))[0].starts_with("sim:"));
}

#[test]
fn a_directory_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("typo");
    let line = format!("--directory={} --name=job --time_based", missing.display());
    let refused = refusals(translate(&words(&line)));
    assert!(refused[0].contains("typo` is no directory"), "{refused:?}");
}

#[test]
fn what_a_global_job_of_a_line_says_holds_for_those_after_it() {
    let line = "--name=global --filename=sim: --rw=randwrite --bs=8k --time_based --runtime=1 --name=job1 --iodepth=4";
    assert_eq!(
        runs(translate(&words(line))),
        ["sim: --rw randwrite --bs 8KiB --runtime 1s --iodepth 4 --engine sync --direct 0"]
    );
}

#[test]
fn a_single_dash_is_as_good_as_two() {
    let [one, two] = [
        "-filename=sim: -direct=1 -rw=randread -bs=4k -time_based -runtime=2",
        "--filename=sim: --direct=1 \
        --rw=randread --bs=4k --time_based --runtime=2",
    ]
    .map(|line| runs(translate(&words(line))));
    assert_eq!(one, two);
    assert!(speaks(&words("-filename=sim: -bs=4k")));
    // halfpower's own short flags stay its own.
    assert!(!speaks(&words("sim: -b4k -o 32 -h")));
}

#[test]
fn sizes_are_fios() {
    let bs = |value: &str| runs(translate(&words(&format!("--filename=sim: --time_based --bs={value}")))).remove(0);
    assert!(bs("4KB").contains("--bs 4KiB"), "{}", bs("4KB"));
    assert!(bs("4kib").contains("--bs 4000"), "{}", bs("4kib"));
    assert!(refusals(translate(&words("--filename=sim: --kb_base=1000 --bs=4k")))[0].contains("kB as 1024 bytes"));
}

#[test]
fn every_means_of_making_writes_durable_is_taken() {
    let run = |options: &str| {
        runs(translate(&words(&format!("--filename=sim: --time_based --rw=write {options}")))).remove(0)
    };
    assert!(run("--fsync=1").contains("--flush-by fsync --fdatasync 1"), "{}", run("--fsync=1"));
    assert!(run("--fdatasync=4").contains("--fdatasync 4") && !run("--fdatasync=4").contains("flush-by"));
    let range = run("--sync_file_range=wait_before,write,wait_after:8");
    assert!(range.contains("--flush-by sync_file_range --fdatasync 8"), "{range}");
    assert!(refusals(translate(&words("--filename=sim: --sync_file_range=write:8")))[0].contains("waits until"));
    assert!(run("--sync=1").contains("--durable-by o_sync --sync dsync"), "{}", run("--sync=1"));
    assert!(run("--sync=dsync").contains("--sync dsync") && !run("--sync=dsync").contains("durable-by"));
}
