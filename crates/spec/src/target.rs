//! Parses and prints targets: a path, several paths as one volume, a share, a simulated system, or nothing.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Bytes, ParseError, ShareAddress, ShareProtocol, SimulatedDisk, SimulatedSystem, VolumeLayout};

/// The end of the path that requests are sent to.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A folder (halfpower lays out its own file there), a file or a block device.
    Path(PathBuf),
    /// Several paths as one: `stripe:A,B`, `mirror:A,B` or `each:A,B`.
    Several(Several),
    /// A folder on a file server, `smb://server/share`, `nfs://server/export` or `s3://bucket/prefix`; halfpower lays
    /// out its own file there.
    Share(ShareAddress),
    /// A simulated disk of constants, `sim:fixed=80us,...`.
    Simulated(SimulatedDisk),
    /// A simulated machine made of parts, `sim:NAME` or `sim:FILE.toml`.
    System(SimulatedSystem),
    /// Nothing, `null:`; every request completes at once.
    Null,
}

/// Several paths as one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several {
    /// How the members make one target.
    pub volume_layout: VolumeLayout,
    /// The members, in their order.
    pub members: Vec<PathBuf>,
    /// Bytes that a stripe puts on one member before the next.
    pub chunk: Bytes,
}

impl Several {
    /// The chunk of the 1998 study's stripes, and of most stripes since.
    pub const USUAL_CHUNK: Bytes = Bytes(64 * 1024);

    /// Parses `A,B,...`, with `chunk=SIZE` anywhere in the list.
    fn parse(volume_layout: VolumeLayout, text: &str) -> Result<Self, ParseError> {
        let mut several = Self { volume_layout, members: Vec::new(), chunk: Self::USUAL_CHUNK };
        let mut at = 0;
        for item in text.split(',') {
            match item.strip_prefix("chunk=") {
                Some(size) => several.chunk = size.parse().map_err(|error: ParseError| error.within(text, at + 6))?,
                None if item.is_empty() => return Err(ParseError::new(text, at, "a member must be a path")),
                None => several.members.push(PathBuf::from(item)),
            }
            at += item.len() + 1;
        }
        let complaint = match several.members.len() {
            0 | 1 => format!("{volume_layout}: needs two paths or more, such as {volume_layout}:/dev/sdb,/dev/sdc"),
            3.. if volume_layout == VolumeLayout::Mirror => "a mirror must have two members".to_string(),
            _ if several.chunk.0 == 0 || !several.chunk.0.is_multiple_of(512) => {
                "a chunk must be a multiple of 512 bytes".to_string()
            }
            _ => return Ok(several),
        };
        Err(ParseError::new(text, 0, complaint))
    }
}

/// The text after the scheme.
impl fmt::Display for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<String> = self.members.iter().map(|path| path.display().to_string()).collect();
        write!(f, "{}:{}", self.volume_layout, members.join(","))?;
        if self.chunk != Self::USUAL_CHUNK { write!(f, ",chunk={}", self.chunk) } else { Ok(()) }
    }
}

impl Target {
    /// Parses a target; `read` returns the TOML of a simulated machine, by its name or the path of its file.
    ///
    /// # Errors
    /// A [`ParseError`] that points at the character; also for an unknown scheme.
    pub fn parse(text: &str, read: impl Fn(&Path) -> std::io::Result<String>) -> Result<Self, ParseError> {
        if let Some(rest) = text.strip_prefix("sim:") {
            return simulated(rest, read).map_err(|error| error.within(text, "sim:".len()));
        }
        let joined = |volume_layout: VolumeLayout, rest: &str| {
            Several::parse(volume_layout, rest)
                .map(Self::Several)
                .map_err(|error| error.within(text, text.len() - rest.len()))
        };
        match text.split_once(':') {
            Some(("smb", rest)) if rest.starts_with("//") => share(ShareProtocol::Smb, text),
            Some(("nfs", rest)) if rest.starts_with("//") => share(ShareProtocol::Nfs, text),
            Some(("s3", rest)) if rest.starts_with("//") => share(ShareProtocol::S3, text),
            Some(("null", "")) => Ok(Self::Null),
            Some(("each", members)) => joined(VolumeLayout::Each, members),
            Some(("stripe", members)) => joined(VolumeLayout::Stripe, members),
            Some(("mirror", members)) => joined(VolumeLayout::Mirror, members),
            Some((scheme @ ("null" | "smb" | "nfs" | "s3"), _)) => {
                let message = format!(
                    "there is no target `{scheme}:`; write a path, stripe:A,B, mirror:A,B, each:A,B, \
                     smb://server/share, nfs://server/export, s3://bucket/prefix, sim:... or null:"
                );
                Err(ParseError::new(text, 0, message))
            }
            _ if text.is_empty() => Err(ParseError::new(text, 0, "write a path, sim:... or null:")),
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

fn share(protocol: ShareProtocol, text: &str) -> Result<Target, ParseError> {
    ShareAddress::parse(protocol, text).map(Target::Share)
}

/// Parses a disk of constants if the first item is one, or else a machine's name and its settings.
fn simulated(text: &str, read: impl Fn(&Path) -> std::io::Result<String>) -> Result<Target, ParseError> {
    let (name, settings) = text.split_once(',').unwrap_or((text, ""));
    if name.is_empty() || name.contains('=') {
        return SimulatedDisk::from_constants(text).map(Target::Simulated);
    }
    let toml = read(Path::new(name)).map_err(|error| ParseError::new(text, 0, error.to_string()))?;
    let table: toml::Table =
        toml::from_str(&toml).map_err(|error| ParseError::new(name, 0, error.message().to_string()))?;
    let mut target = if table.values().any(|value| value.is_table() || value.is_array()) {
        Target::System(SimulatedSystem::new(name, &toml))
    } else {
        Target::Simulated(SimulatedDisk::from_toml(name, &toml)?)
    };
    let mut at = name.len() + 1;
    for item in settings.split(',').filter(|_| !settings.is_empty()) {
        target = target.with(item).map_err(|error| error.within(text, at))?;
        at += item.len() + 1;
    }
    Ok(target)
}

impl Target {
    /// Changes one setting, written `key=value`; only simulated targets have settings.
    ///
    /// # Errors
    /// A [`ParseError`] that points at the character of `setting`.
    pub fn with(self, setting: &str) -> Result<Self, ParseError> {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(ParseError::new(setting, 0, "write a setting as key=value, such as disks=4"));
        };
        let pointed = |error: ParseError| {
            let at = if error.text == key { 0 } else { key.len() + 1 };
            error.within(setting, at)
        };
        match self {
            Self::Simulated(disk) => disk.with(key, value).map(Self::Simulated).map_err(pointed),
            Self::System(mut system) => {
                system.set(key, value).map_err(pointed)?;
                Ok(Self::System(system))
            }
            other => Err(ParseError::new(setting, 0, format!("{other} is real; only sim: targets have settings"))),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Several(several) => write!(f, "{several}"),
            Self::Share(address) => write!(f, "{address}"),
            Self::Simulated(disk) => write!(f, "sim:{disk}"),
            Self::System(system) => write!(f, "sim:{system}"),
            Self::Null => f.write_str("null:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, ParseError> {
        Target::parse(text, |path| match path.to_str() {
            Some("pc" | "pc.toml") => Ok("about = 'a machine'\n[disk]\nrpm = 1".to_string()),
            Some("disk.toml") => Ok("rate = '1GB/s'".to_string()),
            _ => Err(std::io::Error::other("there is no such machine")),
        })
    }

    #[test]
    fn the_kinds_of_target() {
        assert_eq!(parse("/data"), Ok(Target::Path("/data".into())));
        assert_eq!(parse("null:"), Ok(Target::Null));
        assert_eq!(parse("sim:"), Ok(Target::Simulated(SimulatedDisk::default())));
        assert!(matches!(parse("sim:disk.toml"), Ok(Target::Simulated(disk)) if disk.rate.0 == 1e9));
        assert!(parse("").is_err());
        let share = parse("smb://ann@nas/share/folder").unwrap();
        assert!(matches!(&share, Target::Share(address) if address.host == "nas"));
        assert_eq!(parse(&share.to_string()), Ok(share));
        assert!(matches!(parse("nfs://nas/export"), Ok(Target::Share(_))));
        let bucket = parse("s3://bucket/key?endpoint=http://nas:9000").unwrap();
        assert_eq!(parse(&bucket.to_string()), Ok(bucket));
        assert!(parse("smb:nas").unwrap_err().to_string().contains("smb://server/share"));
    }

    #[test]
    fn several_paths_make_one_target() {
        let target = parse("stripe:/a,/b,chunk=128KiB").unwrap();
        let Target::Several(several) = &target else { panic!("{target:?}") };
        assert_eq!(
            (several.volume_layout, several.members.len(), several.chunk),
            (VolumeLayout::Stripe, 2, Bytes(128 << 10))
        );
        assert_eq!(parse(&target.to_string()), Ok(target));
        assert_eq!(parse("mirror:/a,/b").unwrap().to_string(), "mirror:/a,/b");
        assert!(parse("mirror:/a,/b,/c").is_err());
        assert!(parse("each:/a").is_err());
        assert_eq!(parse("stripe:/a,/b,chunk=x").unwrap_err().at, 19);
    }

    #[test]
    fn a_simulated_machine_has_a_name_and_settings_and_is_read_back() {
        for text in ["sim:pc", "sim:pc,disks=4,array=stripe,disk.rpm=15000"] {
            let target = parse(text).unwrap();
            assert!(matches!(&target, Target::System(system) if system.name == "pc"), "{target:?}");
            assert_eq!(target.to_string(), text);
        }
        let target = parse("sim:pc.toml,disks=2").unwrap();
        assert_eq!(parse(&target.to_string()), Ok(target.clone()));
        assert_eq!(target.with("buses=2").unwrap(), parse("sim:pc.toml,disks=2,buses=2").unwrap());
        assert!(matches!(parse("sim:disk.toml,disks=3"), Ok(Target::Simulated(disk)) if disk.disks == 3));
        assert_eq!(parse("sim:").unwrap().with("disks=4"), parse("sim:disks=4"));
    }

    #[test]
    fn a_setting_that_cannot_be_is_pointed_at() {
        assert_eq!(parse("sim:pc,disks=x").unwrap_err().at, 13);
        assert_eq!(parse("sim:pc,speed=1").unwrap_err().at, 7);
        assert_eq!(parse("sim:pc,disks").unwrap_err().at, 7);
        assert!(parse("sim:mac").unwrap_err().to_string().contains("no such machine"));
        assert!(parse("/data").unwrap().with("disks=4").unwrap_err().to_string().contains("is real"));
        assert_eq!(parse("sim:").unwrap().with("disks=0").unwrap_err().at, 6);
    }

    #[test]
    fn an_error_inside_a_simulated_system_points_into_the_whole_text() {
        assert_eq!(parse("sim:fixed=80parsec").unwrap_err().at, 12);
    }
}
