//! Shows the effect and cost of each part of issuing as a table in a folded section.

use halfpower_experiments::{IssuingChange, StudyFindings};
use maud::html;

use crate::html::fold::Fold;
use crate::html::tables::{Column, wide_table};
use crate::words::issuing::{HEADING, brings, costs, part, rates, work, work_of_rows};

/// The section; `None` if no part was measured.
pub(crate) fn issuing(findings: &StudyFindings) -> Option<Fold> {
    let first = findings.issuing.first()?;
    let columns: [Column; 6] = [
        ("Otherwise", None),
        ("Without it", None),
        ("With it", None),
        ("Brings", None),
        ("CPU a request without it", Some("cost")),
        ("CPU a request with it", Some("cost")),
    ];
    let row = |found: &IssuingChange| {
        let ([slow, fast], [without, with]) = (rates(found), costs(found));
        let brings = brings(found.times.as_ref());
        html! {
            tr {
                th scope="row" { (part(found)) }
                @for figure in [slow, fast, brings, without, with] { td.number { (figure) } }
            }
        }
    };
    let body = html! {
        p.lead {
            "Each row turns one part of how requests are issued through " (first.engine) ", and was measured in the same \
             rounds as the usual way. A cost goes from the charged time to all that the machine spent, where the soaker \
             saw more. A segment is a stretch of the machine's memory without a gap: a device takes a request in as many \
             as its buffer has."
        }
        (wide_table(HEADING, &columns, html! {
            @for works in findings.issuing.chunk_by(|one, other| work(one) == work(other)) {
                tbody {
                    tr.group { th colspan="6" scope="rowgroup" { (work_of_rows(works)) } }
                    @for found in works { (row(found)) }
                }
            }
        }))
    };
    Some(Fold::new("issuing", HEADING, "batches, huge pages, registration", body))
}
