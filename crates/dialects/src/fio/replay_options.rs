//! Lists fio's options of an I/O log that is asked again, and converts such a job into words of `halfpower run --workload`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::job::Job;
use super::replay;
use super::take::{number, on};
use crate::{OptionRow, RunWords};

type Row = OptionRow<Job>;

/// fio's options of a log that is asked again.
pub(super) const REPLAY_OPTIONS: &[Row] = &[
    Row::path(
        "read_iolog",
        "`halfpower run --workload FILE --open`, where FILE is an I/O log of version 2 or 3, on filename, or on the file that it \
         names; for what blktrace recorded, take the text that blkparse prints: `halfpower run --workload TEXT FOLDER --open`",
        |job, log| {
            job.replay.log = Some(log.to_os_string());
            Ok(())
        },
    ),
    Row::path("replay_redirect", "the target of read_iolog, whatever the log names", |job, target| {
        job.has_fio_defaults = true;
        job.replay.redirect = Some(target.to_os_string());
        Ok(())
    }),
    Row::taken(
        "replay_no_stall",
        "--no-pauses: each operation of read_iolog comes as soon as iodepth lets it",
        |job, value| {
            job.replay.has_no_pauses = on(value)?;
            Ok(())
        },
    )
    .optional(),
    Row::taken("replay_time_scale", "--speed: 200 is twice as fast", |job, value| {
        job.replay.percent = Some(number(value)?).filter(|percent| *percent > 0);
        Ok(())
    }),
    Row::without_effect("read_iolog_chunked", "a log is read before anything is asked").optional(),
    Row::refused("replay_scale", "operations go where the log says: leave it out").or(&[
        "replay_align",
        "replay_skip",
        "merge_blktrace_file",
        "merge_blktrace_scalars",
        "merge_blktrace_iters",
    ]),
];

/// Flags of a job that say what is asked, or when: the log does.
const SAID_BY_THE_LOG: [&str; 5] = ["--thinktime", "--verify", "--latency-target", "--steady-state", "--ramp-time"];

impl Job {
    /// Converts the job into a replay of `log`.
    ///
    /// # Errors
    /// A sentence about a log that cannot be read, or options that do not go with it.
    pub(super) fn replayed(mut self, log: OsString) -> Result<RunWords, String> {
        self.refuse_beside_a_log()?;
        let files = replay::files_of(&log)?;
        if self.switches.only_reads && files.writes {
            return Err("readonly: the log of read_iolog writes; leave one of them out".to_string());
        }
        self.place_files()?;
        let target = self.target_of(&files.names)?;
        let mut run = RunWords::default();
        run.name = std::mem::take(&mut self.run.name);
        run.notes = std::mem::take(&mut self.run.notes);
        run.own = std::mem::take(&mut self.run.own);
        run.files = vec![target];
        if self.replay.has_no_pauses {
            run.set("--no-pauses", "");
        } else {
            run.set("--open", "");
            self.replay.percent.iter().for_each(|percent| run.set("--speed", format!("{}x", *percent as f64 / 100.0)));
        }
        run.set("--iodepth", self.run.get("--iodepth").unwrap_or("1"));
        run.set("--cache", if self.run.get("--direct") == Some("1") { "device" } else { "both" });
        self.run.get("--runtime").iter().for_each(|runtime| run.set("--runtime", runtime));
        run.own.extend(["--workload".into(), log]);
        run.note(
            "read_iolog: the log is asked round after round, for 10 s at least unless runtime says otherwise, by a thread for \
             each of iodepth",
        );
        run.finish()?;
        Ok(run)
    }

    /// Refuses what says otherwise than the log what is asked, or how results are told.
    fn refuse_beside_a_log(&self) -> Result<(), String> {
        let flag = SAID_BY_THE_LOG.into_iter().find(|flag| self.run.get(flag).is_some());
        if let Some(flag) = flag {
            return Err(format!("read_iolog: the log says what is asked, and when: leave out what becomes {flag}"));
        }
        let is_durable = self.run.get("--sync").is_some_and(|sync| sync != "none");
        let others = [
            (self.jobs > 1, "numjobs: a log is asked once: leave it out"),
            (
                self.flushes.any(),
                "fsync, fdatasync, sync_file_range: the log says when there is a sync: leave them out",
            ),
            (is_durable, "sync: writes of a log are plain, and its syncs are asked: leave it out"),
            (self.run.start_delay.is_some(), "startdelay: a log is asked at once: call `sleep` before"),
            (
                self.formats.for_programs(),
                "output-format: a replay is told in halfpower's words, or with --json: leave it out",
            ),
            (!self.logs.files("", 1).is_empty(), "write_*_log: a replay writes a capture with -o: leave it out"),
        ];
        match others.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, why)) => Err(why.to_string()),
            None => Ok(()),
        }
    }

    /// What a log is asked of: what is named for it, else the file that the log names, or the folder of several.
    fn target_of(&mut self, names: &[String]) -> Result<OsString, String> {
        if let Some(target) = self.replay.redirect.take() {
            return Ok(target);
        }
        let files = std::mem::take(&mut self.run.files);
        match (&files[..], names) {
            ([file], _) => Ok(file.clone()),
            ([], []) => Err("read_iolog: the log names no file: write filename".to_string()),
            ([], [name]) => Ok(name.into()),
            ([], _) => self.folder_of(names),
            _ => Err("filename: a log is asked of one target: write one, or a directory".to_string()),
        }
    }

    /// The folder that the files of a log lie in.
    fn folder_of(&mut self, names: &[String]) -> Result<OsString, String> {
        let folders: Vec<PathBuf> = names.iter().map(|name| parent_of(Path::new(name))).collect();
        let first = folders.first().cloned().unwrap_or_default();
        if RunWords::is_of_devices(&first) || folders.iter().any(|folder| *folder != first) {
            return Err(format!(
                "read_iolog: the log names {} files or devices: write directory, in which files of halfpower's own are laid \
                 out for them",
                names.len()
            ));
        }
        self.run.note(format!(
            "read_iolog: files of halfpower's own are laid out in {} for the {} that the log names, which are not touched",
            first.display(),
            names.len()
        ));
        Ok(first.into())
    }
}

fn parent_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
