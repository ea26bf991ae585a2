//! Writes every file that halfpower makes: whole, under its name in one step, and never over a foreign file.
//!
//! A [`Destination`] checks a path before any work is done, and writes the file when the work is done. A file appears
//! under its name once its bytes are on the disk, or not at all:
//!
//! - if nothing is there (an empty file counts as nothing), the new file is linked to the name;
//! - a file of the same [`Form`] that halfpower made (its mark shows that) is replaced; any other only with `force`;
//! - a study is never replaced, whatever its name: its contents identify it (only a baseline of `compare --save` is, where
//!   `--force` asks for it);
//! - a link means the file that it leads to, unless another user laid it into a folder that everybody may write to; a pipe, a socket or a character device is written to directly;
//! - `-` is standard output.
//!
//! What root makes under sudo in a folder of the user who called it belongs to that user.
//!
//! The bytes are collected in an unnamed file. If the file system has no unnamed files, or an old file is replaced, the
//! new file has an unpredictable name for a moment; [`sweep`] removes a file that a kill in that moment leaves.

mod caller;
mod destination;
mod error;
mod form;
mod hold;
mod resolved;
mod stream;
mod unfinished;

pub use destination::{Destination, publish_new, replace_own};
pub use error::OutputError;
pub(crate) use form::{CAPTURE_MARK, WATCH_MARK};
pub use form::{Form, STUDY_APPLICATION_ID, TEXT_MARK};
pub use hold::{Held, Hold, hold};
pub use resolved::{followed, located};
pub use stream::{Unwritten, written};
pub use unfinished::sweep;
