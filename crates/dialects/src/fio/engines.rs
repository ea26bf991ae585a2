//! Maps fio's engines to halfpower's, and says of the others what does the same here.

/// fio's io_uring options of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ring {
    pub(super) registered: bool,
    pub(super) polls_device: bool,
    pub(super) kernel_thread: bool,
    /// Whether each write is on the medium when it completes (`writefua`), which only commands can ask for.
    pub(super) forces_writes: bool,
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
        "sg libzbc xnvme libblkio libcufile libhipfile",
        "of commands that pass the block layer by, those to an NVMe namespace are built: name its generic device (/dev/ng0n1), with \
         ioengine=io_uring_cmd, or a block device or file, with ioengine=io_uring",
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
    let Ring { registered, polls_device, kernel_thread, forces_writes } = ring;
    if forces_writes && engine != "io_uring_cmd" {
        return Err(format!("writefua is for commands, and `{engine}` sends none: use sync=dsync, with direct=1"));
    }
    Ok(Some(match engine {
        "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => "sync",
        "libaio" => "libaio",
        "io_uring" => match (kernel_thread, polls_device, registered) {
            (true, _, _) => "io_uring_sqpoll",
            (_, true, _) => "io_uring_iopoll",
            (_, _, true) => "io_uring",
            _ => "io_uring_plain",
        },
        "io_uring_cmd" if kernel_thread => {
            return Err(
                "`io_uring_cmd` has no thread of the kernel here that polls the queue: take sqthread_poll out".into()
            );
        }
        "io_uring_cmd" if registered => {
            return Err("`io_uring_cmd` registers files, and no buffers: take fixedbufs and registerfiles out".into());
        }
        "io_uring_cmd" if polls_device => "io_uring_cmd_iopoll",
        "io_uring_cmd" => "io_uring_cmd",
        "mmap" => "mmap",
        "posixaio" => "pool",
        // halfpower's own names.
        "auto" => "auto",
        "pool" => "pool",
        "io_uring_plain" => "io_uring_plain",
        "io_uring_sqpoll" => "io_uring_sqpoll",
        "io_uring_iopoll" => "io_uring_iopoll",
        "io_uring_hybrid" => "io_uring_hybrid",
        "io_uring_cmd_iopoll" => "io_uring_cmd_iopoll",
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

    #[test]
    fn commands_to_a_namespace_have_their_engines_and_what_is_not_built_is_refused() {
        let usual = Ring::default();
        assert_eq!(ours("io_uring_cmd", usual), Ok(Some("io_uring_cmd")));
        assert_eq!(ours("io_uring_cmd", Ring { polls_device: true, ..usual }), Ok(Some("io_uring_cmd_iopoll")));
        let thread = Ring { kernel_thread: true, ..usual };
        let buffers = Ring { registered: true, ..usual };
        assert!(ours("io_uring_cmd", thread).unwrap_err().contains("sqthread_poll"));
        assert!(ours("io_uring_cmd", buffers).unwrap_err().contains("fixedbufs"));
        assert!(ours("io_uring", Ring { forces_writes: true, ..usual }).unwrap_err().contains("sync=dsync"));
        assert!(ours("sg", usual).unwrap_err().contains("io_uring_cmd"), "what remains names what is built");
    }
}
