//! Reads the cache setting, in halfpower's words or in fio's flags `--direct` and `--sync`.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use halfpower_spec::{Cache, ParseError};

/// fio's flags for the caches to use.
#[derive(Debug, Args)]
pub struct FioCacheArgs {
    /// Set --cache as fio does: 1 for O_DIRECT, 0 for buffered I/O
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    direct: Option<u8>,
    /// Set --cache as fio does: dsync for O_DSYNC, none for no synchronous writes; with --direct 1 or 0
    #[arg(long, value_enum)]
    sync: Option<Sync>,
}

/// fio's words for synchronous writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sync {
    #[value(alias = "0")]
    None,
    #[value(name = "dsync")]
    Data,
    #[value(name = "sync", alias = "1", hide = true)]
    File,
}

impl FioCacheArgs {
    /// Whether either flag is given.
    pub fn is_given(&self) -> bool {
        self.direct.is_some() || self.sync.is_some()
    }

    /// The setting that both flags mean together; `None` if neither is given. A missing flag has fio's default:
    /// `--direct 0`, `--sync none`.
    ///
    /// # Errors
    /// For O_SYNC, which halfpower does not measure.
    pub fn cache(&self) -> Result<Option<Cache>> {
        if self.direct.is_none() && self.sync.is_none() {
            return Ok(None);
        }
        let direct = self.direct == Some(1);
        Ok(Some(match (direct, self.sync.unwrap_or(Sync::None)) {
            (true, Sync::None) => Cache::Device,
            (true, Sync::Data) => Cache::None,
            (false, Sync::None) => Cache::Both,
            (false, Sync::Data) => Cache::Os,
            (_, Sync::File) => {
                bail!("--sync sync: halfpower opens files with O_DSYNC, not O_SYNC; use --sync dsync")
            }
        }))
    }
}

/// A cache setting: its own word, or `direct` and `buffered` for the two common ones.
pub fn cache(text: &str) -> Result<Cache, ParseError> {
    match text {
        "direct" => Ok(Cache::Device),
        "buffered" => Ok(Cache::Both),
        word => word.parse(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_and_sync_combine_as_in_fio() {
        let of = |direct, sync| FioCacheArgs { direct, sync }.cache().unwrap();
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(1), None), Some(Cache::Device));
        assert_eq!(of(Some(0), None), Some(Cache::Both));
        assert_eq!(of(Some(1), Some(Sync::Data)), Some(Cache::None));
        assert_eq!(of(None, Some(Sync::Data)), Some(Cache::Os));
        assert!(FioCacheArgs { direct: Some(1), sync: Some(Sync::File) }.cache().is_err());
    }

    #[test]
    fn direct_and_buffered_are_words_for_device_and_both() {
        assert_eq!((cache("direct"), cache("buffered")), (Ok(Cache::Device), Ok(Cache::Both)));
        assert_eq!(cache("none"), Ok(Cache::None));
        assert!(cache("writeback").is_err());
    }
}
