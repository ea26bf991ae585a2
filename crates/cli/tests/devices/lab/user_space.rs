//! Studies disks in user space whose servers, time of a request and rate are known, and compares all figures with these.

use std::ops::RangeInclusive;
use std::process::{Child, Command, Output, Stdio};

use halfpower_lab::{AskedRow, Figure, RowTruth, Screens, is_state_of_a_path_alone, is_stop_unknown, judge};
use serde_json::Value;
use tempfile::TempDir;

use super::right;
use crate::throttled::{MIB, skip};

/// A request takes so long, and its bytes over the rate.
const FIXED_S: f64 = 0.004;
const RATE: f64 = 4e6;
/// What the way through the kernel and back adds to a request that waits for no other.
const ON_THE_WAY: f64 = 1.12;
/// How much longer the slowest of a hundred such requests may take, and of a hundred that wait in a queue, where a
/// processor wakes up late.
const AT_MOST: f64 = 2.0;
const IN_A_QUEUE: f64 = 1.5;
/// The plain run beside the study.
const RUN: AskedRow = AskedRow { bs_bytes: 4096.0, depth: 8.0 };
/// Makes the disk, studies it and measures it once; the disk goes with the namespace of mounts.
const SCRIPT: &str = "mkdir m; python3 \"$DISK\" m $BYTES $SERVERS $FIXED_US $RATE & \
    for i in $(seq 200); do [ -e m/data ] && break; sleep 0.05; done; \
    $HP study m/data --rw read --cache device --experiments random --bs 4KiB,8KiB,16KiB,32KiB,64KiB --iodepth 1,2,8 \
    --budget 80s --json && $HP run m/data --rw randread --bs 4KiB --iodepth 8 --runtime 3s --json; code=$?; \
    for i in $(seq 100); do umount m && break; sleep 0.05; done 2>/dev/null; wait; exit $code";

/// A disk that serves so many requests side by side.
struct Disk {
    name: &'static str,
    servers: f64,
}

const DISKS: [Disk; 2] = [Disk { name: "one server", servers: 1.0 }, Disk { name: "four servers", servers: 4.0 }];

impl Disk {
    /// The closed form: the rate in MB/s, and what each request takes in nanoseconds, as it waits for those before it.
    fn closed_form(&self, AskedRow { bs_bytes, depth }: AskedRow) -> (f64, f64) {
        let request_s = FIXED_S + bs_bytes / RATE;
        let mbps = depth.min(self.servers) * bs_bytes / request_s / 1e6;
        (mbps, (depth / self.servers).max(1.0) * request_s * 1e9)
    }

    /// The truth of a row: the closed form, and on the way what a request adds that waits for no other.
    fn truth(&self, asked: AskedRow) -> RowTruth {
        let (most_mbps, least_ns) = self.closed_form(asked);
        if asked.depth > self.servers {
            RowTruth {
                mbps: 0.985 * most_mbps..=1.005 * most_mbps,
                p50_ns: 0.985 * least_ns..=1.03 * least_ns,
                p99_ns: 0.985 * least_ns..=IN_A_QUEUE * least_ns,
            }
        } else {
            RowTruth {
                mbps: most_mbps / ON_THE_WAY..=1.005 * most_mbps,
                p50_ns: 0.995 * least_ns..=ON_THE_WAY * least_ns,
                p99_ns: 0.995 * least_ns..=AT_MOST * least_ns,
            }
        }
    }

    /// Its study and a run of it, from this folder.
    fn begin(&self, folder: &TempDir) -> Child {
        let mut command = Command::new("unshare");
        command.args(["-m", "bash", "-c", SCRIPT]).current_dir(folder.path());
        command.env("HP", halfpower_lab::judged(env!("CARGO_BIN_EXE_halfpower")));
        command.env("DISK", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/paced_disk.py"));
        let words = [
            ("BYTES", (16 * MIB).to_string()),
            ("SERVERS", self.servers.to_string()),
            ("FIXED_US", (FIXED_S * 1e6).round().to_string()),
            ("RATE", RATE.to_string()),
        ];
        command.envs(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The judged figures of the run, half power, and what is said of the study.
    fn figures(&self) -> Vec<Figure> {
        let (mbps, ns) = self.closed_form(RUN);
        let truth = self.truth(RUN);
        let of_run = |what: &str| format!("run of a disk in user space, {}: {what}", self.name);
        let of_study = |what: &str| format!("first screen, disks in user space: {what} of {}", self.name);
        let near = |what: &str, exact: f64, range: &RangeInclusive<f64>, unit| {
            Figure::between(of_run(what), exact, unit, range.start() / exact..=range.end() / exact)
        };
        vec![
            near("rate", mbps, &truth.mbps, "MB/s"),
            near("median", ns, &truth.p50_ns, "ns"),
            near("99th percentile", ns, &truth.p99_ns, "ns"),
            Figure::near(of_study("half power"), FIXED_S * RATE, "bytes", 0.1),
            Figure::saying(of_study("the state")),
            Figure::saying(of_study("the verdict")),
        ]
    }

    /// The same figures, as they were found.
    fn found(&self, report: &Value, run: &Value) -> Vec<f64> {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let curves = report["curves"].as_array().cloned().unwrap_or_default();
        let deepest = curves.iter().max_by_key(|curve| curve["iodepth"].as_u64());
        println!("{}: {}, {}", self.name, report["state"]["word"], report["verdict"]);
        vec![
            number(&run["mbps"]),
            number(&run["latency_ns"]["p50"]),
            number(&run["latency_ns"]["p99"]),
            deepest.map_or(f64::NAN, |curve| number(&curve["n_half_bytes"])),
            right(is_state_of_a_path_alone(report)),
            self.verdict(report),
        ]
    }

    /// Whether what is said to stop reads does; NaN where it is said to be not known.
    fn verdict(&self, report: &Value) -> f64 {
        let Some(stop) = report["stops"].as_array().and_then(|stops| stops.iter().find(|stop| stop["rw"] == "read"))
        else {
            return 0.0;
        };
        if is_stop_unknown(stop) {
            return f64::NAN;
        }
        let rows = report["how_fast"].as_array().cloned().unwrap_or_default();
        let mbps = |row: &Value| row["mbps"]["value"].as_f64().unwrap_or(0.0);
        let fastest = rows.iter().max_by(|one, other| mbps(one).total_cmp(&mbps(other)));
        let depth = fastest.and_then(|row| row["iodepth"].as_f64()).unwrap_or(0.0);
        let is_full = depth >= self.servers;
        let by = &stop["stopped_by"];
        right(match by["code"].as_str().filter(|_| stop["doubt"].is_null()) {
            Some("parallelism") => {
                by["side_by_side"].as_f64().is_some_and(|found| (found / self.servers - 1.0).abs() < 0.25)
            }
            Some("no-gain-from-depth") => is_full,
            Some("ceiling") => is_full && by["ceiling"] == "bytes",
            Some("request-time") => !is_full,
            _ => false,
        })
    }
}

/// Why there is no such disk here.
fn lacking() -> Option<&'static str> {
    let is_root = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !is_root.is_ok_and(|status| status.success()) {
        return Some("a mount namespace takes root");
    }
    std::fs::File::open("/dev/fuse").is_err().then_some("there is no /dev/fuse")
}

/// The report of a study and the record of a run.
fn documents(output: &Output) -> [Value; 2] {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let all: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>().collect();
    all.unwrap().try_into().unwrap_or_else(|all: Vec<Value>| panic!("two documents, and not {all:?}: {errors}"))
}

#[test]
#[ignore = "lab: disks in user space of their own"]
fn figures_of_disks_in_user_space_are_true() {
    if let Some(what) = lacking() {
        return skip(what);
    }
    let shares = Screens::SHARES
        .map(|what| Figure::near(format!("first screen, disks in user space: {what}"), 1.0, "", 0.1))
        .into_iter();
    judge("devices", shares.chain(DISKS.iter().flat_map(Disk::figures)).collect(), || {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let folders = [folder(), folder()];
        let begun: Vec<Child> = DISKS.iter().zip(&folders).map(|(disk, folder)| disk.begin(folder)).collect();
        // All of them end before one is looked at: where one has failed, nothing goes on.
        let ended: Vec<Output> = begun.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let mut screens = Screens::default();
        let mut found = Vec::new();
        for (disk, output) in DISKS.iter().zip(&ended) {
            let [report, run] = documents(output);
            screens.add(disk.name, &report, |asked| disk.truth(asked));
            found.extend(disk.found(&report, &run));
        }
        println!("{screens:?}");
        Some(screens.shares().into_iter().chain(found).collect())
    });
}
