//! Declares the flags of `halfpower predict`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use halfpower_spec::{ParseError, Target};

use crate::replay_args::SpeedArgs;
use crate::values::target;

/// Examples, for the end of the help text.
pub const PREDICT_EXAMPLES: &str =
    "Nothing is read from or written to any storage: a model of the path is asked, in virtual time.
docs/predict.md says what is assumed.

Examples:
  halfpower watch --name postgres --record app.halfpower
  halfpower predict app.halfpower --on nvme.halfpower     a study of the path to judge
  halfpower predict app.halfpower --on sim:fixed=80us,rate=2GB/s,iops=16000,flush=1ms
  halfpower predict app.halfpower --on nvme.halfpower --speed 2x";

#[derive(Debug, Args)]
pub struct PredictArgs {
    /// What an application asked: a file of `watch --record`, or of `import`
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// Predict what it would get there: a study file, or a simulated system (sim:...)
    #[arg(long, value_name = "STUDY|sim:...", value_parser = place())]
    pub on: On,
    #[command(flatten)]
    pub speed: SpeedArgs,
    /// Print JSON only
    #[arg(long)]
    pub json: bool,
    /// Write what is predicted to this file, operation by operation, as a capture
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write a page to this file: both sides as figures, by percentile, and over time
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}

/// The path of a prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct On {
    /// A study file as [`Target::Path`], or a simulated system.
    pub target: Target,
    /// The user's words.
    pub words: String,
}

/// Parses a study file or a simulated system. A path need not be UTF-8.
fn place() -> impl TypedValueParser<Value = On> {
    OsStringValueParser::new().try_map(|word| {
        let words = word.to_string_lossy().into_owned();
        let target = match word.to_str() {
            Some(text) => target(text)?,
            None => Target::Path(word.into()),
        };
        admitted(target, words)
    })
}

/// Refuses what is neither a study nor simulated.
fn admitted(target: Target, words: String) -> Result<On, ParseError> {
    let why = match &target {
        Target::Simulated(_) | Target::System(_) => return Ok(On { target, words }),
        Target::Path(path) if path.extension().is_some_and(|ending| ending == "toml") => {
            format!("a simulated system begins with sim: here: write sim:{words}")
        }
        Target::Path(path) if path.is_dir() || path.starts_with("/dev") => {
            "this is storage itself, and a prediction needs a study of it: name the file of a study (`halfpower study`), or \
             ask the storage with `halfpower run --workload`"
                .to_string()
        }
        Target::Path(_) => return Ok(On { target, words }),
        Target::Several(_) | Target::Share(_) | Target::Null => {
            "name the file of a study of it, or a simulated system (sim:...)".to_string()
        }
    };
    Err(ParseError::new(&words, 0, why))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Command, CommandLine};

    fn parsed(line: &str) -> Result<PredictArgs, String> {
        let words = ["halfpower", "predict"].into_iter().chain(line.split_whitespace());
        match CommandLine::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Predict(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_prediction_is_of_a_study_or_of_something_simulated() {
        let args = parsed("app.halfpower --on other.halfpower --speed 2x --open").unwrap();
        assert_eq!(args.on.target, Target::Path("other.halfpower".into()));
        assert_eq!((args.speed.speed, args.speed.open), (2.0, true));
        assert_eq!(parsed("app.halfpower --on sim:fixed=80us").unwrap().on.words, "sim:fixed=80us");
        for (on, why) in [
            ("/dev/sda", "storage itself"),
            ("/", "storage itself"),
            ("disk.toml", "sim:disk.toml"),
            ("null:", "study of it"),
            ("sim:fixed=fast", "fixed"),
        ] {
            let said = parsed(&format!("app.halfpower --on {on}")).unwrap_err();
            assert!(said.contains(why), "{on}: {said}");
        }
        assert!(parsed("app.halfpower").unwrap_err().contains("--on"));
    }
}
