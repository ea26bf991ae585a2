//! Reads XML elements, with the line number of invalid ones.

use roxmltree::{Document, Node};

use crate::foreign_run::FileError;
use crate::foreign_run::whole;

/// Parses XML text.
pub fn parsed(xml: &str) -> Result<Document<'_>, FileError> {
    Document::parse(xml).map_err(|error| {
        let line = error.pos().row as usize;
        FileError::at(line.max(1), format!("this is no XML of diskspd, or not all of it: {}", without_place(&error)))
    })
}

/// The error's text without the position at its end, which is reported separately.
fn without_place(error: &roxmltree::Error) -> String {
    let said = error.to_string();
    said.split(" at ").next().unwrap_or(&said).to_string()
}

/// An element.
#[derive(Debug, Clone, Copy)]
pub struct Element<'a>(Node<'a, 'a>);

impl<'a> Element<'a> {
    pub fn root(document: &'a Document<'a>) -> Self {
        Self(document.root_element())
    }

    pub fn name(&self) -> &'a str {
        self.0.tag_name().name()
    }

    /// Its child elements of this name.
    pub fn children(&self, name: &'a str) -> impl Iterator<Item = Self> + use<'a> {
        self.0.children().filter(move |node| node.has_tag_name(name)).map(Self)
    }

    pub fn child(&self, name: &'a str) -> Option<Self> {
        self.children(name).next()
    }

    /// The text of its child of this name.
    pub fn text(&self, name: &'a str) -> Option<String> {
        self.child(name).map(|child| child.own_text())
    }

    /// Its own text.
    pub fn own_text(&self) -> String {
        self.0.text().unwrap_or_default().trim().to_string()
    }

    /// Its line in the file.
    pub fn line(&self) -> usize {
        self.0.document().text_pos_at(self.0.range().start).row as usize
    }

    /// An error at this element.
    pub fn trouble(&self, message: impl Into<String>) -> FileError {
        FileError::at(self.line(), message)
    }

    /// The number in its child of this name, which must exist.
    pub fn number(&self, name: &'a str) -> Result<f64, FileError> {
        let child = self.child(name).ok_or_else(|| self.trouble(format!("<{}> has no <{name}>", self.name())))?;
        let text = child.own_text();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| child.trouble(format!("<{name}>: `{text}` is not a number")))
    }

    /// The number in its child of this name, times `factor`, as a whole number.
    pub fn scaled(&self, name: &'a str, factor: f64) -> Result<u64, FileError> {
        let number = self.number(name)?;
        whole(number * factor).ok_or_else(|| self.trouble(format!("<{name}>: {number} is more than anybody measures")))
    }

    pub fn whole(&self, name: &'a str) -> Result<u64, FileError> {
        self.scaled(name, 1.0)
    }

    /// The number in its child of this name, or 0 without such a child.
    pub fn or_zero(&self, name: &'a str) -> Result<u64, FileError> {
        if self.child(name).is_some() { self.whole(name) } else { Ok(0) }
    }

    pub fn is_true(&self, name: &'a str) -> bool {
        self.text(name).is_some_and(|text| text == "true" || text == "1")
    }
}
