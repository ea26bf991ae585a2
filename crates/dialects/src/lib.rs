//! Translates the command lines and job files of other tools into words of `halfpower run`, and prints records in their
//! layouts.
//!
//! What these tools have measured themselves is read as records, too ([`read_results`]).
//!
//! A dialect is a table of options ([`OptionRow`]), a reader of lines, and a layout. Each option of the other tool is
//! taken, or refused by its name with a sentence; none is passed over in silence.

mod attached;
pub mod diskspd;
pub mod fio;
mod foreign_run;
mod found;
mod habits;
mod results;
mod run_words;
pub mod sqlio;
mod table;
mod translation;

pub use habits::{Dialect, Habit, habits_as_markdown};
pub use results::{Gathered, Results, ResultsError, gathered, read_results};
pub use run_words::RunWords;
pub use table::{Fate, OptionRow, Value};
pub use translation::{Layout, Measured, Refusal, Translation};
