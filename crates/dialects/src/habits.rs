//! Lists the options of all dialects, for the documentation and for help.

use std::fmt::Write;

use crate::{OptionRow, diskspd, fio, sqlio};

/// A tool whose command lines halfpower reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// fio, in `halfpower run`.
    Fio,
    /// SQLIO, in `halfpower sqlio`.
    Sqlio,
    /// diskspd, in `halfpower diskspd`.
    Diskspd,
}

/// One option, for people.
#[derive(Debug, Clone)]
pub struct OptionDoc {
    /// Its name and its other spellings.
    pub names: Vec<&'static str>,
    /// `taken`, `no effect` or `refused`.
    pub became: &'static str,
    /// What it became, or why it is refused and what to do instead.
    pub says: &'static str,
}

impl OptionDoc {
    fn of<A>(row: &'static OptionRow<A>) -> Self {
        let names = std::iter::once(row.name).chain(row.aliases.iter().copied()).collect();
        Self { names, became: row.became(), says: row.says }
    }
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::Fio, Self::Sqlio, Self::Diskspd];

    /// The tool's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Sqlio => "SQLIO",
            Self::Diskspd => "diskspd",
        }
    }

    /// Its options.
    pub fn habits(self) -> Vec<OptionDoc> {
        match self {
            Self::Fio => fio::options().map(OptionDoc::of).collect(),
            Self::Sqlio => sqlio::OPTIONS.iter().map(OptionDoc::of).collect(),
            Self::Diskspd => diskspd::OPTIONS.iter().map(OptionDoc::of).collect(),
        }
    }
}

/// All options of all dialects, as one Markdown table per dialect.
pub fn habits_as_markdown() -> String {
    let mut page = String::new();
    for dialect in Dialect::ALL {
        let _ = writeln!(page, "## {}\n", dialect.name());
        let _ = writeln!(page, "| option | became | what that is, or what to do instead |\n|---|---|---|");
        for OptionDoc { names, became, says } in dialect.habits() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(page, "| {} | {became} | {} |", names.join(", "), says.replace('|', "\\|"));
        }
        page.push('\n');
    }
    page
}
