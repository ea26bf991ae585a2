//! Reads elements of XML, and says in which line one is that is not as it should be.

use roxmltree::{Document, Node};

use crate::foreign_run::whole;
use crate::found::Trouble;

/// The tree of a text.
pub fn parsed(xml: &str) -> Result<Document<'_>, Trouble> {
    Document::parse(xml).map_err(|error| {
        let line = error.pos().row as usize;
        Trouble::at(line.max(1), format!("this is no XML of diskspd, or not all of it: {}", without_place(&error)))
    })
}

/// The error's text without the place at its end, which stands before it.
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

    /// The elements of this name that stand in it.
    pub fn children(&self, name: &'a str) -> impl Iterator<Item = Self> + use<'a> {
        self.0.children().filter(move |node| node.has_tag_name(name)).map(Self)
    }

    pub fn child(&self, name: &'a str) -> Option<Self> {
        self.children(name).next()
    }

    /// The text of the element of this name.
    pub fn text(&self, name: &'a str) -> Option<String> {
        self.child(name).map(|child| child.own_text())
    }

    /// Its own text.
    pub fn own_text(&self) -> String {
        self.0.text().unwrap_or_default().trim().to_string()
    }

    /// What is wrong with it.
    pub fn trouble(&self, message: impl Into<String>) -> Trouble {
        Trouble::at(self.0.document().text_pos_at(self.0.range().start).row as usize, message)
    }

    /// The number of the element of this name, which has to be there.
    pub fn number(&self, name: &'a str) -> Result<f64, Trouble> {
        let child = self.child(name).ok_or_else(|| self.trouble(format!("<{}> has no <{name}>", self.name())))?;
        let text = child.own_text();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| child.trouble(format!("<{name}>: `{text}` is not a number")))
    }

    /// The same as a whole number, times `factor`.
    pub fn scaled(&self, name: &'a str, factor: f64) -> Result<u64, Trouble> {
        let number = self.number(name)?;
        whole(number * factor).ok_or_else(|| self.trouble(format!("<{name}>: {number} is more than anybody measures")))
    }

    pub fn whole(&self, name: &'a str) -> Result<u64, Trouble> {
        self.scaled(name, 1.0)
    }

    /// The number of the element of this name, or 0 where there is none.
    pub fn or_zero(&self, name: &'a str) -> Result<u64, Trouble> {
        if self.child(name).is_some() { self.whole(name) } else { Ok(0) }
    }

    pub fn is_true(&self, name: &'a str) -> bool {
        self.text(name).is_some_and(|text| text == "true" || text == "1")
    }
}
