//! Lists fio's options of payload, verification, jobs and output.

use super::job::Job;
use super::take::{on, only};
use crate::OptionRow;

type Row = OptionRow<Job>;

const PAYLOAD: &str = "what is written is always incompressible and never the same twice";
const NO_LOG: &str = "there are no logs; `--json` of `halfpower run` has bytes over time and all latencies";

/// fio's options other than those of the workload.
pub(super) const OPTIONS: &[Row] = &[
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
    Row::taken(
        "output_format",
        "json and json+ print fio's JSON, normal prints as `halfpower run` does; terse is refused",
        |job, value| {
            for format in value.split(',') {
                match format {
                    "normal" => {}
                    "json" | "json+" => job.prints_json = true,
                    other => return Err(format!("`{other}`: use normal, json, or `halfpower export --format csv`")),
                }
            }
            Ok(())
        },
    ),
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
        "kb_base",
        "unit_base",
        "log_unix_epoch",
    ]),
    Row::without_effect("continue_on_error", "a request that fails is counted, and the run goes on"),
    Row::refused("ignore_error", "a request that fails is counted; all errors are shown").or(&[
        "error_dump",
        "max_open_zones",
        "zonemode",
        "zonesize",
        "zonerange",
        "zoneskip",
    ]),
    Row::refused("write_bw_log", NO_LOG)
        .or(&[
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_max_value",
            "log_offset",
            "bandwidth_log",
            "bwavgtime",
            "iopsavgtime",
        ])
        .optional(),
    Row::refused("per_job_logs", NO_LOG).optional(),
    Row::refused("status_interval", "results are printed at the end"),
    Row::refused("steadystate", "halfpower judges by itself whether a run is steady: see `halfpower report`")
        .or(&["ss", "ss_dur", "ss_ramp"]),
    Row::refused("minimal", "use --output-format json, or `halfpower export --format csv`")
        .or(&["append_terse", "terse_version"])
        .optional(),
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
