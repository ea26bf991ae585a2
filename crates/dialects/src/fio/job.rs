//! Collects the options of one job, and converts the job into a run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::logs::LogOptions;
use super::printed::Formats;
use crate::RunWords;

/// fio's io_uring options of a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ring {
    pub(super) registered: bool,
    pub(super) polls_device: bool,
    pub(super) kernel_thread: bool,
}

/// One job: a section of a job file, or the options of a command line.
#[derive(Debug, Clone, Default)]
pub struct Job {
    pub(super) run: RunWords,
    pub(super) directory: Option<PathBuf>,
    /// fio's name for the engine.
    pub(super) engine: Option<String>,
    pub(super) ring: Ring,
    /// Whether it waits for earlier jobs.
    pub(super) waits: bool,
    pub(super) time_based: bool,
    /// Whether the line names its target as fio does, so that fio's defaults apply.
    pub(super) has_fio_defaults: bool,
    /// What is printed and logged.
    pub(super) formats: Formats,
    pub(super) logs: LogOptions,
    /// Whether fio would report its threads together.
    pub(super) is_grouped: bool,
    pub(super) wants_sections: Vec<String>,
}

impl Job {
    /// Converts the job into a run.
    ///
    /// # Errors
    /// A sentence about options that cannot be combined.
    pub(super) fn finished(mut self) -> Result<RunWords, String> {
        self.name_by_section();
        self.place_files()?;
        if let Some(engine) = self.engine.take().or_else(|| self.has_fio_defaults.then(|| "psync".to_string())) {
            let ours = self.our_engine(&engine)?;
            let ours = self.that_trims(ours);
            self.run.set("--engine", ours);
        }
        if self.has_fio_defaults {
            self.fill_in();
        }
        let mixed = self.run.get("--rw").is_some_and(|rw| rw == "rw" || rw == "randrw");
        if mixed && (self.run.get("--rate").is_some() || self.run.get("--rate-iops").is_some()) {
            return Err("rate: fio limits reads and writes each, and halfpower both together; use --rate-iops of \
                        `halfpower run TARGET`, or a job for each"
                .to_string());
        }
        self.say_what_differs();
        self.run.finish()?;
        Ok(self.run)
    }

    /// Sets fio's defaults for missing options.
    fn fill_in(&mut self) {
        let is_target = |word: &OsString| RunWords::is_scheme(word) || Path::new(word).exists();
        if self.run.files.is_empty() && !self.run.own.iter().any(is_target) {
            self.run.files.push(".".into());
        }
        for (flag, value) in [("--rw", "read"), ("--bs", "4k"), ("--iodepth", "1")] {
            self.run.unless_set(flag, value);
        }
        if self.run.get("--sync").is_none() {
            self.run.unless_set("--direct", "0");
        }
    }

    /// Says what is otherwise in results and logs.
    fn say_of_output(&mut self) {
        let run = &mut self.run;
        let threads = run.get("--threads").is_some_and(|threads| threads != "1");
        if threads && !self.is_grouped && self.formats.for_programs() {
            run.note("numjobs: the threads of a job are one entry of the results, as with group_reporting");
        }
        if self.logs.wants_each_request() {
            run.note(
                "log_avg_msec: a log has an average every 500 ms, and not each request; set it to have another time",
            );
        }
    }

    fn say_what_differs(&mut self) {
        self.say_of_output();
        let run = &mut self.run;
        if !self.time_based {
            let runtime = run.get("--runtime").unwrap_or("3s").to_string();
            run.note(format!(
                "the run takes its whole time ({runtime}), as with time_based; fio would stop earlier, once `size` bytes \
                 have moved"
            ));
        }
        let sequential = run.get("--rw").is_some_and(|rw| ["read", "write", "rw"].contains(&rw));
        if sequential && run.get("--threads").is_some_and(|threads| threads != "1") {
            run.note(
                "numjobs: each thread goes through a part of its own, as with offset_increment; fio's jobs all begin at the \
                 first byte",
            );
        }
        if run.get("--rate").is_some() || run.get("--rate-iops").is_some() {
            run.note(
                "rate: requests come at this rate whether or not earlier ones are done; latency counts from when one \
                      was due",
            );
        }
    }

    /// Takes the job's name as its file if nothing else names one and such a file or device exists, as fio does.
    fn name_by_section(&mut self) {
        let is_named = !self.run.files.is_empty() || !self.run.own.is_empty() || self.directory.is_some();
        let is_there = Path::new(&self.run.name).metadata().is_ok_and(|data| !data.is_dir());
        if !is_named && !self.run.name.is_empty() && is_there {
            self.run.files = vec![self.run.name.clone().into()];
        }
    }

    /// Joins each file with its directory; a directory without files is itself the target.
    ///
    /// # Errors
    /// If it is no directory: its parent would be measured.
    fn place_files(&mut self) -> Result<(), String> {
        let Some(directory) = self.directory.take() else { return Ok(()) };
        if !directory.is_dir() {
            return Err(format!("directory: `{}` is no directory; make it, or name another", directory.display()));
        }
        if self.run.files.is_empty() {
            self.run.files.push(directory.into());
        } else {
            self.run.files.iter_mut().for_each(|file| *file = directory.join(&*file).into());
        }
        Ok(())
    }

    /// The halfpower engine that corresponds to fio's.
    fn our_engine(&mut self, engine: &str) -> Result<&'static str, String> {
        let Ring { registered, polls_device, kernel_thread } = self.ring;
        Ok(match engine {
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
            "null" => {
                self.run.files = vec!["null:".into()];
                return Ok("auto");
            }
            other => {
                return Err(format!(
                    "ioengine: halfpower has no engine `{other}`; use io_uring, libaio, psync, posixaio or mmap"
                ));
            }
        })
    }

    /// The engine for trims, each of which is a system call: in fio it blocks the submitting thread, here a thread of a
    /// pool.
    fn that_trims(&mut self, engine: &'static str) -> &'static str {
        let trims = self.run.get("--rw").is_some_and(|rw| rw.contains("trim"));
        if !trims || matches!(engine, "sync" | "pool" | "auto") {
            return engine;
        }
        self.run
            .note(format!("ioengine: a trim is a call of its own, so that a pool of threads makes them, not {engine}"));
        "pool"
    }

    /// Takes the files of a `filename`, separated by colons; `\:` is a literal colon.
    pub(super) fn name_files(&mut self, value: &OsStr) -> Result<(), String> {
        self.has_fio_defaults = true;
        let text = value.to_str().unwrap_or_default();
        if RunWords::is_scheme(value) || value.to_str().is_none() {
            self.run.files = vec![value.to_os_string()];
            return Ok(());
        }
        let marked = text.replace("\\:", "\0");
        let files: Vec<OsString> = marked.split(':').map(|file| file.replace('\0', ":").into()).collect();
        if files.iter().any(|file| file.is_empty()) {
            return Err(format!("`{text}` names an empty file"));
        }
        if files.len() > 1 {
            self.run.note("filename: each file has threads and a depth of its own; fio's job goes from file to file");
        }
        self.run.files = files;
        Ok(())
    }
}
