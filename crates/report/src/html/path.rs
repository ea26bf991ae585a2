//! Shows where the path narrows: the ladder of levels, after Figure 1 of Riedel, van Ingen and Gray (1998).
//!
//! Each level shows its peak advertised performance (PAP) and, in brackets, its real application performance (RAP), the
//! best measured through it. The bars share one logarithmic scale, with a tick at the half-power point PAP/2.

use halfpower_analyse::{Findings, LevelFinding};
use halfpower_spec::format::whole_percent;
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{heading, mbps, number, rate};
use crate::words::{bottleneck, levels};

/// A common logarithmic scale over whole decades.
struct Scale {
    first_power: i32,
    last_power: i32,
}

impl Scale {
    /// The decades that hold every figure of `levels` and its half; `None` without figures.
    fn of(levels: &[LevelFinding]) -> Option<Self> {
        let figures =
            levels.iter().flat_map(|level| [level.pap_mbps.map(|pap| pap / 2.0), level.pap_mbps, level.rap_mbps]);
        let known: Vec<f64> = figures.flatten().filter(|mbps| mbps.is_finite() && *mbps > 0.0).collect();
        let low = known.iter().copied().reduce(f64::min)?;
        let high = known.iter().copied().reduce(f64::max)?;
        // Bars begin at the left end of the scale, so the smallest figure must be well to the right of it.
        let first_power = (low / 1.5).log10().floor() as i32;
        Some(Self { first_power, last_power: (high.log10().ceil() as i32).max(first_power + 1) })
    }

    /// Position of a figure, in percent of the width.
    fn percent(&self, mbps: f64) -> f64 {
        let decades = f64::from(self.last_power - self.first_power);
        ((mbps.log10() - f64::from(self.first_power)) / decades * 100.0).clamp(0.0, 100.0)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.first_power..=self.last_power).map(|power| 10f64.powi(power))
    }
}

fn at(percent: f64) -> String {
    format!("{percent:.2}%")
}

/// The section with the ladder and the next limit; `None` if no level is known.
pub fn path_section(findings: &Findings) -> Option<Fold> {
    let levels = &findings.levels;
    if levels.is_empty() {
        return None;
    }
    let scale = Scale::of(levels);
    let body = html! {
            p.lead {
                "From the application down to the medium: what each level advertises (" a href="#def-pap" { "PAP" }
                "), and in brackets what was got through it (" a href="#def-rap" { "RAP" } "), in MB/s."
            }
            (figure_one(levels))
            ol.ladder {
                @for level in levels { (rung(level, scale.as_ref())) }
            }
            @if let Some(scale) = &scale {
                div.scale aria-hidden="true" { (axis(scale)) }
                p.key {
                    span { i.swatch.rap {} "RAP" }
                    span { i.swatch.pap {} "PAP" }
                    span { i.swatch.half {} "half power, PAP/2" }
                    span { i.swatch.unknown {} "PAP unknown" }
                }
            }
            (next(findings))
    };
    let narrowest = levels.iter().find(|level| level.narrowest);
    let gist = narrowest.map_or_else(String::new, |level| format!("narrowest: {}", levels::name(&level.id)));
    Some(Fold::new("path", "The path", gist, body).printed())
}

/// The levels side by side, as in the papers' Figure 1: PAP, and (RAP) in brackets.
fn figure_one(levels: &[LevelFinding]) -> Markup {
    let pap = |level: &LevelFinding| level.pap_mbps.map_or_else(|| "unknown".to_string(), number);
    let rap = |level: &LevelFinding| level.rap_mbps.map_or_else(|| "not measured".to_string(), number);
    let reported: Vec<String> =
        levels.iter().map(|level| format!("{} {} ({})", levels::name(&level.id), pap(level), rap(level))).collect();
    html! {
        // The ladder below has the same figures for readers who do not see the boxes.
        ol.figure-one role="img" aria-label={ "PAP (RAP) in MB/s: " (reported.join(", ")) } {
            @for level in levels {
                li.narrowest[level.narrowest] aria-hidden="true" {
                    b { (heading(&levels::name(&level.id))) }
                    span { (pap(level)) " (" (rap(level)) ")" }
                    @if level.narrowest { small { "the narrowest" } }
                }
            }
        }
    }
}

fn rung(level: &LevelFinding, scale: Option<&Scale>) -> Markup {
    let rap = level.rap_mbps.map_or_else(|| "not measured".to_string(), number);
    let reached = level.pap_mbps.zip(level.rap_mbps).map(|(pap, rap)| format!("{} of PAP", whole_percent(rap / pap)));
    html! {
        li.narrowest[level.narrowest] {
            div.rung {
                b.level { (heading(&levels::name(&level.id))) @if level.narrowest { em { "narrowest" } } }
                span.figures {
                    @match level.pap_mbps {
                        Some(pap) => { (number(pap)) },
                        None => { span.unknown { "unknown" } },
                    }
                    " (" b { (rap) } ") MB/s"
                }
            }
            @if let Some(scale) = scale { (bar(level, scale)) }
            p.source { (heading(&levels::source(&level.source))) @if let Some(reached) = reached { span { (reached) } } }
        }
    }
}

/// The bar of one level. Positions are percentages, so it fits any width without stretched strokes.
fn bar(level: &LevelFinding, scale: &Scale) -> Markup {
    let name = levels::name(&level.id);
    let label = match level.pap_mbps {
        Some(pap) => format!("{name}: advertised {}, reached {}", mbps(pap), rate(level.rap_mbps)),
        None => format!("{name}: advertised figure unknown, reached {}", rate(level.rap_mbps)),
    };
    html! {
        svg.bar width="100%" height="22" role="img" aria-label=(label) {
            @for decade in scale.decades() {
                @let x = at(scale.percent(decade));
                line.grid x1=(x) x2=(x) y1="0" y2="22" {}
            }
            @match level.pap_mbps {
                Some(pap) => { rect.pap x="0" y="4.5" height="13" width=(at(scale.percent(pap))) {} },
                None => { line.unknown x1="0" x2="100%" y1="11" y2="11" {} },
            }
            @if let Some(rap) = level.rap_mbps {
                rect.rap x="0" y="7.5" height="7" width=(at(scale.percent(rap))) {}
            }
            @if let Some(pap) = level.pap_mbps {
                @let x = at(scale.percent(pap / 2.0));
                line.half x1=(x) x2=(x) y1="1" y2="21" {}
            }
        }
    }
}

fn axis(scale: &Scale) -> Markup {
    let last = f64::from(scale.last_power);
    html! {
        svg width="100%" height="18" {
            @for decade in scale.decades() {
                @let anchor = match decade.log10().round() {
                    power if power == f64::from(scale.first_power) => "start",
                    power if power == last => "end",
                    _ => "middle",
                };
                text x=(at(scale.percent(decade))) y="13" text-anchor=(anchor) {
                    (number_of_decade(decade)) @if anchor == "end" { " MB/s" }
                }
            }
        }
    }
}

fn number_of_decade(decade: f64) -> String {
    if decade < 100.0 { format!("{decade}") } else { number(decade) }
}

/// What would be the limit next, without the present one.
fn next(findings: &Findings) -> Markup {
    let next = bottleneck::words(&findings.bottleneck, findings.doubt()).next;
    html! {
        dl.why { dt { "What would be next" } dd { (heading(&next)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_analyse::{LevelId, LevelKind, LevelSource};

    fn level(pap: Option<f64>, rap: Option<f64>) -> LevelFinding {
        let id = LevelId::of(LevelKind::Device);
        let source = LevelSource::Unadvertised;
        LevelFinding { id, pap_mbps: pap, pap_iops: None, rap_mbps: rap, source, narrowest: false }
    }

    #[test]
    fn the_scale_holds_every_figure_and_its_half() {
        let scale = Scale::of(&[level(Some(3000.0), Some(150.0)), level(None, None)]).unwrap();
        assert_eq!((scale.first_power, scale.last_power), (2, 4));
        assert!((scale.percent(1000.0) - 50.0).abs() < 1e-9);
        assert!(Scale::of(&[level(None, None), level(Some(0.0), None)]).is_none());
        let one = Scale::of(&[level(None, Some(100.0))]).unwrap();
        assert!(one.percent(100.0) > 0.0 && one.last_power > one.first_power);
    }
}
