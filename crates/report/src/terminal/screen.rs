//! Prints sections of lines, cut to the width, with colours if requested.

use std::io::{self, Write};
use std::ops::Range;

use halfpower_spec::escaped;

pub(crate) const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const END: &str = "\x1b[0m";
/// All sequences by which styles are set on a terminal.
pub const STYLES: &[&str] = &[BOLD, YELLOW, CYAN, END];

/// Widest line of prose, however wide the terminal: longer lines are hard to read.
pub(super) const WIDEST: usize = 120;
/// Narrowest width to which text is folded; on a narrower terminal, lines are cut.
pub(super) const NARROWEST: usize = 40;

/// How text is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours may be used.
    pub colour: bool,
}

/// The kind of a line, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Alert,
    Chart,
}

impl Tone {
    /// The sequence that sets its style.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Heading => Some(BOLD),
            Self::Alert => Some(YELLOW),
            Self::Chart => Some(CYAN),
        }
    }
}

/// The noun for the lines of a part, in singular and plural.
#[derive(Clone, Copy)]
pub(crate) struct Noun(pub &'static str, pub &'static str);

impl Noun {
    /// The line that replaces `hidden` lines that do not fit.
    pub(crate) fn more(self, hidden: usize) -> String {
        format!("  ... and {hidden} more {}", if hidden == 1 { self.0 } else { self.1 })
    }
}

/// A heading with items; prints nothing without items.
pub(super) struct Section {
    heading: Option<String>,
    pub items: Vec<Item>,
    stands_alone: bool,
}

/// A few lines that stay together.
pub(super) struct Item {
    pub lines: Vec<String>,
    pub tone: Tone,
    /// Characters of the first line that are set in bold.
    pub strong: Option<Range<usize>>,
    /// Whether its lines are never cut to the width.
    pub is_whole: bool,
}

impl Section {
    pub fn new(heading: Option<String>, items: Vec<Item>) -> Self {
        Self { heading, items, stands_alone: false }
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.stands_alone
    }

    /// The section, printed even if it has only a heading.
    pub fn alone(self) -> Self {
        Self { stands_alone: true, ..self }
    }

    /// Number of its lines.
    pub fn height(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        let items: usize = self.items.iter().map(|item| item.lines.len()).sum();
        usize::from(self.heading.is_some()) + items
    }

    pub fn print(&self, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        if let Some(heading) = &self.heading {
            print_line(heading, Tone::Heading, width, colour, out)?;
        }
        for item in &self.items {
            let width = if item.is_whole { usize::MAX } else { width };
            let mut lines = item.lines.iter();
            if let Some((first, strong)) = lines.as_slice().first().zip(item.strong.as_ref()) {
                print_partly_strong(first, strong, width, colour, out)?;
                lines.next();
            }
            for line in lines {
                print_line(line, item.tone, width, colour, out)?;
            }
        }
        Ok(())
    }
}

impl Item {
    pub fn line(text: impl Into<String>, tone: Tone) -> Self {
        Self { lines: vec![text.into()], tone, strong: None, is_whole: false }
    }

    /// A line that people copy, and that is of no use in part: it is longer than the screen rather than cut.
    pub fn to_paste(text: impl Into<String>, tone: Tone) -> Self {
        Self { is_whole: true, ..Self::line(text, tone) }
    }

    /// A sentence folded to `width`; lines after the first are indented by the length of `lead`.
    pub fn sentence(lead: &str, text: &str, width: usize, tone: Tone) -> Self {
        Self { lines: folded(lead, text, width), tone, strong: None, is_whole: false }
    }

    /// The same with the first `strong` characters of the text in bold, as far as they are on the first line.
    pub fn sentence_with_cause(lead: &str, text: &str, strong: usize, width: usize) -> Self {
        let from = lead.chars().count();
        Self { strong: Some(from..from + strong), ..Self::sentence(lead, text, width, Tone::Plain) }
    }
}

/// Prints sections with an empty line between them.
pub(super) fn print(sections: &[Section], width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut first = true;
    for section in sections {
        if section.is_empty() {
            continue;
        }
        if !first {
            writeln!(out)?;
        }
        first = false;
        section.print(width, colour, out)?;
    }
    Ok(())
}

pub(super) fn print_line(text: &str, tone: Tone, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
    styled(text, tone.code().filter(|_| colour), width, out)
}

/// Prints a line with some of its characters in bold; one that is cut to the width has none.
fn print_partly_strong(
    text: &str,
    strong: &Range<usize>,
    width: usize,
    colour: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let text = text.trim_end();
    let part = |from: usize, to: usize| text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>();
    let parts = [part(0, strong.start), part(strong.start, strong.end), part(strong.end, usize::MAX)];
    let [before, strong, after] = parts.map(|part| escaped(&part).to_string());
    let length = [&before, &strong, &after].map(|part| part.chars().count()).iter().sum::<usize>();
    if !colour || strong.is_empty() || length > width {
        return styled(text, None, width, out);
    }
    writeln!(out, "{before}{BOLD}{strong}{END}{after}")
}

/// Prints a line in this style, cut to the width. The one place where a style is set: what the text says is escaped before,
/// so that a name in it sets none.
pub(crate) fn styled(text: &str, style: Option<&'static str>, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let text = cut(&escaped(text.trim_end()), width);
    match style {
        Some(style) => writeln!(out, "{style}{text}{END}"),
        None => writeln!(out, "{text}"),
    }
}

/// The first `width` characters, ending in three dots if something was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let head: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", head.trim_end())
}

/// The text behind its lead, folded to `width`; lines after the first are indented by the length of the lead.
pub(crate) fn folded(lead: &str, text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(lead.chars().count());
    let mut lines = vec![lead.to_string()];
    let mut empty = true;
    for word in text.split_whitespace() {
        let line = lines.last().expect("one was put in");
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(indent.clone());
            empty = true;
        }
        let line = lines.last_mut().expect("one was put in");
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_to_paste_is_never_cut() {
        let line = "configs.sh --alter --add-config follower.replication.throttled.rate=50000000";
        let items = vec![Item::line(line, Tone::Heading), Item::to_paste(line, Tone::Heading)];
        let mut out = Vec::new();
        Section::new(None, items).print(40, false, &mut out).unwrap();
        let printed = String::from_utf8(out).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), ["configs.sh --alter --add-config follo...", line]);
    }

    #[test]
    fn a_cause_is_bold_on_its_line_and_plain_without_colours() {
        let text = "the link: 91% of the 1,970 MB/s that it advertises";
        let printed = |colour: bool, width: usize, text: &str| {
            let item = Item::sentence_with_cause("  reads   ", text, "the link".len(), width);
            let mut out = Vec::new();
            Section::new(None, vec![item]).print(width, colour, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(printed(false, 80, text), format!("  reads   {text}\n"));
        let bold = format!("  reads   {BOLD}the link{END}: 91% of the 1,970 MB/s that it advertises\n");
        assert_eq!(printed(true, 80, text), bold);
        let folded = printed(true, 40, text);
        assert!(
            folded.starts_with(&format!("  reads   {BOLD}the link{END}: 91% of the")) && folded.lines().count() == 2
        );
        let hostile = printed(true, 80, "the \u{1b}[31: red");
        assert_eq!(hostile.matches('\u{1b}').count(), 2, "a name sets no style: {hostile:?}");
    }
}
