//! Lays out the parts of a comparison on a screen or as Markdown.

use std::io::{self, Write};

use halfpower_spec::escaped;

use crate::Style;
use crate::columns::{Column, lines};
use crate::terminal::{BOLD, Noun, styled};

/// Narrowest and widest width for folded text.
const WIDTH: (usize, usize) = (40, 120);

/// A heading with lines or a table; a screen may cut it short.
pub(super) struct Part {
    heading: Option<String>,
    body: Body,
    /// Sentences below a table.
    after: Vec<String>,
    noun: Noun,
    /// Fewest lines that a screen shows.
    least: usize,
}

enum Body {
    /// One line each; a narrow screen cuts them.
    Facts(Vec<String>),
    /// Each with a lead; further lines are indented below it.
    Lines(Vec<(&'static str, String)>),
    /// The first row is the heading. `ranks` say which columns a narrow screen drops: those of the highest rank first, and
    /// none of rank 0, to which columns without a rank belong.
    Table { rows: Vec<Vec<String>>, right: Vec<usize>, ranks: Vec<u8> },
}

/// A part as lines of a screen.
struct Folded {
    heading: Option<String>,
    lines: Vec<String>,
    shown: usize,
    least: usize,
    noun: Noun,
}

impl Part {
    /// Facts without a heading, one line each.
    pub fn facts(facts: Vec<String>, noun: Noun) -> Self {
        Self { heading: None, least: facts.len(), body: Body::Facts(facts), after: Vec::new(), noun }
    }

    /// Lines, each with its lead.
    pub fn lines(heading: Option<&str>, lines: Vec<(&'static str, String)>, noun: Noun, least: usize) -> Self {
        Self { heading: heading.map(str::to_string), body: Body::Lines(lines), after: Vec::new(), noun, least }
    }

    /// A table with a heading row; `right` are the columns of numbers.
    pub fn table(rows: Vec<Vec<String>>, right: &[usize], noun: Noun) -> Self {
        let body = Body::Table { rows, right: right.to_vec(), ranks: Vec::new() };
        Self { heading: None, body, after: Vec::new(), noun, least: 2 }
    }

    /// The part with these ranks of its columns: a narrow screen drops those of the highest rank first, and none of rank 0.
    pub fn with_ranks(mut self, of_columns: &[u8]) -> Self {
        if let Body::Table { ranks, .. } = &mut self.body {
            *ranks = of_columns.to_vec();
        }
        self
    }

    /// The part with sentences below it, which are never cut.
    pub fn with_sentences(self, after: Vec<String>) -> Self {
        Self { after, least: usize::MAX, ..self }
    }

    fn is_empty(&self) -> bool {
        match &self.body {
            Body::Facts(facts) => facts.is_empty(),
            Body::Lines(lines) => lines.is_empty(),
            Body::Table { rows, .. } => rows.len() < 2 && self.after.is_empty(),
        }
    }

    fn folded(&self, width: usize) -> Folded {
        let (heading, mut lines) = match &self.body {
            Body::Facts(facts) => (None, facts.clone()),
            Body::Lines(lines) => {
                let lines = lines.iter().flat_map(|(lead, text)| folded(lead, text, width));
                (self.heading.clone(), lines.collect::<Vec<String>>())
            }
            Body::Table { rows, right, ranks } => {
                let mut lines = fitted(rows, right, ranks, width).into_iter();
                (lines.next(), lines.collect())
            }
        };
        lines.extend(self.after.iter().flat_map(|sentence| folded("  ", sentence, width)));
        Folded { heading, shown: lines.len(), least: self.least.min(lines.len()), lines, noun: self.noun }
    }

    fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        self.heading.iter().try_for_each(|heading| write!(out, "### {heading}\n\n"))?;
        match &self.body {
            Body::Facts(facts) => facts.iter().try_for_each(|fact| writeln!(out, "- {}", escaped(fact)))?,
            Body::Lines(lines) => {
                lines.iter().try_for_each(|(lead, text)| writeln!(out, "{}{}", item(lead), escaped(text)))?;
            }
            Body::Table { rows, right, .. } => {
                let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
                let rule: Vec<&str> = (0..columns).map(|at| if right.contains(&at) { "---:" } else { "---" }).collect();
                let cells =
                    |row: &[String]| row.iter().map(|cell| markdown_cell(cell.trim())).collect::<Vec<_>>().join(" | ");
                writeln!(out, "| {} |\n| {} |", cells(&rows[0]), rule.join(" | "))?;
                rows[1..].iter().try_for_each(|row| writeln!(out, "| {} |", cells(row)))?;
            }
        }
        self.after.iter().try_for_each(|sentence| write!(out, "\n{sentence}\n"))
    }
}

impl Folded {
    fn height(&self) -> usize {
        1 + usize::from(self.heading.is_some()) + self.shown + usize::from(self.shown < self.lines.len())
    }

    fn print(&self, width: usize, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        if let Some(heading) = &self.heading {
            styled(heading, colour.then_some(BOLD), width, out)?;
        }
        for line in &self.lines[..self.shown] {
            styled(line, None, width, out)?;
        }
        match self.lines.len() - self.shown {
            0 => Ok(()),
            hidden => styled(&self.noun.more(hidden), None, width, out),
        }
    }
}

/// Prints the parts on `most` lines at most, unless their minimum lengths need more.
pub(super) fn print(parts: &[Part], most: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    let mut parts: Vec<Folded> = parts.iter().filter(|part| !part.is_empty()).map(|part| part.folded(width)).collect();
    for at in (0..parts.len()).rev() {
        while parts.iter().map(Folded::height).sum::<usize>() > most.saturating_add(1)
            && parts[at].shown > parts[at].least
        {
            parts[at].shown -= 1;
        }
    }
    let mut first = true;
    for part in &parts {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        part.print(width, style.colour, out)?;
    }
    Ok(())
}

/// Prints the parts in full as GitHub Markdown.
pub(super) fn print_markdown(parts: &[Part], out: &mut dyn Write) -> io::Result<()> {
    let mut first = true;
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        part.markdown(out)?;
    }
    Ok(())
}

/// One row of a table.
pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_string).to_vec()
}

/// The lines of a table with as many columns as fit, those of the lowest rank first.
fn fitted(rows: &[Vec<String>], right: &[usize], ranks: &[u8], width: usize) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at: usize| {
        let mut cells = rows.iter().map(|row| row.get(at).map_or("", String::as_str));
        let heading = cells.next().unwrap_or_default();
        let rank = ranks.get(at).copied().unwrap_or(0);
        let cells = cells.map(str::to_string);
        if right.contains(&at) { Column::right(heading, rank, cells) } else { Column::left(heading, rank, cells) }
    };
    lines((0..count).map(column).collect(), width)
}

/// The Markdown list marker for a lead: an item of a list, or of a nested list.
fn item(lead: &str) -> &'static str {
    if lead.trim().is_empty() && lead.len() > 2 { "  - " } else { "- " }
}

/// A cell of a table in Markdown.
fn markdown_cell(cell: &str) -> String {
    escaped(cell).replace('|', "\\|").replace('*', "\\*")
}

/// Lines of at most `width` characters; lines after the first are indented by the length of `lead`.
fn folded(lead: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![lead.to_string()];
    let indent = lead.chars().count();
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one was put in");
        let length = line.chars().count();
        if length > indent && length + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            let space = if length > indent { " " } else { "" };
            line.push_str(&format!("{space}{word}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_loses_the_columns_of_the_highest_rank() {
        let rows = || vec![row(["what", "first", "second", "third"]), row(["x", "1", "2", "3"])];
        let shown = |width| fitted(&rows(), &[], &[0, 2, 1], width)[0].clone();
        assert_eq!(shown(40), "what  first  second  third");
        assert_eq!(shown(22), "what  second  third");
        assert_eq!(shown(12), "what  third");
        assert_eq!(shown(5), "what  third");
    }
}
