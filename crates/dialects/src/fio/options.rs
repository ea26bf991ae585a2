//! Lists fio's options: of target and workload, of issuing requests and caches, and all that have no list of their own.

use std::ffi::OsStr;
use std::path::PathBuf;

use halfpower_spec::{ParseError, RandomDistribution, Rw};

use super::amounts::Amount;
use super::distribution;
use super::engines::{self, Ring};
use super::job::{Job, set};
use super::latency_options::LATENCY_OPTIONS;
use super::output_options::OUTPUT_OPTIONS;
use super::process_options::PROCESS_OPTIONS;
use super::rates::Limits;
use super::replay_options::REPLAY_OPTIONS;
use super::sizes::{self, ByDirection};
use super::take::{KbBase, count, microseconds, number, on, only, percent, same_for_all, seconds, size};
use super::verify_options::VERIFY_OPTIONS;
use crate::{Ends, OptionRow};

type Row = OptionRow<Job>;

/// All options, those of the workload first.
pub(crate) fn all() -> impl Iterator<Item = &'static OptionRow<Job>> {
    let tables = [
        WORKLOAD_OPTIONS,
        LATENCY_OPTIONS,
        ISSUING_OPTIONS,
        PROCESS_OPTIONS,
        OUTPUT_OPTIONS,
        VERIFY_OPTIONS,
        OTHER_OPTIONS,
        REPLAY_OPTIONS,
    ];
    tables.into_iter().flatten()
}

/// The row of a key, in any of its spellings.
pub(super) fn named(key: &str) -> Option<&'static OptionRow<Job>> {
    let key = key.replace('-', "_");
    all().find(|row| row.name == key || row.aliases.contains(&key.as_str()))
}

/// The folder that a value names; `\:` is a colon.
fn folder(value: &OsStr) -> PathBuf {
    value.to_str().map_or_else(|| value.into(), |text| text.replace("\\:", ":").into())
}

/// fio's options of the target and of the workload.
const WORKLOAD_OPTIONS: &[Row] = &[
    Row::path(
        "filename",
        "the target; requests go from one of several files, `a:b`, to the next, as over a stripe of the block size",
        |job, value| job.name_files(value),
    ),
    Row::path(
        "directory",
        "the folder of `filename`; alone it is the target, and a file is laid out in it for each of `numjobs` and `nrfiles`",
        |job, value| {
            job.has_fio_defaults = true;
            job.directory = Some(folder(value));
            Ok(())
        },
    ),
    Row::taken("name", "the name of the job in the output; a second one begins a second job", |job, value| {
        job.has_fio_defaults = true;
        job.run.name = value.to_string();
        Ok(())
    }),
    Row::taken(
        "readwrite",
        "--rw; `randread:8` also --jump 8, `read:8k` --stride with the block size and 8k, and `read:-8k` --backwards; of the \
         mixtures with `trim` all but trimwrite are refused",
        |job, value| {
            let (word, every) = value.split_once(':').map_or((value, None), |(word, every)| (word, Some(every)));
            let word = if word == "readwrite" { "rw" } else { word };
            let rw: Rw = word.parse().map_err(|error: ParseError| error.to_string())?;
            job.jumps.every = None;
            job.skip = None;
            job.back = None;
            match every {
                None => {}
                Some(every) if rw.pattern() == halfpower_spec::Pattern::Random => {
                    job.jumps.every = Some(number(every)?).filter(|every| *every > 1);
                }
                Some(skip) => match skip.strip_prefix('-') {
                    Some(back) => job.back = Some(size(back)?),
                    None => job.skip = Some(size(skip)?),
                },
            }
            set(job, "--rw", word)
        },
    )
    .or(&["rw"]),
    Row::taken("rwmixread", "--rwmixread", |job, value| set(job, "--rwmixread", value)),
    Row::taken("rwmixwrite", "--rwmixread, what remains of 100", |job, value| match count(value)? {
        share @ 0..=100 => {
            job.run.set("--rwmixread", 100 - share);
            Ok(())
        }
        share => Err(format!("`{share}` is more than 100 percent")),
    }),
    Row::taken(
        "blocksize",
        "--bs; of a list such as `4k,8k` that of the direction, or in a mix --bssplit with a size for each",
        |job, value| {
            let sizes = ByDirection::parse(value)?;
            let is_one = sizes.read == sizes.write && sizes.write == sizes.trim;
            job.by_direction = (!is_one).then_some(sizes);
            job.run.set("--bs", sizes.read);
            Ok(())
        },
    )
    .or(&["bs"]),
    Row::taken(
        "blocksize_range",
        "--bssplit with the sizes of the range in equal shares, from the smallest in steps of it; at most 16 of them",
        |job, value| {
            let (sizes, of_many) = sizes::range(value)?;
            job.run.set("--bssplit", sizes);
            if let Some(many) = of_many {
                job.run.note(format!("bsrange: sizes are drawn from some of the {many} that fio draws from, evenly spaced"));
            }
            Ok(())
        },
    )
    .or(&["bsrange"]),
    Row::taken("bssplit", "--bssplit, at most 16 sizes; a third list, for trims, is left out", |job, value| {
        job.run.set("--bssplit", sizes::split(value, KbBase::default())?);
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
    Row::taken("blockalign", "--blockalign, where requests are random: blocks may then come again before all have", |job, value| {
        job.alignment = Some(size(same_for_all(value)?)?);
        Ok(())
    })
    .or(&["ba"]),
    Row::taken(
        "size",
        "--size: the bytes of the target that are used, divided among its files; a share such as 50% is of a file or \
         device that is there; unless time_based is set, also --io-size: the run ends when so much has been moved",
        |job, value| {
            job.amounts.size = Some(Amount::parse(value)?);
            Ok(())
        },
    ),
    Row::taken("filesize", "--size, of each file; size is then only what is moved", |job, value| {
        job.amounts.filesize = Some(size(value)?);
        Ok(())
    }),
    Row::taken("offset", "the beginning of --region, or a share such as 25%; size goes from there", |job, value| {
        job.amounts.offset = Some(Amount::parse(value)?);
        Ok(())
    })
    .or(&["fileoffset"]),
    Row::refused("offset_align", "an offset in percent is rounded down to the block size; write it in bytes"),
    Row::taken(
        "offset_increment",
        "taken where it is size: --size of all threads together, of which sequential ones each have a part of their own; or \
         where it divides size among them",
        |job, value| {
            job.amounts.increment = Some(Amount::parse(value)?);
            Ok(())
        },
    ),
    Row::taken("io_size", "--io-size; a share such as 50% is of size", |job, value| {
        job.amounts.io_size = Some(Amount::parse(value)?);
        Ok(())
    })
    .or(&["io_limit"]),
    Row::taken("number_ios", "--io-size, with so many requests of the mean size, if that is less than size", |job, value| {
        job.amounts.number_ios = Some(number(value)?).filter(|requests| *requests > 0);
        Ok(())
    }),
    Row::taken("nrfiles", "so many files are laid out, and requests go from one to the next; at most 64", |job, value| {
        job.files_each = count(value)?;
        Ok(())
    })
    .or(&["nr_files"]),
    Row::without_effect("filename_format", "what halfpower lays out has no names, and each job has its own"),
    Row::without_effect("openfiles", "a job's files are open all the time"),
    Row::taken("file_service_type", "taken where it is roundrobin: requests go from one file to the next", |_, value| {
        only(value, &["roundrobin"], "requests go from one file to the next; write roundrobin")
    }),
    Row::taken("runtime", "--runtime, the longest time; 0 sets no limit", |job, value| {
        match seconds(value)? {
            halfpower_spec::Nanos(0) => job.run.unset("--runtime"),
            runtime => job.run.set("--runtime", runtime),
        }
        Ok(())
    })
    .or(&["timeout"]),
    Row::taken(
        "time_based",
        "the run takes its whole runtime, and no --io-size ends it; without a runtime it has no effect",
        |job, value| {
            job.switches.time_based = on(value)?;
            Ok(())
        },
    )
    .optional(),
    Row::taken("ramp_time", "--ramp-time", |job, value| {
        match seconds(value)? {
            halfpower_spec::Nanos(0) => job.run.unset("--ramp-time"),
            time => job.run.set("--ramp-time", time),
        }
        Ok(())
    }),
    Row::taken("startdelay", "the run begins so much later; a range of times is refused", |job, value| {
        job.run.start_delay = Some(seconds(value)?).filter(|delay| delay.0 > 0);
        Ok(())
    })
    .or(&["start_delay"]),
    Row::taken("loops", "--io-size, so many times size", |job, value| {
        job.amounts.loops = Some(count(value)?);
        Ok(())
    }),
    Row::taken(
        "numjobs",
        "--threads; without `filename` a file for each; sequential threads of one file each have a part of their own",
        |job, value| {
            job.jobs = count(value)?;
            job.run.set("--threads", job.jobs);
            Ok(())
        },
    ),
    Row::without_effect("thread", "submitters are always threads").optional(),
    Row::taken("thinktime", "--thinktime; without a unit it is microseconds", |job, value| {
        job.run.set("--thinktime", microseconds(value)?);
        Ok(())
    }),
    Row::taken("thinktime_blocks", "--thinktime-blocks: so many requests go out, and all are done, before a thread thinks", |job, value| {
        match count(value)? {
            0 => return Err(format!("`{value}`: a thread thinks after at least one request")),
            1 => job.run.unset("--thinktime-blocks"),
            requests => job.run.set("--thinktime-blocks", requests),
        }
        Ok(())
    }),
    Row::taken("thinktime_blocks_type", "taken where it is complete or issue: a burst is waited for whole", |job, value| {
        only(value, &["complete", "issue"], "write complete or issue")?;
        job.switches.counts_issued = value == "issue";
        Ok(())
    }),
    Row::refused("thinktime_iotime", "a burst has a number of requests: use thinktime_blocks").or(&["thinkcycles", "thinktime_spin"]),
    Row::taken(
        "rate",
        "--rate, for each thread; in a mix, a list such as `1m,2m` also sets the share of reads; requests come at the \
         rate whether or not earlier ones are done",
        |job, value| {
            job.rates.bytes = Limits::parse(value)?;
            Ok(())
        },
    ),
    Row::taken("rate_iops", "--rate-iops, for each thread, likewise", |job, value| {
        job.rates.iops = Limits::parse(value)?;
        Ok(())
    }),
    Row::taken("rate_process", "--arrivals: linear is fixed, poisson is poisson", |job, value| match value {
        "linear" => set(job, "--arrivals", "fixed"),
        "poisson" => set(job, "--arrivals", "poisson"),
        other => Err(format!("`{other}` is neither linear nor poisson")),
    }),
    Row::refused("rate_min", "a rate that is not reached is told by the result; nothing is stopped for it").or(&[
        "ratemin",
        "rate_iops_min",
        "rate_cycle",
        "ratecycle",
        "rate_ignore_thinktime",
    ]),
    Row::taken(
        "random_distribution",
        "--random-distribution: random, zipf:S, pareto:H, zoned:..., zoned_abs:..., which are the same for reads and writes; \
         normal is refused",
        |job, value| {
            match distribution::parse(value)? {
                RandomDistribution::Even => job.run.unset("--random-distribution"),
                skewed => job.run.set("--random-distribution", skewed),
            }
            Ok(())
        },
    ),
    Row::taken("percentage_random", "--jump with so many percent", |job, value| {
        let mut shares = value.split(',').map(percent).collect::<Result<Vec<_>, _>>()?;
        shares.dedup();
        match shares[..] {
            [share] => job.jumps.percent = Some(share).filter(|share| *share < 100),
            _ => return Err(format!("`{value}`: reads and writes jump equally often; write one share")),
        }
        Ok(())
    }),
    Row::taken("percentage_sequential", "--jump with what remains of 100 percent", |job, value| {
        match percent(value)? {
            100 => return Err("no request would be random; write rw=read, write or rw".to_string()),
            share => job.jumps.percent = Some(100 - share).filter(|share| *share < 100),
        }
        Ok(())
    }),
    Row::taken("rw_sequencer", "taken where it is sequential: between jumps, each request follows the one before", |_, value| {
        only(value, &["sequential"], "no request comes twice in a row; write sequential, or leave it out")
    }),
    Row::taken(
        "norandommap",
        "a block may come again before all have come; without it, each comes once first: --random-distribution shuffled",
        |job, value| {
            job.switches.repeats_blocks = on(value)?;
            Ok(())
        },
    )
    .optional(),
    Row::without_effect("softrandommap", "the order of blocks takes no memory").optional(),
    Row::without_effect("random_generator", "offsets come from xoshiro256++"),
    Row::taken("randseed", "--seed", |job, value| set(job, "--seed", value)),
    Row::taken("randrepeat", "with 0, --seed from the clock, which the output tells", |job, value| {
        job.switches.reseeds = !on(value)?;
        Ok(())
    })
    .or(&["allrandrepeat"])
    .optional(),
    Row::taken(
        "fsync",
        "--fdatasync --flush-by fsync; of fsync, fdatasync and sync_file_range one may be above 0",
        |job, value| {
            job.flushes.fsync = count(value)?;
            Ok(())
        },
    ),
    Row::taken("fdatasync", "--fdatasync", |job, value| {
        job.flushes.fdatasync = count(value)?;
        Ok(())
    }),
    Row::taken("end_fsync", "--end-flush, where the run is direct; a buffered run that writes always ends with a flush", |job, value| {
        job.switches.flushes_at_end = on(value)?;
        Ok(())
    })
    .optional(),
    Row::without_effect("fsync_on_close", "what happens when a file is closed is not in the run's time").optional(),
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
            job.flushes.sync_file_range = count(writes)?;
            Ok(())
        },
    ),
    Row::refused("write_barrier", "use fdatasync").or(&["end_syncfs"]),
    Row::refused("ramp_size", "a ramp lasts for a time: use ramp_time"),
    Row::refused("bs_is_seq_rand", "a job has requests of one order: write bs for the one that it has").optional(),
    Row::refused("sprandom", "a device is filled by a job of its own: rw=write with size=100% of the device")
        .or(&["spr_op", "spr_cs", "spr_num_regions", "random_sequence_stride"])
        .optional(),
    Row::without_effect("rwmixcycle", "fio takes no notice of it either"),
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
    Row::taken(
        "ioengine",
        "--engine: psync and its kin are sync, posixaio is pool, io_uring_cmd sends commands to an NVMe namespace, io_uring is io_uring_plain unless fixedbufs or registerfiles is set, null is the target null:",
        |job, value| {
            // A foreign engine is refused here, so that it is the reason and not the options that go with it.
            engines::ours(value, Ring::default())?;
            job.engine = Some(value.to_string());
            Ok(())
        },
    ),
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
    Row::taken("sync", "--sync, and with 1 or sync --durable-by o_sync", |job, value| {
        job.run.unset("--durable-by");
        match value {
            "0" | "none" => set(job, "--sync", "none"),
            "dsync" => set(job, "--sync", "dsync"),
            "1" | "sync" => {
                job.run.set("--durable-by", "o_sync");
                set(job, "--sync", "dsync")
            }
            _ => Err(format!("`{value}`: use none, sync or dsync")),
        }
    }),
    Row::taken("atomic", "--atomic: the writes must be direct", |job, value| {
        match on(value)? {
            true => job.run.set("--atomic", ""),
            false => job.run.unset("--atomic"),
        }
        Ok(())
    })
    .optional(),
    Row::taken("uncached", "--uncached, where the run is buffered", |job, value| {
        match number(value)? {
            0 => job.run.unset("--uncached"),
            _ => job.run.set("--uncached", ""),
        }
        Ok(())
    }),
    Row::taken("iodepth_batch", "--iodepth-batch", |job, value| set(job, "--iodepth-batch", value))
        .or(&["iodepth_batch_submit"]),
    Row::taken(
        "iodepth_batch_complete_min",
        "taken where it is 1: each completion is taken as it comes",
        |_, value| only(value, &["1"], "each completion is taken as it comes"),
    )
    .or(&["iodepth_batch_complete"]),
    Row::without_effect("iodepth_batch_complete_max", "all completions that are there are taken at once"),
    Row::refused("iodepth_low", "the queue is filled up again as soon as a request is done"),
    Row::refused("serialize_overlap", "requests that overlap are not held back").optional(),
    Row::taken(
        "io_submit_mode",
        "inline, or offload: with a rate, requests never wait for those before",
        |job, value| {
            only(value, &["inline", "offload"], "write inline or offload")?;
            job.switches.offloads = value == "offload";
            Ok(())
        },
    ),
    Row::taken("iomem", "--iomem: malloc and mmap are pages, mmaphuge and shmhuge are huge", |job, value| match value
        .split(':')
        .next()
    {
        Some("malloc" | "mmap" | "shm") => set(job, "--iomem", "pages"),
        Some("mmaphuge" | "shmhuge") => set(job, "--iomem", "huge"),
        _ => Err(format!("`{value}`: buffers lie in ordinary or in huge pages; use malloc or mmaphuge")),
    })
    .or(&["mem"]),
    Row::without_effect("iomem_align", "buffers begin at pages").or(&["mem_align"]),
    Row::without_effect("hugepage_size", "huge pages are of the size that the kernel has"),
    Row::refused("write_hint", "requests tell the device nothing of where data belong")
        .or(&[
            "fdp",
            "fdp_pli",
            "fdp_pli_select",
            "plids",
            "plid_select",
            "data_placement",
            "dataplacement",
            "dp_scheme",
        ])
        .optional(),
    Row::refused("gpu_dev_id", "buffers lie in the memory of the machine"),
    Row::taken("fixedbufs", "the engine io_uring, which registers buffers and files", |job, value| {
        job.ring.registered = on(value)?;
        Ok(())
    })
    .or(&["registerfiles"])
    .optional(),
    Row::taken("hipri", "the engine io_uring_iopoll, and io_uring_cmd_iopoll with commands", |job, value| {
        job.ring.polls_device = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken("cmd_type", "nvme: the commands of ioengine=io_uring_cmd", |_, value| match value {
        "nvme" => Ok(()),
        other => Err(format!(
            "`{other}`: commands to an NVMe namespace are built, and no others: name the block device, with ioengine=io_uring"
        )),
    }),
    Row::taken("writefua", "--sync dsync: each write of ioengine=io_uring_cmd carries the bit FUA", |job, value| {
        job.ring.forces_writes = on(value)?;
        Ok(())
    })
    .optional(),
    Row::refused("readfua", "a read brings what the drive has, from its cache or from the medium").optional(),
    Row::taken("sqthread_poll", "the engine io_uring_sqpoll", |job, value| {
        job.ring.kernel_thread = on(value)?;
        Ok(())
    })
    .optional(),
    Row::refused("sqthread_poll_cpu", "the kernel chooses where its thread runs"),
    Row::refused("nonvectored", "requests are pread and pwrite, with one buffer each").or(&[
        "nowait",
        "force_async",
        "userspace_reap",
        "cmdprio_percentage",
        "hipri_percentage",
    ]),
    Row::taken(
        "invalidate",
        "with 0, a buffered run has --page-cache warm; else pages of the target are dropped before a run",
        |job, value| {
            job.switches.keeps_cache = !on(value)?;
            Ok(())
        },
    )
    .optional(),
    Row::taken("pre_read", "--page-cache warm, where the run is buffered", |job, value| {
        job.switches.reads_before = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken(
        "fadvise_hint",
        "--fadvise: sequential, random; 0 is normal, and so is 1, unless the run is buffered",
        |job, value| match value {
            "0" | "1" => {
                job.run.unset("--fadvise");
                Ok(())
            }
            "sequential" | "random" => set(job, "--fadvise", value),
            other => Err(format!("`{other}`: write 0, sequential or random")),
        },
    ),
    Row::without_effect(
        "fallocate",
        "files are written whole before a run; --layout of `halfpower run` has other ways",
    ),
    Row::without_effect("create_on_open", "files are written whole before a run")
        .or(&["create_serialize", "create_fsync", "overwrite"])
        .optional(),
    Row::taken(
        "create_only",
        "taken where it is 0: files are laid out for a run, and are gone after it",
        |_, value| {
            if on(value)? {
                Err("a file that is laid out is gone after the run: make files with `fallocate` or `dd`".to_string())
            } else {
                Ok(())
            }
        },
    )
    .optional(),
    Row::taken("fill_device", "taken where it is 0: a run ends by its time or its bytes", |_, value| {
        if on(value)? {
            Err("a run never fills a file system: give size, or name the device itself with size=100%".to_string())
        } else {
            Ok(())
        }
    })
    .or(&["fill_fs"])
    .optional(),
    Row::taken("file_append", "taken where it is 0", |_, value| {
        if on(value)? { Err("use --layout append of `halfpower run FOLDER --rw write`".to_string()) } else { Ok(()) }
    })
    .optional(),
    Row::without_effect("unlink", "what halfpower lays out is always removed; a file that was there stays")
        .or(&["unlink_each_loop"])
        .optional(),
    Row::without_effect("allow_file_create", "a file that is not there is laid out for the run").optional(),
    Row::refused("allow_mounted_write", "a mounted device is never written to"),
];

const PAYLOAD: &str = "what is written is never the same twice";

/// fio's options other than those of the workload.
const OTHER_OPTIONS: &[Row] = &[
    Row::without_effect("refill_buffers", PAYLOAD).or(&["scramble_buffers"]).optional(),
    Row::taken("buffer_compress_percentage", "--compressible", |job, value| {
        job.compress_percent = percent(value)?;
        Ok(())
    }),
    Row::without_effect("buffer_compress_chunk", "zeros lie at the end of each 512 bytes, as with fio's default"),
    Row::taken("zero_buffers", "--compressible 100, unless buffer_compress_percentage sets another share", |job, value| {
        job.switches.writes_zeros = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken("dedupe_percentage", "taken where it is 0: no two blocks that are written are equal", |_, value| {
        only(value, &["0"], "no two blocks that are written are equal; leave it out")
    }),
    Row::refused(
        "buffer_pattern",
        "what is written is incompressible, or partly zeros: use zero_buffers, or leave it out",
    )
    .or(&["buffer_pattern_interval", "dedupe_mode", "dedupe_global", "dedupe_working_set_percentage"])
    .optional(),
    Row::taken(
        "stonewall",
        "the job begins when those before it have ended; without it, it is measured at once with the one before, each in a \
         process of its own, and their windows open together",
        |job, value| {
            job.waits = on(value)?;
            Ok(())
        },
    )
    .or(&["wait_for_previous"])
    .optional(),
    Row::taken(
        "wait_for",
        "taken where it names the only job that is measured then, which the job begins after, or one that has ended",
        |job, value| {
            job.waits_for = Some(value.to_string());
            Ok(())
        },
    ),
    Row::taken("exitall", "the end of a job ends those of its group that are measured at once with it", |job, value| {
        job.switches.ends_others = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken(
        "exit_what",
        "what exitall ends: group; stonewall, all that are measured at once; all, also those after them",
        |job, value| {
            job.ends = match value {
                "group" => Ends::Group,
                "stonewall" => Ends::Turn,
                "all" => Ends::All,
                other => return Err(format!("`{other}`: write group, stonewall or all")),
            };
            Ok(())
        },
    ),
    Row::without_effect("exitall_on_error", "a request that fails is counted, and the run goes on").optional(),
    Row::taken("new_group", "a group of results begins with the job", |job, value| {
        job.switches.begins_group = on(value)?;
        Ok(())
    })
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
        .or(&[
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "disable_bw_measurement",
            "gtod_reduce",
            "gtod_cpu",
            "clocksource",
        ])
        .optional(),
    Row::without_effect("unified_rw_reporting", "reads, writes and both together are reported").optional(),
    Row::without_effect("eta", "nothing is drawn over what is printed").or(&[
        "eta_newline",
        "eta_interval",
        "disk_util",
        "description",
        "unit_base",
        "significant_figures",
        "block_error_percentiles",
        "comm",
        "log_entries",
        "log_unix_epoch",
        "log_alternate_epoch",
        "log_alternate_epoch_clock_id",
        "job_start_clock_id",
    ]),
    Row::taken("stats", "taken where it is 1: the results of each job are told", |_, value| {
        on(value)?.then_some(()).ok_or_else(|| "the results of each job are told; leave it out".to_string())
    })
    .optional(),
    Row::taken("lockfile", "taken where it is none", |_, value| {
        only(value, &["none"], "requests of several threads do not wait for each other; leave it out")
    }),
    Row::refused("opendir", "files are named by filename, or laid out in directory").or(&["filetype"]),
    Row::without_effect("unique_filename", "what halfpower lays out has no names").optional(),
    Row::taken("kb_base", "taken where it is 1024, fio's default", |_, value| {
        only(value, &["1024"], "sizes are read with kB as 1024 bytes; write sizes with k, m and g, or in bytes")
    }),
    Row::without_effect("continue_on_error", "a request that fails is counted, and the run goes on"),
    Row::refused("ignore_error", "a request that fails is counted; all errors are shown").or(&["error_dump"]),
    Row::refused(
        "zonemode",
        "requests go anywhere in the target: a host-managed zoned device is read and never written to",
    )
    .or(&[
        "zonesize",
        "zonerange",
        "zoneskip",
        "zonecapacity",
        "max_open_zones",
        "ignore_zone_limits",
        "recover_zbd_write_error",
        "write_zone_remainder",
        "job_max_open_zones",
        "read_beyond_wp",
        "zone_reset_threshold",
        "zone_reset_frequency",
    ]),
    Row::taken("status_interval", "results are printed once, at the end", |job, value| {
        seconds(value)?;
        job.run.note("status_interval: results are printed once, at the end");
        Ok(())
    }),
    Row::taken("steadystate", "--steady-state, with steadystate_duration: the run ends as soon as it is steady", |job, value| {
        job.steady.take_criterion(value)
    })
    .or(&["ss"]),
    Row::taken("steadystate_duration", "--steady-state, the time that is judged", |job, value| {
        job.steady.over = seconds(value)?;
        Ok(())
    })
    .or(&["ss_dur"]),
    Row::taken("steadystate_ramp_time", "--steady-state, what passes before", |job, value| {
        job.steady.after = seconds(value)?;
        Ok(())
    })
    .or(&["ss_ramp"]),
    Row::taken("steadystate_check_interval", "--steady-state, the interval of a figure [default: 1s]", |job, value| {
        job.steady.every = Some(seconds(value)?);
        Ok(())
    })
    .or(&["ss_interval"]),
    Row::refused("write_iolog", "use `halfpower watch --record`, or fio's own: `halfpower import` reads what it writes"),
    Row::refused("exec_prerun", "a job file starts no programs; call them from the shell").or(&["exec_postrun"]),
    Row::refused("include", "a job file stands for itself; copy the included lines into it"),
    Row::refused("profile", "use `halfpower study` for a whole plan").or(&[
        "flow",
        "flow_id",
        "flow_watermark",
        "flow_sleep",
    ]),
    Row::refused("client", "start halfpower with mpirun to measure from many hosts (docs/many-hosts.md)").or(&[
        "server",
        "remote_config",
        "daemonize",
    ]),
    Row::taken("readonly", "a job that writes is refused", |job, value| {
        job.switches.only_reads = on(value)?;
        Ok(())
    })
    .optional(),
    Row::taken(
        "output",
        "results go to FILE; a name that ends in .halfpower is a study that the record is added to",
        |_, _| Err("stands on the command line, not in a job file".to_string()),
    ),
    Row::taken("parse_only", "the words of `halfpower run` are printed, and nothing is measured", |job, value| {
        job.only_shows = on(value)?;
        Ok(())
    })
    .or(&["showcmd"])
    .optional(),
    Row::without_effect("max_jobs", "a run has as many threads as it asks for").or(&["alloc_size"]),
    Row::refused(
        "debug",
        "leave it out: what a run does is in its output, and what its options became in --parse-only",
    )
    .or(&["trigger", "trigger_file", "trigger_timeout", "trigger_remote", "aux_path", "idle_prof", "warnings_fatal"])
    .optional(),
];
