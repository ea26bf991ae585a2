//! Says why a file is not written: what, where, and what to do.

use std::io;
use std::path::PathBuf;

use crate::Form;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A study would be lost.
    #[error("{path} is a study file of halfpower and is left as it is; name another file")]
    Study {
        /// What was named.
        path: PathBuf,
    },
    /// The file is one of those that the command reads or measures.
    #[error("{path} is the same file as {input}, which this command uses, and is left as it is; name another file")]
    SameAsInput {
        /// What was named.
        path: PathBuf,
        /// The other name of the same file.
        input: PathBuf,
    },
    /// There is a file that halfpower did not make, or that is of another form.
    #[error(
        "{path} is there already and is not {form} that halfpower made, so it is left as it is; name another file, or \
         add --force to replace it"
    )]
    Foreign {
        /// What was named.
        path: PathBuf,
        /// What was to be written.
        form: Form,
    },
    /// The file is one that halfpower made, but nobody may write to it.
    #[error("{path} is write-protected and is left as it is; name another file, or add --force to replace it")]
    Protected {
        /// What was named.
        path: PathBuf,
    },
    /// There was nothing, and now there is something.
    #[error("{path} has changed since it was looked at and is left as it is; look at it, and start again")]
    Changed {
        /// What was named.
        path: PathBuf,
    },
    /// A new file was asked for, and the name is taken.
    #[error("{path} exists already and is left as it is; name another file")]
    Taken {
        /// What was named.
        path: PathBuf,
    },
    /// It is a folder.
    #[error("{path} is a folder; name a file in it")]
    Folder {
        /// What was named.
        path: PathBuf,
    },
    /// It is a block device, whose data would be lost.
    #[error("{path} is a block device, and its data would be lost; name a file")]
    BlockDevice {
        /// What was named.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{path} cannot be written: {error}; check the folder, the rights and the free space, or name another file")]
    Refused {
        /// What was named.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}
