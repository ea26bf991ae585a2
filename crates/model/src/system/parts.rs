//! Defines the constants of each part of a system: the TOML tables, one type each.

use serde::Deserialize;

/// A machine with its storage: every part that a request passes, in the order in which it passes them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// One line that says what it is.
    pub about: String,
    /// Processors and what requests cost them.
    pub host: Host,
    /// The file system's cache, which buffered requests go through.
    pub cache: FileCache,
    /// How a file's bytes are laid over several disks.
    pub volume: Volume,
    /// The peripheral bus that all adapters share.
    pub pci: Pci,
    /// The card between the peripheral bus and the disks' bus.
    pub adapter: Adapter,
    /// The bus between adapter and disks.
    pub bus: Bus,
    /// The disks, all alike.
    pub disk: Disk,
    /// The network before it all, for a system that is reached over one.
    pub network: Option<Network>,
    /// Which figures were used to choose constants.
    #[serde(default)]
    pub evidence: PublishedFigures,
}

/// Which published figures the constants of a system rest on; none of them is a prediction of it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigures {
    /// Figures that state a constant of the system.
    #[serde(default)]
    pub given: Vec<String>,
    /// Figures that a constant was fitted to.
    #[serde(default)]
    pub fitted: Vec<String>,
}

/// Processor time of a request: fixed + KiB x marginal.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Microseconds a request, whatever its size.
    pub fixed_us: f64,
    /// Microseconds that each KiB adds.
    pub us_per_kib: f64,
}

/// The processors.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// How many there are.
    pub processors: u32,
    /// Clock, in MHz.
    pub clock_mhz: f64,
    /// Instructions a microsecond that one of them executes in this kind of code.
    pub instructions_per_us: f64,
    /// Cost of an unbuffered read of up to 64 KiB.
    pub read: Cost,
    /// Cost of an unbuffered write.
    pub write: Cost,
    /// What a dynamic volume adds to a read.
    #[serde(default = "nothing")]
    pub dynamic_read: Cost,
    /// The same for a write.
    #[serde(default = "nothing")]
    pub dynamic_write: Cost,
    /// What striping over several disks adds to a read and a write.
    #[serde(default = "nothing")]
    pub striped_read: Cost,
    /// The same for a write.
    #[serde(default = "nothing")]
    pub striped_write: Cost,
    /// What a mirror adds to a read.
    #[serde(default = "nothing")]
    pub mirrored_read: Cost,
    /// The same for a write.
    #[serde(default = "nothing")]
    pub mirrored_write: Cost,
    /// Share of a request's cost that is spent before it leaves the host; the rest is spent when it comes back.
    pub issue_share: f64,
    /// Share of an unbuffered request's cost that is charged to the process.
    pub charged_share: f64,
    /// What a request adds that does not follow the one before it (its place on the disk is looked up), in
    /// microseconds.
    #[serde(default)]
    pub lookup_us: f64,
    /// Time of a read that no published cost holds, in microseconds: charged to nobody.
    #[serde(default)]
    pub unseen_read_us: f64,
    /// The same of a write.
    #[serde(default)]
    pub unseen_write_us: f64,
    /// Clocks that the processor spends on each byte where it moves the data itself.
    pub pio_clocks_per_byte: Option<f64>,
}

fn nothing() -> Cost {
    Cost { fixed_us: 0.0, us_per_kib: 0.0 }
}

/// The file system's cache.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileCache {
    /// Processor time of a call into it, in microseconds.
    pub call_us: f64,
    /// Processor time of copying one KiB out of it.
    pub read_copy_us_per_kib: f64,
    /// Processor time of copying one KiB into it.
    pub write_copy_us_per_kib: f64,
    /// Processor time of bringing another part of the file into view, for requests that are not sequential.
    pub map_us: f64,
    /// Share of randomly chosen requests that find their bytes in the cache.
    pub resident_share: f64,
    /// Unit of prefetching, coalescing and of the read before a random write, in KiB.
    pub unit_kib: u64,
    /// A write of less than a page reads the page first, in KiB.
    pub page_kib: u64,
    /// How far it reads ahead of the application, in KiB.
    pub ahead_kib: u64,
    /// Written bytes that it holds before it makes writers wait, in KiB.
    pub dirty_kib: u64,
    /// One small write of file system data for so many KiB by which a file grows.
    pub grow_every_kib: Option<u64>,
    /// Requests above this size lose the prefetching of the cache and of the disk (a fault of NT 4 SP 3), in KiB.
    pub faulty_above_kib: Option<u64>,
}

/// How files lie on disks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Requests above this size are broken into pieces of it, in KiB.
    pub split_kib: u64,
    /// Stripe chunk, in KiB.
    pub chunk_kib: u64,
    /// How far files lie off the chunks of a stripe made by the host, in KiB.
    #[serde(default)]
    pub software_off_kib: f64,
    /// The same for a stripe made by the adapter; `None` where it makes none.
    pub hardware_off_kib: Option<f64>,
    /// Requests outstanding, in KiB, from which an adapter's mirror reads from both disks in turn; `None` where the
    /// adapter makes no mirror.
    pub mirror_turns_from_kib: Option<u64>,
}

/// The peripheral bus.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    /// What it is called.
    #[serde(default = "pci")]
    pub name: String,
    /// What its clock and width promise, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// Data to memory, in MB/s, with what arbitration and control transfers leave.
    pub read_mbps: f64,
    /// Data from memory, in MB/s.
    pub write_mbps: f64,
}

/// How an adapter passes data on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relay {
    /// While they arrive.
    Passing,
    /// After the whole of a command's data has arrived.
    Storing,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// What it is called.
    #[serde(default = "adapter")]
    pub name: String,
    /// How it passes data on.
    pub relay: Relay,
    /// Time of its own that each command to a disk takes, in microseconds.
    #[serde(default)]
    pub command_us: f64,
    /// Time for which it fetches the list of a request's memory pages before it moves data, in microseconds a page of
    /// the first piece; later pieces' lists are fetched while data move.
    #[serde(default)]
    pub list_us_per_page: f64,
    /// Time for which it is busy after a command has passed, in microseconds.
    #[serde(default)]
    pub rest_us: f64,
    /// Limit of its own on data to memory, in MB/s.
    pub read_mbps: Option<f64>,
    /// Limit of its own on data from memory, in MB/s.
    pub write_mbps: Option<f64>,
}

/// How disks are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusLayout {
    /// All disks of an adapter share one bus (SCSI).
    Shared,
    /// Each disk has a channel of its own (IDE).
    Channels,
}

/// The wires.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// What it is called.
    #[serde(default = "bus")]
    pub name: String,
    /// What its standard promises, in MB/s: of all that share it, or of one channel.
    pub advertised_mbps: Option<f64>,
    /// How disks are wired.
    pub layout: BusLayout,
    /// Data rate while data are moved, in MB/s.
    pub mbps: f64,
    /// Bus time of a command besides its data (arbitration, selection, messages, command, status), in microseconds.
    pub setup_us: f64,
    /// Bus time that disconnecting and reselecting add for each KiB while several disks are at work.
    #[serde(default)]
    pub contention_us_per_kib: f64,
}

/// Which writes a disk takes in one go, without losing a turn between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gather {
    /// One command.
    One,
    /// Those that follow one another and were there when the first began.
    Waiting,
    /// Also those that arrive before the last of them begins.
    Arriving,
}

/// Which of the waiting commands a disk takes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reorder {
    /// The one that came first.
    None,
    /// The one that the arm reaches first.
    Nearest,
}

/// A disk drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// What it is called.
    #[serde(default = "disk")]
    pub name: String,
    /// What its data sheet promises of the medium, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// Turns a minute.
    pub rpm: f64,
    /// Capacity, in 10^9 bytes.
    pub capacity_gb: f64,
    /// Sustained rate of the outermost band, in MB/s.
    pub outer_mbps: f64,
    /// Sustained rate of the innermost band, in MB/s.
    pub inner_mbps: f64,
    /// Bands of equal width, in equal steps of rate.
    pub bands: u32,
    /// Tracks that are reached without moving the arm.
    pub heads: u32,
    /// Seek to the next track, in ms.
    pub track_to_track_ms: f64,
    /// Mean seek between random places, in ms.
    pub average_seek_ms: f64,
    /// What a seek takes besides (settling and whatever the data sheet leaves out), in ms.
    #[serde(default)]
    pub settle_ms: f64,
    /// Time that the drive spends on a command before anything moves, in microseconds.
    pub overhead_us: f64,
    /// Time that it needs to begin another go at the medium, in microseconds.
    pub turnaround_us: f64,
    /// How far it reads ahead, in KiB.
    pub read_ahead_kib: u64,
    /// Whether bytes that are read again come from its buffer.
    pub keeps_read: bool,
    /// Buffer for written data, in KiB.
    pub write_buffer_kib: u64,
    /// Stretches of written data that the buffer holds.
    pub write_segments: u32,
    /// A stretch takes in writes that follow it until it has so many KiB; 0 for one command a stretch.
    #[serde(default)]
    pub write_merge_kib: u32,
    /// Written data, in KiB, that it lets gather before it turns from reading to writing.
    pub write_batch_kib: u64,
    /// Rate of writing over rate of reading.
    #[serde(default = "one")]
    pub write_pace: f64,
    /// How it gathers writes that are acknowledged when on the medium.
    pub through: Gather,
    /// How it gathers writes that are acknowledged when in the buffer.
    pub back: Gather,
    /// Whether it begins a write anywhere within its range.
    #[serde(default)]
    pub writes_from_anywhere: bool,
    /// Which of the waiting commands it takes next.
    pub reorder: Reorder,
    /// The same for writes in its buffer.
    pub reorder_buffered: Reorder,
    /// For how long nearer commands may go before one that waits, in ms. Drives call it the command aging limit; the
    /// usual value is that of IBM's Ultrastar drives of 2000 (mode page 0: 30h, in units of 50 ms).
    #[serde(default = "patience")]
    pub patience_ms: f64,
    /// Turns that each buffered write loses in a drive whose controller is too slow.
    #[serde(default)]
    pub lost_turns: u32,
}

fn one() -> f64 {
    1.0
}

fn patience() -> f64 {
    2400.0
}

fn pci() -> String {
    "peripheral bus".to_string()
}

fn adapter() -> String {
    "adapter".to_string()
}

fn bus() -> String {
    "bus".to_string()
}

fn disk() -> String {
    "disk".to_string()
}

fn network() -> String {
    "network".to_string()
}

/// A network file system before the storage.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What it is called.
    #[serde(default = "network")]
    pub name: String,
    /// What its standard promises, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// The wire in MB/s; `None` where client and server are the same machine.
    pub wire_mbps: Option<f64>,
    /// Time that a message takes besides its data, one way, in microseconds.
    #[serde(default)]
    pub latency_us: f64,
    /// What the server's peripheral bus spends on a packet of 1460 bytes besides its data, in microseconds.
    #[serde(default)]
    pub packet_us: f64,
    /// Client's processors (the server is the system's host).
    pub client_processors: u32,
    /// Client's cost of a read.
    pub client_read: Cost,
    /// Client's cost of a write.
    pub client_write: Cost,
    /// What the network adds to the server's cost of a read.
    pub server_read: Cost,
    /// What the network adds to the server's cost of a write.
    pub server_write: Cost,
    /// Time for which a write holds its connection for the handshake, in microseconds.
    #[serde(default)]
    pub write_handshake_us: f64,
    /// Writes above this size stall, in KiB.
    pub write_stalls_above_kib: Option<u64>,
    /// Time for which such a write stalls, in ms (waiting for a clock tick).
    #[serde(default)]
    pub write_stall_ms: f64,
    /// What each further 64 KiB of it stalls, in ms.
    #[serde(default)]
    pub write_stall_more_ms: f64,
    /// Reads from this size on stall, in KiB.
    pub read_stalls_from_kib: Option<u64>,
    /// Time for which a read of 64 KiB stalls, in ms; one of n times as much stalls n x sqrt(n) times as long.
    #[serde(default)]
    pub read_stall_ms: f64,
}
