//! Writes the report page: one HTML file that works offline.

pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod charts;
pub(crate) mod data;
pub(crate) mod experiments;
pub(crate) mod faults;
pub(crate) mod first_chart;
pub(crate) mod fold;
pub(crate) mod format;
pub(crate) mod hosts;
pub(crate) mod issuing;
pub(crate) mod linear_scale;
pub(crate) mod measured;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod percentiles;
pub(crate) mod scrolling_table;
pub(crate) mod settings;
pub(crate) mod tables;
pub(crate) mod tiles;
pub(crate) mod trust;

pub use page::html;
