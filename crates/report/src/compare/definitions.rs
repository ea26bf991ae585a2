//! Defines the terms of a comparison's page.

use halfpower_analyse::{Comparison, Floor, Practical};
use halfpower_spec::format::three_digits;
use maud::{Markup, html};

/// The definitions of the terms, with the thresholds of each comparison.
pub(super) fn definitions(comparisons: &[Comparison]) -> Markup {
    let threshold = |floor: &Floor| {
        let noise = floor.noise_percent.map_or("unknown".to_string(), |noise| format!("{}%", three_digits(noise)));
        format!("{}% (noise floor {noise})", three_digits(floor.threshold_percent))
    };
    let several = comparisons.len() > 1;
    let here = |comparison: &Comparison| {
        let Practical { throughput, p99, cost } = &comparison.practical;
        let study = if several { format!("for {} ", comparison.b.letter) } else { String::new() };
        format!("{study}throughput {}, p99 {}, cost {}", threshold(throughput), threshold(p99), threshold(cost))
    };
    let (b, others) = if several { ("a study", "A, the baseline") } else { ("B", "A") };
    html! {
        section #words {
            h2 { "Words" }
            dl.words {
                div { dt { "Change" } dd { "From " (others) " to " (b) ": 100 (" (b) " / A − 1), between geometric means over runs, or over cells and runs." } }
                div {
                    dt { "95% interval" }
                    dd {
                        "A t interval on logarithms, from the spread of the runs of both studies compared; each cell's spread is \
                         drawn towards what all cells have in common. What changes from one study of a system to the \
                         next, such as its age or its neighbours, is not in it."
                    }
                }
                div {
                    dt { "Beyond chance" }
                    dd {
                        "Below 5% after Holm's correction over all that was tested: two studies of one system are \
                         called different in at most 1 of 20 comparisons, however many studies are compared at once."
                    }
                }
                div {
                    dt { "Practical threshold" }
                    dd {
                        "The larger of 5% and the noise floor, by which a typical cell differs at most in 19 of 20 \
                         comparisons of a system with itself. Here: "
                        (comparisons.iter().map(here).collect::<Vec<_>>().join("; ")) "."
                    }
                }
                div { dt { "Peak" } dd { "The best of the cells that both studies compared have, wherever each has it." } }
                div { dt { "n½" } dd { "The block size at which half of a request's time is overhead." } }
            }
        }
    }
}
