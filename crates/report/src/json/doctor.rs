//! Writes what the checks of settings found as one JSON object.

use std::io::{self, Write};

use halfpower_record::Diagnosis;
use halfpower_spec::JsonSchema;
use serde::Serialize;

/// Version of this object's layout; it rises when a key is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The output of `halfpower doctor --json`: what every check found at every place.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorDocument<'a> {
    /// Version of this layout.
    schema: u32,
    /// The places, in the order in which they were named.
    places: &'a [Diagnosis],
}

/// Writes what was found at these places.
///
/// # Errors
/// Those of `out`.
pub fn doctor_json(places: &[Diagnosis], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &DoctorDocument { schema: SCHEMA, places })?;
    writeln!(out)
}
