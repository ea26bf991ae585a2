//! Describes the origin of a record that another tool measured, and which of its values are unknown.

use std::collections::BTreeSet;
use std::fmt;

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool whose results halfpower reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// SQLIO, by its trace of fourteen fields and its text.
    Sqlio,
    /// fio, by its JSON and its terse lines.
    Fio,
    /// diskspd, by its XML and its text.
    Diskspd,
    /// elbencho, by its CSV and its JSON.
    Elbencho,
    /// IOR, by its JSON.
    Ior,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sqlio => "SQLIO",
            Self::Fio => "fio",
            Self::Diskspd => "diskspd",
            Self::Elbencho => "elbencho",
            Self::Ior => "IOR",
        })
    }
}

/// A value that a tool's results may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// Order of offsets.
    Order,
    /// Bytes per request.
    BlockSize,
    /// Requests outstanding, and the threads that submit them.
    Depth,
    /// Caches that take part.
    Cache,
    /// Number of reads among the requests.
    Mix,
    /// Engine.
    Engine,
    /// Settings beyond the usual ones, which may have changed the load.
    Settings,
    /// Latency of requests.
    Latency,
    /// Submission time; latency counts from after submission.
    Submission,
    /// Processor time charged to the tool.
    ChargedTime,
    /// Total time, with preparation.
    Preparation,
    /// Bytes that offsets were drawn from.
    Span,
    /// Start time.
    Start,
    /// Requested run time.
    Runtime,
    /// Failed requests.
    Errors,
}

impl Unknown {
    /// The phrase that follows `does not tell`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Order => "the order of offsets",
            Self::BlockSize => "the block size",
            Self::Depth => "the depth",
            Self::Cache => "the caches in use",
            Self::Mix => "the share of reads",
            Self::Engine => "how requests were issued",
            Self::Settings => "all settings",
            Self::Latency => "latency",
            Self::Submission => "the time of submission",
            Self::ChargedTime => "the processor time charged",
            Self::Preparation => "the time of preparation",
            Self::Span => "the size of the target",
            Self::Start => "when it was measured",
            Self::Runtime => "the time asked for",
            Self::Errors => "failed requests",
        }
    }
}

/// The origin of a record that halfpower did not measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The tool that measured it.
    pub tool: Tool,
    /// The file that it was read from, as the user named it.
    pub file: String,
    /// The result within the file, such as `line 3`, `job randread` or `time span 2`.
    pub result: String,
    /// The target as the tool names it; `None` if it names none.
    pub target: Option<String>,
    /// Unknown values; the record's figures for these are meaningless.
    pub unknown: BTreeSet<Unknown>,
    /// The percentiles at which latency is known, if the tool kept only these: the histogram has steps there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Vec<f64>>,
    /// Whether these percentiles are of reads and of writes separately, and not of both together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percentiles_of_sides: bool,
    /// Settings of the tool that workloads here cannot express, each as it was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The line of an SQLIO trace, as halfpower writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// A file of another tool that results of a study come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// Its name, as the user gave it.
    pub file: String,
    /// The tool that wrote it.
    pub tool: Tool,
    /// The tool's version, if the file has it.
    pub version: Option<String>,
    /// Date of the measurement, in the tool's format.
    pub date: Option<String>,
    /// Number of results imported.
    pub results: usize,
}

/// Such as `a.json (fio-3.33, Mon Nov 23 02:17:28 2026): 3 results`.
impl fmt::Display for ImportedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = match &self.version {
            Some(version) if version.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("{} {version}", self.tool)
            }
            Some(version) => version.clone(),
            None => self.tool.to_string(),
        };
        let date = self.date.as_ref().map_or(String::new(), |date| format!(", {date}"));
        let plural = if self.results == 1 { "result" } else { "results" };
        write!(f, "{} ({tool}{date}): {} {plural}", self.file, self.results)
    }
}
