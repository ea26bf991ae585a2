//! Writes what came of a capture that was asked again, of files or of a model: a capture, and a page.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use halfpower_record::output::{Destination, Form};
use halfpower_record::{Captured, write_capture};

use super::{are_one, destination, refuse_beside_json};

/// The files to write.
pub struct Outputs {
    capture: Option<Destination>,
    page: Option<Destination>,
}

impl Outputs {
    /// The files that `--output` and `--html` name, checked before any work is done; none of them is one of `inputs`. `json`
    /// says whether `--json` prints.
    ///
    /// # Errors
    /// A sentence if both are the same, if one goes where `--json` prints, or if one may not be written.
    pub fn of<'a>(
        [output, html]: [Option<&Path>; 2],
        force: bool,
        json: bool,
        inputs: impl Iterator<Item = &'a Path> + Clone,
    ) -> Result<Self> {
        if let Some(path) = output.filter(|path| html.is_some_and(|html| are_one(path, html))) {
            bail!("{}: it cannot be the capture and the page; name two files", path.display());
        }
        let of = |path: Option<&Path>, form| -> Result<Option<Destination>> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some(destination(path, form, force)?.apart_from(inputs.clone())?))
        };
        let outputs = Self { capture: of(output, Form::Capture)?, page: of(html, Form::Page)? };
        refuse_beside_json(json, outputs.all())?;
        Ok(outputs)
    }

    fn all(&self) -> impl Iterator<Item = &Destination> {
        [&self.capture, &self.page].into_iter().flatten()
    }

    /// Writes those that were asked for.
    pub fn write(
        &self,
        captured: Option<&Captured>,
        page: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Written<'_> {
        let mut files = Vec::new();
        if let (Some(output), Some(captured)) = (&self.capture, captured) {
            files.push((output, output.write(|out| -> Result<()> { Ok(write_capture(captured, out)?) })));
        }
        if let Some(output) = &self.page {
            files.push((output, output.write(|out| -> Result<()> { Ok(page(out)?) })));
        }
        Written(files)
    }

    /// Whether one of them is standard output, where nothing else goes then.
    pub fn take_standard_output(&self) -> bool {
        self.all().any(Destination::is_standard_output)
    }
}

/// Files that were written, or why one could not be. What was seen is told all the same: to see it took its time, and an
/// application may not do it again.
pub struct Written<'a>(pub Vec<(&'a Destination, Result<()>)>);

impl Written<'_> {
    /// Tells where those are that were written.
    ///
    /// # Errors
    /// As [`Self::all`].
    pub fn told(self) -> Result<()> {
        let written = self.0.iter().filter(|(_, written)| written.is_ok());
        written.for_each(|(output, _)| crate::tell::tell!("Written: {}", output.path().display()));
        self.all()
    }

    /// Whether all were written.
    ///
    /// # Errors
    /// A sentence that names the first file that could not be; others are told.
    pub fn all(self) -> Result<()> {
        let mut failed = self.0.into_iter().filter_map(|(_, written)| written.err());
        let first = failed.next();
        failed.for_each(|error| crate::tell::tell!("halfpower: {error:#}"));
        first.map_or(Ok(()), Err)
    }
}
