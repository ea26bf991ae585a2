//! Reads the profile of an application: the shapes of load that it issues, what it needs, and the settings that follow.
//!
//! A profile is a TOML file, the built-in ones in `crates/spec/profiles`. A question keeps its name and its text, so that a
//! study file needs no other file. Texts of anybody are bounded, and hold no character that drives a terminal.
//!
//! From a profile to a verdict: shapes become cells (`experiments/src/application/shapes.rs`), cells become runs
//! (`study/src/application_runs.rs`), runs become figures, and formulas over figures become verdicts and lines to paste
//! (`experiments/src/application`).

use std::fmt;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::formula::Formula;
use crate::workload_words::workload_of_words;
use crate::{ParseError, Workload, escaped, is_unseen};

/// The profiles that are built in: name and text, in the order of the documentation.
pub const PROFILES: [(&str, &str); 9] = [
    ("postgres", include_str!("../profiles/postgres.toml")),
    ("mysql", include_str!("../profiles/mysql.toml")),
    ("etcd", include_str!("../profiles/etcd.toml")),
    ("kafka", include_str!("../profiles/kafka.toml")),
    ("scylla", include_str!("../profiles/scylla.toml")),
    ("ceph", include_str!("../profiles/ceph.toml")),
    ("rocksdb", include_str!("../profiles/rocksdb.toml")),
    ("minio", include_str!("../profiles/minio.toml")),
    ("backup", include_str!("../profiles/backup.toml")),
];

/// The application that a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Application {
    /// Its name: that of a built-in profile, or the file as it was named.
    pub name: String,
    /// The text of its profile.
    pub text: String,
}

impl Application {
    /// The built-in profile of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let found = PROFILES.iter().find(|(known, _)| *known == name);
        found.map(|(name, text)| Self { name: (*name).to_string(), text: (*text).to_string() })
    }

    /// Whether its name is that of a file, whose text is the user's.
    pub fn is_of_a_file(&self) -> bool {
        self.name.ends_with(".toml")
    }

    /// Its name without folders and ending, for headings.
    pub fn short_name(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".toml").filter(|name| !name.is_empty()).unwrap_or(name)
    }

    /// Its profile.
    ///
    /// # Errors
    /// As [`Profile::read`].
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        Profile::read(&self.text)
    }
}

/// The name, with a checksum of the text: the 32-bit FNV-1a (Fowler, Noll, Vo).
impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash =
            self.text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        write!(f, "{} ({hash:08x})", self.name)
    }
}

/// What an application does, needs and is set to.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What it is, in a few words.
    pub about: String,
    /// The shapes of its load.
    pub shapes: Vec<Shape>,
    /// What it needs.
    pub needs: Vec<Need>,
    /// What follows for its configuration.
    pub settings: Vec<Setting>,
}

/// A load that an application issues.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Its name in formulas.
    pub name: String,
    /// The workload, as the application issues it where the target can.
    pub workload: Workload,
    /// The shape that the application issues at the same time, by its index; `None` measures this one alone.
    pub beside: Option<usize>,
    /// What of the application it stands for.
    pub stands_for: String,
}

impl Profile {
    /// Whether this shape stands only beside others, so that nobody needs it measured alone.
    pub fn is_only_beside(&self, shape: usize) -> bool {
        let needs = self.needs.iter().map(|need| &need.figure);
        let mut formulas = needs.chain(self.settings.iter().map(|setting| &setting.value));
        let is_named = self.shapes.iter().any(|other| other.beside == Some(shape));
        is_named && !formulas.any(|formula| formula.figures().iter().any(|(named, _)| *named == shape))
    }
}

/// A figure that an application needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// What is compared, in a few words.
    pub what: String,
    /// The figure.
    pub figure: Formula,
    /// What it is compared with.
    pub bound: NeedBound,
    /// The unit of both.
    pub unit: String,
    /// Who says so: an address.
    pub source: String,
}

/// What a needed figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedBound {
    /// The figure must be below this.
    Below(f64),
    /// The figure must be at least this.
    AtLeast(f64),
}

impl NeedBound {
    /// Its number.
    pub fn number(self) -> f64 {
        match self {
            Self::Below(number) | Self::AtLeast(number) => number,
        }
    }
}

/// A setting of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value, before rounding and limits.
    pub value: Formula,
    /// What its value may be.
    pub values: SettingValues,
    /// Unit of its value, for people.
    pub unit: String,
    /// The line to paste, with `{}` for the value, and perhaps `{medium}` for `hdd` or `ssd`.
    pub line: String,
    /// Who says what it means: an address.
    pub source: String,
}

/// The values that a setting can have.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValues {
    /// Multiples of a step within limits.
    Numbers {
        /// The step.
        round: f64,
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// One of these words, whose index is the formula's value; the first is the usual one.
    Words(Vec<String>),
}

impl Setting {
    /// A value of its formula as the setting can have it.
    pub fn fitted(&self, value: f64) -> f64 {
        match &self.values {
            SettingValues::Numbers { round, least, most } => ((value / round).round() * round).clamp(*least, *most),
            SettingValues::Words(words) => value.round().clamp(0.0, words.len().saturating_sub(1) as f64),
        }
    }

    /// A fitted value as the application reads it.
    pub fn written(&self, fitted: f64) -> String {
        match &self.values {
            SettingValues::Numbers { round, .. } => format!("{fitted:.*}", decimals(*round)),
            SettingValues::Words(words) => words.get(fitted as usize).cloned().unwrap_or_default(),
        }
    }

    /// The line to paste, with this fitted value, for a disk that rotates or not. Where nobody knows, and the line has to say
    /// which, it names both.
    pub fn line_with(&self, fitted: f64, rotates: Option<bool>) -> String {
        let medium = match rotates {
            Some(true) => "hdd",
            Some(false) => "ssd",
            None => "[hdd|ssd]",
        };
        self.line.replacen(MEDIUM, medium, 1).replacen(PLACE, &self.written(fitted), 1)
    }
}

/// Decimals that a multiple of this step has, 6 at most.
fn decimals(step: f64) -> usize {
    let is_whole = |decimals: &usize| {
        let scaled = step * 10f64.powi(*decimals as i32);
        (scaled - scaled.round()).abs() < 1e-6
    };
    (0..6).find(is_whole).unwrap_or(6)
}

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// Line of the text, from 1; `None` if it is about the whole text.
    pub line: Option<usize>,
    /// What is wrong there, and what to write.
    pub what: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.iter().try_for_each(|line| write!(f, "line {line}: "))?;
        f.write_str(&escaped(&self.what))
    }
}

impl std::error::Error for ProfileError {}

/// Most bytes of a profile.
const MOST_BYTES: usize = 256 << 10;
/// Most shapes, needs and settings.
const MOST_SHAPES: usize = 32;
const MOST_NEEDS: usize = 32;
const MOST_SETTINGS: usize = 64;
/// Most characters of a sentence, of a line to paste, and of a name, a unit or a word.
const MOST_OF_A_SENTENCE: usize = 300;
const MOST_OF_A_LINE: usize = 160;
const MOST_OF_A_NAME: usize = 40;
/// Most words of a setting.
const MOST_WORDS: usize = 10;
/// Where the value goes in the line to paste, and the kind of the disk.
const PLACE: &str = "{}";
const MEDIUM: &str = "{medium}";

/// A profile as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    about: Spanned<String>,
    #[serde(default)]
    shape: Vec<Spanned<ShapeText>>,
    #[serde(default)]
    need: Vec<Spanned<NeedText>>,
    #[serde(default)]
    setting: Vec<Spanned<SettingText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeText {
    name: Spanned<String>,
    run: Spanned<String>,
    beside: Option<Spanned<String>>,
    stands_for: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NeedText {
    what: Spanned<String>,
    figure: Spanned<String>,
    below: Option<Spanned<f64>>,
    at_least: Option<Spanned<f64>>,
    unit: Spanned<String>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingText {
    name: Spanned<String>,
    value: Spanned<String>,
    words: Option<Spanned<Vec<String>>>,
    round: Option<Spanned<f64>>,
    least: Option<Spanned<f64>>,
    most: Option<Spanned<f64>>,
    unit: Spanned<String>,
    line: Spanned<String>,
    source: Spanned<String>,
}

impl Profile {
    /// The profile of this text.
    ///
    /// # Errors
    /// If it is no TOML, has other keys, names what does not exist, or is too large; the error names the line.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        let whole = |what: String| ProfileError { line: None, what };
        if text.len() > MOST_BYTES {
            return Err(whole(format!("a profile has at most {} KiB", MOST_BYTES >> 10)));
        }
        let found: ProfileText = toml::from_str(text).map_err(|error| ProfileError {
            line: error.span().map(|span| line_of(text, span.start)),
            what: error.message().trim().replace('\n', ", "),
        })?;
        let lines = Lines { text };
        for (what, count, most) in [
            ("shapes", found.shape.len(), MOST_SHAPES),
            ("needs", found.need.len(), MOST_NEEDS),
            ("settings", found.setting.len(), MOST_SETTINGS),
        ] {
            if count > most {
                return Err(whole(format!("it has {count} {what}; a profile has at most {most}")));
            }
        }
        if found.shape.is_empty() {
            return Err(whole("it has no shape; write [[shape]] with name, run and stands_for".to_string()));
        }
        if found.need.is_empty() && found.setting.is_empty() {
            return Err(whole("it has neither a need nor a setting; write [[need]] or [[setting]]".to_string()));
        }
        let about = lines.sentence(&found.about)?;
        let shapes = lines.shapes(&found.shape)?;
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
        let needs = found.need.iter().map(|need| lines.need(need, &names)).collect::<Result<_, _>>()?;
        let settings = found.setting.iter().map(|setting| lines.setting(setting, &names)).collect::<Result<_, _>>()?;
        Ok(Self { about, shapes, needs, settings })
    }
}

/// Line of the character at this byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Checks the parts of a profile; errors name their lines.
struct Lines<'a> {
    text: &'a str,
}

impl Lines<'_> {
    fn error<T>(&self, at: &Spanned<T>, what: impl Into<String>) -> ProfileError {
        ProfileError { line: Some(line_of(self.text, at.span().start)), what: what.into() }
    }

    /// An error within a value, with the value and its character.
    fn within(&self, at: &Spanned<String>, error: &ParseError) -> ProfileError {
        self.error(at, error.to_string())
    }

    /// A text of at most so many characters, all of which can be seen.
    fn text(&self, given: &Spanned<String>, most: usize) -> Result<String, ProfileError> {
        let text = given.get_ref();
        if text.trim().is_empty() {
            return Err(self.error(given, "this text is empty; write what it is about"));
        }
        if text.chars().count() > most {
            return Err(self.error(given, format!("this text is too long; write at most {most} characters")));
        }
        if text.contains(is_unseen) {
            return Err(self.error(given, "this text has a line break or a character that is not seen; leave it out"));
        }
        Ok(text.clone())
    }

    fn sentence(&self, given: &Spanned<String>) -> Result<String, ProfileError> {
        self.text(given, MOST_OF_A_SENTENCE)
    }

    fn shapes(&self, given: &[Spanned<ShapeText>]) -> Result<Vec<Shape>, ProfileError> {
        let mut shapes: Vec<Shape> = Vec::new();
        for shape in given {
            let ShapeText { name, run, stands_for, .. } = shape.get_ref();
            let is_name = |name: &str| {
                let rest = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
                rest && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= MOST_OF_A_NAME
            };
            if !is_name(name.get_ref()) {
                let what = format!(
                    "the name of a shape begins with a letter and has small letters, digits and _, at most \
                     {MOST_OF_A_NAME}"
                );
                return Err(self.error(name, what));
            }
            if shapes.iter().any(|known| known.name == *name.get_ref()) {
                return Err(self.error(name, "another shape has this name"));
            }
            let workload = workload_of_words(run.get_ref()).map_err(|error| self.within(run, &error))?;
            if workload.rw.trims() {
                return Err(self.error(run, "a shape reads and writes, and does not trim; take another --rw"));
            }
            let stands_for = self.sentence(stands_for)?;
            shapes.push(Shape { name: name.get_ref().clone(), workload, beside: None, stands_for });
        }
        for (nth, shape) in given.iter().enumerate() {
            let Some(named) = &shape.get_ref().beside else { continue };
            shapes[nth].beside = Some(self.load_of(named, nth, given, &shapes)?);
        }
        Ok(shapes)
    }

    /// The shape that is `named` to go beside the `nth`, by its index.
    fn load_of(
        &self,
        named: &Spanned<String>,
        nth: usize,
        given: &[Spanned<ShapeText>],
        shapes: &[Shape],
    ) -> Result<usize, ProfileError> {
        let Some(load) = shapes.iter().position(|shape| shape.name == *named.get_ref()) else {
            return Err(self.error(named, "there is no such shape; name one of this profile"));
        };
        if shapes[nth].workload.options.beside.is_some() {
            return Err(self.error(named, "its `run` has --beside already; leave one of them out"));
        }
        if load == nth || given[load].get_ref().beside.is_some() {
            return Err(self.error(named, "that shape is not alone; name one without `beside`"));
        }
        shapes[load].workload.as_load().map_err(|why| self.error(named, format!("{}: {why}", shapes[load].name)))?;
        Ok(load)
    }

    fn formula(&self, given: &Spanned<String>, shapes: &[&str]) -> Result<Formula, ProfileError> {
        let formula = Formula::parse(given.get_ref(), shapes).map_err(|error| self.within(given, &error))?;
        if formula.figures().is_empty() {
            return Err(self.error(given, "this rests on no figure; name one, such as log.p99_us"));
        }
        Ok(formula)
    }

    fn need(&self, given: &Spanned<NeedText>, shapes: &[&str]) -> Result<Need, ProfileError> {
        let NeedText { what, figure, below, at_least, unit, source } = given.get_ref();
        let bound = match (below, at_least) {
            (Some(below), None) => NeedBound::Below(self.number(below)?),
            (None, Some(at_least)) => NeedBound::AtLeast(self.number(at_least)?),
            _ => return Err(self.error(given, "a need has either `below` or `at_least`")),
        };
        Ok(Need {
            what: self.sentence(what)?,
            figure: self.formula(figure, shapes)?,
            bound,
            unit: self.text(unit, MOST_OF_A_NAME)?,
            source: self.sentence(source)?,
        })
    }

    fn setting(&self, given: &Spanned<SettingText>, shapes: &[&str]) -> Result<Setting, ProfileError> {
        let SettingText { name, value, words, round, least, most, unit, line, source } = given.get_ref();
        let values = match words {
            None => self.numbers([round, least, most])?,
            Some(words) if [round, least, most].into_iter().all(Option::is_none) => self.words(words)?,
            Some(words) => return Err(self.error(words, "words have neither `round` nor `least` nor `most`")),
        };
        if line.get_ref().matches(PLACE).count() != 1 {
            return Err(self.error(line, "the line to paste has {} once, where the value goes"));
        }
        if line.get_ref().matches(MEDIUM).count() > 1 {
            return Err(self.error(line, "the line to paste has {medium} at most once, where hdd or ssd goes"));
        }
        // A unit may be missing: a ratio has none.
        let unit = if unit.get_ref().is_empty() { String::new() } else { self.text(unit, MOST_OF_A_NAME)? };
        Ok(Setting {
            name: self.text(name, MOST_OF_A_LINE)?,
            value: self.formula(value, shapes)?,
            values,
            unit,
            line: self.text(line, MOST_OF_A_LINE)?,
            source: self.sentence(source)?,
        })
    }

    fn number(&self, given: &Spanned<f64>) -> Result<f64, ProfileError> {
        let number = *given.get_ref();
        if number.abs() <= 1e18 {
            Ok(number)
        } else {
            Err(self.error(given, "this number is too large to mean anything"))
        }
    }

    fn numbers(&self, given: [&Option<Spanned<f64>>; 3]) -> Result<SettingValues, ProfileError> {
        let number = |given: &Option<Spanned<f64>>, usual: f64| given.as_ref().map_or(Ok(usual), |at| self.number(at));
        let [round, least, most] = given;
        let step = number(round, 1.0)?;
        if let Some(at) = round.as_ref().filter(|_| step < 1e-6) {
            return Err(self.error(at, "a step is at least 0.000001"));
        }
        let (low, high) = (number(least, 0.0)?, number(most, 1e18)?);
        match least.as_ref().or(most.as_ref()) {
            Some(at) if low > high => Err(self.error(at, "`least` is more than `most`")),
            _ => Ok(SettingValues::Numbers { round: step, least: low, most: high }),
        }
    }

    fn words(&self, given: &Spanned<Vec<String>>) -> Result<SettingValues, ProfileError> {
        let words = given.get_ref();
        let is_word = |word: &String| {
            let length = word.chars().count();
            (1..=MOST_OF_A_NAME).contains(&length) && !word.contains(is_unseen)
        };
        if (2..=MOST_WORDS).contains(&words.len()) && words.iter().all(is_word) {
            return Ok(SettingValues::Words(words.clone()));
        }
        let what = format!("write 2 to {MOST_WORDS} words of at most {MOST_OF_A_NAME} characters, the usual one first");
        Err(self.error(given, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Figure, FlushCall, Known, Layout};

    const TEXT: &str = r#"about = "a log"

[[shape]]
name = "log"
run = "--rw write --bs 2k --iodepth 1 --fdatasync 1"
stands_for = "appends"

[[need]]
what = "p99 of a flush"
figure = "log.flush_p99_us / 1000"
below = 10
unit = "ms"
source = "https://example.org"

[[setting]]
name = "interval"
value = "log.flush_p99_us / 100"
round = 0.5
least = 10
most = 500
unit = "ms"
line = "interval: {}"
source = "https://example.org"
"#;

    #[test]
    fn a_profile_is_read_and_its_values_fit_the_setting() {
        let profile = Profile::read(TEXT).unwrap();
        assert_eq!((profile.shapes.len(), profile.needs[0].bound), (1, NeedBound::Below(10.0)));
        assert_eq!(profile.shapes[0].workload.options.fdatasync, 1);
        let setting = &profile.settings[0];
        let of = |value: f64| setting.line_with(setting.fitted(value), None);
        assert_eq!([of(23.3), of(1.0), of(9e9)], ["interval: 23.5", "interval: 10.0", "interval: 500.0"]);
        let words = TEXT.replace("round = 0.5\nleast = 10\nmost = 500", "words = [\"usual\", \"other\"]");
        let profile = Profile::read(&words).unwrap();
        let of = |value: f64| profile.settings[0].line_with(profile.settings[0].fitted(value), None);
        assert_eq!([of(0.0), of(1.0), of(7.0)], ["interval: usual", "interval: other", "interval: other"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (from, to, line, what) in [
            ("about = \"a log\"", "about = 7", 1, "string"),
            ("name = \"log\"", "name = \"Log\"", 4, "begins with a letter"),
            ("--bs 2k", "--bs 2q", 5, "character 18: there is no unit"),
            ("--rw write", "--rw trim", 5, "does not trim"),
            ("stands_for = \"appends\"", "stands_for = \"\"", 6, "empty"),
            ("appends", "app\\u001bends", 6, "not seen"),
            ("log.flush_p99_us / 1000", "log.flush_p98_us", 10, "character 5: there is no such figure"),
            ("log.flush_p99_us / 1000", "5", 10, "rests on no figure"),
            ("below = 10\n", "", 8, "either `below` or `at_least`"),
            ("below = 10", "under = 10", 11, "unknown field `under`"),
            ("below = 10", "below = inf", 11, "too large"),
            ("interval: {}", "interval", 22, "{} once"),
            ("interval: {}", "{medium} {medium} {}", 22, "{medium} at most once"),
            ("least = 10", "least = 1000", 19, "more than `most`"),
            ("round = 0.5", "round = 0", 18, "at least 0.000001"),
            ("round = 0.5", "words = [\"a\", \"b\"]", 18, "neither `round`"),
            ("[[need]]", "[[need]", 8, ""),
            ("stands_for", "beside = \"lag\"\nstands_for", 6, "no such shape"),
            ("stands_for", "beside = \"log\"\nstands_for", 6, "not alone"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = Profile::read(&TEXT.replacen(from, to, 1)).unwrap_err();
            assert!(error.line == Some(line) && error.what.contains(what), "{from} -> {to}: {error:?}");
        }
        let none = Profile::read("about = 'x'").unwrap_err();
        assert!(none.line.is_none() && none.to_string().contains("no shape"), "{none}");
        assert!(Profile::read(&" ".repeat(MOST_BYTES + 1)).unwrap_err().what.contains("KiB"));
    }

    #[test]
    fn a_shape_goes_beside_another_if_that_one_can_be_a_load() {
        let with = |run: &str| {
            let text = format!(
                "{TEXT}[[shape]]\nname = 'busy'\nrun = '--rw randread --bs 4k'\nbeside = 'store'\nstands_for = 'reads'\n\
                 [[shape]]\nname = 'store'\nrun = '{run}'\nstands_for = 'writes'\n"
            );
            Profile::read(&text)
        };
        let profile = with("--rw randwrite --bs 16k --iodepth 4 --cache buffered --fdatasync 4").unwrap();
        assert_eq!((profile.shapes[1].beside, profile.shapes[2].beside), (Some(2), None));
        let only_beside: Vec<bool> = (0..3).map(|shape| profile.is_only_beside(shape)).collect();
        assert_eq!(only_beside, [false, false, true]);
        let error = with("--rw randread --bs 16k --cache buffered").unwrap_err();
        assert!(error.line == Some(27) && error.what.contains("memory answers"), "{error:?}");
        let error = with("--rw write --layout append").unwrap_err();
        assert!(error.what.contains("store: a load beside another sets --rw"), "{error:?}");
    }

    #[test]
    fn every_built_in_profile_is_read_and_says_its_sources() {
        for (name, text) in PROFILES {
            let profile = Profile::read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let needs = profile.needs.iter().map(|need| &need.source);
            let mut sources = needs.chain(profile.settings.iter().map(|setting| &setting.source));
            assert!(sources.all(|source| source.starts_with("https://")), "{name}");
            for setting in &profile.settings {
                assert!(!setting.written(setting.fitted(100.0)).is_empty(), "{name}: {}", setting.name);
            }
        }
        assert_eq!(Application::built_in("etcd").unwrap().short_name(), "etcd");
        assert_eq!(Application::built_in("emacs"), None);
    }

    /// MariaDB and MySQL 8.4 flush the redo log by fdatasync, and RocksDB's log grows.
    #[test]
    fn logs_are_written_and_flushed_as_their_applications_do() {
        let of = |application: &str, name: &str| {
            let profile = Application::built_in(application).unwrap().profile().unwrap();
            profile.shapes.into_iter().find(|shape| shape.name == name).unwrap().workload.options
        };
        for name in ["redo", "redo_direct", "redo_16", "redo_in_flushing"] {
            assert_eq!((of("mysql", name).fdatasync, of("mysql", name).flush_by), (1, FlushCall::Fdatasync), "{name}");
        }
        assert_eq!((of("rocksdb", "log").fdatasync, of("rocksdb", "log").layout), (1, Layout::Append));
    }

    /// The line of a built-in profile's setting, where the figures are these and known exactly.
    fn line(application: &str, name: &str, figures: &[(&str, Figure, f64)], rotates: Option<bool>) -> String {
        let profile = Application::built_in(application).unwrap().profile().unwrap();
        let setting = profile.settings.iter().find(|setting| setting.name == name).unwrap();
        let figure = |shape: usize, of: Figure| {
            let is_it = |(name, figure, _): &&(&str, Figure, f64)| profile.shapes[shape].name == *name && *figure == of;
            figures.iter().find(is_it).map(|(_, _, value)| Known::exact(*value))
        };
        setting.line_with(setting.fitted(setting.value.value(&figure).unwrap().value), rotates)
    }

    /// RocksDB's limiter counts writes alone (`RateLimiter::Mode::kWritesOnly`), and compaction writes as much as it reads.
    #[test]
    fn a_limit_on_compaction_is_half_of_what_it_writes() {
        let with = |p99_us: f64| {
            let figures = [
                ("compaction", Figure::WritesPerSecond, 100.0),
                ("compaction", Figure::Mbps, 2.0 * 104.8576),
                ("get", Figure::P99, 200.0),
                ("get_in_compaction", Figure::P99, p99_us),
            ];
            line("rocksdb", "rate_limiter_bytes_per_sec", &figures, None)
        };
        assert_eq!(with(700.0), "rate_limiter_bytes_per_sec=52000000");
        assert_eq!(with(900.0), "rate_limiter_bytes_per_sec=26000000");
    }

    #[test]
    fn a_broker_takes_its_throttle_from_a_command() {
        let figures = [("append_in_catch_up", Figure::Mbps, 100.0), ("catch_up", Figure::Mbps, 300.0)];
        let line = line("kafka", "follower.replication.throttled.rate", &figures, None);
        assert!(
            line.starts_with("kafka-configs.sh --bootstrap-server HOST:9092 --alter --entity-type brokers "),
            "{line}"
        );
        assert!(line.ends_with(" --add-config follower.replication.throttled.rate=50000000"), "{line}");
    }

    #[test]
    fn an_osd_has_options_for_each_kind_of_disk() {
        let figures = [("writes", Figure::PerSecond, 321.0), ("stream", Figure::Mbps, 180.0)];
        for (name, value) in
            [("osd_mclock_max_capacity_iops", 320), ("osd_mclock_max_sequential_bandwidth", 180_000_000)]
        {
            let of = |rotates| line("ceph", name, &figures, rotates);
            assert_eq!(of(Some(true)), format!("ceph config set osd.N {name}_hdd {value}"));
            assert_eq!(of(Some(false)), format!("ceph config set osd.N {name}_ssd {value}"));
            assert_eq!(of(None), format!("ceph config set osd.N {name}_[hdd|ssd] {value}"), "nobody knows which");
        }
    }

    #[test]
    fn another_text_is_another_application() {
        let of = |text: &str| Application { name: "./my/pg.toml".to_string(), text: text.to_string() };
        assert_ne!(of("a").to_string(), of("b").to_string());
        assert!(of("a").is_of_a_file() && of("a").short_name() == "pg");
    }
}
