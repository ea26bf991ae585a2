//! Lists fio's options of data that are checked.

use super::job::Job;
use super::take::on;
use crate::OptionRow;

type Row = OptionRow<Job>;

/// fio's options of verification.
pub(super) const VERIFY_OPTIONS: &[Row] = &[
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
    Row::taken(
        "verify_pattern",
        "--verify: blocks have what halfpower fills them with, and not the pattern",
        |job, _| {
            job.run.set("--verify", "");
            job.run.note(
                "verify_pattern: blocks carry halfpower's own content, not the pattern, and are checked all the same",
            );
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
        .or(&[
            "verify_dump",
            "verify_state_save",
            "verifysort",
            "verifysort_nr",
            "verify_backlog",
            "verify_backlog_batch",
            "verify_async",
            "verify_async_cpus",
            "verify_header_seed",
            "verify_write_sequence",
        ])
        .optional(),
    Row::without_effect("verify_interval", "each 512 bytes have a header and a checksum of their own"),
    Row::refused("verify_only", "a run verifies what it has written itself")
        .or(&["verify_pattern_interval", "verify_offset", "verify_policy", "verify_state_load"])
        .optional(),
];
