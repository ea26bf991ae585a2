//! Lists fio's options: of target and workload, of issuing requests and caches, of output, and all others.

use halfpower_spec::{BlockSizes, ParseError, RandomDistribution, Rw};

use super::job::Job;
use super::output_options::OUTPUT_OPTIONS;
use super::take::{count, microseconds, on, only, same_for_all, seconds, set, size};
use crate::OptionRow;

type Row = OptionRow<Job>;

/// All options, those of the workload first.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionRow<Job>> {
    WORKLOAD_OPTIONS.iter().chain(ISSUING_OPTIONS).chain(OUTPUT_OPTIONS).chain(OTHER_OPTIONS)
}

/// The row of a key, in any of its spellings.
pub(super) fn named(key: &str) -> Option<&'static OptionRow<Job>> {
    let key = key.replace('-', "_");
    all().find(|row| row.name == key || row.aliases.contains(&key.as_str()))
}

/// fio's options of the target and of the workload.
const WORKLOAD_OPTIONS: &[Row] = &[
    Row::path(
        "filename",
        "the target; several files, `a:b`, each have threads and a depth of their own",
        |job, value| job.name_files(value),
    ),
    Row::path(
        "directory",
        "the folder of `filename`; alone it is the target, and a file is laid out in it",
        |job, value| {
            job.has_fio_defaults = true;
            job.directory = Some(value.into());
            Ok(())
        },
    ),
    Row::taken("name", "the name of the job in the output; a second one begins a second job", |job, value| {
        job.has_fio_defaults = true;
        job.run.name = value.to_string();
        Ok(())
    }),
    Row::taken("readwrite", "--rw; without `:N`, and of the mixtures with `trim` only trimwrite", |job, value| {
        let word = match value {
            "readwrite" => "rw",
            word if word.contains(':') => {
                return Err(format!(
                    "`{word}`: offsets are sequential or random all through; write {}",
                    &word[..word.find(':').unwrap_or(0)]
                ));
            }
            word => word,
        };
        if let Err(error) = word.parse::<Rw>() {
            return Err(error.to_string());
        }
        set(job, "--rw", word)
    })
    .or(&["rw"]),
    Row::taken("rwmixread", "--rwmixread", |job, value| set(job, "--rwmixread", value)),
    Row::taken("rwmixwrite", "--rwmixread, what remains of 100", |job, value| match count(value)? {
        share @ 0..=100 => {
            job.run.set("--rwmixread", 100 - share);
            Ok(())
        }
        share => Err(format!("`{share}` is more than 100 percent")),
    }),
    Row::taken("blocksize", "--bs, one for reads and writes", |job, value| {
        job.run.set("--bs", size(same_for_all(value)?)?);
        Ok(())
    })
    .or(&["bs"]),
    Row::refused(
        "blocksize_range",
        "sizes are drawn from a list: write bssplit=4k:8k:16k, or take `halfpower study --bs 4k-64k`",
    )
    .or(&["bsrange"]),
    Row::taken("bssplit", "--bssplit; not with a third list, for trims", |job, value| {
        let sizes: BlockSizes = value.parse().map_err(|error: ParseError| error.to_string())?;
        job.run.set("--bssplit", sizes);
        Ok(())
    }),
    Row::taken("blocksize_unaligned", "taken where it is 0: requests begin at multiples of their size", |_, value| {
        only(
            value,
            &["0"],
            "requests begin at multiples of their size; --misalign of `halfpower run` shifts all of them",
        )
    })
    .or(&["bs_unaligned"])
    .optional(),
    Row::taken("blockalign", "taken where it is the block size", |job, value| {
        let bytes = size(value)?.to_string();
        match job.run.get("--bs") {
            Some(bs) if bs == bytes => Ok(()),
            _ => Err(format!("`{value}`: requests begin at multiples of their size; name bs first, and the same here")),
        }
    })
    .or(&["ba"]),
    Row::taken(
        "size",
        "--size: the bytes of the target that are used; not shares such as 10%, except 100%",
        |job, value| {
            job.run.size = if value == "100%" { None } else { Some(size(value)?) };
            Ok(())
        },
    ),
    Row::taken("filesize", "--size", |job, value| {
        job.run.size = Some(size(value)?);
        Ok(())
    }),
    Row::taken("offset", "the beginning of --region; size goes from there", |job, value| {
        job.run.offset = Some(size(value)?);
        Ok(())
    }),
    Row::refused("offset_increment", "threads share the target: sequential ones each have a part of their own"),
    Row::refused("io_size", "a run lasts for a time and not for bytes; give runtime").or(&["io_limit"]),
    Row::taken("nrfiles", "taken where it is 1", |_, value| {
        only(value, &["1"], "a job works on one file; name several in filename, or each:A,B as target")
    }),
    Row::without_effect("openfiles", "a job's files are open all the time"),
    Row::refused("file_service_type", "each file has its own requests outstanding all the time"),
    Row::taken("runtime", "--runtime", |job, value| {
        job.run.set("--runtime", seconds(value)?);
        Ok(())
    })
    .or(&["timeout"]),
    Row::taken("time_based", "a run always takes its whole time", |job, value| {
        job.time_based = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken("ramp_time", "--ramp-time", |job, value| {
        job.run.set("--ramp-time", seconds(value)?);
        Ok(())
    }),
    Row::refused("startdelay", "runs begin when the one before ends; use sleep between two lines"),
    Row::taken("loops", "taken where it is 1", |_, value| {
        only(value, &["1"], "a run is measured once; `halfpower study --repeats` repeats")
    }),
    Row::taken("numjobs", "--threads; sequential threads each have a part of their own", |job, value| {
        job.run.set("--threads", count(value)?);
        Ok(())
    }),
    Row::without_effect("thread", "submitters are always threads").optional(),
    Row::taken("thinktime", "--thinktime; without a unit it is microseconds", |job, value| {
        job.run.set("--thinktime", microseconds(value)?);
        Ok(())
    }),
    Row::refused("thinktime_blocks", "a thread thinks after each completion").or(&[
        "thinktime_spin",
        "thinktime_iotime",
        "thinktime_blocks_type",
    ]),
    Row::taken(
        "rate",
        "--rate, for each thread; requests come at the rate whether or not earlier ones are done",
        |job, value| set(job, "--rate", same_for_all(value)?),
    ),
    Row::taken("rate_iops", "--rate-iops, for each thread, likewise", |job, value| {
        set(job, "--rate-iops", same_for_all(value)?)
    }),
    Row::taken("rate_process", "--arrivals: linear is fixed, poisson is poisson", |job, value| match value {
        "linear" => set(job, "--arrivals", "fixed"),
        "poisson" => set(job, "--arrivals", "poisson"),
        other => Err(format!("`{other}` is neither linear nor poisson")),
    }),
    Row::refused("rate_min", "a rate that is not reached is told by the result; nothing is stopped for it").or(&[
        "rate_iops_min",
        "rate_cycle",
        "rate_ignore_thinktime",
    ]),
    Row::refused(
        "latency_target",
        "halfpower does not search a depth for a latency; `halfpower study` shows latency at each depth",
    )
    .or(&["latency_window", "latency_percentile", "latency_run", "max_latency"]),
    Row::taken(
        "random_distribution",
        "--random-distribution: random, zipf:S, pareto:H; normal and zoned are refused",
        |job, value| {
            let distribution: RandomDistribution = value.parse().map_err(|error: ParseError| error.to_string())?;
            job.run.set("--random-distribution", distribution);
            Ok(())
        },
    ),
    Row::refused(
        "percentage_random",
        "offsets are sequential or random all through; use --random-readers of `halfpower run` for both at once",
    ),
    Row::refused("rw_sequencer", "offsets are sequential or random all through"),
    Row::without_effect("norandommap", "random offsets are drawn anywhere, and one may come twice").optional(),
    Row::without_effect("softrandommap", "random offsets are drawn anywhere, and one may come twice").optional(),
    Row::without_effect("random_generator", "offsets come from xoshiro256++"),
    Row::taken("randseed", "--seed", |job, value| set(job, "--seed", value)),
    Row::taken("randrepeat", "taken where it is 1: the same --seed gives the same offsets", |_, value| {
        on(value)?
            .then_some(())
            .ok_or_else(|| "the same seed gives the same offsets; give randseed another number each time".to_string())
    })
    .or(&["allrandrepeat"])
    .optional(),
    Row::taken("fsync", "--fdatasync --flush-by fsync", |job, value| {
        if count(value)? > 0 {
            job.run.set("--flush-by", "fsync");
        }
        set(job, "--fdatasync", value)
    }),
    Row::taken("fdatasync", "--fdatasync", |job, value| set(job, "--fdatasync", value)),
    Row::without_effect("end_fsync", "a buffered run that writes ends with a flush inside its time")
        .or(&["fsync_on_close"])
        .optional(),
    Row::taken(
        "sync_file_range",
        "--fdatasync --flush-by sync_file_range, of the whole file: with wait_before, write and wait_after",
        |job, value| {
            let (parts, writes) = value.rsplit_once(':').unwrap_or((value, ""));
            let mut parts: Vec<&str> = parts.split(',').map(str::trim).collect();
            parts.sort_unstable();
            if parts != ["wait_after", "wait_before", "write"] {
                return Err(format!(
                    "`{value}`: only wait_before,write,wait_after waits until the pages are written; use that"
                ));
            }
            job.run.set("--flush-by", "sync_file_range");
            set(job, "--fdatasync", writes)
        },
    ),
    Row::refused("write_barrier", "use fdatasync"),
    Row::refused("trim_percentage", "a run trims with rw=trim, randtrim or trimwrite, and nothing beside that").or(&[
        "trim_verify_zero",
        "trim_backlog",
        "trim_backlog_batch",
        "num_range",
        "experimental_verify",
    ]),
];

/// fio's options of engine, depth, memory, caches and processors.
const ISSUING_OPTIONS: &[Row] = &[
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
    Row::taken("sync", "--sync, and with 1 or sync --durable-by o_sync", |job, value| match value {
        "0" | "none" => set(job, "--sync", "none"),
        "dsync" => set(job, "--sync", "dsync"),
        "1" | "sync" => {
            job.run.set("--durable-by", "o_sync");
            set(job, "--sync", "dsync")
        }
        _ => Err(format!("`{value}`: use none, sync or dsync")),
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

const PAYLOAD: &str = "what is written is always incompressible and never the same twice";

/// fio's options other than those of the workload.
const OTHER_OPTIONS: &[Row] = &[
    Row::without_effect("refill_buffers", PAYLOAD).or(&["scramble_buffers"]).optional(),
    Row::taken(
        "buffer_compress_percentage",
        "taken where it is 0: what is written cannot be compressed",
        |_, value| only(value, &["0"], PAYLOAD),
    )
    .or(&["dedupe_percentage"]),
    Row::refused("zero_buffers", PAYLOAD).or(&["buffer_pattern", "buffer_pattern_interval", "dedupe_mode"]).optional(),
    Row::taken(
        "verify",
        "--verify: blocks carry their number, the seed and a checksum of halfpower's own",
        |job, value| {
            if value == "0" || value == "none" || value == "null" {
                job.run.unset("--verify");
                return Ok(());
            }
            job.run.set("--verify", "");
            job.run.note(format!("verify: blocks carry halfpower's own checksum, not {value}"));
            Ok(())
        },
    ),
    Row::taken("do_verify", "taken where it is 1: what is written is read back after the run", |_, value| {
        on(value)?
            .then_some(())
            .ok_or_else(|| "what --verify has written is always read back; leave verify out".to_string())
    })
    .optional(),
    Row::without_effect("verify_fatal", "wrong data are counted, and the exit code is 1")
        .or(&["verify_dump", "verify_state_save", "verifysort", "verify_backlog", "verify_async"])
        .optional(),
    Row::refused("verify_only", "a run verifies what it has written itself")
        .or(&["verify_pattern", "verify_interval", "verify_offset", "verify_state_load"])
        .optional(),
    Row::taken(
        "stonewall",
        "the job begins when those before it have ended, as all jobs of halfpower do",
        |job, value| {
            job.waits = on(value)?;
            Ok(())
        },
    )
    .or(&["wait_for_previous"])
    .optional(),
    Row::refused("wait_for", "jobs run one after the other, in their order; use stonewall"),
    Row::without_effect("exitall", "jobs run one after the other")
        .or(&["new_group", "exit_what", "exitall_on_error"])
        .optional(),
    Row::taken("section", "only this section of the job file", |job, value| {
        job.wants_sections.push(value.to_string());
        Ok(())
    }),
    Row::taken("percentile_list", "--percentiles", |job, value| {
        let list = value.split(':').collect::<Vec<_>>().join(",");
        job.run.set("--percentiles", list);
        Ok(())
    }),
    Row::without_effect("lat_percentiles", "latency is one span, from before submission to the reaping")
        .or(&["clat_percentiles", "slat_percentiles"])
        .optional(),
    Row::without_effect("disable_lat", "latency is always measured; it costs no system call")
        .or(&["disable_clat", "disable_slat", "disable_bw_measurement", "gtod_reduce", "gtod_cpu", "clocksource"])
        .optional(),
    Row::without_effect("unified_rw_reporting", "reads, writes and both together are reported").optional(),
    Row::without_effect("eta", "nothing is drawn over what is printed").or(&[
        "eta_newline",
        "eta_interval",
        "disk_util",
        "description",
        "unit_base",
        "log_unix_epoch",
    ]),
    Row::taken("kb_base", "taken where it is 1024, fio's default", |_, value| {
        only(value, &["1024"], "sizes are read with kB as 1024 bytes; write sizes with k, m and g, or in bytes")
    }),
    Row::without_effect("continue_on_error", "a request that fails is counted, and the run goes on"),
    Row::refused("ignore_error", "a request that fails is counted; all errors are shown").or(&[
        "error_dump",
        "max_open_zones",
        "zonemode",
        "zonesize",
        "zonerange",
        "zoneskip",
    ]),
    Row::refused("status_interval", "results are printed at the end"),
    Row::refused("steadystate", "halfpower judges by itself whether a run is steady: see `halfpower report`")
        .or(&["ss", "ss_dur", "ss_ramp"]),
    Row::refused("read_iolog", "halfpower replays no traces").or(&[
        "write_iolog",
        "replay_no_stall",
        "replay_redirect",
        "replay_scale",
    ]),
    Row::refused("exec_prerun", "a job file starts no programs; call them from the shell").or(&["exec_postrun"]),
    Row::refused("include", "a job file stands for itself; copy the included lines into it"),
    Row::refused("profile", "use `halfpower study` for a whole plan").or(&[
        "job_max_open_zones",
        "flow",
        "flow_id",
        "flow_watermark",
    ]),
    Row::refused("client", "start halfpower with mpirun to measure from many hosts (docs/many-hosts.md)").or(&[
        "server",
        "remote_config",
        "daemonize",
    ]),
    Row::refused("readonly", "leave it out: what halfpower did not create is only written with --overwrite").optional(),
    Row::refused("parse_only", "use `halfpower plan`")
        .or(&[
            "showcmd",
            "debug",
            "trigger",
            "trigger_file",
            "aux_path",
            "max_jobs",
            "idle_prof",
            "alloc_size",
            "warnings_fatal",
        ])
        .optional(),
];
