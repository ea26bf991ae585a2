//! Maps fio's engines to halfpower's, and says of the others what does the same here.

/// fio's io_uring options of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ring {
    pub(super) registered: bool,
    pub(super) polls_device: bool,
    pub(super) kernel_thread: bool,
}

/// Engines that halfpower has no counterpart of (separated by spaces), and what to do instead.
const FOREIGN: &[(&str, &str)] = &[
    (
        "http",
        "of what goes over HTTP halfpower speaks S3: measure s3://BUCKET/PREFIX, with --endpoint for another server",
    ),
    ("nfs", "halfpower speaks NFS itself: measure nfs://SERVER/EXPORT"),
    ("rbd", "map the image with `rbd map`, and name the block device"),
    ("rados", "mount CephFS, or map an image with `rbd map`, and name the folder or the device"),
    ("gfapi gfapi_async libhdfs ime_psync ime_psyncv ime_aio dfs", "mount the file system, and name a folder on it"),
    ("libiscsi", "log in with `iscsiadm`, and name the block device"),
    ("nbd", "attach the export with `nbd-client`, and name the block device"),
    ("mtd", "name a file on the file system that lies on the flash, or its block device"),
    ("libpmem dev-dax pmemblk", "name a file on a file system mounted with dax, with ioengine=mmap"),
    (
        "sg libzbc xnvme io_uring_cmd libblkio libcufile libhipfile",
        "commands that pass the block layer by are not built: name the block device or a file, with ioengine=io_uring",
    ),
    ("rdma net netsplice", "it moves bytes between machines without storage: measure a share, smb:// or nfs://"),
    ("cpuio exec", "it moves no bytes: take the job out, and start that program beside halfpower"),
    ("page_fault", "it reaches memory and no storage: `halfpower memory` measures that"),
    (
        "filecreate filestat filedelete filestate dircreate dirstat dirdelete falloc ftruncate e4defrag",
        "it works on files and moves no bytes, which is all that halfpower measures: take the job out",
    ),
    ("splice guasi solarisaio windowsaio", "use psync, libaio or io_uring"),
    ("cpp_null", "use null"),
];

/// The engine in halfpower that corresponds to fio's; `None` for the target `null:`, which has its own.
///
/// # Errors
/// Why there is none, and what to do instead.
pub(super) fn ours(engine: &str, ring: Ring) -> Result<Option<&'static str>, String> {
    let Ring { registered, polls_device, kernel_thread } = ring;
    Ok(Some(match engine {
        "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => "sync",
        "libaio" => "libaio",
        "io_uring" => match (kernel_thread, polls_device, registered) {
            (true, _, _) => "io_uring_sqpoll",
            (_, true, _) => "io_uring_iopoll",
            (_, _, true) => "io_uring",
            _ => "io_uring_plain",
        },
        "mmap" => "mmap",
        "posixaio" => "pool",
        // halfpower's own names.
        "auto" => "auto",
        "pool" => "pool",
        "io_uring_plain" => "io_uring_plain",
        "io_uring_sqpoll" => "io_uring_sqpoll",
        "io_uring_iopoll" => "io_uring_iopoll",
        "null" => return Ok(None),
        other => {
            let known = FOREIGN.iter().find(|(names, _)| names.split(' ').any(|name| name == other));
            let instead = known.map_or("use io_uring, libaio, psync, posixaio or mmap", |(_, instead)| instead);
            return Err(format!("halfpower has no engine `{other}`; {instead}"));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_has_a_counterpart_or_a_way_to_do_the_same() {
        let ours = |engine| ours(engine, Ring::default());
        assert_eq!(
            (ours("psync"), ours("io_uring"), ours("null")),
            (Ok(Some("sync")), Ok(Some("io_uring_plain")), Ok(None))
        );
        for (engine, instead) in [("http", "s3://"), ("nfs", "nfs://"), ("rbd", "rbd map"), ("sgx", "io_uring")] {
            assert!(ours(engine).unwrap_err().contains(instead), "{engine}");
        }
    }
}
