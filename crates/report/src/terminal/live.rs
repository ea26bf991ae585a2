//! Builds a frame of the live screen: the first screen as far as it is known, and below it what is measured now and why.

use halfpower_experiments::StudyFindings;
use halfpower_spec::Decides;

use super::first::{self, Moment};
use super::screen::{Item, NARROWEST, Section, Style, Tone, WIDEST, print};
use crate::words::live;

/// Width from which the bar is long, its characters there and below, and what fills it.
const WIDE: usize = 72;
const BAR: [usize; 2] = [16, 8];
const SPENT: &str = "━";
const LEFT: &str = "─";

/// What a study does at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// Share of its time that is spent, 0 to 1.
    pub share: f64,
    /// Its runs and cells so far, and the time left, in words.
    pub counts: &'a str,
    /// The run that begins, in words.
    pub current: &'a str,
    /// The fastest cells so far, in words; they are shown until there is a screen.
    pub best: &'a str,
    /// What the run that begins decides.
    pub decides: Decides,
    /// Whether the key `q` ends the study.
    pub has_key: bool,
}

/// The lines of a frame, no more than `rows` and none wider than the style's width: the first screen of `study`, if
/// there is one yet, and what happens now. If the rows do not hold all, the end of the screen is left out.
pub fn live_frame(study: Option<&StudyFindings>, now: &Now<'_>, style: &Style, rows: usize) -> Vec<String> {
    let width = style.width.clamp(NARROWEST, WIDEST);
    let screen = study.map(|study| first::sections(study, Moment::While(now.share), width));
    let mut lines = lines(&screen.unwrap_or_default(), style);
    let foot = lines_of_foot(study, now, style, width);
    lines.truncate(rows.saturating_sub(foot.len() + 1));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(foot);
    lines.truncate(rows);
    lines
}

fn lines_of_foot(study: Option<&StudyFindings>, now: &Now<'_>, style: &Style, width: usize) -> Vec<String> {
    let ends = if now.has_key { "; q ends it" } else { "" };
    let mut told = vec![
        format!("{} {}{ends}", bar(now.share, width), now.counts),
        now.current.to_string(),
        live::why(now.decides, study),
    ];
    if study.is_none() {
        told.push(if now.best.is_empty() { live::NO_SCREEN.to_string() } else { now.best.to_string() });
    }
    let items = told.into_iter().map(|line| Item::line(line, Tone::Plain)).collect();
    lines(&[Section::new(None, items)], style)
}

/// The printed lines of sections, cut to the style's width.
fn lines(sections: &[Section], style: &Style) -> Vec<String> {
    let mut out = Vec::new();
    print(sections, style.width.min(WIDEST), style.colour, &mut out).expect("memory takes every line");
    String::from_utf8_lossy(&out).lines().map(str::to_string).collect()
}

fn bar(share: f64, width: usize) -> String {
    let all = if width >= WIDE { BAR[0] } else { BAR[1] };
    let spent = ((share.clamp(0.0, 1.0) * all as f64) as usize).min(all);
    SPENT.repeat(spent) + &LEFT.repeat(all - spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(share: f64) -> Now<'static> {
        Now {
            share,
            counts: "37%, run 144, 61 cells so far, 1:15 left at most",
            current: "▂·█  now randread 64KiB, 8 deep, direct, 800 MB/s so far",
            best: "best 900 MB/s (randread 64KiB, 8 deep, direct)",
            decides: Decides::Leaders,
            has_key: true,
        }
    }

    #[test]
    fn the_frame_says_what_happens_and_why_and_fits() {
        let style = Style { width: 79, colour: false };
        let frame = live_frame(None, &now(0.37), &style, 23);
        assert_eq!(frame[0], "━━━━━─────────── 37%, run 144, 61 cells so far, 1:15 left at most; q ends it");
        assert_eq!(frame[2], "why: which cells lead: the peak, half of it, and so what to set");
        assert!(frame.len() == 4 && frame[3].starts_with("best 900 MB/s"));
        for (width, rows) in [(20, 24), (39, 2), (200, 1), (60, 0)] {
            let frame = live_frame(None, &now(1.0), &Style { width, colour: false }, rows);
            assert!(frame.len() <= rows && frame.iter().all(|line| line.chars().count() <= width), "{frame:?}");
        }
    }
}
