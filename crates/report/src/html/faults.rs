//! Writes the faults section of the page.

use halfpower_analyse::FaultFinding;
use maud::html;

use crate::html::fold::Fold;
use crate::words::faults::sentence;
use crate::words::settings::count;

/// The section; `None` without faults.
pub(crate) fn section(faults: &[FaultFinding]) -> Option<Fold> {
    let body = html! {
        p.lead { "Requests that failed, moved too little or found wrong data. They are in no rate." }
        ul.warnings { @for fault in faults { li { (sentence(fault)) } } }
    };
    (!faults.is_empty()).then(|| Fold::new("faults", "Faults", count(faults.len(), "kind"), body).printed())
}
