//! Says what the fold asks of the system it looks at: files behind descriptors, and who a thread is.

/// What is known of an open file of the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSeen {
    /// Index of its place in the list that the asked one keeps; `None` if it is not known.
    pub place: Option<usize>,
    /// The disks beneath, a bit for each index in [`super::Fold::disk_names`], up to 64.
    pub disks: u64,
    /// The device of its file system, as `stat` returns it and events name it; of a block device, its own.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// When it was made, in nanoseconds of Unix time, as its file system tells it; 0 if that is not known. Another file that
    /// got the inode of a removed one has another time.
    pub born_ns: u64,
    /// Whether it is open with `O_DIRECT`.
    pub direct: bool,
    /// Whether it is open with `O_SYNC` or `O_DSYNC`.
    pub durable: bool,
    /// Whether it is open with `O_APPEND`.
    pub append: bool,
    /// Where its next `read` or `write` begins, in bytes.
    pub position: u64,
    /// Its length in bytes; `None` if not known, and for a block device.
    pub bytes: Option<u64>,
}

/// Who a thread is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Who {
    /// Name of its program.
    pub name: String,
    /// Its process; 0 if the kernel runs it.
    pub pid: u32,
    /// Its control group.
    pub cgroup: String,
}

/// Answers what events do not tell. Each is asked at the first sight, and again after a second at the earliest.
pub trait Files {
    /// The process of a thread of the subject; `None` for a thread of somebody else, or one that is gone.
    fn process_of(&mut self, thread: u32) -> Option<u32>;
    /// The regular file or block device behind a descriptor; `None` for sockets, pipes and what else moves no data of files.
    fn file(&mut self, process: u32, fd: u32) -> Option<FileSeen>;
    /// The name of the file behind a descriptor; `None` if it is gone. Only a capture with names asks for it.
    fn name(&mut self, process: u32, fd: u32) -> Option<String>;
    /// The only place on a disk, if there is but one.
    fn place_on(&mut self, disk: usize) -> Option<usize>;
    /// Who a thread is that is not of the subject; `None` if it is gone.
    fn who(&mut self, thread: u32) -> Option<Who>;
}
