//! Collects the meaning of another tool's options, and writes it as words of `halfpower run`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use halfpower_spec::Bytes;

use crate::fio::FioLog;

/// Prefixes of targets that are not paths.
const SCHEMES: [&str; 5] = ["sim:", "null:", "each:", "stripe:", "mirror:"];

/// Size unit of files laid out in a folder; for other sizes, a part of the next larger file is used.
const LAID_OUT_BYTES: u64 = 1 << 20;

/// One run in the words of `halfpower run`.
#[derive(Debug, Clone, Default)]
pub struct RunWords {
    /// The other tool's name for the run; may be empty.
    pub name: String,
    /// The files as they were named.
    pub files: Vec<OsString>,
    /// Flags with their values, each once; an empty value marks a flag without value.
    flags: Vec<(&'static str, String)>,
    /// Bytes of the target from `offset` on.
    pub size: Option<Bytes>,
    /// The first byte in use.
    pub offset: Option<Bytes>,
    /// Differences from the other tool, a sentence each.
    pub notes: Vec<String>,
    /// Files that log the run over time.
    pub logs: Vec<FioLog>,
    /// halfpower's own flags in the line, passed on unchanged.
    pub own: Vec<OsString>,
    /// The words after `halfpower run`, set by [`Self::finish`].
    pub words: Vec<OsString>,
}

impl RunWords {
    /// Sets a flag of `halfpower run`, replacing an earlier value.
    pub fn set(&mut self, flag: &'static str, value: impl ToString) {
        self.flags.retain(|(known, _)| *known != flag);
        self.flags.push((flag, value.to_string()));
    }

    /// Removes a flag.
    pub fn unset(&mut self, flag: &'static str) {
        self.flags.retain(|(known, _)| *known != flag);
    }

    /// Sets a flag unless it is already set.
    pub fn unless_set(&mut self, flag: &'static str, value: impl ToString) {
        if self.get(flag).is_none() {
            self.set(flag, value);
        }
    }

    /// The value of a flag.
    pub fn get(&self, flag: &str) -> Option<&str> {
        self.flags.iter().find(|(known, _)| *known == flag).map(|(_, value)| value.as_str())
    }

    /// Adds a note unless it is already there.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Whether a word names a target that is not a path.
    pub fn is_scheme(word: &OsStr) -> bool {
        word.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
    }

    /// Writes the words after `halfpower run`.
    ///
    /// A file that does not exist or is empty is replaced by its folder, in which halfpower lays out its own file.
    ///
    /// # Errors
    /// If the folder does not exist either, or an offset leaves no bytes.
    pub fn finish(&mut self) -> Result<(), String> {
        let mut words = Vec::new();
        let mut is_laid_out = false;
        for file in self.files.clone() {
            let (target, is_new) = self.placed(&file)?;
            if is_new && words.contains(&target) {
                return Err(format!(
                    "{}: of several files in one folder each must be there; create it",
                    file.display()
                ));
            }
            is_laid_out |= is_new || Path::new(&target).is_dir();
            words.push(target);
        }
        for (flag, value) in &self.flags {
            words.push(flag.into());
            if !value.is_empty() {
                words.push(value.into());
            }
        }
        let offset = self.offset.filter(|offset| offset.0 > 0);
        let size = self.size.or_else(|| self.rest(offset));
        let end = offset.map_or(0, |offset| offset.0).saturating_add(size.map_or(0, |size| size.0));
        match (offset, size) {
            (None, None) => {}
            (from, Some(size)) if is_laid_out && !end.is_multiple_of(LAID_OUT_BYTES) => {
                let from = from.unwrap_or(Bytes(0));
                words.extend([
                    "--size".into(),
                    Bytes(end.checked_next_multiple_of(LAID_OUT_BYTES).unwrap_or(end)).to_string().into(),
                ]);
                words.extend(["--region".into(), format!("{from}+{size}").into()]);
            }
            (None, Some(size)) => words.extend(["--size".into(), size.to_string().into()]),
            (Some(offset), Some(size)) => {
                words.extend(["--size".into(), Bytes(end).to_string().into()]);
                words.extend(["--region".into(), format!("{offset}+{size}").into()]);
            }
            (Some(offset), None) => return Err(format!("an offset of {offset} needs a size as well: give both")),
        }
        words.extend(self.own.iter().cloned());
        let reads = self.get("--rw").is_some_and(|rw| !rw.ends_with("write"));
        let is_buffered = matches!(self.get("--cache"), Some("both" | "os")) || self.get("--direct") == Some("0");
        if reads && is_buffered {
            self.note(
                "buffered reads begin with an empty page cache and go through the target once; --page-cache warm measures the \
                 cache itself",
            );
        }
        self.words = words;
        Ok(())
    }

    /// Bytes of a file after the offset.
    fn rest(&self, offset: Option<Bytes>) -> Option<Bytes> {
        let length = std::fs::metadata(self.files.first()?).ok().filter(|data| data.is_file())?.len();
        Some(Bytes(length.checked_sub(offset?.0)?)).filter(|rest| rest.0 > 0)
    }

    /// The target for a file, and whether halfpower lays out a file there.
    fn placed(&mut self, file: &OsStr) -> Result<(OsString, bool), String> {
        let path = Path::new(file);
        let is_there = path.metadata().is_ok_and(|data| !data.is_file() || data.len() > 0);
        if Self::is_scheme(file) || is_there {
            return Ok((file.to_os_string(), false));
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if !folder.is_dir() {
            return Err(format!("{}: its folder does not exist; create it, or name another file", path.display()));
        }
        self.note(format!(
            "{} holds nothing yet: halfpower lays out a file of its own in that folder, and removes it after the run",
            path.display()
        ));
        Ok((folder.into(), true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(run: &mut RunWords) -> Vec<OsString> {
        run.finish().unwrap();
        run.words.clone()
    }

    fn text(words: &[OsString]) -> String {
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_that_is_not_there_becomes_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.dat");
        let mut run = RunWords { files: vec![file.clone().into()], ..RunWords::default() };
        assert_eq!(words(&mut run), [folder.path().as_os_str()]);
        assert!(run.notes[0].contains("lays out"), "{:?}", run.notes);
        std::fs::write(&file, [0; 4096]).unwrap();
        assert_eq!(words(&mut run), [file.as_os_str()]);
        let mut lost = RunWords { files: vec!["/no/such/folder/f".into()], ..RunWords::default() };
        assert!(lost.finish().unwrap_err().contains("does not exist"));
    }

    #[test]
    fn a_file_that_is_no_whole_mib_is_a_part_of_one_that_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).into();
        let mut run = RunWords { files: vec![file("f")], size: Some(Bytes(8 << 20)), ..RunWords::default() };
        assert!(text(&words(&mut run)).ends_with(" --size 8MiB"), "{:?}", run.words);
        run.size = Some(Bytes(1536 << 10));
        assert!(text(&words(&mut run)).ends_with(" --size 2MiB --region 0+1536KiB"), "{:?}", run.words);
        run.size = Some(Bytes(1 << 30));
        assert!(text(&words(&mut run)).ends_with(" --size 1GiB"), "{:?}", run.words);
        run.files.push(file("g"));
        assert!(run.finish().unwrap_err().contains("several files in one folder"));
    }

    #[test]
    fn a_flag_stands_once_and_an_offset_becomes_a_region() {
        let mut run = RunWords { files: vec!["sim:".into()], size: Some(Bytes(4096)), ..RunWords::default() };
        run.set("--bs", "4k");
        run.set("--bs", "8k");
        run.unless_set("--bs", "1m");
        run.set("--verify", "");
        run.offset = Some(Bytes(8192));
        assert_eq!(text(&words(&mut run)), "sim: --bs 8k --verify --size 12KiB --region 8KiB+4KiB");
        run.size = None;
        assert!(run.finish().is_err());
    }
}
