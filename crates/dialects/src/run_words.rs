//! Collects the meaning of another tool's options, and writes it as words of `halfpower run`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use halfpower_spec::{Bytes, IoSize, Nanos};

use crate::fio::FioLog;

/// Prefixes of targets that are not paths.
const SCHEMES: [&str; 8] = ["sim:", "null:", "each:", "stripe:", "mirror:", "smb://", "nfs://", "s3://"];

/// Size unit of files laid out in a folder; for other sizes, a part of the next larger file is used.
const LAID_OUT_BYTES: u64 = 1 << 20;

/// Which runs end when this one has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ends {
    /// No other.
    #[default]
    Itself,
    /// Those of its group that are measured at once with it.
    Group,
    /// All that are measured at once with it.
    Turn,
    /// These, and those after them are not measured.
    All,
}

/// One run in the words of `halfpower run`.
#[derive(Debug, Clone, Default)]
pub struct RunWords {
    /// The other tool's name for the run; may be empty.
    pub name: String,
    /// The files as they were named.
    pub files: Vec<OsString>,
    /// How many files are laid out for each name that is a folder, or in the folder of a file that is not there; 0 is
    /// as 1.
    pub copies: usize,
    /// Bytes after which a stream of requests goes on to the next of several files; `None` gives each file requests of
    /// its own.
    pub stripe_chunk: Option<Bytes>,
    /// Time to let pass before the run.
    pub start_delay: Option<Nanos>,
    /// Flags with their values, each once; an empty value marks a flag without value.
    flags: Vec<(&'static str, String)>,
    /// Bytes of each file from `offset` on.
    pub size: Option<Bytes>,
    /// The first byte of each file in use.
    pub offset: Option<Bytes>,
    /// Differences from the other tool, a sentence each.
    pub notes: Vec<String>,
    /// Files that log the run over time.
    pub logs: Vec<FioLog>,
    /// Whether it is measured at once with the run before it.
    pub joins: bool,
    /// Which runs end with it.
    pub ends: Ends,
    /// The number of its group, from 0.
    pub group: u32,
    /// How many jobs of fio it stands for (`numjobs`), each of which has an entry in the results unless it is grouped; 0 is
    /// as 1.
    pub jobs: u32,
    /// Whether its results are one with those of its group.
    pub is_grouped: bool,
    /// Whether what is printed tells of each thread, with its latencies, if the record does.
    pub has_entries_of_threads: bool,
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

    /// Whether the path lies in the system's folder of devices, where a name that is missing is a device that is missing.
    pub fn is_of_devices(path: &Path) -> bool {
        path.starts_with("/dev") && !path.starts_with("/dev/shm")
    }

    /// Lets requests reach the bytes of each file from `base` to `end`; without an end, to that of a file that is there.
    ///
    /// # Errors
    /// If nothing lies between them.
    pub fn use_part(&mut self, base: Bytes, end: Option<Bytes>) -> Result<(), String> {
        let left = |end: Bytes| end.0.checked_sub(base.0).filter(|bytes| *bytes > 0).map(Bytes);
        self.size = match end {
            None => None,
            Some(end) => Some(left(end).ok_or_else(|| format!("nothing is left of {end} from byte {} on", base.0))?),
        };
        self.offset = Some(base).filter(|base| base.0 > 0);
        Ok(())
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
            let is_own = is_new || Path::new(&target).is_dir();
            is_laid_out |= is_own;
            let copies = if is_own { self.copies.max(1) } else { 1 };
            words.extend(std::iter::repeat_n(target, copies));
        }
        let in_one = self.join(&mut words);
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
                words.extend(["--region".into(), region(in_one, from, size).into()]);
            }
            (None, Some(size)) => words.extend(["--size".into(), size.to_string().into()]),
            (Some(offset), Some(size)) => {
                words.extend(["--size".into(), Bytes(end).to_string().into()]);
                words.extend(["--region".into(), region(in_one, offset, size).into()]);
            }
            (Some(offset), None) => return Err(format!("an offset of {offset} needs a size as well: give both")),
        }
        words.extend(self.own.iter().cloned());
        self.say_how_caches_are_met();
        self.words = words;
        Ok(())
    }

    /// Makes one target of several files between which requests go from one to the next; gives how many files each
    /// part of the target spans.
    fn join(&self, targets: &mut Vec<OsString>) -> u64 {
        let count = targets.len() as u64;
        let Some(chunk) = self.stripe_chunk.filter(|_| count > 1) else { return 1 };
        let mut word = OsString::from(format!("stripe:chunk={chunk}"));
        for target in targets.drain(..) {
            word.push(",");
            word.push(target);
        }
        targets.push(word);
        count
    }

    /// Notes how a buffered run that reads meets the page cache, if that may be otherwise than in the other tool.
    fn say_how_caches_are_met(&mut self) {
        let reads = self.get("--rw").is_some_and(|rw| !rw.ends_with("write"));
        let is_buffered = matches!(self.get("--cache"), Some("both" | "os")) || self.get("--direct") == Some("0");
        if !reads || !is_buffered || self.get("--page-cache") == Some("warm") {
            return;
        }
        match self.get("--io-size").map(str::parse::<IoSize>) {
            // One pass over what was not cached is what the other tool measures too.
            Some(Ok(IoSize::Percent(..=100))) => {}
            Some(_) => self.note(
                "buffered reads begin with an empty page cache and go through the target once: the run ends there, since a \
                 second pass would be the cache's; --page-cache warm measures the cache itself",
            ),
            None => self.note(
                "buffered reads begin with an empty page cache and go through the target once, where the run may end \
                 before its time; --page-cache warm measures the cache itself",
            ),
        }
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
        if Self::is_of_devices(path) {
            return Err(format!(
                "{}: there is no such device, and no file is laid out among devices; name one that is there (see `lsblk`)",
                path.display()
            ));
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

/// A part of a target of `in_one` files at once, from byte `from` of each on.
fn region(in_one: u64, from: Bytes, size: Bytes) -> String {
    format!("{}+{}", Bytes(from.0.saturating_mul(in_one)), Bytes(size.0.saturating_mul(in_one)))
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
        let own = folder.path().display();
        assert_eq!(text(&words(&mut run)), format!("{own} {own} --size 1GiB"), "a file for each name");
        run.stripe_chunk = Some(Bytes(4096));
        run.size = Some(Bytes(1536 << 10));
        let striped = format!("stripe:chunk=4KiB,{own},{own} --size 2MiB --region 0+3MiB");
        assert_eq!(text(&words(&mut run)), striped, "the region is of both");
        let mut own_files = RunWords { files: vec![folder.path().into()], copies: 3, ..RunWords::default() };
        assert_eq!(text(&words(&mut own_files)), format!("{own} {own} {own}"));
    }

    #[test]
    fn nothing_is_laid_out_among_devices() {
        let mut run = RunWords { files: vec!["/dev/no-such-device".into()], ..RunWords::default() };
        let refusal = run.finish().unwrap_err();
        assert!(refusal.contains("no such device") && run.words.is_empty(), "{refusal}");
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
        run.use_part(Bytes(4096), Some(Bytes(12288))).unwrap();
        assert!(text(&words(&mut run)).ends_with("--size 12KiB --region 4KiB+8KiB"), "{:?}", run.words);
        assert!(run.use_part(Bytes(4096), Some(Bytes(4096))).unwrap_err().contains("nothing is left of 4KiB"));
    }
}
