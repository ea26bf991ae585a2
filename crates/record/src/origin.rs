//! Tells where a record comes from that another tool measured, and what is not known of it.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tool whose results are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// SQLIO, by its trace of fourteen fields.
    Sqlio,
    /// fio, by its JSON.
    Fio,
    /// diskspd, by its XML.
    Diskspd,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sqlio => "SQLIO",
            Self::Fio => "fio",
            Self::Diskspd => "diskspd",
        })
    }
}

/// Something that a tool's results do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// In which order the offsets came.
    Order,
    /// How many of the requests were reads.
    Mix,
    /// How requests were issued.
    Engine,
    /// Settings beside the usual ones, which may have made it another load.
    Settings,
    /// What each request took.
    Latency,
    /// What submitting took: latency counts from after it.
    Submission,
    /// Processor time that the tool was charged.
    ChargedTime,
    /// How long it took in all, with its preparation.
    Preparation,
    /// How large the part was that offsets were drawn from.
    Span,
    /// When it was measured.
    Start,
    /// For how long it was asked to be measured.
    Runtime,
    /// Which requests failed.
    Errors,
}

impl Unknown {
    /// In words, as the end of `does not tell ...`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Order => "the order of offsets",
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

/// Where a record comes from that halfpower did not measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The tool that measured it.
    pub tool: Tool,
    /// The file that it was read from, as it was named.
    pub file: String,
    /// Which of the file's results it is, such as `line 3`, `job randread` or `time span 2`.
    pub result: String,
    /// What was measured, as the tool names it; `None` where it does not.
    pub target: Option<String>,
    /// What is not known of it; the record's figures of these mean nothing.
    pub unknown: BTreeSet<Unknown>,
    /// The percentiles that latency is known at, where the tool kept no more than those: its histogram has steps there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Vec<f64>>,
    /// Whether these percentiles hold for reads and for writes, and not for both together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub percentiles_of_sides: bool,
    /// Settings of the tool that no workload here has, each as it was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// The line of an SQLIO trace, as halfpower writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// A file of another tool that results of a study come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// Its name, as it was given.
    pub file: String,
    /// The tool that wrote it.
    pub tool: Tool,
    /// The tool's version, where the file says it.
    pub version: Option<String>,
    /// When it was measured, in the tool's own words.
    pub date: Option<String>,
    /// Results that were taken.
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
