//! Puts keys into an etcd of its own, and reads what it says of the flushes of its log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::disks::Disk;
use crate::server::Server;

const USER: &str = "nobody";
const HISTOGRAM: &str = "etcd_disk_wal_fsync_duration_seconds";
/// A value of 2,202 bytes in base64, so that a record of the log has 2,300 bytes within 8, as the shape of the profile.
const VALUE: &str = "QUFB";
const VALUES: usize = 734;

/// A member that is a cluster by itself, and ends with this value.
pub struct Etcd {
    _server: Server,
    port: u16,
}

/// What flushes of the log took, as etcd counts them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flushes {
    /// Upper ends of its classes in seconds, each with the flushes up to there.
    up_to: Vec<(f64, f64)>,
    sum_s: f64,
    count: f64,
}

impl Etcd {
    /// Starts one on the disk.
    ///
    /// # Errors
    /// What is missing here.
    pub fn start(disk: &Disk) -> Result<Self, String> {
        let folder = disk.folder_of(USER, "etcd")?;
        let [port, peers] = free_ports();
        let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peers}"));
        let words = format!(
            "etcd --data-dir '{}' --listen-client-urls {client} --advertise-client-urls {client} \
             --listen-peer-urls {peer} --initial-advertise-peer-urls {peer} --initial-cluster default={peer}",
            folder.display()
        );
        let is_ready = || got(port, "/health").is_some_and(|text| text.contains("\"true\""));
        Ok(Self { _server: Server::start(disk, USER, &words, "-TERM", is_ready)?, port })
    }

    /// Puts one key after the other for so long, with pauses between them; what the flushes of the log took meanwhile.
    pub fn put_for(&self, span: Duration, pause: Duration) -> Flushes {
        let before = self.flushes();
        let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", self.port)).unwrap());
        let begun = Instant::now();
        // Digits are of the alphabet of base64, four of them a key of three bytes.
        for number in (0..10_000).cycle() {
            if begun.elapsed() >= span {
                break;
            }
            put(&mut connection, &format!("{{\"key\":\"{number:04}\",\"value\":\"{}\"}}", VALUE.repeat(VALUES)));
            std::thread::sleep(pause);
        }
        self.flushes().since(&before)
    }

    fn flushes(&self) -> Flushes {
        Flushes::parsed(&got(self.port, "/metrics").expect("etcd tells its metrics"))
    }
}

impl Flushes {
    fn parsed(metrics: &str) -> Self {
        let mut flushes = Self::default();
        for line in metrics.lines() {
            let Some((name, value)) = line.strip_prefix(HISTOGRAM).and_then(|rest| rest.rsplit_once(' ')) else {
                continue;
            };
            let value: f64 = value.parse().unwrap_or(f64::NAN);
            match name {
                "_sum" => flushes.sum_s = value,
                "_count" => flushes.count = value,
                _ => {
                    let end = name.strip_prefix("_bucket{le=\"").and_then(|rest| rest.strip_suffix("\"}"));
                    let end = end.and_then(|end| if end == "+Inf" { Some(f64::INFINITY) } else { end.parse().ok() });
                    flushes.up_to.extend(end.map(|end| (end, value)));
                }
            }
        }
        assert!(flushes.count.is_finite() && !flushes.up_to.is_empty(), "{HISTOGRAM} is not as it was");
        flushes
    }

    fn since(&self, before: &Self) -> Self {
        let classes = self.up_to.iter().zip(&before.up_to);
        Self {
            up_to: classes.map(|((end, now), (_, then))| (*end, now - then)).collect(),
            sum_s: self.sum_s - before.sum_s,
            count: self.count - before.count,
        }
    }

    /// These and others.
    pub fn and(&self, other: &Self) -> Self {
        let classes = self.up_to.iter().zip(&other.up_to);
        Self {
            up_to: classes.map(|((end, some), (_, more))| (*end, some + more)).collect(),
            sum_s: self.sum_s + other.sum_s,
            count: self.count + other.count,
        }
    }

    /// Mean time between two of them that were made in such a time, in microseconds.
    pub fn pause_us(&self, span: Duration) -> f64 {
        ((span.as_secs_f64() - self.sum_s) * 1e6 / self.count).max(0.0)
    }

    /// Mean time in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.sum_s * 1e6 / self.count
    }

    /// The ends of the class that holds the 99th percentile, in microseconds.
    pub fn p99_us(&self) -> (f64, f64) {
        let mut low = 0.0;
        for (end, flushes) in &self.up_to {
            if *flushes >= 0.99 * self.count {
                return (low * 1e6, end * 1e6);
            }
            low = *end;
        }
        (low * 1e6, f64::INFINITY)
    }

    /// The 99th percentile as Prometheus shows it: on a line through its class.
    pub fn p99_us_on_a_line(&self) -> f64 {
        let (low, high) = self.p99_us();
        let up_to = |end_us: f64| {
            let class = self.up_to.iter().find(|(end, _)| (end * 1e6 - end_us).abs() < 0.5);
            class.map_or(0.0, |(_, flushes)| *flushes)
        };
        let (below, within) = (up_to(low), up_to(high) - up_to(low));
        low + (high - low) * (0.99 * self.count - below) / within
    }
}

/// Two ports that nobody listens on.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// What stands at a path of its HTTP server, if that answers.
fn got(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// Puts a key, and waits until it is durable.
fn put(connection: &mut BufReader<TcpStream>, body: &str) {
    let head = format!("POST /v3/kv/put HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n", body.len());
    connection.get_mut().write_all((head + body).as_bytes()).unwrap();
    let mut length = 0;
    let mut line = String::new();
    let mut status = String::new();
    loop {
        line.clear();
        assert!(connection.read_line(&mut line).unwrap() > 0, "etcd ended the connection");
        if status.is_empty() {
            status = line.trim().to_string();
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut answer = vec![0; length];
    connection.read_exact(&mut answer).unwrap();
    assert!(status.contains(" 200 "), "{status}: {}", String::from_utf8_lossy(&answer));
}
