//! Keeps a study in one SQLite file and commits each record as soon as its run ends.
//!
//! The layout (`docs/study-file.md` describes every column):
//!
//! ```text
//! header       application_id "HPow", user_version 2
//! study        one row: question (JSON), program (the version that made the file), question_fnv1a
//! environment  one row for each state of the machine that records were taken in: environment_id, environment (JSON),
//!              environment_fnv1a
//! record       one row a record: record_id, environment_id, the COLUMNS for queries,
//!              record (the whole record as JSON; only this is read back), record_fnv1a
//! one_run      unique: experiment, workload, pass, repeat
//! ```
//!
//! Columns that end in `_fnv1a` are checksums. Layout 1 has only that of the records, and other names for some columns;
//! a file of layout 1 stays so when runs are appended to it.
//!
//! The journal is a rollback journal, not a write-ahead log. Between two records the file alone is the whole study: it
//! can be copied at any moment, also after a kill. Syncing a record takes a few milliseconds between the measured
//! windows.
//!
//! Whoever appends holds the file until it lets go (`halfpower_output::hold`), so one study at a time writes to it, and
//! any number of readers see the records so far: SQLite's locks last as long as one commit or one short read. Where a
//! file system's locks cannot be trusted with that, such as one over a network, whoever appends keeps SQLite's exclusive
//! lock instead, and readers are refused until the study ends.

mod birth;
mod entry;
mod layout;
mod reading;

use std::path::{Path, PathBuf};

use halfpower_output::Hold;
use halfpower_spec::{Question, Run};
use rusqlite::{Connection, ErrorCode};

pub use self::entry::Entry;
use self::layout::{PATIENCE_OF_HOLDER, damaged, insert_environment, insert_record};
use crate::columns::column_named;
use crate::difference::difference;
use crate::{Column, Environment, LeftOut, Record, RecordError};

/// A study on disk: its question, where it was asked, and the records so far.
#[derive(Debug)]
pub struct StudyFile {
    path: PathBuf,
    connection: Connection,
    layout: u32,
    question: Question,
    environments: Vec<Environment>,
    /// Columns of the record table; the ones of this release that the file has.
    columns: Vec<(String, &'static Column)>,
    /// Where the records to come are taken; `None` in a file that was opened to be read.
    here: Option<Environment>,
    /// The last record when the file was opened to be read: what a study appends meanwhile is another reading.
    newest: i64,
    /// Keeps other studies out. It is dropped after the connection: closing any descriptor of a file ends SQLite's locks.
    hold: Option<Hold>,
}

impl StudyFile {
    /// Makes the file of a new study and holds it; it appears whole or not at all.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if there is anything of that name, [`RecordError::Unwritable`] if it cannot be made.
    pub fn create(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        birth::create(path, question, environment, &[])?;
        Self::resume(path, question, environment)
    }

    /// Makes the file of a study whose records are all there already; it appears whole or not at all.
    ///
    /// # Errors
    /// As [`Self::create`], and [`RecordError::NotANumber`].
    pub fn create_whole(
        path: &Path,
        question: &Question,
        environment: &Environment,
        records: &[Record],
    ) -> Result<(), RecordError> {
        records.iter().try_for_each(numbers_only)?;
        birth::create(path, question, environment, records)
    }

    /// Opens a study to go on with it, in the environment of today, and holds it.
    ///
    /// # Errors
    /// All but [`RecordError::Exists`]; above all [`RecordError::OtherQuestion`],
    /// [`RecordError::OtherPlace`] and [`RecordError::Locked`].
    pub fn resume(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        let mut file = Self::open(path)?;
        if let Some(differences) = difference(&file.question, question) {
            return Err(RecordError::OtherQuestion { path: path.to_path_buf(), differences });
        }
        file.take_hold()?;
        let places = file.environments.iter().map(|environment| &environment.place);
        if let Some(differences) = places.filter_map(|place| place.difference(&environment.place)).next() {
            return Err(RecordError::OtherPlace { path: path.to_path_buf(), differences });
        }
        file.here = Some(environment.clone());
        Ok(file)
    }

    /// Opens a study to append to it whatever its question is, and holds it.
    ///
    /// # Errors
    /// As [`Self::resume`], but for the question.
    pub fn open_to_append(path: &Path) -> Result<Self, RecordError> {
        let mut file = Self::open(path)?;
        file.take_hold()?;
        file.here = Some(file.environments[0].clone());
        Ok(file)
    }

    fn take_hold(&mut self) -> Result<(), RecordError> {
        let hold = halfpower_output::hold(&self.path)
            .map_err(|error| RecordError::Unreadable { path: self.path.clone(), reason: error.to_string() })?;
        if matches!(hold, Hold::Another) {
            return Err(RecordError::Locked { path: self.path.clone() });
        }
        let alone = matches!(hold, Hold::Unknown);
        self.hold = Some(hold);
        self.begin_to_append(alone).map_err(|error| RecordError::of_sqlite(&self.path, &error).of_writing())?;
        self.newest = i64::MAX;
        reading::check_structure(&self.connection, &self.path)?;
        self.environments = reading::environments(&self.connection, &self.path, self.layout)?;
        let names = reading::columns(&self.connection, &self.path)?;
        self.columns = names.into_iter().filter_map(|name| column_named(&name).map(|column| (name, column))).collect();
        Ok(())
    }

    /// Goes on with the study in `path`, or begins it where there is no such file.
    ///
    /// # Errors
    /// As [`Self::create`] and [`Self::resume`].
    pub fn open_or_create(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        match path.symlink_metadata() {
            Ok(_) => Self::resume(path, question, environment),
            Err(_) => Self::create(path, question, environment),
        }
    }

    /// Opens a study to read it as it is now. A study may be at work on it: what that appends later is not seen.
    ///
    /// # Errors
    /// [`RecordError::NotAStudyFile`], [`RecordError::Newer`], [`RecordError::Damaged`], [`RecordError::Locked`] or
    /// [`RecordError::Unreadable`].
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        reading::identify(path)?;
        let connection = reading::connect(path).map_err(|error| RecordError::of_sqlite(path, &error))?;
        let seen = reading::all_but_records(&connection, path)?;
        reading::clear_journal(&connection, path);
        Ok(Self {
            path: path.to_path_buf(),
            connection,
            layout: seen.layout,
            question: seen.question,
            environments: seen.environments,
            newest: seen.newest,
            columns: Vec::new(),
            here: None,
            hold: None,
        })
    }

    /// Takes the records to come as made in `environment`, and remembers it at once.
    ///
    /// # Errors
    /// What the disk says; the file stays as it was.
    pub fn go_on_in(&mut self, environment: &Environment) -> Result<(), RecordError> {
        let failed = |error: rusqlite::Error| RecordError::of_sqlite(&self.path, &error).of_writing();
        if !self.environments.contains(environment) {
            let transaction = self.connection.transaction().map_err(failed)?;
            insert_environment(&transaction, self.layout, self.environments.len(), environment).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            self.environments.push(environment.clone());
        }
        self.here = Some(environment.clone());
        Ok(())
    }

    /// Commits one record.
    ///
    /// # Errors
    /// [`RecordError::AlreadyRecorded`], [`RecordError::NotANumber`], or what the disk says; the file stays as it was.
    ///
    /// # Panics
    /// In a file that was opened to be read.
    pub fn append(&mut self, record: &Record) -> Result<(), RecordError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Commits many records at once: all of them or none.
    ///
    /// # Errors
    /// As [`Self::append`].
    ///
    /// # Panics
    /// As [`Self::append`].
    pub fn append_all(&mut self, records: &[Record]) -> Result<(), RecordError> {
        let here = self.here.as_ref().expect("the file was opened for appending");
        records.iter().try_for_each(numbers_only)?;
        let failed = |error: rusqlite::Error| RecordError::of_sqlite(&self.path, &error).of_writing();
        let known = self.environments.iter().position(|environment| environment == here);
        let transaction = self.connection.transaction().map_err(failed)?;
        let index = known.unwrap_or(self.environments.len());
        if known.is_none() {
            insert_environment(&transaction, self.layout, index, here).map_err(failed)?;
        }
        for record in records {
            insert_record(&transaction, &self.columns, index, record).map_err(|error| {
                match error.sqlite_error_code() {
                    Some(ErrorCode::ConstraintViolation) => {
                        RecordError::AlreadyRecorded { path: self.path.clone(), run: name(&record.run) }
                    }
                    _ => failed(error),
                }
            })?;
        }
        transaction.commit().map_err(failed)?;
        if known.is_none() {
            self.environments.push(here.clone());
        }
        Ok(())
    }

    /// Copies the study, as it is now, to a file of another name; it appears whole or not at all.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if there is anything of that name, [`RecordError::Unwritable`] if it cannot be made, and
    /// what reading says.
    pub fn copy_to_new(&mut self, path: &Path) -> Result<(), RecordError> {
        let bytes = self.connection.serialize(rusqlite::MAIN_DB);
        let bytes = bytes.map_err(|error| RecordError::of_sqlite(&self.path, &error))?;
        birth::publish(path, &bytes)
    }

    /// Whether the file at `path` is a study, of this release or a newer one.
    pub fn is_at(path: &Path) -> bool {
        matches!(reading::identify(path), Ok(()) | Err(RecordError::Newer { .. }))
    }

    /// The records so far, in the order in which they were appended.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] if any of them is not what was written.
    pub fn records(&self) -> Result<Vec<Record>, RecordError> {
        let mut records = Vec::new();
        self.each(|entry| records.push(entry.record))?;
        Ok(records)
    }

    /// The records so far that say something of the hosts that were there at last: without those that all hosts made
    /// together when there were more of them, or fewer.
    ///
    /// # Errors
    /// As [`Self::records`].
    pub fn comparable_records(&self) -> Result<Vec<Record>, RecordError> {
        let mut records = self.records()?;
        let hosts = self.environments.last().map_or(0, |at_last| at_last.hosts.len());
        records.retain(|record| record.run.workload.options.hosts.is_some() || record.hosts.len() == hosts);
        Ok(records)
    }

    /// Hands over the records so far with their environments, one at a time, in the order of appending.
    ///
    /// # Errors
    /// As [`Self::records`].
    pub fn each(&self, mut take: impl FnMut(Entry)) -> Result<(), RecordError> {
        let mut last = 0;
        loop {
            let stored = reading::records_after(&self.connection, &self.path, last, self.newest)?;
            if stored.is_empty() {
                let all = self.newest == i64::MAX || last == self.newest;
                return if all { Ok(()) } else { Err(damaged(&self.path, format!("record {} is missing", last + 1))) };
            }
            for record in stored {
                last += 1;
                take(record.read(last, self.environments.len(), &self.path)?);
            }
        }
    }

    /// The question that the study answers.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Where the study began.
    pub fn environment(&self) -> &Environment {
        &self.environments[0]
    }

    /// Everything that was noted, of any time that the study was at work: some is learnt while runs are made.
    pub fn notes(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for note in self.environments.iter().flat_map(|environment| &environment.notes) {
            if !all.contains(note) {
                all.push(note.clone());
            }
        }
        all
    }

    /// Everything that could not be measured, of any time that the study was at work.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut all: Vec<LeftOut> = Vec::new();
        for left in self.environments.iter().flat_map(|environment| &environment.left_out) {
            if !all.contains(left) {
                all.push(left.clone());
            }
        }
        all
    }

    /// Everywhere that the study was at work, in the order of time.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets a power cut take records with it, which a kill still does not: for studies in virtual time, whose records
    /// are made again faster than a disk syncs them.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn spare_the_disk(&self) -> Result<(), RecordError> {
        let spared = self.connection.execute_batch("PRAGMA synchronous = OFF");
        spared.map_err(|error| RecordError::of_sqlite(&self.path, &error).of_writing())
    }

    /// Makes the connection one that appends; `alone` keeps readers out for as long as it lives.
    fn begin_to_append(&self, alone: bool) -> rusqlite::Result<()> {
        let locking_mode = if alone { "EXCLUSIVE" } else { "NORMAL" };
        // EXTRA also syncs the folder that a journal leaves: a power cut does not take back what was committed.
        self.connection.execute_batch(&format!(
            "PRAGMA query_only = OFF; PRAGMA journal_mode = PERSIST; PRAGMA journal_mode = DELETE;
             PRAGMA synchronous = EXTRA; PRAGMA locking_mode = {locking_mode}; BEGIN EXCLUSIVE; COMMIT",
        ))?;
        self.connection.busy_timeout(PATIENCE_OF_HOLDER)
    }
}

/// JSON has no word for infinity: such a record could be written and never read again.
fn numbers_only(record: &Record) -> Result<(), RecordError> {
    let share = record.cpu.soaker.as_ref().map_or(0.0, |soaker| soaker.baseline_share);
    let far_share =
        record.far_end.as_ref().and_then(|end| end.bill.soaker.as_ref()).map_or(0.0, |of| of.baseline_share);
    let figures = [
        ("the far end's soaker's baseline", far_share),
        ("the achieved depth", record.achieved_depth),
        ("the harness's share", record.harness_ns_per_io),
        ("our client's time", record.client_ns_per_io.unwrap_or(0.0)),
        ("the soaker's baseline", share),
    ];
    match figures.iter().find(|(_, value)| !value.is_finite()) {
        Some((figure, _)) => Err(RecordError::NotANumber { run: name(&record.run), figure }),
        None => Ok(()),
    }
}

fn name(run: &Run) -> String {
    format!("{}, {} pass, repeat {}", run.workload, run.pass, run.repeat)
}
