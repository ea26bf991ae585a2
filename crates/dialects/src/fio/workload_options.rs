//! Lists fio's options for target and workload.

use halfpower_spec::{BlockSizes, ParseError, RandomDistribution, Rw};

use super::job::Job;
use super::take::{count, microseconds, on, only, same_for_all, seconds, set, size};
use crate::OptionRow;

type Row = OptionRow<Job>;

/// fio's options of the target and of the workload.
pub(super) const OPTIONS: &[Row] = &[
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
    Row::without_effect("group_reporting", "the threads of a job are always reported together").optional(),
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
    Row::taken("fsync", "--fdatasync: data are flushed, and no more of the inode than they need", |job, value| {
        if count(value)? > 0 {
            job.run.note("fsync: flushes are fdatasync");
        }
        set(job, "--fdatasync", value)
    }),
    Row::taken("fdatasync", "--fdatasync", |job, value| set(job, "--fdatasync", value)),
    Row::without_effect("end_fsync", "a buffered run that writes ends with a flush inside its time")
        .or(&["fsync_on_close"])
        .optional(),
    Row::refused("sync_file_range", "a part of a file is not flushed by itself; use fdatasync"),
    Row::refused("write_barrier", "use fdatasync"),
    Row::refused("trim_percentage", "a run trims with rw=trim, randtrim or trimwrite, and nothing beside that").or(&[
        "trim_verify_zero",
        "trim_backlog",
        "trim_backlog_batch",
        "num_range",
        "experimental_verify",
    ]),
];
