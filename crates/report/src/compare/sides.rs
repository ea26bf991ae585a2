//! Holds the colours that distinguish studies on a page, for its style and for its charts.

use std::fmt::Write;

use serde_json::{Value, json};

/// Colours for light and dark backgrounds, the baseline's first; reused in order for more studies.
const COLOURS: [(&str, &str); 8] = [
    ("#0b6b70", "#56c5c4"),
    ("#b4530a", "#f2a25c"),
    ("#6a3d9a", "#b79af0"),
    ("#b02a4c", "#f08aa0"),
    ("#2f6fb7", "#7db4f0"),
    ("#5c7a12", "#a9cc55"),
    ("#7a5230", "#d0a37c"),
    ("#5a646e", "#a0abb4"),
];

/// The class of elements that belong to the study with this index.
pub(super) fn class(at: usize) -> String {
    format!("side-{}", at % COLOURS.len())
}

/// The colours of this many studies as a style; printed pages use the light ones.
pub(super) fn style(studies: usize) -> String {
    let rules = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
        COLOURS.iter().take(studies).enumerate().fold(String::new(), |mut rules, (at, colours)| {
            let _ = write!(rules, ".{} {{ --side: {}; }} ", class(at), pick(colours));
            rules
        })
    };
    let light = rules(|(light, _)| light);
    let dark = rules(|(_, dark)| dark);
    format!("{light}\n@media (prefers-color-scheme: dark) {{ {dark}}}\n@media print {{ {light}}}\n")
}

/// The colours for the page's script: `light` and `dark`, each by index.
pub(super) fn value() -> Value {
    let [light, dark] = [COLOURS.map(|(light, _)| light), COLOURS.map(|(_, dark)| dark)];
    json!({ "light": light, "dark": dark })
}
