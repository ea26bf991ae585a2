//! Kills a process, process 0 or mpirun at random moments of a study, and checks for lost records and leftovers.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use halfpower_lab::Campaign;
use halfpower_record::{Record, StudyFile};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::alone;
use crate::processes::{mpirun, plain, program};

/// Default number of kills of each kind.
const KILLS: u32 = 5;
/// Longest time until all processes have ended after a kill.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process to kill.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Last,
    First,
    Any,
    Launcher,
}

fn records(path: &Path) -> Vec<Record> {
    StudyFile::open_mended(path)
        .unwrap_or_else(|error| panic!("{error}"))
        .records()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The descendants of `parent`, with their ranks.
fn ranks_below(parent: u32) -> Vec<(u32, u32)> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let below = numbers.filter_map(|process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let above: u32 = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
        let environ = fs::read(format!("/proc/{process}/environ")).ok()?;
        let text = String::from_utf8_lossy(&environ).into_owned();
        let rank = text.split('\0').find_map(|entry| entry.strip_prefix("OMPI_COMM_WORLD_RANK="))?;
        (above == parent).then_some((rank.parse().ok()?, process))
    });
    let mut ranks: Vec<(u32, u32)> = below.collect();
    ranks.sort_unstable();
    ranks
}

/// The processes that work in `folder`, including those just started when their launcher was killed.
fn at_work_in(folder: &Path) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_there = |process: &u32| fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|there| there == folder);
    numbers.filter(is_there).collect()
}

fn kill(process: u32) {
    let _ = plain("kill").args(["-9", &process.to_string()]).stderr(Stdio::null()).status();
}

/// Begins the study with several processes, kills the victim, and waits until all are gone.
fn kill_one(program: &Path, here: &Path, victim: Victim, layout: &str, dice: &mut Xoshiro256PlusPlus) -> Vec<Record> {
    let study = here.join("study.halfpower");
    let processes = dice.random_range(2..=4);
    let words = format!("study data --size 16MiB --budget 60s --runtime 200ms --bs 64k,1MiB --iodepth 1,8 {layout}");
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = mpirun(program, here, processes, &words);
    let mut started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(dice.random_range(0..2_500)));
    let ranks = ranks_below(started.id());
    let acknowledged = if study.exists() { records(&study) } else { Vec::new() };
    match (victim, ranks.first(), ranks.last()) {
        (Victim::First, Some((_, first)), _) => kill(*first),
        (Victim::Last, _, Some((_, last))) => kill(*last),
        (Victim::Any, Some(_), _) => kill(ranks[dice.random_range(0..ranks.len())].1),
        _ => kill(started.id()),
    }
    let since = Instant::now();
    started.wait().unwrap();
    let here = here.canonicalize().unwrap();
    loop {
        let left = at_work_in(&here);
        if left.is_empty() {
            return acknowledged;
        }
        assert!(since.elapsed() < PATIENCE, "a process waits for another one that was killed: {victim:?}, {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "lab: starts and kills studies of many processes"]
fn kills_of_any_process_lose_no_record_and_leave_nothing() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let kills = std::env::var("HALFPOWER_HOST_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(u64::from(kills));
    let mut campaign = Campaign::new("kills: study under mpirun");
    for (victim, layout) in [
        (Victim::Last, "--host-layout file-per-process"),
        (Victim::First, "--host-layout shared"),
        (Victim::Any, "--host-layout file-per-process"),
        (Victim::Launcher, "--reorder"),
    ] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let here = folder.path();
        fs::create_dir(here.join("data")).unwrap();
        let mut kept: Vec<Record> = Vec::new();
        for _ in 0..kills {
            let acknowledged = kill_one(&program, here, victim, layout, &mut dice);
            let study = here.join("study.halfpower");
            let found = if study.exists() { records(&study) } else { Vec::new() };
            assert!(found.starts_with(&acknowledged), "{victim:?}: a committed record is lost");
            assert!(found.starts_with(&kept), "{victim:?}: a record of an earlier start is lost");
            kept = found;
        }
        // The next start resumes with one process, and removes leftovers.
        let words = ["study", "data", "--size", "16MiB", "--budget", "60s", "--runtime", "200ms"];
        let more = ["--bs", "64k,1MiB", "--iodepth", "1,8", "--json"];
        let output = plain(&program).args(words).args(more).current_dir(here).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let all = records(&here.join("study.halfpower"));
        assert!(all.starts_with(&kept), "{victim:?}: a record is lost on fewer hosts");
        let left: Vec<_> = fs::read_dir(here.join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{victim:?}: {left:?}");
        campaign.tried += u64::from(kills);
        println!("{victim:?}: {kills} kills, {} records kept, none lost, nothing left behind", kept.len());
    }
    campaign.survived = campaign.tried;
    campaign.judge("hosts");
}
