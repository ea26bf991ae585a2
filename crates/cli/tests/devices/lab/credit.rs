//! Compares studies of limited devices with the limits: sustained rate, what is limited, and burst credit.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::{forget_study, right};
use crate::throttled::{Begun, Limit, Loop, MIB, Throttle, skip};

/// Largest relative error of the sustained rate against the limit, and of a credit against the device's counters.
const TOLERANCE: f64 = 0.03;
const CREDIT_TOLERANCE: f64 = 0.1;
/// Bytes of each device.
const PART: u64 = 32 * MIB;
/// The largest default block size that is always one request of the device, however its pages are scattered.
const LARGEST: u64 = 256 << 10;
/// Initial and sustained rate of a device in bytes a second, and the bytes at the initial rate.
const FAST: u64 = 20_000_000;
const SLOW: u64 = 5_000_000;
const GIVEN_FAST: u64 = 40_000_000;

/// A limit in bytes and in requests a second, and whether it applies to the device below two others.
#[derive(Clone, Copy)]
struct Given {
    name: &'static str,
    bps: Option<u64>,
    iops: Option<u64>,
    shared: bool,
}

const GIVEN: [Given; 4] = [
    Given { name: "bytes", bps: Some(10_000_000), iops: None, shared: false },
    Given { name: "requests", bps: None, iops: Some(100), shared: false },
    Given { name: "both", bps: Some(20_000_000), iops: Some(500), shared: false },
    Given { name: "shared", bps: Some(20_000_000), iops: None, shared: true },
];

/// A limited device, and a running study of it.
struct Case {
    given: Given,
    is_credit: bool,
    target: String,
    throttle: Throttle,
    // Dropped before the device that they are parts of.
    _parts: Vec<Loop>,
    _device: Loop,
    folder: tempfile::TempDir,
}

impl Case {
    fn new(given: Given, is_credit: bool) -> Result<Self, String> {
        let parts = if given.shared { 2 } else { 0 };
        let device = Loop::new(PART * parts.max(1))?;
        let parts: Vec<Loop> =
            (0..parts).map(|part| Loop::part(&device, part * PART, PART)).collect::<Result<_, _>>()?;
        let name = format!("credit-{}-{is_credit}", given.name);
        let throttle = Throttle::new(&name, &[Limit::of_reads(&device, given.bps, given.iops)])?;
        let names: Vec<String> = parts.iter().map(|part| part.device.display().to_string()).collect();
        let target =
            if given.shared { format!("each:{}", names.join(",")) } else { device.device.display().to_string() };
        let folder = tempfile::tempdir().unwrap();
        Ok(Self { given, is_credit, target, throttle, _parts: parts, _device: device, folder })
    }

    fn begin(&self, budget: &str) -> Begun {
        begin(&self.throttle, self.folder.path(), &self.target, self.is_credit, budget)
    }

    /// What the study says about the limit.
    fn reported(&self, findings: &Value, budget: &str) -> TargetMessage {
        let what = format!("{}, {budget}", self.given.name);
        if self.is_credit { self.credit(findings, &what) } else { self.peak(findings, &what) }
    }

    fn credit(&self, findings: &Value, what: &str) -> TargetMessage {
        let (answer, limit) = limit_of(findings);
        println!("{what}: {answer}");
        let counts = limit["counts"].as_str().unwrap();
        if ["unknown", "nothing"].contains(&counts) {
            return if answer.contains("cannot be told") { TargetMessage::Nothing } else { TargetMessage::Wrong };
        }
        let expected = match (self.given.bps, self.given.iops) {
            (Some(_), Some(_)) => "both",
            (Some(_), None) => "bytes",
            _ => "requests",
        };
        let bytes = self.given.bps.is_none_or(|bps| is_close(what, &limit["sustained_mbps"], bps as f64 / 1e6));
        let requests = self.given.iops.is_none_or(|iops| is_close(what, &limit["sustained_iops"], iops as f64));
        if counts == expected && bytes && requests { TargetMessage::Right } else { TargetMessage::Wrong }
    }

    fn peak(&self, findings: &Value, what: &str) -> TargetMessage {
        let by_requests = self.given.iops.map_or(u64::MAX, |iops| iops * LARGEST);
        peak_told(findings, what, self.given.bps.unwrap_or(u64::MAX).min(by_requests) as f64 / 1e6)
    }
}

/// What a study says about a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TargetMessage {
    Right,
    Wrong,
    /// That it cannot tell.
    Nothing,
}

fn begin(throttle: &Throttle, folder: &Path, target: &str, is_credit: bool, budget: &str) -> Begun {
    let study = if is_credit { "--experiments credit".to_string() } else { format!("--bs 4k-{LARGEST}") };
    throttle.begin(folder, target, &format!("{study} --rw read --cache device --budget {budget}"))
}

/// The finding of `credit` about reads.
fn limit_of(findings: &Value) -> (&str, &Value) {
    let section = &findings["experiments"][0];
    (section["answer"].as_str().unwrap(), &section["found"]["limits"][0])
}

fn is_close(what: &str, found: &Value, given: f64) -> bool {
    let found = found.as_f64().unwrap_or(0.0);
    println!("{what}: given {given:.2}, found {found:.2}, {:+.2}%", (found / given - 1.0) * 100.0);
    (found / given - 1.0).abs() <= TOLERANCE
}

/// What the study says about its peak. It is right if the given limit is in its interval, or close to it.
fn peak_told(findings: &Value, what: &str, given: f64) -> TargetMessage {
    let Some(headline) = findings["headline"].get(0) else { return TargetMessage::Nothing };
    let mbps = &headline["mbps"];
    println!("{what}: peak {mbps} of {} runs", headline["runs"]);
    if headline["runs"] == 1 {
        return TargetMessage::Nothing;
    }
    let [low, high] = ["low", "high"].map(|end| mbps[end].as_f64().unwrap());
    if (low..=high).contains(&given) || is_close(what, &mbps["value"], given) {
        TargetMessage::Right
    } else {
        TargetMessage::Wrong
    }
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn what_goes_on_is_told_within_a_few_percent_or_not_at_all() {
    let cases: Result<Vec<Case>, String> =
        GIVEN.iter().flat_map(|given| [true, false].map(|is_credit| Case::new(*given, is_credit))).collect();
    let cases = match cases {
        Ok(cases) => cases,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    for budget in ["20s", "60s"] {
        let saying = |case: &Case| {
            let kind = if case.is_credit { "credit" } else { "peak" };
            Figure::saying(format!("limit of {}, {kind} in {budget}: right or not told", case.given.name))
        };
        let mut figures: Vec<Figure> = cases.iter().map(saying).collect();
        // A study that says nothing is never wrong, so also require answers, where there is time for them.
        let must_answer = budget != "20s";
        if must_answer {
            figures.push(Figure::saying(format!("limits in {budget}: enough is told")));
        }
        judge("devices", figures, || {
            let studies: Vec<Begun> = cases.iter().map(|case| case.begin(budget)).collect();
            let found: Vec<Value> = studies.into_iter().map(Begun::findings).collect();
            cases.iter().for_each(|case| forget_study(case.folder.path()));
            let reported: Vec<TargetMessage> =
                cases.iter().zip(&found).map(|(case, findings)| case.reported(findings, budget)).collect();
            let told = reported.iter().filter(|reported| **reported == TargetMessage::Right).count();
            let enough = must_answer.then(|| right(told > cases.len() / 2));
            Some(reported.iter().map(|reported| right(*reported != TargetMessage::Wrong)).chain(enough).collect())
        });
    }
}

#[test]
#[ignore = "lab: minutes on throttled devices"]
fn what_is_given_at_first_is_a_credit_and_no_peak() {
    let slow = SLOW as f64 / 1e6;
    let figures = vec![
        Figure::near("a credit of 40 MB: what is sustained", slow, "MB/s", TOLERANCE),
        Figure::near("a credit of 40 MB: found over given", 1.0, "", CREDIT_TOLERANCE),
        Figure::saying("a credit of 40 MB: the peak in 20s is right or not told"),
        Figure::saying("a credit of 40 MB: the peak in 60s is right"),
    ];
    judge("devices", figures, || {
        let devices: Result<Vec<Falling>, String> = [(true, "20s"), (false, "20s"), (false, "60s")]
            .iter()
            .map(|(is_credit, budget)| Falling::new(*is_credit, budget))
            .collect();
        let mut devices = match devices {
            Ok(devices) => devices,
            Err(why) => {
                skip(&format!("no throttled loop devices here (root is needed): {why}"));
                return None;
            }
        };
        let mut studies: Vec<Begun> = devices.iter().map(Falling::begin_study).collect();
        // A study that ends before its time has read too little for the limit to fall.
        while devices.iter().zip(&mut studies).any(|(device, study)| device.extra.is_none() && !study.has_ended()) {
            devices.iter_mut().for_each(Falling::watch);
            sleep(Duration::from_millis(2));
        }
        let found: Vec<Value> = studies.into_iter().map(Begun::findings).collect();
        let (sustained, credit) = devices[0].credit(&found[0]);
        let reported = |number: usize| peak_told(&found[number], devices[number].budget, slow);
        Some(vec![
            sustained,
            credit,
            right(reported(1) != TargetMessage::Wrong),
            right(reported(2) == TargetMessage::Right),
        ])
    });
}

/// A device that is fast at first, and a study of it.
struct Falling {
    is_credit: bool,
    budget: &'static str,
    throttle: Throttle,
    device: Loop,
    folder: tempfile::TempDir,
    before: u64,
    began: Option<Instant>,
    fell: Option<Instant>,
    /// Bytes beyond the slow rate, known once the device is slow.
    extra: Option<f64>,
}

impl Falling {
    fn new(is_credit: bool, budget: &'static str) -> Result<Self, String> {
        let device = Loop::new(PART)?;
        let name = format!("falling-{is_credit}-{budget}");
        let throttle = Throttle::new(&name, &[Limit::of_reads(&device, Some(FAST), None)])?;
        let folder = tempfile::tempdir().unwrap();
        let before = device.bytes_read();
        let began = None;
        let fell = None;
        let extra = None;
        Ok(Self { is_credit, budget, throttle, device, folder, before, began, fell, extra })
    }

    fn begin_study(&self) -> Begun {
        begin(&self.throttle, self.folder.path(), self.device.device.to_str().unwrap(), self.is_credit, self.budget)
    }

    /// Lowers the limit after enough bytes, and a second later counts the bytes read beyond the lower limit.
    fn watch(&mut self) {
        let moved = self.device.bytes_read() - self.before;
        if self.began.is_none() && moved > MIB {
            self.began = Some(Instant::now());
        }
        if self.fell.is_none() && moved >= GIVEN_FAST {
            self.throttle.set(&Limit::of_reads(&self.device, Some(SLOW), None)).unwrap();
            self.fell = Some(Instant::now());
        }
        if self.extra.is_none() && self.fell.is_some_and(|fell| fell.elapsed() >= Duration::from_secs(1)) {
            self.extra = Some(moved as f64 - SLOW as f64 * self.began.unwrap().elapsed().as_secs_f64());
        }
    }

    /// Sustained rate in MB/s, and the found credit divided by the given one; NaN if the limit never fell.
    fn credit(&self, findings: &Value) -> (f64, f64) {
        let (answer, limit) = limit_of(findings);
        println!("{answer}");
        let found = limit["credit"]["bytes"].as_f64().unwrap_or(0.0);
        let sustained = limit["sustained_mbps"].as_f64().unwrap_or(0.0);
        let Some(extra) = self.extra else { return (sustained, f64::NAN) };
        println!("given {:.1} MB beyond that, found {:.1} MB", extra / 1e6, found / 1e6);
        (sustained, found / extra)
    }
}
