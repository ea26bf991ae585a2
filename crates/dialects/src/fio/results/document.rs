//! Defines the parts of fio's JSON that halfpower reads, and finds the documents in a file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::foreign_run::FileError;

/// The JSON that fio prints at its end.
#[derive(Debug, Deserialize)]
pub struct Document {
    #[serde(rename = "fio version")]
    pub version: String,
    /// When it was printed, in milliseconds of Unix time.
    pub timestamp_ms: Option<u64>,
    /// The same as text.
    pub time: Option<String>,
    #[serde(rename = "global options", default)]
    global_options: GlobalOptions,
    /// The jobs; of a client, those of all its servers.
    #[serde(alias = "client_stats")]
    pub jobs: Vec<Job>,
}

/// The options that all jobs have in common: a client with several servers prints a list of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GlobalOptions {
    OfAll(BTreeMap<String, Value>),
    OfServers(Vec<ServerOptions>),
}

impl Default for GlobalOptions {
    fn default() -> Self {
        Self::OfAll(BTreeMap::new())
    }
}

/// The common options of the jobs of one server.
#[derive(Debug, Deserialize)]
struct ServerOptions {
    hostname: Option<String>,
    port: Option<i64>,
    #[serde(flatten)]
    options: BTreeMap<String, Value>,
}

static NO_OPTIONS: BTreeMap<String, Value> = BTreeMap::new();

impl Document {
    /// The options that a job has in common with others.
    pub fn global_options(&self, job: &Job) -> &BTreeMap<String, Value> {
        match &self.global_options {
            GlobalOptions::OfAll(options) => options,
            GlobalOptions::OfServers(servers) => servers
                .iter()
                .find(|server| (&server.hostname, server.port) == (&job.hostname, job.port))
                .map_or(&NO_OPTIONS, |server| &server.options),
        }
    }

    /// Leaves out the sum that a client adds as a job of its own: its parts are there.
    pub fn without_sum(&mut self) {
        let is_sum = |job: &Job| job.hostname.is_some() && job.jobname == SUM && job.options.is_empty();
        if self.jobs.len() > 1 && self.jobs.last().is_some_and(is_sum) {
            self.jobs.pop();
        }
    }
}

/// The name of the sum over all clients.
const SUM: &str = "All clients";

/// A job, or one of its threads if these are not reported as a group.
#[derive(Debug, Deserialize)]
pub struct Job {
    pub jobname: String,
    /// The server that ran it, in the results of a client.
    pub hostname: Option<String>,
    pub port: Option<i64>,
    /// Jobs of one group run at the same time.
    #[serde(default)]
    pub groupid: i64,
    pub error: Option<i64>,
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, Value>,
    #[serde(default)]
    pub read: Side,
    #[serde(default)]
    pub write: Side,
    /// Reads and writes together, with unified_rw_reporting.
    pub mixed: Option<Value>,
    /// Start, in milliseconds of Unix time.
    pub job_start: Option<u64>,
    /// Time of all its threads, in milliseconds.
    pub job_runtime: Option<f64>,
    pub usr_cpu: Option<f64>,
    pub sys_cpu: Option<f64>,
    pub total_err: Option<u64>,
    pub first_error: Option<i64>,
}

/// One direction of a job.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Side {
    pub io_bytes: f64,
    /// In milliseconds.
    pub runtime: f64,
    pub total_ios: f64,
    pub short_ios: f64,
    pub clat_ns: Option<Span>,
    pub lat_ns: Option<Span>,
}

/// Latencies, in nanoseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Span {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    #[serde(rename = "N")]
    pub count: Option<f64>,
    /// Latency by percentile, `"99.000000"`.
    pub percentile: BTreeMap<String, f64>,
    /// Number of requests by latency; only in json+.
    pub bins: BTreeMap<String, f64>,
}

/// The documents of a file: each is an object that begins on its own line.
pub fn documents(text: &str) -> Result<Vec<Document>, FileError> {
    let mut documents = Vec::new();
    let mut from = 0;
    while let Some(start) = opening(text, from) {
        let line = text[..start].matches('\n').count();
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Document>();
        match stream.next() {
            Some(Ok(document)) => documents.push(document),
            Some(Err(error)) => return Err(trouble(line, &error)),
            None => break,
        }
        from = start + stream.byte_offset();
    }
    Ok(documents)
}

/// Start of the next line that opens an object.
fn opening(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for line in text[from..].split_inclusive('\n') {
        if line.trim_start().starts_with('{') {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn trouble(lines_before: usize, error: &serde_json::Error) -> FileError {
    let said = error.to_string();
    let what = said.rsplit_once(" at line ").map_or(said.as_str(), |(what, _)| what);
    FileError::at(lines_before + error.line().max(1), format!("this is no result of fio as its JSON has it: {what}"))
}
