//! Makes every sentence about findings, one file per concept.

pub(crate) mod advice;
pub(crate) mod bottleneck;
pub(crate) mod calibrate;
pub(crate) mod checks;
pub(crate) mod compare;
pub(crate) mod compare_notes;
pub(crate) mod doctor;
pub(crate) mod far_end;
pub(crate) mod faults;
pub(crate) mod first_screen;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod issuing;
pub(crate) mod levels;
pub(crate) mod live;
pub(crate) mod network;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod stops;
pub(crate) mod verdict;
pub(crate) mod warnings;
pub(crate) mod watch;
pub(crate) mod watch_stops;
