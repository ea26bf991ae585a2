//! Checks where a file is to go before the work begins, and writes the file there when the work is done.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use halfpower_spec::Shown;

use crate::output::form::{Content, content};
use crate::output::resolved::{Resolved, find};
use crate::output::stream::{Unwritten, written};
use crate::output::unfinished::{Folder, Unfinished};
use crate::output::{Form, OutputError};

/// The place for a file of one form. An existing file there is checked now, and again before it is replaced.
#[derive(Debug, Clone)]
pub struct Destination {
    path: PathBuf,
    form: Form,
    force: bool,
}

/// How the file is written.
enum Way {
    /// To standard output.
    Output,
    /// To a descriptor that the process inherited.
    Descriptor(File),
    /// To an existing pipe, character device or socket.
    Stream { socket: bool },
    /// To a new file, which replaces the file that was seen there, if any.
    File { seen: Option<Seen> },
}

/// An existing file.
struct Seen {
    inode: (u64, u64),
    metadata: Metadata,
}

impl Destination {
    /// Checks `path` as the place for a file of `form`. With `force`, it may replace a file that halfpower did not
    /// make.
    ///
    /// # Errors
    /// The reason why nothing may be written there.
    pub fn new(path: &Path, form: Form, force: bool) -> Result<Self, OutputError> {
        let destination = Self { path: path.to_path_buf(), form, force };
        destination.way()?;
        Ok(destination)
    }

    /// Refuses a destination that is one of the files `inputs`, even under another name.
    ///
    /// # Errors
    /// [`OutputError::SameAsInput`].
    pub fn apart_from<'a>(self, inputs: impl IntoIterator<Item = &'a Path>) -> Result<Self, OutputError> {
        let Way::File { seen: Some(Seen { inode, .. }) } = self.way()? else { return Ok(self) };
        let same = |input: &&Path| input.metadata().is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == inode);
        match inputs.into_iter().find(same) {
            Some(input) => Err(OutputError::SameAsInput { path: self.path, input: input.to_path_buf() }),
            None => Ok(self),
        }
    }

    /// The path as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether what is written goes to standard output.
    pub fn is_standard_output(&self) -> bool {
        self.path == Path::new("-") || matches!(find(&self.path), Ok(Resolved::Descriptor(1)))
    }

    fn way(&self) -> Result<Way, OutputError> {
        let refused = |error| OutputError::Refused { path: self.path.clone(), error };
        if self.path == Path::new("-") {
            return Ok(Way::Output);
        }
        let place = place(&self.path)?;
        match place {
            Resolved::Descriptor(number) => {
                let file = halfpower_os::descriptor::duplicate(number).map_err(refused)?;
                // A write-only descriptor cannot be read to see whether its file is a study.
                let is_file = file.metadata().map_err(refused)?.is_file();
                if is_file && content(&file, None).is_ok_and(|content| content == Content::Study) {
                    return Err(OutputError::Study { path: self.path.clone() });
                }
                Ok(if number == 1 { Way::Output } else { Way::Descriptor(file) })
            }
            Resolved::Name { folder, name } => {
                let whole = folder.join(&name);
                let metadata = match whole.symlink_metadata() {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Way::File { seen: None }),
                    other => other.map_err(refused)?,
                };
                let kind = metadata.file_type();
                if kind.is_dir() {
                    return Err(OutputError::Folder { path: self.path.clone() });
                }
                if kind.is_block_device() {
                    return Err(OutputError::BlockDevice { path: self.path.clone() });
                }
                if kind.is_fifo() || kind.is_char_device() || kind.is_socket() {
                    return Ok(Way::Stream { socket: kind.is_socket() });
                }
                self.may_replace(&Folder::open(&folder).map_err(refused)?, &name, metadata)
            }
        }
    }

    /// Whether the file that is there may be replaced.
    fn may_replace(&self, folder: &Folder, name: &std::ffi::OsStr, metadata: Metadata) -> Result<Way, OutputError> {
        let path = || self.path.clone();
        // A file that cannot be read counts as foreign.
        let found = folder.look(name).and_then(|file| content(&file, Some(self.form)));
        match found.unwrap_or(Content::Foreign) {
            Content::Study => return Err(OutputError::Study { path: path() }),
            Content::Foreign if !self.force => return Err(OutputError::Foreign { path: path(), form: self.form }),
            _ => {}
        }
        if metadata.permissions().mode() & 0o222 == 0 && !self.force {
            return Err(OutputError::Protected { path: path() });
        }
        Ok(Way::File { seen: Some(Seen { inode: (metadata.dev(), metadata.ino()), metadata }) })
    }

    /// Calls `write` to produce the file. If anything fails, an existing file stays unchanged. What the reader of a pipe
    /// does not read any more is left out.
    ///
    /// # Errors
    /// Errors of `write`, or the reason why the file cannot be written.
    pub fn write<E: From<OutputError>>(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), E> {
        let refused = |error: io::Error| OutputError::Refused { path: self.path.clone(), error };
        match self.way()? {
            Way::Output => {
                halfpower_os::standard_output::refuse_closed().map_err(refused)?;
                // JSON stays what it is when it is escaped; any other file goes to a program as it is.
                let is_escaped = matches!(self.form, Form::Json | Form::Fio | Form::Watch | Form::Capture)
                    || io::stdout().is_terminal();
                let out = io::stdout().lock();
                if is_escaped { self.stream(Shown::new(out), write) } else { self.stream(out, write) }
            }
            Way::Descriptor(file) => self.stream(file, write),
            Way::Stream { socket: true } => self.stream(UnixStream::connect(&self.path).map_err(refused)?, write),
            Way::Stream { socket: false } => {
                self.stream(OpenOptions::new().write(true).open(&self.path).map_err(refused)?, write)
            }
            Way::File { seen } => self.file(seen, write),
        }
    }

    fn file<E: From<OutputError>>(
        &self,
        seen: Option<Seen>,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let refused = |error: io::Error| OutputError::Refused { path: self.path.clone(), error };
        let Resolved::Name { folder, name } = find(&self.path).map_err(refused)? else {
            return Err(OutputError::Changed { path: self.path.clone() }.into());
        };
        let folder = Folder::open(&folder).map_err(refused)?;
        let unfinished = Unfinished::new(&folder).map_err(refused)?;
        written(BufWriter::new(&unfinished.file), write).map_err(|unwritten| self.why(unwritten))?;
        // Hours may have passed since the first check.
        let changed = || OutputError::Changed { path: self.path.clone() };
        if folder.inode(&name) != seen.as_ref().map(|seen| seen.inode) {
            return Err(changed().into());
        }
        match seen {
            None => unfinished.publish(&name).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => changed(),
                _ => refused(error),
            })?,
            Some(seen) => unfinished.replace(&name, Some(&seen.metadata)).map_err(refused)?,
        }
        Ok(())
    }

    fn stream<E: From<OutputError>>(
        &self,
        to: impl Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        match written(BufWriter::new(to), write) {
            Err(unwritten) if !unwritten.has_no_reader() => Err(self.why(unwritten)),
            _ => Ok(()),
        }
    }

    /// Names the file where the stream took no more.
    fn why<E: From<OutputError>>(&self, unwritten: Unwritten<E>) -> E {
        match unwritten {
            Unwritten::Stream(error) => OutputError::Refused { path: self.path.clone(), error }.into(),
            Unwritten::Content(error) => error,
        }
    }
}

/// Where `path` leads to.
fn place(path: &Path) -> Result<Resolved, OutputError> {
    find(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => OutputError::Folder { path: path.to_path_buf() },
        _ => OutputError::Refused { path: path.to_path_buf(), error },
    })
}

/// Creates the new file `path` with these bytes; it appears whole or not at all.
///
/// # Errors
/// [`OutputError::Taken`] if the name exists, else the system's error.
pub fn publish_new(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => OutputError::Taken { path: path.to_path_buf() },
        _ => OutputError::Refused { path: path.to_path_buf(), error },
    };
    let Resolved::Name { folder, name } = place(path)? else {
        return Err(OutputError::Taken { path: path.to_path_buf() });
    };
    let folder = Folder::open(&folder).map_err(refused)?;
    if folder.inode(&name).is_some() {
        return Err(OutputError::Taken { path: path.to_path_buf() });
    }
    let unfinished = Unfinished::new(&folder).map_err(refused)?;
    (&unfinished.file).write_all(bytes).map_err(refused)?;
    unfinished.publish(&name).map_err(refused)
}

/// Puts these bytes in the place of the file `path`, which the caller knows to be its own; they appear whole or not at all, and
/// as few may read them as before.
///
/// # Errors
/// [`OutputError::Changed`] if `path` is no name in a folder, else the system's error.
pub fn replace_own(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let refused = |error: io::Error| OutputError::Refused { path: path.to_path_buf(), error };
    let Resolved::Name { folder, name } = find(path).map_err(refused)? else {
        return Err(OutputError::Changed { path: path.to_path_buf() });
    };
    let folder = Folder::open(&folder).map_err(refused)?;
    let unfinished = Unfinished::new(&folder).map_err(refused)?;
    (&unfinished.file).write_all(bytes).map_err(refused)?;
    let old = path.symlink_metadata().ok().filter(Metadata::is_file);
    unfinished.replace(&name, old.as_ref()).map_err(refused)
}
