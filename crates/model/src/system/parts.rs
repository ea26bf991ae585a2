//! Defines the constants of each part of a system: the TOML tables, one type each.

use serde::Deserialize;

/// A machine with its storage: every part in the order in which a request passes them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// One line that describes it.
    pub about: String,
    /// Processors and the cost of requests.
    pub host: Host,
    /// The file system's cache, for buffered requests.
    pub cache: FileCache,
    /// How a file's bytes are laid out over several disks.
    pub volume: Volume,
    /// The peripheral bus that all adapters share.
    pub pci: Pci,
    /// The card between the peripheral bus and the disks' bus.
    pub adapter: Adapter,
    /// The bus between adapter and disks.
    pub bus: Bus,
    /// The disks, all equal.
    pub disk: Disk,
    /// The network before the machine, if it is accessed over one.
    pub network: Option<Network>,
    /// Which figures were used to choose constants.
    #[serde(default)]
    pub evidence: PublishedFigures,
}

/// The published figures behind the constants of a system; none of them counts as a prediction.
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
    /// Number of processors.
    pub processors: u32,
    /// Clock, in MHz.
    pub clock_mhz: f64,
    /// Instructions a microsecond that one processor executes in this kind of code.
    pub instructions_per_us: f64,
    /// Cost of an unbuffered read of up to 64 KiB.
    pub read: Cost,
    /// Cost of an unbuffered write.
    pub write: Cost,
    /// What a dynamic volume adds to a read.
    #[serde(default = "nothing")]
    pub dynamic_read: Cost,
    /// What a dynamic volume adds to a write.
    #[serde(default = "nothing")]
    pub dynamic_write: Cost,
    /// What striping over several disks adds to a read.
    #[serde(default = "nothing")]
    pub striped_read: Cost,
    /// What striping over several disks adds to a write.
    #[serde(default = "nothing")]
    pub striped_write: Cost,
    /// What a mirror adds to a read.
    #[serde(default = "nothing")]
    pub mirrored_read: Cost,
    /// What a mirror adds to a write.
    #[serde(default = "nothing")]
    pub mirrored_write: Cost,
    /// Share of a request's cost that is spent before it leaves the host; the rest is spent when it completes.
    pub issue_share: f64,
    /// Share of an unbuffered request's cost that is charged to the process.
    pub charged_share: f64,
    /// Extra cost of a request that does not follow the one before (to look up its place on the disk), in microseconds.
    #[serde(default)]
    pub lookup_us: f64,
    /// Time of a read that no published cost includes, in microseconds: charged to no process.
    #[serde(default)]
    pub unseen_read_us: f64,
    /// The same for a write.
    #[serde(default)]
    pub unseen_write_us: f64,
    /// Clock cycles that the processor spends on each byte if it moves the data itself.
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
    /// Processor time to map another part of the file, for requests that are not sequential, in microseconds.
    pub map_us: f64,
    /// Share of randomly chosen requests that find their bytes in the cache.
    pub resident_share: f64,
    /// Unit of prefetching, of coalescing and of the read before a random write, in KiB.
    pub unit_kib: u64,
    /// Page size in KiB: a write of less than a page reads the page first.
    pub page_kib: u64,
    /// How far it reads ahead of the application, in KiB.
    pub ahead_kib: u64,
    /// Most written bytes that it holds before it makes writers wait, in KiB.
    pub dirty_kib: u64,
    /// Growth of a file, in KiB, after which one small write of file system data follows.
    pub grow_every_kib: Option<u64>,
    /// Requests above this size lose the prefetching of the cache and of the disk (a fault of NT 4 SP 3), in KiB.
    pub faulty_above_kib: Option<u64>,
}

/// How files lie on disks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Requests above this size are split into pieces of it, in KiB.
    pub split_kib: u64,
    /// Stripe chunk, in KiB.
    pub chunk_kib: u64,
    /// Misalignment of files to the chunks of a stripe made by the host, in KiB.
    #[serde(default)]
    pub software_off_kib: f64,
    /// The same for a stripe made by the adapter; `None` if it makes none.
    pub hardware_off_kib: Option<f64>,
    /// Requests outstanding, in KiB, from which an adapter's mirror alternates reads between both disks; `None` if the
    /// adapter makes no mirror.
    pub mirror_turns_from_kib: Option<u64>,
}

/// The peripheral bus.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    /// Its name.
    #[serde(default = "pci")]
    pub name: String,
    /// Rate from its clock and width, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// Rate of data to memory, in MB/s, after arbitration and control transfers.
    pub read_mbps: f64,
    /// Rate of data from memory, in MB/s, after arbitration and control transfers.
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

/// The adapter card.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// Its name.
    #[serde(default = "adapter")]
    pub name: String,
    /// How it passes data on.
    pub relay: Relay,
    /// Adapter time of each command to a disk, in microseconds.
    #[serde(default)]
    pub command_us: f64,
    /// Time in which it fetches the list of a request's memory pages before it moves data, in microseconds a page of
    /// the first piece; the lists of later pieces are fetched while data move.
    #[serde(default)]
    pub list_us_per_page: f64,
    /// Time for which it stays busy after a command has passed, in microseconds.
    #[serde(default)]
    pub rest_us: f64,
    /// The adapter's own limit on data to memory, in MB/s.
    pub read_mbps: Option<f64>,
    /// The adapter's own limit on data from memory, in MB/s.
    pub write_mbps: Option<f64>,
}

/// How disks are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusLayout {
    /// All disks of an adapter share one bus (SCSI).
    Shared,
    /// Each disk has its own channel (IDE).
    Channels,
}

/// The bus between adapter and disks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Its name.
    #[serde(default = "bus")]
    pub name: String,
    /// Rate of its standard, in MB/s: shared by all disks, or of one channel.
    pub advertised_mbps: Option<f64>,
    /// How disks are wired.
    pub layout: BusLayout,
    /// Data rate while it moves data, in MB/s.
    pub mbps: f64,
    /// Bus time of a command besides its data (arbitration, selection, messages, command, status), in microseconds.
    pub setup_us: f64,
    /// Bus time that disconnecting and reselecting add for each KiB while several disks are active, in microseconds.
    #[serde(default)]
    pub contention_us_per_kib: f64,
}

/// Which writes a disk takes in one pass, without losing a turn between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gather {
    /// A single command.
    One,
    /// Those that follow one another and had arrived when the first began.
    Waiting,
    /// Also those that arrive before the last of them begins, and [`Disk::write_lead_ms`] before their own turn.
    Arriving,
}

/// Which of the waiting commands a disk takes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reorder {
    /// The oldest one.
    None,
    /// The one that the arm reaches first.
    Nearest,
}

/// A disk drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its name.
    #[serde(default = "disk")]
    pub name: String,
    /// Rate of the medium in its data sheet, in MB/s.
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
    /// Tracks that it reaches without moving the arm.
    pub heads: u32,
    /// Seek to the next track, in ms.
    pub track_to_track_ms: f64,
    /// Mean seek between random places, in ms.
    pub average_seek_ms: f64,
    /// Extra time of a seek (settling, and whatever the data sheet leaves out), in ms.
    #[serde(default)]
    pub settle_ms: f64,
    /// Time that the drive spends on a command before anything moves, in microseconds.
    pub overhead_us: f64,
    /// Time that it needs before it can write again at the medium, in microseconds; none for a write that lay ready for
    /// the same go, whether it follows the one before or not.
    pub turnaround_us: f64,
    /// How far it reads ahead, in KiB.
    pub read_ahead_kib: u64,
    /// Whether repeated reads of the same bytes come from its buffer.
    pub keeps_read: bool,
    /// Buffer for written data, in KiB.
    pub write_buffer_kib: u64,
    /// Segments of the buffer for written data.
    pub write_segments: u32,
    /// Size up to which a segment takes in writes that continue it, in KiB; 0 for one command a segment.
    #[serde(default)]
    pub write_merge_kib: u32,
    /// Written data that it gathers before it turns from reading to writing, in KiB.
    pub write_batch_kib: u64,
    /// Ratio of write rate to read rate.
    #[serde(default = "one")]
    pub write_pace: f64,
    /// How it gathers writes that it acknowledges when they are on the medium.
    pub through: Gather,
    /// How it gathers writes that it acknowledges when they are in the buffer.
    pub back: Gather,
    /// How long before its turn a write that is [arriving](Gather::Arriving) has to be in the drive, in ms: decoded, and
    /// its sectors found, before the head is there.
    #[serde(default)]
    pub write_lead_ms: f64,
    /// Whether it can begin a write anywhere within its range.
    #[serde(default)]
    pub writes_from_anywhere: bool,
    /// Which of the waiting commands it takes next.
    pub reorder: Reorder,
    /// The same for writes in its buffer.
    pub reorder_buffered: Reorder,
    /// Longest time for which nearer commands may overtake a waiting one, in ms. Drives call it the command aging
    /// limit; the usual value is that of IBM's Ultrastar drives of 2000 (mode page 0: 30h, in units of 50 ms).
    #[serde(default = "patience")]
    pub patience_ms: f64,
    /// Turns that each buffered write loses in a drive with a slow controller.
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
    /// Its name.
    #[serde(default = "network")]
    pub name: String,
    /// Rate of its standard, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// Rate of the wire, in MB/s; `None` if client and server are the same machine.
    pub wire_mbps: Option<f64>,
    /// Time of a message besides its data, in one direction, in microseconds.
    #[serde(default)]
    pub latency_us: f64,
    /// Time of a 1460-byte packet on the server's peripheral bus besides its data, in microseconds.
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
    /// Extra stall for each further 64 KiB of it, in ms.
    #[serde(default)]
    pub write_stall_more_ms: f64,
    /// Reads of at least this size stall, in KiB.
    pub read_stalls_from_kib: Option<u64>,
    /// Stall of a read of 64 KiB, in ms; a read n times as large stalls n x sqrt(n) times as long.
    #[serde(default)]
    pub read_stall_ms: f64,
}
