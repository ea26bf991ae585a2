//! Keeps a study in one SQLite file and commits each record as soon as its run ends.
//!
//! The layout (`docs/study-file.md` describes every column):
//!
//! ```text
//! header       application_id "HPow", user_version 2
//! study        one row: question (JSON), program (the version that made the file), question_fnv1a
//! environment  one row for each state of the machine that records were taken in: environment_id, environment (JSON),
//!              environment_fnv1a
//! record       one row a record: record_id, environment_id, the columns for queries,
//!              record (the whole record as JSON; only this is read back), record_fnv1a
//! one_run      unique: experiment, workload, pass, repeat
//! ```
//!
//! Columns that end in `_fnv1a` are checksums. Layout 1 has checksums of records only, and other names for some
//! columns. A file of layout 1 keeps its layout when runs are appended to it.
//!
//! The journal is a rollback journal, not a write-ahead log. Between two records, the file alone is the complete study:
//! it can be copied at any moment, even after a kill. Syncing a record takes a few milliseconds between the measured
//! windows.
//!
//! A new file is built in memory and published by [`output`](crate::output), so a kill leaves no incomplete study.
//!
//! A reader changes nothing: it opens the file read-only, so that a transaction which a kill left unfinished waits for a
//! writer. What SQLite would apply to the study because of its name alone is looked at first (`side_files`).
//!
//! A writer holds the file (`output::hold`) until it is done, so only one study at a time writes to it. Any
//! number of readers see the records so far: SQLite's locks last for one commit or one short read. If the file system's
//! locks are not reliable enough, for example over a network, the writer keeps SQLite's exclusive lock instead, and
//! readers are refused until the study ends.

mod opening;
mod reading;
mod side_files;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use halfpower_spec::{Bytes, Question, Run};
use rusqlite::{Connection, ErrorCode, Transaction, params};

use self::reading::{LAYOUT, PATIENCE_OF_HOLDER, damaged, insert_environment, insert_record, to_sqlite};
use self::side_files::Claim;
use crate::difference::difference;
use crate::figures::column_named;
use crate::output::{Hold, OutputError, STUDY_APPLICATION_ID as APPLICATION_ID};
use crate::unreadable_figure::unreadable_figure;
use crate::{Column, Environment, LeftOut, PlaceIdentity, Record, RecordError, columns};

pub use self::reading::Entry;
pub(crate) use self::reading::fnv1a;

/// The version of this program.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// A study on disk: its question, its environments, and the records so far.
#[derive(Debug)]
pub struct StudyFile {
    path: PathBuf,
    connection: Connection,
    layout: u32,
    /// The version of the program that made the file.
    program: String,
    question: Question,
    environments: Vec<Environment>,
    /// Columns of the record table: those known to this release that the file has.
    columns: Vec<(String, &'static Column)>,
    /// Environment of the records to come; `None` in a file opened for reading.
    here: Option<Environment>,
    /// Number of the last record when the file was opened for reading; later records are not read.
    newest: i64,
    /// A file beside the study that was not applied to it.
    set_aside: Option<PathBuf>,
    /// Whether the journal keeps its name between two transactions, so that nobody else takes it.
    keeps_journal: bool,
    /// Whether this value has created the file.
    is_new: bool,
    /// Keeps other writers out. Must be dropped after the connection: closing any descriptor of the file releases
    /// SQLite's locks.
    hold: Option<Hold>,
}

impl StudyFile {
    /// Creates and holds the file of a new study; it appears whole or not at all.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if the name exists, [`RecordError::Unwritable`] if the file cannot be created,
    /// [`RecordError::NotANumber`].
    pub fn create(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        create(path, question, environment, &[])?;
        let mut file = Self::resume(path, question, environment)?;
        file.is_new = true;
        Ok(file)
    }

    /// Creates the file of a study with all its records; it appears whole or not at all.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn create_whole(
        path: &Path,
        question: &Question,
        environment: &Environment,
        records: &[Record],
    ) -> Result<(), RecordError> {
        records.iter().try_for_each(numbers_only)?;
        create(path, question, environment, records)
    }

    /// Opens and holds a study to continue it in the present environment. A larger budget or more sessions extend the study:
    /// its question has them from then on.
    ///
    /// # Errors
    /// All but [`RecordError::Exists`]; above all [`RecordError::OtherQuestion`],
    /// [`RecordError::OtherPlace`] and [`RecordError::Locked`].
    pub fn resume(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        match Self::open(path) {
            // Another question is refused without taking anything.
            Ok(seen) => {
                seen.extends(question)?;
            }
            // It is rolled back below.
            Err(RecordError::HalfWritten { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut file = Self::open_held(path)?;
        let is_extended = file.goes_on(question, environment)?;
        file.here = Some(environment.clone());
        if is_extended {
            file.store_question(question)?;
        }
        Ok(file)
    }

    /// Checks that the study can go on with this question in this environment; returns whether that extends its question.
    ///
    /// # Errors
    /// [`RecordError::OtherQuestion`] or [`RecordError::OtherPlace`].
    pub fn goes_on(&self, question: &Question, environment: &Environment) -> Result<bool, RecordError> {
        let is_extended = self.extends(question)?;
        self.check_place(&environment.place)?;
        Ok(is_extended)
    }

    /// Checks that all records so far were taken here.
    ///
    /// # Errors
    /// [`RecordError::OtherPlace`].
    pub fn check_place(&self, here: &PlaceIdentity) -> Result<(), RecordError> {
        let mut places = self.environments.iter().map(|environment| &environment.place);
        match places.find_map(|place| place.difference(here)) {
            Some(differences) => Err(RecordError::OtherPlace { path: self.path.clone(), differences }),
            None => Ok(()),
        }
    }

    /// Checks that a run over so much of the target, laid out so, is one of the study's: the identity of a workload has
    /// neither, so runs over another span would become cells with the study's own.
    ///
    /// # Errors
    /// [`RecordError::OtherQuestion`].
    pub fn check_span(&self, size: Option<Bytes>, spread: bool) -> Result<(), RecordError> {
        let asked = Question { size, spread, ..self.question.clone() };
        match difference(&self.question, &asked) {
            Some(differences) => Err(RecordError::OtherQuestion { path: self.path.clone(), differences }),
            None => Ok(()),
        }
    }

    /// Whether `question` extends the study's question; false if it is the same.
    fn extends(&self, question: &Question) -> Result<bool, RecordError> {
        let Question { budget, sessions, .. } = self.question;
        let grows = question.budget >= budget && question.sessions >= sessions;
        let is_extended = grows && (question.budget, question.sessions) != (budget, sessions) && self.layout == LAYOUT;
        let extended = Question { budget: question.budget, sessions: question.sessions, ..self.question.clone() };
        let is_same = is_extended && difference(&extended, question).is_none();
        match difference(&self.question, question).filter(|_| !is_same) {
            Some(differences) => Err(RecordError::OtherQuestion { path: self.path.clone(), differences }),
            None => Ok(is_extended),
        }
    }

    /// Replaces the question by one that the records so far answer too.
    fn store_question(&mut self, question: &Question) -> Result<(), RecordError> {
        let text = serde_json::to_string(question)
            .map_err(|error| RecordError::of_sqlite(&self.path, &to_sqlite(error)).of_writing())?;
        let update = "UPDATE study SET question = ?1, question_fnv1a = ?2";
        self.change(|to| to.execute(update, params![text, fnv1a(&text)]).map(drop), Self::failed_to_write)?;
        self.question = question.clone();
        Ok(())
    }

    /// Commits what `change` does in one transaction, unless SQLite has taken a write-ahead log for the study's.
    fn change(
        &mut self,
        change: impl FnOnce(&Transaction) -> rusqlite::Result<()>,
        failed: impl Fn(&Path, &rusqlite::Error) -> RecordError,
    ) -> Result<(), RecordError> {
        let transaction = self.connection.transaction().map_err(|error| failed(&self.path, &error))?;
        change(&transaction).map_err(|error| failed(&self.path, &error))?;
        reading::refuse_log(&transaction, &self.path)?;
        transaction.commit().map_err(|error| failed(&self.path, &error))
    }

    fn failed_to_write(path: &Path, error: &rusqlite::Error) -> RecordError {
        RecordError::of_sqlite(path, error).of_writing()
    }

    /// Opens and holds a study to append to it, whatever its question and its place. Who appends what was measured looks at
    /// both first: [`Self::check_place`], [`Self::check_span`].
    ///
    /// # Errors
    /// As [`Self::resume`], except [`RecordError::OtherQuestion`] and [`RecordError::OtherPlace`].
    pub fn open_to_append(path: &Path) -> Result<Self, RecordError> {
        let mut file = Self::open_held(path)?;
        file.here = Some(file.environments[0].clone());
        Ok(file)
    }

    /// Takes the hold on a study, rolls back what a kill left unfinished, and opens it to append.
    fn open_held(path: &Path) -> Result<Self, RecordError> {
        let place = located(path)?;
        reading::identify(path)?;
        let hold = crate::output::hold(&place)
            .map_err(|error| RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() })?;
        if matches!(hold, Hold::Another) {
            return Err(RecordError::Locked { path: path.to_path_buf() });
        }
        let alone = matches!(hold, Hold::Unknown);
        // The name is taken until SQLite's own journal has it, or the connection is closed.
        let claim = Claim::take(&place, path)?;
        let connection = opening::to_append(&place).map_err(|error| Self::failed_to_write(path, &error))?;
        let keeps_journal = !alone && side_files::others_may_create_beside(&place);
        let mut file = Self::seen(path, connection)?;
        file.keeps_journal = keeps_journal;
        file.hold = Some(hold);
        file.begin_to_append(alone).map_err(|error| Self::failed_to_write(path, &error))?;
        file.newest = i64::MAX;
        reading::check_structure(&file.connection, path)?;
        let names = reading::columns(&file.connection, path)?;
        file.columns = names.into_iter().filter_map(|name| column_named(&name).map(|column| (name, column))).collect();
        claim.end(keeps_journal);
        opening::without_end(&mut file.connection).map_err(|error| RecordError::of_sqlite(path, &error))?;
        Ok(file)
    }

    /// Continues the study in `path`, or begins it if there is no such file.
    ///
    /// # Errors
    /// As [`Self::create`] and [`Self::resume`].
    pub fn open_or_create(path: &Path, question: &Question, environment: &Environment) -> Result<Self, RecordError> {
        match path.symlink_metadata() {
            Ok(_) => Self::resume(path, question, environment),
            Err(_) => Self::create(path, question, environment),
        }
    }

    /// Opens a study to read it as it is now, and changes nothing. Records that a running study appends later are not seen.
    ///
    /// # Errors
    /// [`RecordError::NotAStudyFile`], [`RecordError::Newer`], [`RecordError::Damaged`], [`RecordError::Locked`],
    /// [`RecordError::HalfWritten`] or [`RecordError::Unreadable`].
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let place = located(path)?;
        reading::identify(path)?;
        let unreadable = |error: std::io::Error| unreadable(path, &error);
        let set_aside = side_files::strange(&place).map_err(unreadable)?;
        let connection = opening::to_read(&place, set_aside.is_some());
        let connection = connection.map_err(|error| RecordError::of_sqlite(path, &error))?;
        let mut file = Self::seen(path, connection)?;
        file.set_aside = set_aside;
        Ok(file)
    }

    /// Opens a study to read it, after it has rolled back what a kill left unfinished and removed its journal, unless a study
    /// is at work.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Self::open_to_append`].
    pub fn open_mended(path: &Path) -> Result<Self, RecordError> {
        let opened = Self::open(path);
        let has_journal = side_files::journal(&located(path)?).exists();
        let is_left = match &opened {
            Ok(file) => has_journal && file.set_aside.is_none(),
            Err(error) => matches!(error, RecordError::HalfWritten { .. }),
        };
        if !is_left {
            return opened;
        }
        match Self::open_to_append(path) {
            Err(RecordError::Locked { .. }) => opened,
            mended => {
                drop(mended?);
                Self::open(path)
            }
        }
    }

    /// A file beside the study that SQLite would have applied to it, and that was not: it belongs to another user, is a link,
    /// or is a log that no halfpower writes.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    fn seen(path: &Path, connection: Connection) -> Result<Self, RecordError> {
        let seen = reading::all_but_records(&connection, path)?;
        Ok(Self {
            path: path.to_path_buf(),
            connection,
            layout: seen.layout,
            program: seen.program,
            question: seen.question,
            environments: seen.environments,
            newest: seen.newest,
            columns: Vec::new(),
            here: None,
            set_aside: None,
            keeps_journal: false,
            is_new: false,
            hold: None,
        })
    }

    /// Sets the environment of the records to come, and stores it at once.
    ///
    /// # Errors
    /// [`RecordError::NotANumber`], or the error of writing; the file stays unchanged.
    pub fn go_on_in(&mut self, environment: &Environment) -> Result<(), RecordError> {
        if !self.environments.contains(environment) {
            numbers_only_in(environment)?;
            let layout = self.layout;
            let index = self.environments.len();
            self.change(|to| insert_environment(to, layout, index, environment), Self::failed_to_write)?;
            self.environments.push(environment.clone());
        }
        self.here = Some(environment.clone());
        Ok(())
    }

    /// Commits one record.
    ///
    /// # Errors
    /// [`RecordError::AlreadyRecorded`], [`RecordError::NotANumber`], or the error of writing; the file stays
    /// unchanged.
    ///
    /// # Panics
    /// If the file was opened for reading.
    pub fn append(&mut self, record: &Record) -> Result<(), RecordError> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Commits many records at once, all or none.
    ///
    /// # Errors
    /// As [`Self::append`].
    ///
    /// # Panics
    /// As [`Self::append`].
    pub fn append_all(&mut self, records: &[Record]) -> Result<(), RecordError> {
        let here = self.here.clone().expect("the file was opened for appending");
        records.iter().try_for_each(numbers_only)?;
        let known = self.environments.iter().position(|environment| *environment == here);
        let index = known.unwrap_or(self.environments.len());
        if known.is_none() {
            numbers_only_in(&here)?;
        }
        let layout = self.layout;
        let columns = std::mem::take(&mut self.columns);
        let last = Cell::new(None);
        let insert = |to: &Transaction| {
            if known.is_none() {
                insert_environment(to, layout, index, &here)?;
            }
            records.iter().try_for_each(|record| {
                last.set(Some(record));
                insert_record(to, &columns, index, record)
            })
        };
        let failed = |path: &Path, error: &rusqlite::Error| match (error.sqlite_error_code(), last.get()) {
            (Some(ErrorCode::ConstraintViolation), Some(record)) => {
                RecordError::AlreadyRecorded { path: path.to_path_buf(), run: name(&record.run) }
            }
            _ => Self::failed_to_write(path, error),
        };
        let changed = self.change(insert, failed);
        self.columns = columns;
        changed?;
        if known.is_none() {
            self.environments.push(here);
        }
        Ok(())
    }

    /// Copies the study, as it is now, to a new file; it appears whole or not at all.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if the name exists, [`RecordError::Unwritable`] if the file cannot be created, or an
    /// error of reading.
    pub fn copy_to_new(&mut self, path: &Path) -> Result<(), RecordError> {
        let bytes = self.connection.serialize(rusqlite::MAIN_DB);
        let bytes = bytes.map_err(|error| RecordError::of_sqlite(&self.path, &error))?;
        publish(path, &bytes)
    }

    /// Copies the study, as it is now, over the file at `path`, which the caller knows to be its own: it is replaced in one
    /// step.
    ///
    /// # Errors
    /// [`RecordError::Unwritable`] if the file cannot be replaced, or an error of reading.
    pub fn copy_over(&mut self, path: &Path) -> Result<(), RecordError> {
        let bytes = self.connection.serialize(rusqlite::MAIN_DB);
        let bytes = bytes.map_err(|error| RecordError::of_sqlite(&self.path, &error))?;
        crate::output::replace_own(path, &bytes).map_err(|error| unwritable(path, error))
    }

    /// Whether the file at `path` is a study, of this release or a newer one.
    pub fn is_at(path: &Path) -> bool {
        matches!(reading::identify(path), Ok(()) | Err(RecordError::Newer { .. }))
    }

    /// The records so far, in the order in which they were appended.
    ///
    /// # Errors
    /// [`RecordError::Damaged`] if a record differs from what was written.
    pub fn records(&self) -> Result<Vec<Record>, RecordError> {
        let mut records = Vec::new();
        self.each(|entry| records.push(entry.record))?;
        Ok(records)
    }

    /// The records so far that are comparable with the last set of hosts: without runs that all hosts made together
    /// when their number was different.
    ///
    /// # Errors
    /// As [`Self::records`].
    pub fn comparable_records(&self) -> Result<Vec<Record>, RecordError> {
        let mut records = self.records()?;
        let hosts = self.environments.last().map_or(0, |at_last| at_last.hosts.len());
        records.retain(|record| record.run.workload.options.hosts.is_some() || record.hosts.len() == hosts);
        Ok(records)
    }

    /// Calls `take` with each record so far and its environment, in the order of appending.
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

    /// Removes the file if this value has created it and nothing is recorded in it.
    ///
    /// # Errors
    /// The error of reading, or of removing.
    pub fn withdraw_if_empty(mut self) -> Result<(), RecordError> {
        let place = located(&self.path)?;
        let is_ours = self.is_new && self.hold.as_ref().is_some_and(|hold| hold.is_of(&place));
        if !is_ours || !self.records()?.is_empty() {
            return Ok(());
        }
        // Its journal goes before it.
        let _ = self.connection.execute_batch("PRAGMA journal_mode = DELETE");
        self.keeps_journal = false;
        std::fs::remove_file(&place)
            .map_err(|error| RecordError::Unwritable { path: self.path.clone(), reason: error.to_string() })
    }

    /// Whether this release made the file; another one may have asked other things where a user asks nothing else.
    pub fn is_of_this_release(&self) -> bool {
        self.layout == LAYOUT && self.program == PROGRAM
    }

    /// The question that the study answers.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The environment in which the study began.
    pub fn environment(&self) -> &Environment {
        &self.environments[0]
    }

    /// The notes of all environments; some are only learnt during runs.
    pub fn notes(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for note in self.environments.iter().flat_map(|environment| &environment.notes) {
            if !all.contains(note) {
                all.push(note.clone());
            }
        }
        all
    }

    /// Everything that could not be measured, from all environments.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut all: Vec<LeftOut> = Vec::new();
        for left in self.environments.iter().flat_map(|environment| &environment.left_out) {
            if !all.contains(left) {
                all.push(left.clone());
            }
        }
        all
    }

    /// All environments of the study, in order of time.
    pub fn environments(&self) -> &[Environment] {
        &self.environments
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stops syncing, so that a power cut may lose records; a kill still loses none. For studies in virtual time, which
    /// make records faster than a disk syncs them.
    ///
    /// # Errors
    /// SQLite's error.
    pub fn spare_the_disk(&self) -> Result<(), RecordError> {
        let spared = self.connection.execute_batch("PRAGMA synchronous = OFF");
        spared.map_err(|error| RecordError::of_sqlite(&self.path, &error).of_writing())
    }

    /// Prepares the connection for appending; `alone` locks readers out as long as it lives.
    fn begin_to_append(&self, alone: bool) -> rusqlite::Result<()> {
        let locking_mode = if alone { "EXCLUSIVE" } else { "NORMAL" };
        // The change of modes removes a journal that is left.
        let journal_mode = if self.keeps_journal { "" } else { "PRAGMA journal_mode = DELETE;" };
        // EXTRA also syncs the folder after deleting a journal, so that a power cut does not undo a commit.
        self.connection.execute_batch(&format!(
            "PRAGMA query_only = OFF; PRAGMA journal_mode = PERSIST; {journal_mode}
             PRAGMA synchronous = EXTRA; PRAGMA locking_mode = {locking_mode}; BEGIN EXCLUSIVE; COMMIT",
        ))?;
        self.connection.busy_timeout(PATIENCE_OF_HOLDER)
    }
}

impl Drop for StudyFile {
    fn drop(&mut self) {
        if self.keeps_journal {
            // Removes the journal, whose name was kept.
            let _ = self.connection.execute_batch("PRAGMA journal_mode = DELETE");
        }
    }
}

/// Where the study is that `path` names.
fn located(path: &Path) -> Result<PathBuf, RecordError> {
    let place = crate::output::located(path).and_then(std::path::absolute);
    place.map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> RecordError {
    RecordError::Unreadable { path: path.to_path_buf(), reason: error.to_string() }
}

/// Refuses figures of a record that are not finite: it could not be read back.
fn numbers_only(record: &Record) -> Result<(), RecordError> {
    refuse(unreadable_figure(record), || format!("the run ({})", name(&record.run)))
}

/// The same of an environment, with which the whole study could not be read.
fn numbers_only_in(environment: &Environment) -> Result<(), RecordError> {
    refuse(unreadable_figure(environment), || "the environment".to_string())
}

fn refuse(figure: Option<String>, of: impl FnOnce() -> String) -> Result<(), RecordError> {
    figure.map_or(Ok(()), |figure| Err(RecordError::NotANumber { of: of(), figure }))
}

fn name(run: &Run) -> String {
    format!("{}, {} pass, repeat {}", run.workload, run.pass, run.repeat)
}

/// Creates the study file: whole, in one step, and never over an existing file.
fn create(path: &Path, question: &Question, environment: &Environment, records: &[Record]) -> Result<(), RecordError> {
    numbers_only_in(environment)?;
    side_files::clear_orphan(&crate::output::followed(path))?;
    let bytes = made(question, environment, records)
        .map_err(|error| RecordError::Unwritable { path: path.to_path_buf(), reason: error.to_string() })?;
    publish(path, &bytes)
}

/// Creates the file with these bytes; the name must not exist.
fn publish(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    crate::output::publish_new(path, bytes).map_err(|error| unwritable(path, error))
}

fn unwritable(path: &Path, error: OutputError) -> RecordError {
    match error {
        OutputError::Taken { path } => RecordError::Exists { path },
        OutputError::Refused { path, error } => RecordError::Unwritable { path, reason: error.to_string() },
        other => RecordError::Unwritable { path: path.to_path_buf(), reason: other.to_string() },
    }
}

/// The bytes of a new study, built in memory.
fn made(question: &Question, environment: &Environment, records: &[Record]) -> rusqlite::Result<Vec<u8>> {
    let mut connection = Connection::open_in_memory()?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(&layout())?;
    let text = serde_json::to_string(question).map_err(to_sqlite)?;
    let sum = fnv1a(&text);
    transaction.execute("INSERT INTO study VALUES (?1, ?2, ?3)", params![text, PROGRAM, sum])?;
    insert_environment(&transaction, LAYOUT, 0, environment)?;
    let columns: Vec<(String, &Column)> = columns().map(|column| (column.name.to_string(), column)).collect();
    records.iter().try_for_each(|record| insert_record(&transaction, &columns, 0, record))?;
    transaction.commit()?;
    Ok(connection.serialize("main")?.to_vec())
}

fn layout() -> String {
    let columns: Vec<String> = columns().map(|column| format!("{:13}{} {}", "", column.name, column.kind)).collect();
    format!(
        "PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {LAYOUT};
         CREATE TABLE study (question TEXT NOT NULL, program TEXT NOT NULL, question_fnv1a INTEGER NOT NULL);
         CREATE TABLE environment (environment_id INTEGER PRIMARY KEY, environment TEXT NOT NULL UNIQUE,
             environment_fnv1a INTEGER NOT NULL);
         CREATE TABLE record (record_id INTEGER PRIMARY KEY,
             environment_id INTEGER NOT NULL REFERENCES environment,
{},
             record TEXT NOT NULL, record_fnv1a INTEGER NOT NULL);
         CREATE UNIQUE INDEX one_run ON record (ifnull(experiment, ''), workload, pass, repeat);",
        columns.join(",\n")
    )
}
