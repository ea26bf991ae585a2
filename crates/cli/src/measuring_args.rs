//! Declares the flags that study, plan and run share, fio's `--direct` and `--sync` for the cache setting among them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use halfpower_spec::{Bytes, Cache, Endpoint, EngineName, HostFiles, HostLayout, IoMem, Nanos, Sealing};

use crate::values::{engines_of_storage, far_end, listed, one_size, parse};

/// The flags that study, plan and run share.
#[derive(Debug, Args)]
#[command(next_help_heading = "Target and engine")]
pub struct CommonArgs {
    /// Change a simulated target; may be repeated
    ///
    /// Keys: disks, array (stripe, adapter-stripe, mirror, each), buses, aligned, dynamic, pio, processors, or a
    /// constant of a part, such as disk.rpm=15000
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Submit from this many threads
    #[arg(short, long, visible_alias = "numjobs")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024), default_value_t = 1)]
    pub threads: u32,
    /// Spread each thread's requests over this many connections to a file server, smb:// or nfs://
    #[arg(hide_short_help = true, long, value_parser = clap::value_parser!(u32).range(1..=64), default_value_t = 1)]
    pub connections: u32,
    /// Sign or encrypt messages to a file server: as-asked (as the server asks), signed, encrypted (SMB only)
    ///
    /// Guests can use neither. Encryption needs SMB 3. halfpower refuses to measure if the server does not offer it.
    #[arg(hide_short_help = true, long, value_parser = parse::<Sealing>, default_value = "as-asked")]
    pub sealing: Sealing,
    #[arg(long, visible_alias = "ioengine", value_parser = parse::<EngineName>, default_value = "auto")]
    #[arg(help = listed("Issue requests through this engine", &engines_of_storage()))]
    pub engine: EngineName,
    /// Keep buffers in ordinary pages (pages) or in huge pages (huge) [default: pages]
    #[arg(long, value_parser = parse::<IoMem>)]
    pub iomem: Option<IoMem>,
    /// Submit at most this many requests with one system call; 0 sets no limit [default: 1]
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(0..=32768))]
    pub iodepth_batch: Option<u32>,
    /// Use this many bytes of the target [default: 1GiB in a folder, all of a file or a device]
    ///
    /// In a folder, halfpower lays out a file of this size (whole MiB, at least 1MiB). Of an existing file or device,
    /// it uses the first bytes; the size must hold at least one block.
    #[arg(long, value_parser = one_size)]
    pub size: Option<Bytes>,
    /// Spread the bytes of --size in pieces over the whole target, so that they represent all of it: an existing file
    /// or device, or a simulated machine with rotating disks
    ///
    /// Pieces hold 1 MiB to 64 MiB. Random requests use all pieces; sequential requests go through one after the other.
    #[arg(long, requires = "size")]
    pub spread: bool,
    /// Give up a run if the target does not answer for this long after the window [default: 60s]; for a file server, if
    /// no whole answer comes for this long at any time [default: 30s]
    ///
    /// A part of an answer, or a server's word that it takes longer, counts as none.
    #[arg(long, value_parser = parse::<Nanos>)]
    pub timeout: Option<Nanos>,
    /// Read user, password and domain for SMB from this file (in mount.cifs format), or keys for S3 (as in an AWS
    /// profile); its mode must be 0600
    ///
    /// Without this flag, SMB credentials come from HALFPOWER_SMB_USER, HALFPOWER_SMB_PASSWORD and
    /// HALFPOWER_SMB_DOMAIN. If there is no password, halfpower asks for it on the terminal; if there is no user, it
    /// signs in as guest. S3 keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from the
    /// profile AWS_PROFILE; without any, requests are anonymous.
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// Use this server for s3://BUCKET/PREFIX, such as http://server:9000
    ///
    /// Without this flag, AWS_ENDPOINT_URL names the server, or else it is Amazon's for the region AWS_REGION. https://
    /// needs a halfpower that was built with --features s3.
    #[arg(long, value_name = "URL", value_parser = parse::<Endpoint>)]
    pub endpoint: Option<Endpoint>,
    /// Also measure the resource use of the machine that serves the target; COMMAND starts `halfpower witness` there
    ///
    /// Example: --far-end 'ssh server halfpower witness'. /bin/sh runs the command once; halfpower talks to it over its
    /// standard input and output.
    #[arg(long, value_name = "COMMAND", value_parser = far_end)]
    pub far_end: Option<String>,
    /// On many hosts, give each process its own file (file-per-process) or its own part of one file (shared)
    ///
    /// --size is per process. On an existing file or device, shared gives each process a separate part, and
    /// file-per-process lets every process use all of it.
    #[arg(long, value_parser = parse::<HostLayout>, default_value = "file-per-process", help_heading = "Many hosts (mpirun)")]
    pub host_layout: HostLayout,
    /// Stripe the shared file across processes in chunks of this size, in whole MiB [default: one part each]
    #[arg(long, value_name = "SIZE", value_parser = one_size, help_heading = "Many hosts (mpirun)")]
    pub interleave: Option<Bytes>,
    /// Let each process read what the next one wrote, so that no host reads from its own cache
    #[arg(long, help_heading = "Many hosts (mpirun)")]
    pub reorder: bool,
    /// Seed the offsets, the payload and the order of runs
    #[arg(long, visible_alias = "randseed", default_value_t = 1)]
    pub seed: u64,
    /// Drop all page caches of the machine before each run (root only)
    #[arg(long)]
    pub drop_caches: bool,
    #[command(flatten)]
    pub may_write: MayWriteArgs,
}

/// What may be written to although halfpower did not make it.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct MayWriteArgs {
    /// Allow writing to a file or a device that halfpower did not create; its contents are lost
    #[arg(long)]
    pub overwrite: bool,
    /// Allow writing to a target in use: a loop device's file, a swap file, a locked file, a file that a process has
    /// open or mapped for writing; its data may be lost, and the machine may crash
    #[arg(long)]
    pub force_in_use: bool,
    /// Allow writing to a device that holds a file system, a swap area or a partition table, which are destroyed
    ///
    /// --overwrite alone refuses such a device and names what it holds. A regular file is not looked into.
    #[arg(long)]
    pub force_content: bool,
}

impl MayWriteArgs {
    /// The flags that were given.
    pub fn given(self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--overwrite", self.overwrite),
            ("--force-in-use", self.force_in_use),
            ("--force-content", self.force_content),
        ];
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

impl CommonArgs {
    /// The first given flag that only applies to many hosts; `None` if none was given.
    pub fn of_hosts(&self) -> Option<&'static str> {
        let given = [
            ("--host-layout", self.host_layout != HostLayout::FilePerProcess),
            ("--interleave", self.interleave.is_some()),
            ("--reorder", self.reorder),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// How many hosts divide the target among them.
    pub fn host_files(&self) -> HostFiles {
        HostFiles { layout: self.host_layout, interleave: self.interleave, reorder: self.reorder }
    }

    /// A note on how the data of `processes` processes are laid out; `None` for the default layout.
    pub fn note_of_layout(&self, processes: u32) -> Option<String> {
        let layout = match (self.host_layout, self.interleave) {
            (HostLayout::FilePerProcess, _) => None,
            (HostLayout::Shared, None) => Some(format!("{processes} processes shared one target, each a part of it")),
            (HostLayout::Shared, Some(turn)) => {
                Some(format!("{processes} processes shared one target in turns of {turn}"))
            }
        };
        let reorder = self.reorder.then(|| "each process read what the next one had written".to_string());
        let reported: Vec<String> = layout.into_iter().chain(reorder).collect();
        (!reported.is_empty()).then(|| reported.join("; "))
    }
}

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
        self.given().is_some()
    }

    /// The flags that are given; `None` without any.
    pub fn given(&self) -> Option<&'static str> {
        match (self.direct, self.sync) {
            (Some(_), Some(_)) => Some("--direct and --sync"),
            (Some(_), None) => Some("--direct"),
            (None, Some(_)) => Some("--sync"),
            (None, None) => None,
        }
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
}
