//! Writes the report page: one HTML file that works offline.

pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod charts;
pub(crate) mod data;
pub(crate) mod experiments;
pub(crate) mod faults;
pub(crate) mod format;
pub(crate) mod measured;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod scrolling_table;
pub(crate) mod settings;
pub(crate) mod tables;
pub(crate) mod trust;

pub use page::html;
