//! Describes the options of a dialect as rows of a table: name, value, and what happens with the option.

use std::ffi::OsStr;

/// One option of another tool; `A` is the type that collects a line of that tool.
pub struct OptionRow<A: 'static> {
    /// Its name in that tool's documentation; without dashes for fio.
    pub name: &'static str,
    /// Other spellings of the same.
    pub aliases: &'static [&'static str],
    /// Whether a value follows.
    pub value: Value,
    /// What happens with it.
    pub fate: Handling<A>,
    /// What it becomes, or why it is refused and what to do instead: the rest of a sentence that begins with its name.
    pub says: &'static str,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// An optional value, attached to the name.
    Optional,
    /// A required value.
    Needed,
}

/// Applies a value to the collected options, or returns why it is refused.
pub type Take<A> = fn(&mut A, &str) -> Result<(), String>;
/// Like [`Take`], for a value that names files.
pub type TakePath<A> = fn(&mut A, &OsStr) -> Result<(), String>;

/// What happens with an option.
pub enum Handling<A: 'static> {
    /// It becomes part of the run.
    Taken(Take<A>),
    /// It becomes part of the run; its value is a path, which need not be UTF-8.
    TakenPath(TakePath<A>),
    /// It is accepted without effect, because halfpower always behaves so or it has no meaning here.
    WithoutEffect,
    /// It is refused.
    Refused,
}

impl<A> OptionRow<A> {
    /// An option that is taken.
    pub const fn taken(name: &'static str, says: &'static str, take: Take<A>) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Handling::Taken(take), says }
    }

    /// An option whose value names files.
    pub const fn path(name: &'static str, says: &'static str, take: TakePath<A>) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Handling::TakenPath(take), says }
    }

    /// An option that is accepted without effect.
    pub const fn without_effect(name: &'static str, says: &'static str) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Handling::WithoutEffect, says }
    }

    /// An option that is refused.
    pub const fn refused(name: &'static str, says: &'static str) -> Self {
        Self { name, aliases: &[], value: Value::Needed, fate: Handling::Refused, says }
    }

    /// Adds other spellings.
    pub const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Makes the value optional.
    pub const fn optional(self) -> Self {
        Self { value: Value::Optional, ..self }
    }

    /// Applies the option to `asked`.
    ///
    /// # Errors
    /// Why it is refused, or what is wrong with `value`.
    pub fn apply(&self, asked: &mut A, value: &OsStr) -> Result<(), String> {
        match &self.fate {
            Handling::Taken(take) => match value.to_str() {
                Some(text) => take(asked, text),
                None => Err(format!("`{}` is not readable text", value.display())),
            },
            Handling::TakenPath(take) => take(asked, value),
            Handling::WithoutEffect => Ok(()),
            Handling::Refused => Err(self.says.to_string()),
        }
    }

    /// What happens with it, in a word.
    pub fn became(&self) -> &'static str {
        match self.fate {
            Handling::Taken(_) | Handling::TakenPath(_) => "taken",
            Handling::WithoutEffect => "no effect",
            Handling::Refused => "refused",
        }
    }
}
