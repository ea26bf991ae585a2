//! Defines the errors of writing a file: what is wrong, where, and what to do.

use std::io;
use std::path::PathBuf;

use crate::output::Form;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Writing would destroy a study.
    #[error("{path} is a study file of halfpower and is left as it is; name another file")]
    Study {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The file is one of those that the command reads or measures.
    #[error("{path} is the same file as {input}, which this command uses, and is left as it is; name another file")]
    SameAsInput {
        /// The path as the user named it.
        path: PathBuf,
        /// The other name of the same file.
        input: PathBuf,
    },
    /// The existing file was not made by halfpower, or has another form.
    #[error(
        "{path} is there already and is not {form} that halfpower made{}, so it is left as it is; name another file, or \
         add --force to replace it",
        .form.unmarked()
    )]
    Foreign {
        /// The path as the user named it.
        path: PathBuf,
        /// The form to be written.
        form: Form,
    },
    /// The file is one that halfpower made, but nobody may write to it.
    #[error("{path} is write-protected and is left as it is; name another file, or add --force to replace it")]
    Protected {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The place has changed since it was checked.
    #[error("{path} has changed since it was looked at and is left as it is; look at it, and start again")]
    Changed {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// A new file was asked for, but the name is taken.
    #[error("{path} exists already and is left as it is; name another file")]
    Taken {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The path is a folder.
    #[error("{path} is a folder; name a file in it")]
    Folder {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The path is a block device; writing would destroy its data.
    #[error("{path} is a block device, and its data would be lost; name a file")]
    BlockDevice {
        /// The path as the user named it.
        path: PathBuf,
    },
    /// The system reports an error.
    #[error("{path} cannot be written: {error}; check the folder, the rights and the free space, or name another file")]
    Refused {
        /// The path as the user named it.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
