//! Shows what trying settings gave: in the terminal and as Markdown.

use std::io::{self, Write};

use halfpower_record::{Trial, TrialVerdict};
use halfpower_spec::{escaped, shell_word};

use crate::terminal::folded;
use crate::words::doctor::{counted, figure};

/// Width of the column of outcomes, with the spaces behind it.
const OUTCOME: usize = 14;
/// Spaces between two columns.
const GAP: usize = 2;

/// Prints a row a trial, in the order in which they were made.
///
/// # Errors
/// Those of `out`.
pub(crate) fn tries_text(tries: &[Trial], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let rest = width.saturating_sub(OUTCOME + GAP);
    let evidence_width = rest / 2;
    let what_width = rest - evidence_width;
    for trial in tries {
        let what = folded("", &escaped(&what(trial)), what_width);
        let evidence = folded("", &escaped(&evidence(trial)), evidence_width);
        let outcome = outcome(trial);
        for at in 0..what.len().max(evidence.len()) {
            let outcome = if at == 0 { outcome.as_str() } else { "" };
            let what = what.get(at).map_or("", String::as_str);
            let evidence = evidence.get(at).map_or("", String::as_str);
            let line = format!("{outcome:<OUTCOME$}{what:<what_width$}  {evidence}");
            writeln!(out, "{}", line.trim_end())?;
        }
        let lead = format!("{}-> ", " ".repeat(OUTCOME));
        for way in ways(trial) {
            folded(&lead, &escaped(&way), width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
    }
    Ok(())
}

/// Writes the trials as a table of GitHub Markdown.
///
/// # Errors
/// Those of `out`.
pub(crate) fn tries_markdown(tries: &[Trial], out: &mut dyn Write) -> io::Result<()> {
    let cell = |text: &str| escaped(text).replace('|', "\\|").replace('*', "\\*");
    writeln!(out, "| tried | outcome | evidence | to change |")?;
    writeln!(out, "| --- | --- | --- | --- |")?;
    for trial in tries {
        let ways = ways(trial).join("; ");
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            cell(&what(trial)),
            cell(&outcome(trial)),
            cell(&evidence(trial)),
            cell(&ways)
        )?;
    }
    writeln!(out)
}

/// Such as `nvme0n1: scheduler none instead of bfq`.
fn what(trial: &Trial) -> String {
    let name = trial.setting.rsplit('/').next().unwrap_or_default();
    format!("{}: {name} {} instead of {}", trial.subject, trial.to, trial.from)
}

/// Such as `+16% ±3`.
fn outcome(trial: &Trial) -> String {
    let Some(ratio) = trial.ratio.filter(|_| trial.decided.is_decided()) else {
        let word = if trial.decided == TrialVerdict::NotTried { "not tried" } else { "not decided" };
        return word.to_string();
    };
    let reach = figure((ratio.high - ratio.low) / 2.0);
    match trial.decided {
        TrialVerdict::Same => format!("same, ±{reach}%"),
        _ => format!("{}{}% ±{reach}", if ratio.value > 1.0 { "+" } else { "" }, figure(ratio.value - 1.0)),
    }
}

/// Such as `8 pairs of 0.5 s, random reads, 4 KiB, 16 deep`.
fn evidence(trial: &Trial) -> String {
    let mut parts = Vec::new();
    if trial.pairs > 0 {
        parts.push(format!("{} of {} s", counted(trial.pairs as usize, "pair"), trial.slice_s));
    }
    parts.push(trial.what.clone());
    let disturbed = trial.disturbed_pairs as usize;
    if disturbed > 0 {
        let share = trial.others_share.map_or(String::new(), |share| format!(" ({}% of its bytes)", figure(share)));
        parts.push(format!("{} left out, others used the device{share}", counted(disturbed, "pair")));
    }
    let text = parts.join(", ");
    trial.why.as_ref().map_or(text.clone(), |why| format!("{text}: {why}"))
}

/// The command of a change that gains, and what to do if the setting is not as before.
fn ways(trial: &Trial) -> Vec<String> {
    let mut ways = Vec::new();
    if trial.decided == TrialVerdict::Faster {
        ways.push(trial.change.clone());
    }
    if !trial.put_back {
        let from = shell_word(&trial.from);
        ways.push(format!("NOT PUT BACK, it was {from}: start any command of halfpower as root"));
    }
    ways
}

#[cfg(test)]
mod tests {
    use halfpower_record::Ratio;

    use super::*;

    fn trial(decided: TrialVerdict, ratio: Option<Ratio>) -> Trial {
        Trial {
            check: "scheduler".to_string(),
            subject: "nvme0n1".to_string(),
            setting: "/sys/class/block/nvme0n1/queue/scheduler".to_string(),
            from: "bfq".to_string(),
            to: "none".to_string(),
            workload: String::new(),
            what: "random reads, 4 KiB, 16 deep".to_string(),
            ratio,
            pairs: if ratio.is_some() { 8 } else { 0 },
            slice_s: 0.5,
            disturbed_pairs: 0,
            others_share: None,
            decided,
            why: None,
            put_back: true,
            change: "echo none > /sys/class/block/nvme0n1/queue/scheduler".to_string(),
        }
    }

    fn shown(trial: Trial) -> String {
        let mut out = Vec::new();
        tries_text(&[trial], 100, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_says_how_much_and_from_what_and_the_command_where_it_gains() {
        let faster = trial(TrialVerdict::Faster, Some(Ratio { value: 1.16, low: 1.13, high: 1.19 }));
        let lines = [
            "+16% ±3.0     nvme0n1: scheduler none instead of bfq      8 pairs of 0.5 s, random reads, 4 KiB, 16",
            "                                                          deep",
            "              -> echo none > /sys/class/block/nvme0n1/queue/scheduler",
        ];
        assert_eq!(shown(faster.clone()).lines().collect::<Vec<_>>(), lines);
        let slower = shown(trial(TrialVerdict::Slower, Some(Ratio { value: 0.9, low: 0.88, high: 0.92 })));
        assert!(slower.starts_with("-10% ±2.0  ") && !slower.contains("->"), "{slower}");
        let same = shown(trial(TrialVerdict::Same, Some(Ratio { value: 1.0, low: 0.99, high: 1.01 })));
        assert!(same.starts_with("same, ±1.0%  "), "{same}");
        let lost = shown(Trial { put_back: false, ..faster });
        assert!(lost.contains("NOT PUT BACK, it was bfq"), "{lost}");
    }

    #[test]
    fn what_was_not_decided_says_why() {
        let why = Some("others used the device".to_string());
        let undecided =
            Trial { why, disturbed_pairs: 3, others_share: Some(0.31), ..trial(TrialVerdict::NotDecided, None) };
        let text = shown(undecided.clone()).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with("not decided nvme0n1:"), "{text}");
        assert!(
            evidence(&undecided)
                .ends_with("3 pairs left out, others used the device (31% of its bytes): others used the device")
        );
        assert!(shown(trial(TrialVerdict::NotTried, None)).starts_with("not tried "));
        let mut out = Vec::new();
        tries_markdown(&[undecided], &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("| nvme0n1: scheduler none instead of bfq | not decided | "));
    }
}
