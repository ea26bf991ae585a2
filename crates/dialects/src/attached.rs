//! Parses command lines of tools that attach a value to the option's name, as in `-b8`: SQLIO and diskspd.

use std::ffi::{OsStr, OsString};

use crate::{OptionRow, Refusal, Translation};

/// The option of the block size, in which values of others may count, in either tool.
const BLOCK_SIZE: &str = "-b";

/// Collects the options of such a line.
pub(crate) trait AttachedLine: Sized + 'static {
    /// The tool's name.
    const TOOL: &'static str;
    /// The halfpower command for it.
    const COMMAND: &'static str;
    /// Its options.
    const OPTIONS: &'static [OptionRow<Self>];

    /// Takes a word that names a target.
    fn take_file(&mut self, word: &OsStr);

    /// Takes a halfpower flag, which begins with two dashes.
    fn take_own(&mut self, word: &OsStr);

    /// Returns the run, with the tool's defaults for missing options.
    ///
    /// # Errors
    /// A sentence about options that cannot be combined.
    fn finished(self) -> Result<Translation, String>;
}

/// Translates the words of a line into `line`, in which the block size may stand anywhere.
///
/// # Errors
/// Every option that is refused.
pub(crate) fn translate<L: AttachedLine>(mut line: L, words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    let mut refusals = Vec::new();
    let is_block_size = |word: &&OsString| {
        let row = word.to_str().and_then(|text| named(L::OPTIONS, text));
        row.is_some_and(|(row, _)| row.name == BLOCK_SIZE)
    };
    let others = words.iter().filter(|word| !is_block_size(word));
    for word in words.iter().filter(is_block_size).chain(others) {
        let text = word.to_str().unwrap_or_default();
        if !text.starts_with('-') {
            line.take_file(word);
        } else if text.starts_with("--") {
            line.take_own(word);
        } else if let Some((row, value)) = named(L::OPTIONS, text) {
            refusals.extend(row.apply(&mut line, OsStr::new(value)).err().map(|why| Refusal::of(text, why)));
        } else {
            let tool = L::TOOL;
            let command = L::COMMAND;
            let why = format!("is no option of {tool} that halfpower knows; `halfpower {command}` lists them");
            refusals.push(Refusal::of(text, why));
        }
    }
    match line.finished() {
        Ok(translation) if refusals.is_empty() => Ok(translation),
        Ok(_) => Err(refusals),
        Err(why) => {
            refusals.push(Refusal::of("", why));
            Err(refusals)
        }
    }
}

/// The row with the longest name that begins `word`, and the rest of the word: `-b4K` is `-b` and `4K`.
fn named<'a, A>(options: &'static [OptionRow<A>], word: &'a str) -> Option<(&'static OptionRow<A>, &'a str)> {
    let row = options.iter().filter(|row| word.starts_with(row.name)).max_by_key(|row| row.name.len())?;
    Some((row, &word[row.name.len()..]))
}
