//! Prints the hosts that are slower than their peers.

use halfpower_analyse::Findings;

use super::screen::{Item, Section, Tone};
use crate::words::fleet;

/// The section; empty if a single process measured.
pub(super) fn section(findings: &Findings, width: usize) -> Section {
    let Some(found) = &findings.fleet else { return Section::new(None, Vec::new()) };
    let mut items = vec![Item::sentence("  ", &fleet::gist(found), width, Tone::Plain)];
    let slow = found.stragglers.iter().map(fleet::straggler);
    items.extend(slow.map(|text| Item::sentence("  ! ", &text, width, Tone::Alert)));
    Section::new(Some("HOSTS".to_string()), items)
}
