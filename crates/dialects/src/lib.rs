//! Translates the command lines and job files of other tools into words of `halfpower run`, and prints records in their
//! layouts.
//!
//! It also reads results of these tools as records ([`read_results`]), exports records as theirs
//! ([`fio::write_fio`], [`sqlio::write_trace`]), and reads single operations that tools have listed as captures
//! ([`captured`]).
//!
//! A dialect is a table of options ([`OptionRow`]), a reader of lines, and a layout. Each option of the other tool is
//! either taken, or refused by name with a sentence; none is silently ignored.

mod attached;
mod captures;
pub mod diskspd;
mod elbencho;
pub mod fio;
mod foreign_run;
mod habits;
mod ior;
mod results;
mod run_words;
pub mod sqlio;
mod table;
mod translation;

pub use captures::{CaptureText, ImportedCapture, captured};
pub use habits::{Dialect, OptionDoc, habits_as_markdown};
pub use results::{Foreign, ImportedStudy, Results, ResultsError, gathered, read_foreign, read_results};
pub use run_words::{Ends, RunWords};
pub use table::{Handling, OptionRow, Value};
pub use translation::{Layout, Measured, Output, Refusal, Translation};
