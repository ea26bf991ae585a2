//! Tests SQLIO's lines.

use super::{refusals, runs, words};
use halfpower_dialects::sqlio::translate;

#[test]
fn a_line_and_the_defaults() {
    assert_eq!(
        runs(translate(&words("-kR -s10 -frandom -b8 -o8 -t2 -LS sim:"))),
        ["sim: --bs 8KiB --runtime 10s --iodepth 8 --threads 2 --rw randread --cache none"]
    );
    assert_eq!(
        runs(translate(&words("-kW -BH -o0 --overwrite sim:"))),
        ["sim: --cache device --iodepth 1 --rw write --bs 2KiB --runtime 30s --engine sync --overwrite"]
    );
}

#[test]
fn a_parameter_file_names_files_threads_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let param = folder.path().join("param.txt");
    std::fs::write(&data, [0; 4096]).unwrap();
    std::fs::write(&param, format!("# a comment\n{} 4 0x0 100\n", data.display())).unwrap();
    let line = format!("-kR -b64 -F{}", param.display());
    let expected = format!(
        "{} --bs 64KiB --threads 4 --rw read --iodepth 1 --runtime 30s --cache none --size 100MiB",
        data.display()
    );
    assert_eq!(runs(translate(&words(&line))), [expected]);
    std::fs::write(&param, format!("{} 4 0x3 100\n", data.display())).unwrap();
    assert!(runs(translate(&words(&line)))[0].contains("--processors 0-1"));
    std::fs::write(&param, format!("{} 4 mask 100\n", data.display())).unwrap();
    assert!(refusals(translate(&words(&line)))[0].contains("line 1: `mask` is no mask"));
}

#[test]
fn the_first_block_is_one_of_the_run_s_and_lies_within_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let param = folder.path().join("param.txt");
    std::fs::write(&param, "sim: 1 0x0 100\n").unwrap();
    let run = |options: &str| runs(translate(&words(&format!("-kR {options} -F{}", param.display())))).remove(0);
    let expected = "--size 100MiB --region 8000KiB+94400KiB";
    assert!(run("-b8 -S1000").ends_with(expected), "{}", run("-b8 -S1000"));
    assert_eq!(run("-S1000 -b8").split(" --size").last(), run("-b8 -S1000").split(" --size").last());
    assert!(run("-S1000").ends_with("--region 2000KiB+100400KiB"), "blocks of 2 KiB: {}", run("-S1000"));
    let beyond = refusals(translate(&words(&format!("-kR -b64 -S1600 -F{}", param.display()))));
    assert!(beyond[0].contains("nothing is left of 100MiB"), "{beyond:?}");
}

#[test]
fn what_is_not_taken_is_named() {
    let named = refusals(translate(&words("-kX -f64 -dDE -R1 -i64 -q sim:")));
    for (refusal, option) in named.iter().zip(["-kX", "-f64", "-dDE", "-R1", "-i64", "-q"]) {
        assert!(refusal.starts_with(&format!("{option}: ")), "{refusal}");
    }
    assert_eq!(named.len(), 6);
    assert!(runs(translate(&words("-kR -a0x5 sim:")))[0].contains("--processors 0,2"));
}
