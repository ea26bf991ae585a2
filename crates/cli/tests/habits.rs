//! Runs original lines of fio, SQLIO and diskspd, and checks their output and `docs/habits.md`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs a line in `folder`; spaces separate its words.
fn output(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_halfpower"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("SIZE", "8m")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn printed(folder: &Path, line: &str) -> String {
    let output = output(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A folder on the build's disk, which supports direct I/O; tmpfs may not.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fio").canonicalize().unwrap()
}

#[test]
fn a_fio_line_works_as_it_stands() {
    let here = folder();
    let line = "run --filename F --rw randrw --rwmixread 70 --bs 4k --iodepth 32 --numjobs 4 --direct 1 --ioengine libaio \
                --size 16M --runtime TIME --time_based --output-format json";
    let of = |line: &str, is_enough: &dyn Fn(&Value) -> bool| -> Value {
        // On a slow disk little ends within a short time.
        let mut all = ["0.2", "4", "60"].into_iter().map(|time| {
            let shown = printed(here.path(), &line.replace("TIME", time));
            serde_json::from_str::<Value>(&shown).unwrap()
        });
        all.find(|document| is_enough(document)).unwrap_or_else(|| panic!("too little came of it: {line}"))
    };
    let has_reads = |thread: &Value| thread["read"]["total_ios"].as_u64() > Some(0);
    let threads = of(line, &|document| document["jobs"].as_array().unwrap().iter().all(has_reads));
    assert_eq!(threads["jobs"].as_array().unwrap().len(), 4, "an entry for each, as in fio");
    for thread in threads["jobs"].as_array().unwrap() {
        let latency = &thread["read"]["clat_ns"];
        let bins = latency["bins"].as_object().unwrap_or_else(|| panic!("latencies of its own: {latency}"));
        let in_bins: u64 = bins.values().filter_map(Value::as_u64).sum();
        assert_eq!(thread["read"]["total_ios"], Value::from(in_bins));
        assert!(!thread["halfpower_notes"].to_string().contains("percentiles"), "{}", thread["halfpower_notes"]);
    }
    let document = of(&format!("{line} --group_reporting"), &|document| {
        let [read, write] = ["read", "write"].map(|way| &document["jobs"][0][way]["clat_ns"]);
        [read, write].iter().all(|times| times["N"].as_u64() > Some(0)) && read["bins"] != write["bins"]
    });
    let job = &document["jobs"][0];
    for (key, value) in [("rw", "randrw"), ("bs", "4k"), ("iodepth", "32"), ("numjobs", "4"), ("filename", "F")] {
        assert_eq!(job["job options"][key], value);
    }
    for way in ["read", "write"] {
        let latencies = job[way]["clat_ns"]["N"].as_u64().unwrap();
        assert_eq!(latencies, job[way]["total_ios"].as_u64().unwrap(), "{way}: {}", job[way]);
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn every_example_of_a_job_file_runs() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 12);
    let here = folder();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let jobs = text.lines().filter(|line| line.starts_with('[') && *line != "[global]");
        let names: Vec<&str> = jobs.map(|line| &line[1..line.len() - 1]).collect();
        let shown = printed(here.path(), &format!("run {}", file.display()));
        for name in names {
            let after =
                shown.split(&format!("{name}:\n")).nth(1).unwrap_or_else(|| panic!("{name} of {file:?}: {shown}"));
            assert!(after.contains("throughput") && after.contains("errors      none"), "{file:?}: {shown}");
        }
    }
}

#[test]
fn logs_over_time_have_fio_s_names_and_form() {
    let here = folder();
    let line = "run --name=job --filename=sim:fixed=1ms --rw=randrw --bs=4k --iodepth=4 --runtime=2 --time_based \
                --write_bw_log=out --write_iops_log --write_lat_log=out --log_avg_msec=500 --output-format=json";
    let document: Value = serde_json::from_str(&printed(here.path(), line)).unwrap();
    let read = |name: &str| -> Vec<Vec<f64>> {
        let text = std::fs::read_to_string(here.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        text.lines().map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect()).collect()
    };
    let rates = read("out_bw.1.log");
    assert_eq!(
        rates.iter().map(|row| row[0]).collect::<Vec<_>>(),
        [500., 500., 1000., 1000., 1500., 1500., 2000., 2000.]
    );
    for (direction, name) in [(0.0, "read"), (1.0, "write")] {
        let mean = |rows: &[Vec<f64>]| {
            let own: Vec<f64> = rows.iter().filter(|row| row[2] == direction).map(|row| row[1]).collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        let side = &document["jobs"][0][name];
        let near = |found: f64, key: &Value| (found / key.as_f64().unwrap() - 1.0).abs() < 0.02;
        assert!(near(mean(&rates), &side["bw"]), "{rates:?} {}", side["bw"]);
        assert!(near(mean(&read("job_iops.1.log")), &side["iops"]), "{}", side["iops"]);
        for log in ["out_lat.1.log", "out_clat.1.log"] {
            assert!(near(mean(&read(log)), &side["lat_ns"]["mean"]), "{log}");
        }
    }
    // A log is replaced by the next, and a file of somebody else's is not.
    printed(here.path(), line);
    std::fs::write(here.path().join("out_bw.1.log"), "mine\n").unwrap();
    let refused = output(here.path(), line);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("out_bw.1.log"), "{refused:?}");
}

/// Programs that call fio get halfpower by a link of that name; what they read as a failure is not printed.
#[test]
fn a_program_that_calls_fio_gets_halfpower_in_its_place() {
    let here = folder();
    let fio = here.path().join("fio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_halfpower"), &fio).unwrap();
    let call = |words: &[&str]| Command::new(&fio).args(words).current_dir(here.path()).output().unwrap();
    let version = call(&["--version"]);
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("fio-3."), "{version:?}");
    // A job file as bench-fio writes it.
    let job = "[FIOJOB]\nioengine=libaio\nfilename=sim:\nrw=randread\nsize=16M\nbs=4k\niodepth=4\nnumjobs=2\nruntime=1\n\
               loops=1\ntime_based=1\ndirect=1\nlog_avg_msec=500\ninvalidate=1\nwrite_bw_log=randread-iodepth-4-numjobs-2\n\
               write_lat_log=randread-iodepth-4-numjobs-2\nwrite_iops_log=randread-iodepth-4-numjobs-2\n";
    std::fs::write(here.path().join("tmp-tmpjobfile.fio"), job).unwrap();
    let done = call(&["--output-format=json", "tmp-tmpjobfile.fio"]);
    assert!(done.status.success() && crate::program::said_of_its_own(&done).is_empty(), "{done:?}");
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let job = &document["jobs"][0];
    for key in ["iodepth", "numjobs", "bs", "rw"] {
        assert!(job["job options"][key].is_string(), "{key}: {}", job["job options"]);
    }
    for key in ["bw", "iops", "iops_stddev"] {
        assert!(job["read"][key].is_number(), "{key}");
    }
    assert!(job["usr_cpu"].is_number() && job["halfpower_notes"].as_array().is_some_and(|notes| !notes.is_empty()));
    assert!(here.path().join("randread-iodepth-4-numjobs-2_bw.1.log").exists());
}

#[test]
fn a_key_that_is_not_taken_stops_the_line_and_is_named() {
    let here = folder();
    std::fs::write(here.path().join("job.fio"), "[a]\nfilename=sim:\nrandom_distribution=normal:5\ntrim_backlog=1\n")
        .unwrap();
    let output = output(here.path(), "run job.fio");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("job.fio, line 3: random_distribution: ") && said.contains("normal is not built"), "{said}");
    assert!(said.contains("job.fio, line 4: trim_backlog: "), "{said}");
}

#[test]
fn a_sqlio_line_prints_in_its_layout() {
    let here = folder();
    std::fs::write(here.path().join("F"), vec![1; 4 << 20]).unwrap();
    let shown = printed(here.path(), "sqlio -kR -s1 -frandom -b8 -o8 -t2 -LS F");
    for line in [
        "2 threads reading for 1 secs from file F",
        "\tusing 8KB random IOs",
        "\tenabling multiple I/Os per thread with 8 outstanding",
        "\tbuffering set to not use file nor disk caches (as is SQL Server)",
        "initialization done",
        "CUMULATIVE DATA:",
        "throughput metrics:",
        "latency metrics:",
        "histogram:",
        "ms: 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24+",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}: {shown}");
    }
    let figure = |name: &str| -> f64 {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim().parse().unwrap()
    };
    assert!((figure("IOs/sec:") * 8.0 / 1024.0 - figure("MBs/sec:")).abs() < 0.02, "{shown}");
    let shares = shown.lines().find(|line| line.starts_with("%:")).unwrap();
    let sum: u32 = shares[2..].split_whitespace().map(|share| share.parse::<u32>().unwrap()).sum();
    // Each of the 25 shares is rounded by at most a half.
    assert!(sum.abs_diff(100) <= 12, "{shares}");
}

/// The figures of each table's last line.
fn totals(shown: &str) -> Vec<Vec<f64>> {
    let lines = shown.lines().filter_map(|line| line.strip_prefix("total: "));
    lines.map(|line| line.split('|').filter_map(|field| field.trim().parse().ok()).collect()).collect()
}

#[test]
fn a_diskspd_line_prints_in_its_layout() {
    let here = folder();
    // On a slow disk little ends within a short time.
    let mut all = ["0.2", "4", "60"].into_iter().map(|time| {
        let line = format!("diskspd -b4K -d{time} -W0 -c8M -o32 -t2 -r -w30 -L -Sh F");
        let shown = printed(here.path(), &line);
        assert!(shown.contains(&format!("Command Line: {line}\n")), "{shown}");
        shown
    });
    let has_both = |shown: &String| {
        let totals = totals(shown);
        matches!(&totals[..], [_, read, write] if read[1] > write[1] && write[1] > 0.0)
    };
    let shown = all.find(has_both).expect("reads and writes, and more reads than writes");
    for part in [
        "\t\tperforming mix test (read/write ratio: 70/30)\n",
        "\t\tsoftware cache disabled\n",
        "\t\tblock size: 4KiB\n",
        "thread count:\t\t2\n",
        "CPU |  Usage |  User  |  Kernel |  Idle\n",
        "  %-ile |  Read (ms) | Write (ms) | Total (ms)\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let totals = totals(&shown);
    let [all, read, write] = &totals[..] else { panic!("three tables: {shown}") };
    assert_eq!(all.len(), 6);
    assert_eq!((all[0], all[1]), (read[0] + write[0], read[1] + write[1]), "bytes and I/Os of both directions");
    assert!((all[1] * 4096.0 - all[0]).abs() < 1.0);
}

#[test]
fn diskspd_s_xml_holds_the_same_figures() {
    let shown = printed(folder().path(), "diskspd -b8K -d0.05 -W0 -o4 -r -w50 -L -Su -Rxml sim:");
    let leaf = |name: &str| -> f64 {
        let content = shown.split(&format!("<{name}>")).nth(1).unwrap_or_else(|| panic!("{name}: {shown}"));
        content.split('<').next().unwrap().parse().unwrap()
    };
    assert_eq!(leaf("ReadCount") + leaf("WriteCount"), leaf("IOCount"));
    assert_eq!(leaf("ReadBytes") + leaf("WriteBytes"), leaf("BytesCount"));
    assert_eq!((leaf("WriteRatio"), leaf("Random")), (50.0, 8192.0));
    assert!(leaf("AverageReadMilliseconds") > 0.0 && leaf("AverageWriteMilliseconds") > 0.0);
    let opened: Vec<&str> = shown.split('<').skip(1).filter(|tag| !tag.starts_with('/')).collect();
    assert_eq!(opened.len(), shown.matches("</").count(), "each element is closed");
}

#[test]
fn a_file_that_was_there_is_not_written_to_unasked() {
    let here = folder();
    std::fs::write(here.path().join("F"), vec![1; 1 << 20]).unwrap();
    for line in ["diskspd -b4K -d1 -w30 -W0 F", "sqlio -kW -s1 F", "run --filename F --rw randwrite --time_based"] {
        let output = output(here.path(), line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(said.contains("--overwrite"), "{said}");
    }
    assert!(std::fs::read(here.path().join("F")).unwrap().iter().all(|byte| *byte == 1));
}

#[test]
fn the_page_lists_every_option_as_the_program_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/habits.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once("## fio\n").expect("the tables begin with fio");
    let expected = format!("{before}{}", halfpower_dialects::habits_as_markdown());
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(
        page.trim_end() == expected.trim_end(),
        "write docs/habits.md again: HALFPOWER_BLESS=1 cargo test -p halfpower habits"
    );
}

fn record(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&printed(folder, &format!("{line} --json"))).unwrap()
}

#[test]
fn a_mix_tells_reads_and_writes_apart() {
    let here = folder();
    let line = "run sim: --rw randrw --rwmixread 70 --bs 4k --runtime 50ms --percentiles 99.9,50";
    let mix = record(here.path(), line);
    let sum = |key: &str| mix["read"][key].as_f64().unwrap() + mix["write"][key].as_f64().unwrap();
    for key in ["ios", "bytes", "iops", "mbps"] {
        let whole = mix[key].as_f64().unwrap();
        assert!((sum(key) / whole - 1.0).abs() < 1e-9, "{key}: {whole}");
    }
    let share = mix["read"]["ios"].as_f64().unwrap() / mix["ios"].as_f64().unwrap();
    assert!((0.6..0.8).contains(&share), "{share}");
    assert!(mix["latency_ns"]["percentiles"]["99.9"].as_u64().unwrap() > 0);
    let shown = printed(here.path(), line);
    for name in ["  reads       ", "  writes      ", "  percentiles p99.9 "] {
        assert!(shown.contains(name), "{name}: {shown}");
    }
    let reads = record(here.path(), "run sim: --runtime 20ms");
    assert_eq!((&reads["read"]["ios"], &reads["write"]), (&reads["ios"], &Value::Null));
}

#[test]
fn a_rate_that_is_not_reached_and_what_was_verified_are_said() {
    let here = folder();
    let slow = printed(here.path(), "run sim:fixed=10ms --rate-iops 100000 --runtime 100ms");
    assert!(slow.contains("NOT reached: 100,000 IO/s asked (fixed)"), "{slow}");
    let kept = printed(here.path(), "run sim:fixed=80us --rate-iops 100 --runtime 100ms");
    assert!(kept.contains("100 IO/s asked (fixed), reached"), "{kept}");
    let verified = printed(here.path(), "run sim: --rw randrw --bs 4k --runtime 20ms --verify");
    assert!(verified.contains("reads were checked against what was written; what "), "{verified}");
    assert!(verified.contains("no data were wrong"), "{verified}");
}

#[test]
fn a_ramp_is_not_counted_and_hot_blocks_are_a_workload_of_their_own() {
    let here = folder();
    let plain = record(here.path(), "run sim:fixed=1ms --rw randread --iodepth 1 --runtime 100ms");
    let ramped = record(here.path(), "run sim:fixed=1ms --rw randread --iodepth 1 --runtime 100ms --ramp_time 1s");
    let ios = |record: &Value| record["ios"].as_f64().unwrap();
    assert!((ios(&ramped) - ios(&plain)).abs() <= 2.0, "{} and {}", ramped["ios"], plain["ios"]);
    let hot = record(here.path(), "run sim: --rw randread --runtime 20ms --random_distribution pareto:0.2");
    assert!(ios(&hot) > 0.0);
    let refused = output(here.path(), "run sim: --rw read --runtime 20ms --random-distribution zipf:1.2");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("--random-distribution zipf:1.2 is about random requests")
    );
}

#[test]
fn sizes_are_drawn_and_bytes_and_requests_are_counted_as_they_were() {
    let here = folder();
    let line = "run sim:fixed=1ms,rate=1GB/s --rw randread --iodepth 1 --runtime 2s";
    let drawn = record(here.path(), &format!("{line} --bssplit 4k/75:64k/25"));
    assert_eq!((&drawn["bs_bytes"], &drawn["bssplit"]), (&Value::from(65536), &Value::from("4KiB/75:64KiB/25")));
    let figure = |record: &Value, key: &str| record[key].as_f64().unwrap();
    let mean = figure(&drawn, "bytes") / figure(&drawn, "ios");
    assert!((mean / 19456.0 - 1.0).abs() < 0.1, "{mean} bytes a request");
    let reads = record(here.path(), &format!("{line} --bssplit 4k,1m"));
    assert_eq!(
        (&reads["bs_bytes"], &reads["bssplit"]),
        (&Value::from(4096), &Value::from("4KiB/100")),
        "nothing writes"
    );
    // Each request takes the time of its size, so the mean is the weighted mean of both sizes.
    let small = record(here.path(), &format!("{line} --bs 4k"));
    let large = record(here.path(), &format!("{line} --bs 64k"));
    let ns = |record: &Value| 2e9 / figure(record, "ios");
    assert!((ns(&drawn) / (0.75 * ns(&small) + 0.25 * ns(&large)) - 1.0).abs() < 0.01, "{} ns a request", ns(&drawn));
    let longest = |record: &Value| figure(&record["latency_ns"], "max");
    assert!((longest(&drawn) / longest(&large) - 1.0).abs() < 0.01 && longest(&small) < longest(&large));

    // On a file, the record has the bytes moved, with every engine.
    for engine in ["sync", "io_uring", "libaio", "mmap"] {
        let cache = if engine == "mmap" { "both" } else { "device" };
        let line =
            format!("run . --size 64m --rw randrw --engine {engine} --cache {cache} --io-size 4m --bssplit 4k:32k,8k");
        let moved = record(here.path(), &line);
        let reads = &moved["read"];
        let writes = &moved["write"];
        assert_eq!(figure(&moved, "errors") + figure(&moved, "short_transfers"), 0.0, "{engine}: {moved}");
        assert_eq!(figure(writes, "bytes"), 8192.0 * figure(writes, "ios"), "{engine}");
        let bytes = figure(reads, "bytes");
        let ios = figure(reads, "ios");
        assert!(bytes % 4096.0 == 0.0 && bytes > 4096.0 * ios && bytes < 32768.0 * ios, "{engine}: {reads}");
        assert_eq!(figure(&moved, "bytes"), bytes + figure(writes, "bytes"), "{engine}");
    }
    // In a study, such a run is listed separately from the cells, under its name.
    printed(here.path(), "plan sim:fixed=1ms --output s.halfpower");
    output(here.path(), "run sim:fixed=1ms --rw randread --bssplit 4k:64k --runtime 1s --output s.halfpower");
    let report = printed(here.path(), "report s.halfpower");
    assert!(report.contains("random read, --bssplit 4KiB/50:64KiB/50"), "{report}");

    let said = |words: &str| String::from_utf8_lossy(&output(here.path(), words).stderr).into_owned();
    assert!(said("run sim: --bssplit 4k/50:8k/40").contains("the shares make 90%"));
    assert!(said("run sim: --bssplit 4k:8k --verify").contains("--verify checks blocks of one size"));
    let shown = printed(here.path(), "run sim: --rw randrw --bssplit 4k/60:64k/40,8k --runtime 20ms");
    assert!(shown.contains("reads of 4 KiB (60%), 64 KiB (40%), writes of 8 KiB (100%), depth"), "{shown}");
    let fio: Value = serde_json::from_str(&printed(
        here.path(),
        "run --filename=sim: --rw=randread --bssplit=4k/60:64k/40 --runtime=20ms --output-format=json",
    ))
    .unwrap();
    assert_eq!(fio["jobs"][0]["job options"]["bssplit"], "4K/60:64K/40");
}

#[test]
fn several_paths_are_plain_arguments_and_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let here = folder();
    let odd = here.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::create_dir(here.path().join("even")).unwrap();
    let run = |targets: &[&Path]| {
        let output = Command::new(env!("CARGO_BIN_EXE_halfpower"))
            .current_dir(here.path())
            .arg("run")
            .args(targets)
            .args(["--size", "64m", "--runtime", "50ms", "--json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert!(run(&[&odd])["ios"].as_u64().unwrap() > 0);
    assert_eq!(run(&[&odd, Path::new("even")])["environment"]["capabilities"]["members"], 2);
    let mixed = output(here.path(), "run sim: even");
    assert!(String::from_utf8_lossy(&mixed.stderr).contains("cannot stand beside other targets"));
}

#[test]
fn a_run_is_not_recorded_into_a_study_of_another_target() {
    let here = folder();
    printed(here.path(), "plan sim: --bs 4k --iodepth 1 --rw read --output study.halfpower");
    let other = output(here.path(), "run sim:fixed=1ms --runtime 20ms --output study.halfpower");
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("is a study of sim:"), "{other:?}");
    assert!(other.stdout.is_empty(), "nothing was measured");
}

#[test]
fn probe_answers_for_its_target_or_errs() {
    let here = folder();
    let lost = output(here.path(), "probe nowhere");
    assert_eq!(lost.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&lost.stderr).contains("nowhere: name an existing"));
    assert!(printed(here.path(), "probe sim:win2k-atlas10k").contains("Ultra160 SCSI"));
    let both: Value = serde_json::from_str(&printed(here.path(), "probe each:.,.. --json")).unwrap();
    assert!(both["."]["machine"].is_object() && both[".."]["machine"].is_object());
    let looked = both["."]["diagnoses"][0]["checks"].as_array().map(Vec::len);
    assert_eq!(looked, Some(halfpower_doctor::CHECKS.len()), "with what the checks of settings found there");
}

#[test]
fn a_folder_in_memory_is_studied_buffered_and_its_reads_count() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return crate::program::skip("no folder can be made in /dev/shm");
    };
    let here = folder();
    let line =
        format!("study {} --size 64MiB --bs 4k,64k --iodepth 1 --budget 2s --output s --json", memory.path().display());
    let output = output(here.path(), &line);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}");
    if !reported.contains("takes no direct I/O") {
        return crate::program::skip("/dev/shm takes direct I/O, so it is no tmpfs");
    }
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = study["how_fast"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["rw"] == "read"), "what lies in memory is no cache of something else: {study}");
    assert!(study["cells"].as_array().unwrap().iter().all(|cell| cell["cached"] == false), "{study}");
}

#[test]
fn completions_man_pages_and_the_version_come_from_one_definition() {
    let here = folder();
    printed(here.path(), "generate completions shells");
    printed(here.path(), "generate man pages");
    for file in ["shells/halfpower.bash", "shells/_halfpower", "shells/halfpower.fish", "pages/halfpower-run.1"] {
        let text = std::fs::read_to_string(here.path().join(file)).unwrap();
        assert!(text.contains("rwmixread"), "{file}");
        for word in ["io_uring_sqpoll", "durability"].iter().filter(|_| file.starts_with("shells")) {
            assert!(text.contains(word), "{file} completes no {word}");
        }
    }
    let bash = std::fs::read_to_string(here.path().join("shells/halfpower.bash")).unwrap();
    let completes = |word: &str| bash.lines().any(|line| line.contains("compgen -W") && line.contains(word));
    for word in [" io_uring ", " durability ", " randtrim ", "\"fixed poisson\""] {
        assert!(completes(word), "{word}: {bash}");
    }
    let page = std::fs::read_to_string(here.path().join("pages/halfpower.1")).unwrap();
    assert!(
        page.contains(".SH EXAMPLES\n.nf\nhalfpower study /srv/data   "),
        "lines of examples stay as they are: {page}"
    );
    assert!(page.starts_with(&format!(".TH halfpower 1 \"\" \"halfpower {}\"", env!("CARGO_PKG_VERSION"))), "{page}");
    let version = printed(here.path(), "--version");
    assert!(version.contains("commit: ") && version.contains("features: "), "{version}");
    let [short, long] = ["run -h", "run --help"].map(|line| printed(here.path(), line));
    for heading in ["Workload:", "Output:", "Target and engine:", "Part of a study:", "Examples:"] {
        assert!(long.contains(heading), "{heading}");
    }
    assert!(short.lines().count() * 2 < long.lines().count(), "-h is short");
}

#[test]
fn a_run_ends_when_its_bytes_are_moved_or_its_time_is_over() {
    let here = folder();
    let bytes = |line: &str| record(here.path(), line)["bytes"].as_u64().unwrap();
    const MIB: u64 = 1 << 20;
    let line = "run sim:fixed=1ms --rw read --bs 64k";
    assert_eq!(bytes(&format!("{line} --io-size 8m")), 8 * MIB, "whatever time that takes");
    assert_eq!(bytes(&format!("{line} --io-size 8m --threads 2")), 16 * MIB, "each thread");
    assert_eq!(bytes(&format!("{line} --size 4m --io-size 250%")), 10 * MIB);
    assert!(bytes(&format!("{line} --io-size 8g --runtime 10ms")) < 64 * MIB, "the time is the limit");
    assert_eq!(bytes(&format!("{line} --io-size 8m --ramp-time 20ms")), 8 * MIB, "a ramp does not count");
    assert_eq!(bytes(&format!("{line} --io-size 100000")), 2 * 65536, "the last request is whole");
    for engine in ["sync", "pool", "io_uring", "libaio", "mmap"] {
        let cache = if engine == "mmap" { "both" } else { "device" };
        let line = format!("run . --size 16m --rw randwrite --bs 16k --engine {engine} --cache {cache} --io-size 50%");
        assert_eq!(bytes(&line), 8 * MIB, "{engine}");
    }
    // A buffered read of an empty page cache ends with its last block, and says why.
    let twice = printed(here.path(), "run . --size 4m --rw read --cache both --io-size 200%");
    assert!(twice.contains("of the 8 MiB that were asked: each block came once"), "{twice}");
    let shown = printed(here.path(), &format!("{line} --io-size 8g --runtime 10ms"));
    assert!(shown.contains("that were asked: its time was over"), "{shown}");
}

#[test]
fn a_fio_job_moves_what_fio_would_move() {
    let here = folder();
    let moved = |options: &str| -> u64 {
        let line = format!("run --name=j --bs=4k --direct=1 --output-format=json {options}");
        let document: Value = serde_json::from_str(&printed(here.path(), &line)).unwrap();
        let moved =
            |job: &Value| job["read"]["io_bytes"].as_u64().unwrap() + job["write"]["io_bytes"].as_u64().unwrap();
        document["jobs"].as_array().unwrap().iter().map(moved).sum()
    };
    const MIB: u64 = 1 << 20;
    assert_eq!(moved("--filename=sim: --size=8m --rw=randread"), 8 * MIB);
    assert_eq!(moved("--size=4m --rw=randwrite --numjobs=3"), 12 * MIB, "each job has a file of that size");
    assert_eq!(moved("--size=8m --rw=randread --nrfiles=4 --ioengine=libaio --iodepth=8"), 8 * MIB);
    assert_eq!(moved("--size=8m --rw=randrw --io_size=1m"), MIB);
    assert_eq!(moved("--size=2m --rw=write --loops=3"), 6 * MIB);
    assert_eq!(moved("--size=4m --rw=read:-8k"), 4 * MIB, "backwards");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn results_go_to_the_file_that_fio_s_output_names() {
    let here = folder();
    let line = "run --name=j --filename=sim: --size=1m";
    for (name, options, begins) in [("r.json", "--output-format=json", "{"), ("r.txt", "", "# Measured by halfpower ")]
    {
        let line = format!("{line} --output={name} {options}");
        assert_eq!(printed(here.path(), &line), "", "nothing else is printed");
        assert_eq!(printed(here.path(), &line), "", "what halfpower wrote may be replaced");
        assert!(std::fs::read_to_string(here.path().join(name)).unwrap().starts_with(begins), "{name}");
        std::fs::write(here.path().join(name), "somebody else's").unwrap();
        assert_eq!(output(here.path(), &line).status.code(), Some(2), "{name}");
        printed(here.path(), &format!("{line} --force"));
    }
    let shown = printed(here.path(), &format!("{line} --rw=randread --parse-only"));
    assert!(shown.starts_with("halfpower run sim: --rw randread") && shown.lines().count() == 1, "{shown}");
}

#[test]
fn nothing_is_laid_out_among_devices() {
    let here = folder();
    for line in ["run /dev", "run --directory=/dev --name=j --size=1m", "run --filename=/dev/no-such-device --size=1m"]
    {
        let output = output(here.path(), line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(said.contains("device"), "{said}");
    }
}

#[test]
fn words_that_hands_know_are_answered() {
    let here = folder();
    assert!(printed(here.path(), "version").starts_with("halfpower "));
    for (line, tool) in [("diskspd -h", "diskspd"), ("sqlio -h", "SQLIO")] {
        assert!(printed(here.path(), line).starts_with(&format!("Options of {tool}")), "{line}");
    }
    let shown = printed(here.path(), "diskspd -b64K -d1 -W0 -o4 -D10 -Su sim:");
    let total = shown.lines().find(|line| line.starts_with("total: ")).unwrap();
    assert!(shown.contains("|  I/O per s | IopsStdDev |") && total.split('|').count() == 5 + 1, "{total}");
}
