//! Compares the commits that a capture of PostgreSQL is predicted to get on another disk with those that it gets there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::{LAB, TOLERANCE, disk, figure_on, number, there};
use crate::disks::{Disk, Nature, done};
use crate::postgres::Cluster;

/// How long pgbench runs, when the watch begins, and how long that lasts.
const RUNS: u32 = 10;
const RAMP: Duration = Duration::from_secs(2);
const WATCHED: &str = "6s";
/// What is studied of the other disk.
const STUDIED: &str = "--experiments sequential,random,commits --bs 4k,8k,32k --iodepth 1..8 --size 64m --budget 120s";

/// Keeps what the server of a cluster asks of its disk while so many clients commit.
fn captured(disk: &Disk, cluster: &Cluster, clients: u32) -> PathBuf {
    let file = disk.kept("app.halfpower");
    let _ = std::fs::remove_file(&file);
    let postgres = cluster.start(&[]).unwrap();
    let pgbench = postgres.pgbench(clients, RUNS);
    std::thread::sleep(RAMP);
    // The clients compute, too.
    let ids = format!("{},{}", postgres.id(), pgbench.id());
    let mut watch = Command::new(halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
    done(watch.args(["watch", "--pid", &ids, "--for", WATCHED, "--record"]).arg(&file)).unwrap();
    println!("{:.0} commits a second where they are captured", pgbench.commits_per_second());
    file
}

/// How many commits a second a capture is predicted to get on the path of a study, and how many without computing, or as
/// many where that is not told; NaN if commits are not told.
fn predicted(disk: &Disk, capture: &Path, study: &Path) -> [f64; 2] {
    let said = disk.halfpower(&format!("predict '{}' --on '{}'", capture.display(), study.display()));
    println!("{}", said["text"].as_str().unwrap_or_default());
    let rows: Vec<Value> = said["rows"].as_array().cloned().unwrap_or_default();
    let commits = rows
        .iter()
        .find(|row| row["kind"] == "fdatasync")
        .map_or(f64::NAN, |row| number(&row["after"]["per_second"]["value"]));
    [commits, said["without_computing"]["commits_per_second"].as_f64().unwrap_or(commits)]
}

/// Captures on one disk, predicts and measures on the other, until the evidence decides.
fn judge_clients(from: Nature, to: Nature, clients: u32) {
    let Some((one, other)) = disk(from).zip(disk(to)) else { return };
    let Some(here) = there(Cluster::new(&one)) else { return };
    let Some(yonder) = there(Cluster::new(&other)) else { return };
    other.studied(STUDIED, "other.halfpower");
    let study = other.kept("other.halfpower");
    let what = format!("pgbench of {clients} predicted over measured, captured on {}", from.words());
    let within = format!("pgbench of {clients} within what is predicted, captured on {}", from.words());
    let figures = [Figure::near(figure_on(to, &what), 1.0, "", TOLERANCE), Figure::saying(figure_on(to, &within))];
    judge(LAB, figures.into(), || {
        let capture = captured(&one, &here, clients);
        let [predicted, most] = predicted(&other, &capture, &study);
        let measured = yonder.start(&[]).unwrap().pgbench(clients, RUNS).commits_per_second();
        println!("{predicted:.0} to {most:.0} commits a second predicted there, {measured:.0} measured");
        let is_within = (predicted * (1.0 - TOLERANCE)..=most * (1.0 + TOLERANCE)).contains(&measured);
        Some(vec![predicted / measured, f64::from(is_within)])
    });
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn one_client_of_the_real_disk_gets_at_a_slow_flush_what_is_predicted() {
    judge_clients(Nature::Real, Nature::SlowFlush, 1);
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn eight_clients_of_the_real_disk_get_at_a_slow_flush_what_is_predicted() {
    judge_clients(Nature::Real, Nature::SlowFlush, 8);
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn one_client_of_a_slow_flush_gets_behind_few_requests_what_is_predicted() {
    judge_clients(Nature::SlowFlush, Nature::FewRequests, 1);
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn eight_clients_of_a_slow_flush_get_behind_few_requests_what_is_predicted() {
    judge_clients(Nature::SlowFlush, Nature::FewRequests, 8);
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn one_client_of_a_slow_flush_gets_on_the_real_disk_what_is_predicted() {
    judge_clients(Nature::SlowFlush, Nature::Real, 1);
}

#[test]
#[ignore = "lab: runs pgbench on two disks"]
fn eight_clients_of_a_slow_flush_get_on_the_real_disk_what_is_predicted() {
    judge_clients(Nature::SlowFlush, Nature::Real, 8);
}
