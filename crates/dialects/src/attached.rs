//! Reads the lines of tools whose values are attached to the option's name, as in `-b8`: SQLIO and diskspd.

use std::ffi::{OsStr, OsString};

use crate::{OptionRow, Refusal, Translation};

/// What a line of such a tool is collected in.
pub(crate) trait AttachedLine: Sized + 'static {
    /// The tool's name.
    const TOOL: &'static str;
    /// Its command here.
    const COMMAND: &'static str;
    /// Its options.
    const OPTIONS: &'static [OptionRow<Self>];

    /// Takes a word that names a target.
    fn take_file(&mut self, word: &OsStr);

    /// Takes a word of ours: they begin with two dashes.
    fn take_own(&mut self, word: &OsStr);

    /// The run, with the tool's defaults for what was left out.
    ///
    /// # Errors
    /// What does not go together, in a sentence.
    fn finished(self) -> Result<Translation, String>;
}

/// Translates the words of a line into `line`.
///
/// # Errors
/// Every option that is not taken.
pub(crate) fn translate<L: AttachedLine>(mut line: L, words: &[OsString]) -> Result<Translation, Vec<Refusal>> {
    let mut refusals = Vec::new();
    for word in words {
        let text = word.to_str().unwrap_or_default();
        if !text.starts_with('-') {
            line.take_file(word);
        } else if text.starts_with("--") {
            line.take_own(word);
        } else if let Some((row, value)) = named(L::OPTIONS, text) {
            refusals.extend(row.apply(&mut line, OsStr::new(value)).err().map(|why| Refusal::of(text, why)));
        } else {
            let (tool, command) = (L::TOOL, L::COMMAND);
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

/// The row whose name begins `word`, the longest of them, and what follows the name: `-b4K` is `-b` and `4K`.
fn named<'a, A>(options: &'static [OptionRow<A>], word: &'a str) -> Option<(&'static OptionRow<A>, &'a str)> {
    let row = options.iter().filter(|row| word.starts_with(row.name)).max_by_key(|row| row.name.len())?;
    Some((row, &word[row.name.len()..]))
}
