//! Lays sections out on one screen; where there is too much, the least urgent lines give way.

use std::io::{self, Write};

/// Lines on a screen of forty, without the two that say where the files are.
const SCREEN: usize = 38;
/// What a line is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Heading,
    Alert,
    Chart,
}

/// What the lines of a part are: one of them, and several.
#[derive(Clone, Copy)]
pub(crate) struct Noun(pub &'static str, pub &'static str);

impl Noun {
    /// The line that stands for so many that do not fit.
    pub(crate) fn more(self, hidden: usize) -> String {
        format!("  ... and {hidden} more {}", if hidden == 1 { self.0 } else { self.1 })
    }
}

/// A heading and items under it, of which the first stay longest.
pub(super) struct Section {
    heading: Option<String>,
    pub items: Vec<Item>,
    noun: Noun,
    /// Items shown, and the fewest that stay.
    shown: usize,
    least: usize,
}

/// A few lines that stay together.
pub(super) struct Item {
    pub lines: Vec<String>,
    pub tone: Tone,
}

/// Takes items away, from the least urgent section first, until everything fits or nothing more may go.
pub(super) fn fit(sections: &mut [Section]) {
    let height = |sections: &[Section]| {
        let filled: Vec<usize> = sections.iter().map(Section::height).filter(|height| *height > 0).collect();
        filled.iter().sum::<usize>() + filled.len().saturating_sub(1)
    };
    for at in (0..sections.len()).rev() {
        while height(sections) > SCREEN && sections[at].shown > sections[at].least {
            sections[at].shown -= 1;
        }
    }
}

impl Section {
    pub fn new(heading: Option<String>, noun: Noun, items: Vec<Item>, most: usize, least: usize) -> Self {
        let shown = items.len().min(most);
        Self { heading, noun, shown, least: least.min(shown), items }
    }

    fn hidden(&self) -> usize {
        self.items.len() - self.shown
    }

    fn height(&self) -> usize {
        if self.items.is_empty() {
            return 0;
        }
        let items: usize = self.items[..self.shown].iter().map(|item| item.lines.len()).sum();
        usize::from(self.heading.is_some()) + items + usize::from(self.hidden() > 0)
    }

    pub fn print(&self, width: usize, colour: bool, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        if let Some(heading) = &self.heading {
            print_line(heading, Tone::Heading, width, colour, out)?;
        }
        for item in &self.items[..self.shown] {
            for line in &item.lines {
                print_line(line, item.tone, width, colour, out)?;
            }
        }
        match self.hidden() {
            0 => Ok(()),
            hidden => print_line(&self.noun.more(hidden), Tone::Plain, width, colour, out),
        }
    }
}

impl Item {
    pub fn line(text: impl Into<String>, tone: Tone) -> Self {
        Self { lines: vec![text.into()], tone }
    }

    /// A sentence folded to `width`, each line after the first indented as far as `lead` is long.
    pub fn sentence(lead: &str, text: &str, width: usize, tone: Tone) -> Self {
        Self { lines: folded(lead, text, width), tone }
    }
}

fn print_line(text: &str, tone: Tone, width: usize, colour: bool, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let text = cut(text.trim_end(), width);
    match tone {
        Tone::Heading if colour => writeln!(out, "\x1b[1m{text}\x1b[0m"),
        Tone::Chart if colour => writeln!(out, "\x1b[36m{text}\x1b[0m"),
        Tone::Alert if colour => writeln!(out, "\x1b[33m{text}\x1b[0m"),
        _ => writeln!(out, "{text}"),
    }
}

/// The first `width` characters, the last of them three dots where something is lost.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let head: String = text.chars().take(width - 3).collect();
    format!("{}...", head.trim_end())
}

fn folded(lead: &str, text: &str, width: usize) -> Vec<String> {
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
