//! Declares the flags that study, plan and run share.

use std::path::PathBuf;

use clap::Args;
use halfpower_spec::{Bytes, Endpoint, EngineName, HostFiles, HostLayout, IoMem, Nanos, Sealing};

use crate::values::{engines_of_storage, far_end, listed, one_size, parse};

/// The flags that study and run share.
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
    /// Share the requests of each thread out to this many connections to a file server, smb:// or nfs://
    #[arg(hide_short_help = true, long, value_parser = clap::value_parser!(u32).range(1..=64), default_value_t = 1)]
    pub connections: u32,
    /// Sign or encrypt what goes to a file server: as-asked (what the server asks for), signed, encrypted (SMB alone)
    ///
    /// A guest can do neither, and encryption takes SMB 3. What the server does not offer is refused.
    #[arg(hide_short_help = true, long, value_parser = parse::<Sealing>, default_value = "as-asked")]
    pub sealing: Sealing,
    #[arg(long, visible_alias = "ioengine", value_parser = parse::<EngineName>, default_value = "auto")]
    #[arg(help = listed("Issue requests through this engine", &engines_of_storage()))]
    pub engine: EngineName,
    /// Keep buffers in ordinary pages (pages) or in huge pages (huge) [default: pages]
    #[arg(long, value_parser = parse::<IoMem>)]
    pub iomem: Option<IoMem>,
    /// Submit at most this many requests with one system call; 0 submits all that can go out [default: 1]
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(0..=32768))]
    pub iodepth_batch: Option<u32>,
    /// Use this many bytes of the target [default: 1GiB of a folder, all of a file or a device]
    ///
    /// In a folder a file of this size is laid out, in whole MiB and at least one. Of a file or a device that is there it
    /// is the first part, and any size will do that holds a block.
    #[arg(long, value_parser = one_size)]
    pub size: Option<Bytes>,
    /// Spread the bytes of --size in pieces over all of the target, so that they stand for all of it: a file or a device
    /// that is there, or a machine with disks that turn
    ///
    /// Pieces hold 1 MiB to 64 MiB. Random requests fall into all of them; sequential ones go through one after the other.
    #[arg(long, requires = "size")]
    pub spread: bool,
    /// Give up a run whose target has not answered for this long after the window [default: 60s]; of a file server, for this
    /// long at any time [default: 30s]
    #[arg(long, value_parser = parse::<Nanos>)]
    pub timeout: Option<Nanos>,
    /// Read user, password and domain of an SMB server from this file, as mount.cifs takes it, or the keys of S3, as a
    /// profile has them; its mode must be 0600
    ///
    /// Without it they come from HALFPOWER_SMB_USER, HALFPOWER_SMB_PASSWORD and HALFPOWER_SMB_DOMAIN, and the password else
    /// from a question on the terminal; without a user, a guest signs in. Those of S3 come from AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the profile AWS_PROFILE; without any, requests are anonymous.
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// Ask this server for the bucket of s3://BUCKET/PREFIX, such as http://server:9000
    ///
    /// Without it AWS_ENDPOINT_URL names it, else it is Amazon's of the region (AWS_REGION). https:// takes a halfpower
    /// that was built with --features s3.
    #[arg(long, value_name = "URL", value_parser = parse::<Endpoint>)]
    pub endpoint: Option<Endpoint>,
    /// Account for the machine that serves the target too: this command starts `halfpower witness` there
    ///
    /// /bin/sh reads the command, so words and quotes are the shell's: --far-end 'ssh server halfpower witness'. It is
    /// started once, and talks over its standard input and output.
    #[arg(long, value_name = "COMMAND", value_parser = far_end)]
    pub far_end: Option<String>,
    /// On many hosts, give each process a file of its own (file-per-process), or all of them one, each its part (shared)
    ///
    /// Without it, file-per-process. --size is that of each process. Of a file or a device that is there, shared takes
    /// disjoint parts, and file-per-process lets every process use all of it.
    #[arg(long, value_parser = parse::<HostLayout>, default_value = "file-per-process", help_heading = "Many hosts (mpirun)")]
    pub host_layout: HostLayout,
    /// Give processes that share a file so many bytes of it in turn, in whole MiB [default: one part each]
    #[arg(long, value_name = "SIZE", value_parser = one_size, help_heading = "Many hosts (mpirun)")]
    pub interleave: Option<Bytes>,
    /// Let each process read what the next one has written, so that no host reads what its own cache holds
    #[arg(long, help_heading = "Many hosts (mpirun)")]
    pub reorder: bool,
    /// Seed the offsets, the payload and the order of runs
    #[arg(long, visible_alias = "randseed", default_value_t = 1)]
    pub seed: u64,
    /// Drop all page caches of the machine before each run (root only)
    #[arg(long)]
    pub drop_caches: bool,
    /// Allow writing to a file or a device that halfpower did not create; its contents are lost
    #[arg(long)]
    pub overwrite: bool,
    /// Allow writing to what somebody else uses: the file of a loop device, a swap file, a locked file, one that a process
    /// has open for writing; its data may be lost, and the machine with it
    #[arg(long)]
    pub force_in_use: bool,
}

impl CommonArgs {
    /// The first flag that is about many hosts alone; `None` where none was given.
    pub fn of_hosts(&self) -> Option<&'static str> {
        let given = [
            ("--host-layout", self.host_layout != HostLayout::FilePerProcess),
            ("--interleave", self.interleave.is_some()),
            ("--reorder", self.reorder),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// How many hosts share the target out.
    pub fn host_files(&self) -> HostFiles {
        HostFiles { layout: self.host_layout, interleave: self.interleave, reorder: self.reorder }
    }

    /// What is to be said of how the data of so many processes lie; `None` where each has its own.
    pub fn note_of_layout(&self, processes: u32) -> Option<String> {
        let layout = match (self.host_layout, self.interleave) {
            (HostLayout::FilePerProcess, _) => None,
            (HostLayout::Shared, None) => Some(format!("{processes} processes shared one target, each a part of it")),
            (HostLayout::Shared, Some(turn)) => {
                Some(format!("{processes} processes shared one target in turns of {turn}"))
            }
        };
        let reorder = self.reorder.then(|| "each process read what the next one had written".to_string());
        let told: Vec<String> = layout.into_iter().chain(reorder).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}
