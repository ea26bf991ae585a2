//! Lists the systems included in the crate.

/// A system included in the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name, as in `sim:NAME`.
    pub name: &'static str,
    /// Its TOML text, for [`crate::System::from_toml`] or for editing.
    pub text: &'static str,
}

impl Shipped {
    /// The line that describes it.
    pub fn about(&self) -> &'static str {
        let line = self.text.lines().find_map(|line| line.strip_prefix("about = \""));
        line.map_or("", |line| line.trim_end_matches('"'))
    }
}

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../systems/", $name, ".toml")) }),+]
    };
}

/// Every system included in the crate, older ones first.
pub fn systems() -> &'static [Shipped] {
    shipped![
        "nt4-fastwide",
        "nt4-ultrawide",
        "nt4sp6-ultrawide",
        "win2k-ultrawide",
        "win2k-atlas10k",
        "win2k-fireball",
        "win2k-3ware5400",
        "win2k-3ware6800",
        "win2k-maxtor",
        "win2k-unc",
        "win2k-mapped",
        "win2k-gigabit",
    ]
}
