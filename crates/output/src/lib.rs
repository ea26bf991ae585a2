//! Writes every file that halfpower makes: whole, under its name in one step, and never over what is somebody else's.
//!
//! A path enters. A [`Destination`] looks at what is there before any work is done, and writes when the work is done.
//! A file appears under its name when its bytes are on the disk, or not at all:
//!
//! - where there is nothing (an empty file counts as nothing), the new file is linked to the name;
//! - a file of the same [`Form`] that halfpower made, told by its mark, is replaced; any other only by force;
//! - a study is never replaced, whatever it is called: it is told by its contents;
//! - a link to a file means the file that it leads to; a pipe, a socket or a character device is written to as it is;
//! - `-` is standard output.
//!
//! The bytes are collected in a file without a name. Where a file system has no such files, or an old file is to be
//! replaced, the new one has an unpredictable name for a moment; [`sweep`] removes what a kill in that moment leaves.

mod destination;
mod error;
mod form;
mod hold;
mod resolved;
mod unfinished;

pub use destination::{Destination, publish_new};
pub use error::OutputError;
pub use form::{Form, STUDY_APPLICATION_ID};
pub use hold::{Held, Hold, hold};
pub use resolved::followed;
pub use unfinished::sweep;
