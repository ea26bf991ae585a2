//! Describes the options of a dialect as rows of a table: the name, whether a value follows, and what becomes of it.

use std::ffi::OsStr;

/// One option of another tool; `A` is what a line of that tool is collected in.
pub struct OptionRow<A: 'static> {
    /// Its name as that tool's documentation has it, without dashes for fio.
    pub name: &'static str,
    /// Other spellings of the same.
    pub aliases: &'static [&'static str],
    /// Whether a value follows.
    pub value: Value,
    /// What is done with it.
    pub fate: Fate<A>,
    /// What became of it, or why it is refused and what to do instead: the end of a sentence that begins with its name.
    pub says: &'static str,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// It may have one, attached to it.
    Optional,
    /// It always has one.
    Needed,
}

/// Changes what was collected so far, or says why the value cannot be taken.
pub type Take<A> = fn(&mut A, &str) -> Result<(), String>;
/// The same for a value that names files.
pub type TakePath<A> = fn(&mut A, &OsStr) -> Result<(), String>;

/// What is done with an option.
pub enum Fate<A: 'static> {
    /// It becomes part of the run.
    Taken(Take<A>),
    /// The same; its value is a path, which need not be UTF-8.
    TakenPath(TakePath<A>),
    /// It is accepted and changes nothing, since it is always so here or has no meaning here.
    WithoutEffect,
    /// It is refused.
    Refused,
}

impl<A> OptionRow<A> {
    /// An option that is taken.
    pub const fn taken(name: &'static str, says: &'static str, take: Take<A>) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Fate::Taken(take), says }
    }

    /// An option whose value names files.
    pub const fn path(name: &'static str, says: &'static str, take: TakePath<A>) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Fate::TakenPath(take), says }
    }

    /// An option that is accepted and changes nothing.
    pub const fn without_effect(name: &'static str, says: &'static str) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Fate::WithoutEffect, says }
    }

    /// An option that is refused.
    pub const fn refused(name: &'static str, says: &'static str) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Fate::Refused, says }
    }

    /// The same with other spellings.
    pub const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The same where the value may be left out.
    pub const fn optional(self) -> Self {
        Self { value: Value::Optional, ..self }
    }

    /// Carries the option out on `asked`.
    ///
    /// # Errors
    /// Why it is refused, or what is wrong with `value`.
    pub fn apply(&self, asked: &mut A, value: &OsStr) -> Result<(), String> {
        match &self.fate {
            Fate::Taken(take) => match value.to_str() {
                Some(text) => take(asked, text),
                None => Err(format!("`{}` is not readable text", value.display())),
            },
            Fate::TakenPath(take) => take(asked, value),
            Fate::WithoutEffect => Ok(()),
            Fate::Refused => Err(self.says.to_string()),
        }
    }

    /// What became of it, in a word.
    pub fn became(&self) -> &'static str {
        match self.fate {
            Fate::Taken(_) | Fate::TakenPath(_) => "taken",
            Fate::WithoutEffect => "no effect",
            Fate::Refused => "refused",
        }
    }
}
