//! What is measured: a path, a simulated system, or nothing at all.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{ParseError, SimulatedDisk};

/// The end of the path that requests are sent to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A folder (halfpower lays out its own file there), a file or a block device.
    Path(PathBuf),
    /// A simulated system, `sim:`.
    Simulated(SimulatedDisk),
    /// Nothing, `null:`; every request completes at once.
    Null,
}

impl Target {
    /// Reads a target; `read_file` is how the text of a `sim:FILE.toml` is had.
    ///
    /// # Errors
    /// A [`ParseError`] that points at the character, also for words of a scheme that is not known.
    pub fn parse(text: &str, read_file: impl Fn(&Path) -> std::io::Result<String>) -> Result<Self, ParseError> {
        if let Some(rest) = text.strip_prefix("sim:") {
            return simulated(rest, read_file).map_err(|error| error.within(text, "sim:".len()));
        }
        match text.split_once(':') {
            Some(("null", "")) => Ok(Self::Null),
            Some((scheme @ ("null" | "stripe" | "mirror" | "smb"), _)) => {
                let message = format!("`{scheme}:` is no target; write a path, sim:... or null:");
                Err(ParseError::new(text, 0, message))
            }
            _ if text.is_empty() => Err(ParseError::new(text, 0, "a target is a path, sim:... or null:")),
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

fn simulated(text: &str, read_file: impl Fn(&Path) -> std::io::Result<String>) -> Result<Target, ParseError> {
    if !text.ends_with(".toml") {
        return SimulatedDisk::from_constants(text).map(Target::Simulated);
    }
    let toml = read_file(Path::new(text)).map_err(|error| ParseError::new(text, 0, error.to_string()))?;
    SimulatedDisk::from_toml(text, &toml).map(Target::Simulated)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Simulated(disk) => write!(f, "sim:{disk}"),
            Self::Null => f.write_str("null:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, ParseError> {
        Target::parse(text, |_| Ok("rate = '1GB/s'".to_string()))
    }

    #[test]
    fn the_kinds_of_target() {
        assert_eq!(parse("/data"), Ok(Target::Path("/data".into())));
        assert_eq!(parse("null:"), Ok(Target::Null));
        assert_eq!(parse("sim:"), Ok(Target::Simulated(SimulatedDisk::default())));
        assert!(matches!(parse("sim:disk.toml"), Ok(Target::Simulated(disk)) if disk.rate.0 == 1e9));
        assert!(parse("").is_err());
    }

    #[test]
    fn an_error_inside_a_simulated_system_points_into_the_whole_text() {
        assert_eq!(parse("sim:fixed=80parsec").unwrap_err().at, 12);
    }
}
