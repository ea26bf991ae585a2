//! Describes how a system is used in a run, beside the requests themselves.

/// What a file goes through while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Allocation {
    /// Its blocks exist and have been written.
    #[default]
    Existing,
    /// It is new or truncated and grows at its end.
    Growing,
    /// Writes land beyond its valid data: a new block is zeroed before it is written.
    Zeroing,
}

/// How several disks make one volume.
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
    /// What the file goes through while it is written.
    pub allocation: Allocation,
    /// Disks in use.
    pub disks: u32,
    /// How they make one volume.
    pub array: Array,
    /// Adapters, each with a bus of its own, over which the disks are spread.
    pub buses: u32,
    /// Whether files lie on the chunks of a stripe, whatever the system's habit.
    pub aligned: bool,
    /// Whether the volume is a dynamic one.
    pub dynamic: bool,
    /// Where on each disk the file begins, as a share of its capacity: 0 is the outermost track.
    pub place: f64,
    /// Whether the processor moves the data itself.
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
