//! Lists fio's options for issuing requests and for caches.

use super::job::Job;
use super::take::{count, on, only, set};
use crate::OptionRow;

type Row = OptionRow<Job>;

/// fio's options of engine, depth, memory, caches and processors.
pub(super) const OPTIONS: &[Row] = &[
    Row::taken("ioengine", "--engine: psync and its kin are sync, posixaio is pool, io_uring is io_uring_plain unless fixedbufs or registerfiles is set, null is the target null:", |job, value| {
        job.engine = Some(value.to_string());
        Ok(())
    }),
    Row::taken("iodepth", "--iodepth", |job, value| {
        job.run.set("--iodepth", count(value)?);
        Ok(())
    }),
    Row::taken("direct", "--direct", |job, value| {
        job.run.set("--direct", u8::from(on(value)?));
        Ok(())
    })
    .optional(),
    Row::taken("buffered", "--direct, the other way round", |job, value| {
        job.run.set("--direct", u8::from(!on(value)?));
        Ok(())
    })
    .optional(),
    Row::taken("sync", "--sync: none or dsync; O_SYNC is refused", |job, value| match value {
        "0" | "none" => set(job, "--sync", "none"),
        "dsync" => set(job, "--sync", "dsync"),
        _ => Err(format!("`{value}`: halfpower opens files with O_DSYNC, not O_SYNC; use sync=dsync")),
    }),
    Row::refused("atomic", "halfpower does not ask for atomic writes").optional(),
    Row::taken("iodepth_batch", "--iodepth-batch", |job, value| set(job, "--iodepth-batch", value)).or(&["iodepth_batch_submit"]),
    Row::taken("iodepth_batch_complete_min", "taken where it is 1: each completion is taken as it comes", |_, value| {
        only(value, &["1"], "each completion is taken as it comes")
    })
    .or(&["iodepth_batch_complete"]),
    Row::without_effect("iodepth_batch_complete_max", "all completions that are there are taken at once"),
    Row::refused("iodepth_low", "the queue is filled up again as soon as a request is done"),
    Row::refused("serialize_overlap", "requests that overlap are not held back").optional(),
    Row::refused("io_submit_mode", "each thread submits its own requests"),
    Row::taken("iomem", "--iomem: malloc and mmap are pages, mmaphuge and shmhuge are huge", |job, value| match value.split(':').next() {
        Some("malloc" | "mmap" | "shm") => set(job, "--iomem", "pages"),
        Some("mmaphuge" | "shmhuge") => set(job, "--iomem", "huge"),
        _ => Err(format!("`{value}`: buffers lie in ordinary or in huge pages; use malloc or mmaphuge")),
    })
    .or(&["mem"]),
    Row::without_effect("iomem_align", "buffers begin at pages").or(&["mem_align"]),
    Row::taken("fixedbufs", "the engine io_uring, which registers buffers and files", |job, value| {
        job.ring.registered = on(value)?;
        Ok(())
    })
    .or(&["registerfiles"])
    .optional(),
    Row::taken("hipri", "the engine io_uring_iopoll", |job, value| {
        job.ring.polls_device = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken("sqthread_poll", "the engine io_uring_sqpoll", |job, value| {
        job.ring.kernel_thread = on(value)?;
        Ok(())
    })
    .optional(),
    Row::refused("sqthread_poll_cpu", "the kernel chooses where its thread runs"),
    Row::refused("nonvectored", "requests are pread and pwrite, with one buffer each").or(&["uncached", "nowait", "force_async", "userspace_reap", "cmdprio_percentage", "hipri_percentage"]),
    Row::taken("invalidate", "taken where it is 1: pages of the target are dropped before a run", |_, value| {
        on(value)?.then_some(()).ok_or_else(|| {
            "pages of the target are dropped before a run; --page-cache warm of `halfpower run` measures with all of them \
             cached"
                .to_string()
        })
    })
    .optional(),
    Row::taken("fadvise_hint", "--fadvise: sequential, random; 0 is normal, and so is 1, unless the run is buffered", |job, value| match value {
        "0" | "1" => Ok(()),
        "sequential" | "random" => set(job, "--fadvise", value),
        other => Err(format!("`{other}`: write 0, sequential or random")),
    }),
    Row::without_effect("fallocate", "files are written whole before a run; --layout of `halfpower run` has other ways"),
    Row::without_effect("create_on_open", "files are written whole before a run").or(&["create_serialize", "create_fsync", "create_only", "fill_device", "overwrite", "file_append", "pre_read"]).optional(),
    Row::without_effect("unlink", "what halfpower lays out is always removed; a file that was there stays").or(&["unlink_each_loop"]).optional(),
    Row::without_effect("allow_file_create", "a file that is not there is laid out for the run").optional(),
    Row::refused("allow_mounted_write", "a mounted device is never written to"),
    Row::refused("cpus_allowed", "use `taskset -c LIST halfpower ...`, or --affinity of `halfpower run`").or(&["cpumask", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy"]),
    Row::refused("nice", "use `nice halfpower ...`, `ionice` or a cgroup around it").or(&["prio", "prioclass", "priohint", "cgroup", "cgroup_weight", "cgroup_nodelete", "ioscheduler", "uid", "gid"]),
    Row::refused("lockmem", "halfpower pins no memory beside its buffers"),
];
