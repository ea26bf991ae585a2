//! Describes how a run uses a system, besides the requests themselves.

/// How a file's blocks are allocated while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Allocation {
    /// Its blocks exist and are written.
    #[default]
    Existing,
    /// It is new or truncated and grows at its end.
    Growing,
    /// Writes go beyond its valid data: a new block is zeroed before it is written.
    Zeroing,
}

/// How several disks form one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Array {
    /// One after the other.
    #[default]
    Separate,
    /// A stripe made by the host.
    SoftwareStripe,
    /// A stripe made by the adapter.
    HardwareStripe,
    /// A mirror made by the adapter.
    Mirror,
}

/// The settings of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Whether requests go through the file system's cache.
    pub buffered: bool,
    /// Whether the disks acknowledge writes from their buffers.
    pub write_cache: bool,
    /// How the file's blocks are allocated while it is written.
    pub allocation: Allocation,
    /// Disks in use.
    pub disks: u32,
    /// How they form one volume.
    pub array: Array,
    /// Adapters, each with its own bus, over which the disks are spread.
    pub buses: u32,
    /// Whether files are aligned to the chunks of a stripe, regardless of the system's default.
    pub aligned: bool,
    /// Whether the volume is a dynamic volume.
    pub dynamic: bool,
    /// Where on each disk the file begins, as a share of its capacity: 0 is the outermost track.
    pub place: f64,
    /// Whether the processor moves the data itself (PIO).
    pub pio: bool,
    /// Processors in use; `None` for all.
    pub processors: Option<u32>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            buffered: false,
            write_cache: true,
            allocation: Allocation::default(),
            disks: 1,
            array: Array::default(),
            buses: 1,
            aligned: false,
            dynamic: false,
            place: 0.0,
            pio: false,
            processors: None,
        }
    }
}
