//! Compares the first screens of twelve studies at 80 and at 120 columns with golden texts.
//!
//! `HALFPOWER_GOLDEN=write cargo test -p halfpower-report screens` writes new golden texts for review.

use halfpower_experiments::{PlanRequest, StudyFindings, analyse};
use halfpower_record::{Capabilities, Device, Environment, FileSystem, Latency, Level, Machine, Record, TargetKind};
use halfpower_report::{Style, terminal, terminal_full, warnings_text};
use halfpower_spec::{Bytes, Cache, Direction, Experiment, Pass, Question, Rate, Workload, format};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{disk, normal, record_at, study};
use crate::first_page::assert_page_agrees;
use crate::text::assert_golden;

/// Lines of a screen, including the one that names the files.
const SCREEN: usize = 30;

/// The studies' environment: a file system on a virtual disk.
pub fn environment() -> Environment {
    let machine = Machine {
        kernel: "6.8.0".into(),
        cpu_model: "AMD EPYC 7R13 Processor".into(),
        cpus: 2,
        virtualised: Some("kvm".into()),
        ..Machine::default()
    };
    let filesystem = Some(FileSystem { kind: "ext4".into(), ..FileSystem::default() });
    let device = Some(Device {
        name: "vda".into(),
        transport: Some("virtio".into()),
        size: Bytes(200 << 30),
        ..Device::default()
    });
    let capabilities = Capabilities {
        kind: TargetKind::Folder,
        span: Bytes(1 << 30),
        members: 1,
        direct_unit: Some(Bytes(512)),
        ..Capabilities::default()
    };
    Environment { machine, filesystem, device, capabilities, ..Environment::default() }
}

pub fn question() -> Question {
    Question {
        bs: [4, 8, 64, 256, 1024].map(|kib| Bytes(kib << 10)).into(),
        iodepth: vec![1, 4, 16, 32],
        cache: vec![Cache::Device],
        ..Question::about("/srv/data")
    }
}

/// Adds the device's own byte counts to records.
fn witnessed(mut records: Vec<Record>, device_share: f64) -> Vec<Record> {
    for record in &mut records {
        let ours = record.cpu.ios * record.run.workload.bs.0;
        record.noise.device_bytes = Some((ours as f64 * device_share) as u64);
    }
    records
}

const DISK: &str = "fixed=80us,rate=500MB/s,disks=4,shared=1600MB/s,noise=2%,cpu_fixed=6us,cpu_per_kib=15ns";

pub fn quiet_study() -> (StudyFindings, Vec<Record>) {
    let mut records = study(&disk(DISK), &question());
    let durable: Vec<Record> = records
        .iter()
        .filter(|record| record.run.workload.rw.writes() && record.run.pass == Pass::Plain)
        .map(|record| {
            let mut durable = record.clone();
            durable.run.workload.cache = Cache::None;
            durable.elapsed_ns *= 4;
            durable.series.step_ns *= 4;
            let latencies: Vec<(u64, u64)> =
                record.latency.buckets().map(|(low, high, count)| (2 * (low + high), count)).collect();
            let ends = [4 * record.latency.min_ns(), 4 * record.latency.max_ns()];
            durable.latency = Latency::of_bins(&latencies, ends, 4.0 * record.latency.mean_ns());
            durable
        })
        .collect();
    records.extend(durable);
    let records = witnessed(records, 1.0);
    (analyse(&question(), &environment(), &records), records)
}

fn quiet() -> StudyFindings {
    quiet_study().0
}

fn noisy() -> StudyFindings {
    let noisy = disk(&DISK.replace("noise=2%", "noise=30%"));
    let mut records = witnessed(study(&noisy, &question()), 1.0);
    for record in records.iter_mut().filter(|record| record.run.workload.iodepth > 4) {
        record.noise.device_bytes = record.noise.device_bytes.map(|bytes| bytes / 5 * 6);
    }
    analyse(&question(), &environment(), &records)
}

fn unfinished() -> StudyFindings {
    let records = witnessed(study(&disk(DISK), &question()), 1.0);
    let first = |record: &Record| record.run.repeat == 0 && record.run.workload.iodepth != 4;
    let records: Vec<Record> = records.into_iter().filter(first).collect();
    analyse(&question(), &environment(), &records).cut_short(0.304)
}

fn cached() -> StudyFindings {
    let records = witnessed(study(&disk("fixed=5us,rate=6GB/s,disks=4,noise=2%"), &question()), 0.03);
    analyse(&question(), &environment(), &records)
}

fn simulated() -> StudyFindings {
    let constants = "fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s";
    let machine = Machine { kernel: Machine::VIRTUAL.into(), cpus: 1, ..Machine::default() };
    let capabilities = Capabilities { kind: TargetKind::Simulated, ..environment().capabilities };
    let environment = Environment { machine, capabilities, ..Environment::default() };
    let question = Question { target: format!("sim:{constants}"), ..question() };
    analyse(&question, &environment, &study(&disk(constants), &question))
}

fn one_way(rw: Direction) -> StudyFindings {
    let question = Question { directions: vec![rw], ..question() };
    analyse(&question, &environment(), &witnessed(study(&disk(DISK), &question), 1.0))
}

fn in_memory() -> StudyFindings {
    let filesystem = Some(FileSystem { kind: "tmpfs".into(), ..FileSystem::default() });
    let capabilities = Capabilities { direct_unit: None, ..environment().capabilities };
    let notes = vec!["tmpfs takes no direct I/O, so that every run was buffered.".to_string()];
    let environment = Environment { filesystem, device: None, capabilities, notes, ..environment() };
    let question = Question { target: "/dev/shm".into(), cache: vec![Cache::Both], ..question() };
    analyse(&question, &environment, &study(&disk("fixed=900ns,rate=9GB/s,noise=3%"), &question))
}

fn throttled() -> StudyFindings {
    let limit = |direction, mbps: f64, iops| Level {
        name: "cgroup limit".into(),
        pap: Some(Rate(mbps * 1e6)),
        pap_iops: Some(iops),
        direction: Some(direction),
        source: "io.max of /sys/fs/cgroup/lab".into(),
        ..Level::default()
    };
    let levels = vec![limit(Direction::Read, 200.0, 9000.0), limit(Direction::Write, 100.0, 9000.0)];
    let environment = Environment { levels, ..environment() };
    let of = |rw, rate: &str| {
        let question = Question { directions: vec![rw], ..question() };
        study(&disk(&format!("fixed=80us,rate=500MB/s,disks=4,shared={rate},iops=9000,noise=1%")), &question)
    };
    let records = [of(Direction::Read, "196MB/s"), of(Direction::Write, "98MB/s")].concat();
    analyse(&question(), &environment, &witnessed(records, 1.0))
}

/// Four disks behind a link, driven one by one and together.
fn scaling() -> StudyFindings {
    let experiments = vec![Experiment::Scaling, Experiment::Mirror];
    let question = Question { target: "each:/dev/sda,/dev/sdb,/dev/sdc,/dev/sdd".into(), experiments, ..question() };
    let capabilities = Capabilities { members: 4, kind: TargetKind::Device, ..environment().capabilities };
    let environment = Environment { capabilities, filesystem: None, device: None, ..environment() };
    let request = PlanRequest { question: &question, environment: &environment };
    let cells = halfpower_experiments::plan(Experiment::Scaling, &request).unwrap();
    let one = disk("fixed=80us,rate=200MB/s");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut rates = |workload: &Workload| {
        let members = f64::from(workload.options.members.max(1));
        let alone = if workload.rw.pattern() == halfpower_spec::Pattern::Sequential { 190.0 } else { 12.0 };
        (alone * members).min(520.0) * (1.0 + 0.01 * normal(&mut random))
    };
    let mut records = Vec::new();
    for cell in cells {
        for repeat in 0..3 {
            let mut record = record_at(&one, cell.workload, repeat, Pass::Plain, rates(&cell.workload) * 1e6);
            record.run.experiment = Some(Experiment::Scaling);
            records.push(record);
        }
    }
    analyse(&question, &environment, &records)
}

fn one_run() -> StudyFindings {
    let question = Question { repeats: 1, bs: vec![Bytes(4096)], iodepth: vec![1, 32], ..question() };
    analyse(&question, &environment(), &witnessed(study(&disk(DISK), &question), 1.0))
}

fn failed() -> StudyFindings {
    let mut records = study(&disk(DISK), &question());
    for record in &mut records {
        (record.bytes, record.ios) = (0, 0);
        record.errors = [("EIO".to_string(), 12)].into();
    }
    analyse(&question(), &environment(), &records)
}

fn printed(study: &StudyFindings, width: usize) -> String {
    let mut out = Vec::new();
    let style = Style { width, colour: false };
    terminal(study, Some("study.halfpower".as_ref()), &style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Checks a study's screen: equal to the golden text at 80 and 120 columns, within width and height, with its state on
/// top.
fn assert_screen(name: &str, state: &str, study: &StudyFindings) {
    assert_page_agrees(state, study, &printed(study, 220));
    for width in [80, 120] {
        let text = printed(study, width);
        assert!(text.lines().next().unwrap().ends_with(state), "{text}");
        assert!(text.lines().count() <= SCREEN, "{} lines of {name}:\n{text}", text.lines().count());
        assert_golden(&format!("screens/{name}-{width}.txt"), &text);
    }
    for width in [40, 60, 80, 100, 120] {
        let widest = printed(study, width).lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} columns of {width}:\n{}", printed(study, width));
    }
    let mut out = Vec::new();
    let style = Style { width: 80, colour: false };
    terminal_full(study, &style, &mut out).unwrap();
    warnings_text(study, &style, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_quiet_study() {
    assert_screen("quiet", "QUIET", &quiet());
}

#[test]
fn what_settings_give_is_told_on_a_narrow_screen_too() {
    let text = printed(&quiet(), 60);
    assert!(text.contains("4 deep  1,626 MB/s \u{b1}2%\n") && !text.contains("CPU/GB"), "{text}");
}

#[test]
fn a_noisy_study() {
    assert_screen("noisy", "NOISY", &noisy());
}

#[test]
fn an_unfinished_study() {
    assert_screen("unfinished", "UNFINISHED 30%", &unfinished());
}

#[test]
fn a_study_that_a_cache_answered() {
    assert_screen("cached", "CACHED", &cached());
}

#[test]
fn a_simulated_study() {
    assert_screen("simulated", "SIMULATED", &simulated());
}

#[test]
fn a_study_of_writes_alone() {
    let study = one_way(Direction::Write);
    assert_screen("write-only", "QUIET", &study);
    assert!(!printed(&study, 80).contains("reads "), "nothing is said of what was not asked");
}

#[test]
fn a_study_of_reads_alone() {
    assert_screen("read-only", "QUIET", &one_way(Direction::Read));
}

#[test]
fn a_study_of_a_file_system_in_memory() {
    assert_screen("tmpfs", "MEMORY", &in_memory());
}

#[test]
fn a_throttled_study() {
    assert_screen("throttled", "QUIET", &throttled());
}

#[test]
fn a_study_of_other_experiments() {
    assert_screen("scaling", "QUIET", &scaling());
}

#[test]
fn a_study_with_a_single_run_a_cell() {
    assert_screen("one-run", "QUIET", &one_run());
}

#[test]
fn a_study_of_which_every_request_failed() {
    assert_screen("failed", "FAILED", &failed());
}

#[test]
fn a_noisy_study_of_single_runs_gives_no_advice() {
    let question = Question { repeats: 1, ..question() };
    let advised = |device_share: f64| {
        let records = witnessed(study(&disk(DISK), &question), device_share);
        let study = analyse(&question, &environment(), &records);
        let text = printed(&study, 120);
        let state = if text.contains("NOISY") { "NOISY" } else { "QUIET" };
        assert_page_agrees(state, &study, &printed(&study, 220));
        (state, text.contains("copy, reading"), text.contains("single runs of a noisy study"))
    };
    assert_eq!(advised(1.0), ("QUIET", true, false));
    assert_eq!(advised(1.2), ("NOISY", false, true));
}

#[test]
fn figures_that_mean_nothing_are_not_shown() {
    let mut records = witnessed(study(&disk(DISK), &question()), 1.0);
    for record in records.iter_mut().filter(|record| record.run.workload.rw.writes()) {
        let factor = [1, 9, 4][record.run.repeat as usize % 3];
        record.elapsed_ns *= factor;
        record.series.step_ns *= factor;
    }
    let text = printed(&analyse(&question(), &environment(), &records), 80);
    let of_write = |line: &&str| line.trim_start().starts_with("random write") || line.contains("seq. write");
    assert!(text.lines().filter(of_write).all(|line| line.contains("not known")), "{text}");
    assert!(text.contains("NOISY") && text.contains("not known: its runs differ too much; needs about"), "{text}");
    let huge = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().is_ok_and(|n| n > 100.0);
    assert!(!text.split_whitespace().any(|word| word.ends_with('%') && huge(word)), "{text}");
}

#[test]
fn the_full_report_says_what_an_experiment_could_not_measure() {
    let mut study = scaling();
    let ran = study.experiments.iter_mut().find(|experiment| experiment.ran).unwrap();
    ran.notes = vec!["two members are one disk".to_string()];
    let mut text = Vec::new();
    terminal_full(&study, &Style { width: 100, colour: false }, &mut text).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("- two members are one disk"));
}

#[test]
fn a_path_has_one_rate_in_the_whole_report() {
    let question = Question { directions: vec![Direction::Read], ..question() };
    let mut records = witnessed(study(&disk(DISK), &question), 1.0);
    let cell = analyse(&question, &environment(), &records).findings.headline[0].cell;
    let is_it = |record: &&Record| {
        let Workload { rw, bs, iodepth, .. } = record.run.workload;
        let pass = record.run.pass;
        (rw.pattern(), bs.0, iodepth, pass) == (cell.pattern, cell.bs_bytes, cell.iodepth, Pass::Plain)
    };
    // The runs that chose the cell were lucky: those that confirm it are 4% slower.
    let mut confirming: Vec<Record> = records.iter().filter(is_it).cloned().collect();
    for record in &mut confirming {
        record.run.pass = Pass::Confirm;
        record.elapsed_ns = record.elapsed_ns * 26 / 25;
        record.series.step_ns = record.series.step_ns * 26 / 25;
    }
    records.extend(confirming);
    let found = analyse(&question, &environment(), &records);
    let headline = &found.findings.headline[0];
    assert!(headline.confirmed && headline.cell == cell, "{headline:?}");
    let mut text = Vec::new();
    terminal_full(&found, &Style { width: 120, colour: false }, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let place = format!("{} x {}", format::size(cell.bs_bytes as f64), cell.iodepth);
    let of_path = text.lines().find(|line| line.contains(&place)).unwrap_or_else(|| panic!("no {place}: {text}"));
    assert!(of_path.contains(&format::number(headline.mbps.value)), "{of_path}, but {headline:?}");
}
