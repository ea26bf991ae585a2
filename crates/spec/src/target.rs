//! What is measured: a path, a simulated system, or nothing at all.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Bytes, Join, ParseError, SimulatedDisk};

/// The end of the path that requests are sent to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A folder (halfpower lays out its own file there), a file or a block device.
    Path(PathBuf),
    /// Several of these as one: `stripe:A,B`, `mirror:A,B` or `each:A,B`.
    Several(Several),
    /// A simulated system, `sim:`.
    Simulated(SimulatedDisk),
    /// Nothing, `null:`; every request completes at once.
    Null,
}

/// Several paths as one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several {
    /// How they make one.
    pub join: Join,
    /// The members, in their order.
    pub members: Vec<PathBuf>,
    /// Bytes of a stripe that lie on one member before the next has its turn.
    pub chunk: Bytes,
}

impl Several {
    /// The chunk of the 1998 study's stripes and of most since.
    pub const USUAL_CHUNK: Bytes = Bytes(64 * 1024);

    /// Reads `A,B,...`, in which `chunk=SIZE` may stand anywhere.
    fn parse(join: Join, text: &str) -> Result<Self, ParseError> {
        let mut several = Self { join, members: Vec::new(), chunk: Self::USUAL_CHUNK };
        let mut at = 0;
        for item in text.split(',') {
            match item.strip_prefix("chunk=") {
                Some(size) => several.chunk = size.parse().map_err(|error: ParseError| error.within(text, at + 6))?,
                None if item.is_empty() => return Err(ParseError::new(text, at, "a member is a path")),
                None => several.members.push(PathBuf::from(item)),
            }
            at += item.len() + 1;
        }
        let complaint = match several.members.len() {
            0 | 1 => format!("{join}: joins two paths or more, such as {join}:/dev/sdb,/dev/sdc"),
            3.. if join == Join::Mirror => "a mirror has two members".to_string(),
            _ if several.chunk.0 == 0 || !several.chunk.0.is_multiple_of(512) => {
                "a chunk is a multiple of 512 bytes".to_string()
            }
            _ => return Ok(several),
        };
        Err(ParseError::new(text, 0, complaint))
    }
}

/// As it is written after the scheme.
impl fmt::Display for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> = self.members.iter().map(|path| path.display().to_string()).collect();
        write!(f, "{}:{}", self.join, members.join(","))?;
        if self.chunk != Self::USUAL_CHUNK { write!(f, ",chunk={}", self.chunk) } else { Ok(()) }
    }
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
        let joined = |join: Join, rest: &str| {
            Several::parse(join, rest).map(Self::Several).map_err(|error| error.within(text, text.len() - rest.len()))
        };
        match text.split_once(':') {
            Some(("null", "")) => Ok(Self::Null),
            Some(("each", members)) => joined(Join::Each, members),
            Some(("stripe", members)) => joined(Join::Stripe, members),
            Some(("mirror", members)) => joined(Join::Mirror, members),
            Some((scheme @ ("null" | "smb"), _)) => {
                let message = format!(
                    "`{scheme}:` is no target; write a path, stripe:A,B, mirror:A,B, each:A,B, sim:... or null:"
                );
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
            Self::Several(several) => write!(f, "{several}"),
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
    fn several_paths_make_one_target() {
        let target = parse("stripe:/a,/b,chunk=128KiB").unwrap();
        let Target::Several(several) = &target else { panic!("{target:?}") };
        assert_eq!((several.join, several.members.len(), several.chunk), (Join::Stripe, 2, Bytes(128 << 10)));
        assert_eq!(parse(&target.to_string()), Ok(target));
        assert_eq!(parse("mirror:/a,/b").unwrap().to_string(), "mirror:/a,/b");
        assert!(parse("mirror:/a,/b,/c").is_err());
        assert!(parse("each:/a").is_err());
        assert_eq!(parse("stripe:/a,/b,chunk=x").unwrap_err().at, 19);
    }

    #[test]
    fn an_error_inside_a_simulated_system_points_into_the_whole_text() {
        assert_eq!(parse("sim:fixed=80parsec").unwrap_err().at, 12);
    }
}
