//! Names the abilities that a target may lack, so that plans and targets mean the same by each.

use std::cmp::Ordering;
use std::fmt;

use halfpower_spec::{EngineName, Sealing};
use serde::{Deserialize, Serialize};

/// Declares the abilities with one word each, as study files spell them.
macro_rules! abilities {
    ($($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?) => {
        /// Something that experiments need of a target, and that a target may lack.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Ability {
            $($(#[$doc])* $variant,)+
            /// This engine can drive the target.
            Engine(EngineName),
            /// Messages to a share can be sealed in this way.
            Sealing(Sealing),
            /// An ability that this version does not know, in a study file of another version.
            Unknown(String),
        }

        impl fmt::Display for Ability {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($word),)+
                    Self::Engine(name) => write!(f, "{ENGINE}{name}"),
                    Self::Sealing(sealing) => write!(f, "{SEALING}{sealing}"),
                    Self::Unknown(word) => f.write_str(word),
                }
            }
        }

        impl From<String> for Ability {
            fn from(word: String) -> Self {
                let engine = || word.strip_prefix(ENGINE)?.parse().ok().map(Self::Engine);
                let sealing = || word.strip_prefix(SEALING)?.parse().ok().map(Self::Sealing);
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => engine().or_else(sealing).unwrap_or(Self::Unknown(word)),
                }
            }
        }
    };
}

/// Words before the name of an engine, and before that of a sealing.
const ENGINE: &str = "engine ";
const SEALING: &str = "sealing ";

abilities! {
    /// Requests may begin off the boundaries of blocks.
    Shifts = "shifts",
    /// A part of the target can be read by its place.
    Places = "places",
    /// The same blocks can be read again and again.
    SameBlocks = "same blocks",
    /// Several streams, and random readers beside a stream.
    Streams = "streams",
    /// Two copies of all data.
    Copies = "copies",
    /// Files can be laid out in different ways.
    Layouts = "layouts",
    /// A block device beneath the target can be read by itself.
    Layers = "layers",
    /// Requests can go through a page cache.
    PageCache = "page cache",
    /// The page cache can hold the target when a run begins.
    WarmPageCache = "warm page cache",
    /// The pages of buffered requests can be dropped after use.
    DroppedPages = "dropped pages",
    /// Writes can be on the medium whole or not at all, also if power fails.
    AtomicWrites = "atomic writes",
    /// Buffered writes can be on the medium when they complete.
    DurableBufferedWrites = "durable buffered writes",
    /// The device's own write cache can be switched.
    WriteCache = "write cache",
    /// Requests can be traced below the system call.
    Trace = "trace",
    /// Threads can be bound to one processor.
    OneProcessor = "one processor",
    /// The processor that takes the device's interrupt is known.
    Interrupt = "interrupt",
    /// The device is at one of several memory nodes with processors.
    MemoryNodes = "memory nodes",
    /// There is more than one way to issue requests.
    Engines = "engines",
    /// Messages to a share may be neither signed nor encrypted.
    PlainMessages = "sealing plain",
    /// The number of connections to a share can be chosen.
    Connections = "connections",
    /// Writers can make single writes durable, in a time that is the target's.
    Commits = "commits",
    /// Small files can be created, looked at, listed, renamed and removed.
    FileOperations = "file operations",
}

impl From<Ability> for String {
    fn from(ability: Ability) -> Self {
        ability.to_string()
    }
}

/// By word, as study files list them.
impl Ord for Ability {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Ability {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn words_are_read_as_they_are_written_and_unknown_ones_are_kept() {
        let text = r#"{"engine io_uring":"a","engine of tomorrow":"b","levitation":"c","sealing signed":"d","shifts":"e","write cache":"f"}"#;
        let read: BTreeMap<Ability, String> = serde_json::from_str(text).unwrap();
        let known = [
            Ability::Engine(EngineName::IoUring),
            Ability::Sealing(Sealing::Signed),
            Ability::Shifts,
            Ability::WriteCache,
        ];
        assert!(known.iter().all(|ability| read.contains_key(ability)), "{read:?}");
        assert!(read.contains_key(&Ability::Unknown("levitation".to_string())), "{read:?}");
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
