//! Parses flag values that need more than their type's own parser, and builds help texts that list choices.

use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use halfpower_analyse::Condition;
use halfpower_doctor::{TRIES, Try, tried_as};
use halfpower_record::{Severity, input};
use halfpower_spec::{
    Bytes, Endpoint, EngineName, Experiment, ParseError, Rate, Several, ShareAddress, ShareProtocol, Target,
    VolumeLayout,
};

pub fn parse<T: std::str::FromStr<Err = ParseError>>(text: &str) -> Result<T, ParseError> {
    text.parse()
}

/// A help text that ends with the list of choices.
pub fn listed(what: &str, words: &[impl std::fmt::Display]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    format!("{what}: {}", words.join(", "))
}

/// The engines that a user can choose; the others follow from the target.
pub fn engines_of_storage() -> Vec<EngineName> {
    let comes_with_its_target = [EngineName::Null, EngineName::Simulated, EngineName::Memory];
    let others = |engine: &EngineName| !comes_with_its_target.contains(engine) && !engine.is_of_a_share();
    EngineName::ALL.iter().copied().filter(others).collect()
}

/// Parses a target.
pub fn target(text: &str) -> Result<Target, ParseError> {
    Target::parse(text, system_text)
}

/// Parses a target; a path need not be UTF-8.
pub fn target_words() -> impl TypedValueParser<Value = Target> {
    OsStringValueParser::new().try_map(|word| match word.to_str() {
        Some(text) => target(text),
        None => Ok(Target::Path(word.into())),
    })
}

/// Parses the severity of a finding of `doctor`.
pub fn severity() -> impl TypedValueParser<Value = Severity> {
    let of_name = |name: String| Severity::ALL.into_iter().find(|severity| severity.name() == name);
    PossibleValuesParser::new(Severity::ALL.map(Severity::name))
        .map(move |name| of_name(name).expect("it is one of them"))
}

/// The settings that `--try` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// Those of findings that may be tried.
    Found,
    /// All that are safe.
    All,
    /// These.
    Named(Vec<TriedName>),
}

/// One setting, of all devices or of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedName {
    /// Name of the setting's check.
    code: &'static str,
    /// Kernel name of the device, mount point or control group.
    subject: Option<String>,
}

impl TriedName {
    /// Whether it names this setting of this device.
    pub fn is_of(&self, row: &Try, subject: &str) -> bool {
        self.code == row.code && self.subject.as_ref().is_none_or(|named| named == subject)
    }
}

impl std::fmt::Display for TriedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code)?;
        self.subject.iter().try_for_each(|subject| write!(f, "@{subject}"))
    }
}

/// Parses the settings to try: `found`, `all`, or a list such as `scheduler,read-ahead@sda`.
pub fn tried(text: &str) -> Result<Tried, ParseError> {
    match text {
        "found" => return Ok(Tried::Found),
        "all" => return Ok(Tried::All),
        _ => {}
    }
    let names = halfpower_spec::list(text, |item| {
        let (name, subject) = item.split_once('@').map_or((item, None), |(name, subject)| (name, Some(subject)));
        match tried_as(name) {
            Some(row) => Ok(vec![TriedName { code: row.code, subject: subject.map(str::to_string) }]),
            None => {
                let codes: Vec<&str> = TRIES.iter().map(|row| row.code).collect();
                let codes = codes.join(", ");
                Err(ParseError::new(item, 0, format!("this is no setting to try; write all, or some of {codes}")))
            }
        }
    })?;
    Ok(Tried::Named(names))
}

/// Whether a word is a unit, separated by mistake from its number.
fn is_unit(word: &Path) -> bool {
    const UNITS: [&str; 20] = [
        "us", "ms", "s", "sec", "seconds", "m", "min", "minutes", "h", "hours", "k", "kb", "kib", "mb", "mib", "g",
        "gb", "gib", "tib", "bytes",
    ];
    word.to_str().is_some_and(|word| UNITS.contains(&word.to_lowercase().as_str()))
}

/// Combines several paths into one target with the layout `each`; returns a single target as it is.
pub fn one_target(targets: &[Target]) -> Result<Target, ParseError> {
    let [first, rest @ ..] = targets else { return Ok(Target::Path(PathBuf::from("."))) };
    if rest.is_empty() {
        return Ok(first.clone());
    }
    let is_unit = |target: &&Target| matches!(target, Target::Path(path) if is_unit(path) && !path.exists());
    if let Some(unit) = rest.iter().find(is_unit) {
        let what = "is a unit and no target: write number and unit as one word, such as 5min or 16MiB";
        return Err(ParseError::new(&unit.to_string(), 0, what));
    }
    let path = |target: &Target| match target {
        Target::Path(path) => Ok(path.clone()),
        other => {
            let text = other.to_string();
            Err(ParseError::new(
                &text,
                0,
                "this is no path, and so cannot stand beside other targets; measure it by itself",
            ))
        }
    };
    let members = targets.iter().map(path).collect::<Result<_, _>>()?;
    Ok(Target::Several(Several { volume_layout: VolumeLayout::Each, members, chunk: Several::USUAL_CHUNK }))
}

/// Applies the settings of `--set` to a target.
pub fn settled(target: Target, settings: &[String]) -> Result<Target, ParseError> {
    settings.iter().try_fold(target, |target, setting| target.with(setting))
}

/// Fills in the S3 server of a bucket: from `--endpoint`, or from the environment if the address names none.
///
/// # Errors
/// If `--endpoint` is given but the target is not a bucket, or the environment holds an invalid server.
pub fn reached(target: Target, endpoint: Option<&Endpoint>) -> Result<Target, ParseError> {
    match (target, endpoint) {
        (Target::Share(address), Some(endpoint)) if address.protocol == ShareProtocol::S3 => {
            Ok(Target::Share(ShareAddress { endpoint: Some(endpoint.clone()), ..address }))
        }
        (Target::Share(address), None) => served(address).map(Target::Share),
        (_, Some(endpoint)) => {
            let message =
                "--endpoint is the server of a bucket, s3://bucket/prefix, and the target is none: leave it out";
            Err(ParseError::new(&endpoint.to_string(), 0, message))
        }
        (target, None) => Ok(target),
    }
}

/// Fills in the S3 server from the environment if the share is a bucket whose address names none.
///
/// # Errors
/// If the environment holds an invalid server.
pub fn served(address: ShareAddress) -> Result<ShareAddress, ParseError> {
    if address.protocol != ShareProtocol::S3 || address.endpoint.is_some() {
        return Ok(address);
    }
    Ok(ShareAddress { endpoint: halfpower_share::endpoint_of_environment()?, ..address })
}

/// A rate with its unit, or fio's form without one: `100m` is 100 MiB/s.
pub fn rate(text: &str) -> Result<Rate, ParseError> {
    text.parse().or_else(|error| match text.parse() {
        Ok(Bytes(bytes)) if bytes > 0 => Ok(Rate(bytes as f64)),
        _ => Err(error),
    })
}

/// Accepts any command that is not empty.
pub fn far_end(text: &str) -> Result<String, ParseError> {
    if text.trim().is_empty() {
        return Err(ParseError::new(
            text,
            0,
            "name a command that starts a witness, such as 'ssh server halfpower witness'",
        ));
    }
    Ok(text.to_string())
}

/// Parses the address of a share on a file server.
pub fn share(text: &str) -> Result<ShareAddress, ParseError> {
    match Target::parse(text, system_text)? {
        Target::Share(address) => Ok(address),
        _ => Err(ParseError::new(text, 0, "name a share, such as smb://localhost/share or nfs://localhost/export")),
    }
}

/// Slowest and fastest speed at which a capture is asked again.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// Parses a speed, such as `2x`.
pub fn speed(text: &str) -> Result<f64, ParseError> {
    match text.strip_suffix('x').unwrap_or(text).parse::<f64>() {
        Ok(speed) if SPEEDS.contains(&speed) => Ok(speed),
        _ => Err(ParseError::new(text, 0, "write a factor from 0.01x to 1000x, such as 2x")),
    }
}

/// Parses a percentile, above 0 and below 100.
pub fn percentile(text: &str) -> Result<f64, ParseError> {
    match text.trim().trim_start_matches('p').parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent),
        _ => Err(ParseError::new(text, 0, "write a percentile between 0 and 100, such as 99.9")),
    }
}

/// Parses a share of the requests in percent, above 0 and up to 100.
pub fn share_of_requests(text: &str) -> Result<f64, ParseError> {
    match text.trim().trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err(ParseError::new(text, 0, "write a share of the requests up to 100, such as 99.9")),
    }
}

/// Returns the TOML of a simulated machine: of a shipped one by its name, or else of a file.
fn system_text(path: &Path) -> std::io::Result<String> {
    let shipped = halfpower_model::systems().iter().find(|system| Path::new(system.name) == path);
    match shipped {
        Some(system) => Ok(system.text.to_string()),
        None if path.extension().is_some_and(|ending| ending == "toml") => {
            input::read_text(path, input::MOST_OF_A_TEXT)
        }
        None => Err(std::io::Error::other(
            "there is no machine of this name; `halfpower systems` lists them, and a file of your own ends in .toml",
        )),
    }
}

/// Parses a single size; a list or range gets an error that points to `study` or `--bssplit`.
pub fn one_size(text: &str) -> Result<Bytes, ParseError> {
    let between = text.find(['-', ',', ':', '/']).filter(|at| *at > 0);
    if let Some(at) = between.filter(|at| text[..*at].parse::<Bytes>().is_ok()) {
        let what = "a run has one size here; `halfpower study --bs 4k-1m` walks through many, and `halfpower run --bssplit \
                    4k:64k` draws from several";
        return Err(ParseError::new(text, at, what));
    }
    match text.parse()? {
        Bytes(0) => Err(ParseError::new(text, 0, "a size must be at least one byte")),
        size => Ok(size),
    }
}

/// Parses a list of experiments; `all` names every one.
pub fn experiments(text: &str) -> Result<Vec<Experiment>, ParseError> {
    let mut experiments = halfpower_spec::list(text, |item| match item {
        // An application has to be named.
        "all" => Ok(Experiment::ALL.iter().copied().filter(|one| *one != Experiment::Application).collect()),
        name => match name.parse() {
            Ok(experiment) => Ok(vec![experiment]),
            Err(_) => {
                let words: Vec<&str> = Experiment::ALL.iter().map(|experiment| experiment.word()).collect();
                Err(ParseError::new(
                    name,
                    0,
                    format!("there is no such experiment; write all, or some of {}", words.join(", ")),
                ))
            }
        },
    })?;
    experiments.sort_unstable();
    experiments.dedup();
    Ok(experiments)
}

pub fn price(text: &str) -> Result<f64, ParseError> {
    match text.trim().parse::<f64>() {
        Ok(price) if price > 0.0 && price.is_finite() => Ok(price),
        _ => Err(ParseError::new(text, 0, "write a price above 0, such as 209 or 534.50")),
    }
}

/// The price of each study's system, in the order of the studies.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices(pub Vec<f64>);

pub fn prices(text: &str) -> Result<Prices, ParseError> {
    halfpower_spec::list(text, |item| price(item).map(|price| vec![price])).map(Prices)
}

/// A study on the command line: `[NAME=]FILE`.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedStudy {
    name: Option<String>,
    /// Its file.
    pub path: PathBuf,
}

impl NamedStudy {
    /// The name that the user gave, or else the path.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.path.display().to_string())
    }
}

/// A condition of `halfpower compare`.
#[derive(Debug, Clone, PartialEq)]
pub enum FailIf {
    /// A machine of a folder is unlike the others.
    Unlike,
    /// A figure differs from that of a baseline.
    Differs(Condition),
}

impl FailIf {
    /// How the first of these is written.
    pub const UNLIKE: &'static str = "unlike";
}

impl std::str::FromStr for FailIf {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim() == Self::UNLIKE { Ok(Self::Unlike) } else { text.parse().map(Self::Differs) }
    }
}

/// Parses `[NAME=]FILE`. A path need not be UTF-8; if a file exists under the whole word, its `=` separates no name.
pub fn named_study() -> impl TypedValueParser<Value = NamedStudy> {
    OsStringValueParser::new().map(|word| {
        let named = word.to_str().and_then(|text| text.split_once('=')).filter(|_| !Path::new(&word).exists());
        match named {
            Some((name, path)) if !name.is_empty() && !name.contains('/') => {
                NamedStudy { name: Some(name.to_string()), path: path.into() }
            }
            _ => NamedStudy { name: None, path: word.into() },
        }
    })
}

pub fn one_count(text: &str) -> Result<u32, ParseError> {
    match halfpower_spec::count_axis(text)?.as_slice() {
        [count] => Ok(*count),
        _ => Err(ParseError::new(text, 0, "write a single depth; only `study` takes a range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_to_try_are_named_as_checks_or_as_the_kernel_does() {
        assert_eq!((tried("found"), tried("all")), (Ok(Tried::Found), Ok(Tried::All)));
        let Ok(Tried::Named(names)) = tried("scheduler,nr_requests@sda") else { panic!("a list of names") };
        let row = |code: &str| tried_as(code).expect("a setting of that name");
        assert!(names[0].is_of(row("scheduler"), "sda") && names[0].is_of(row("scheduler"), "sdb"));
        assert!(names[1].is_of(row("queue-requests"), "sda") && !names[1].is_of(row("queue-requests"), "sdb"));
        assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["scheduler", "queue-requests@sda"]);
        let error = tried("scheduler,barrier").unwrap_err();
        assert!(error.at == 10 && error.message.contains("read-ahead"), "{error}");
    }
}
