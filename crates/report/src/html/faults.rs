//! Writes the faults section of the page.

use halfpower_analyse::FaultFinding;
use maud::{Markup, html};

use crate::words::faults::sentence;

/// The section of the page; nothing where nothing went wrong.
pub(crate) fn section(faults: &[FaultFinding]) -> Markup {
    html! {
        @if !faults.is_empty() {
            section #faults {
                h2 { "Faults" }
                p.lead { "Requests that failed, moved too little or found wrong data. They are in no rate." }
                ul.warnings { @for fault in faults { li { (sentence(fault)) } } }
            }
        }
    }
}
