//! Shows the first screen: state with the worst warning, the most load under a latency, tiles, one chart, what stops it, what
//! to set.
//!
//! All of it comes from the same summary as the terminal's first screen.

use halfpower_analyse::{StudyState, UseAdvice};
use halfpower_experiments::{ExperimentSection, StudyFindings};
use halfpower_spec::{Bytes, Experiment, Issuing, Rw, Workload};
use maud::{Markup, html};

use crate::html::advice::{fio_job, pieces};
use crate::html::beside::beside;
use crate::html::format::{copied_target, date, heading, run_operand};
use crate::html::tiles::tiles;
use crate::words::{checks, first_screen, most_load, state, warnings};

/// Answers of experiments on it, if there were no walks.
const ANSWERS: usize = 8;

/// The first screen with `chart`; `span_bytes` is the part of the target that an fio job uses.
pub(crate) fn answer(study: &StudyFindings, chart: &Markup, span_bytes: Option<u64>) -> Markup {
    html! {
        section #answer {
            (subject_and_state(study))
            (of_most_load(study))
            @if study.walked && study.runs > 0 {
                (tiles(study))
                (beside(&study.beside))
                div.first {
                    (chart)
                    div.told { (stops(study)) (what_to_set(study, span_bytes)) }
                }
            } @else if !chart.0.is_empty() {
                div.first { (chart) }
            }
            (experiments(study))
        }
    }
}

fn subject_and_state(study: &StudyFindings) -> Markup {
    let state = &study.summary.state;
    let day = if study.started_unix_ms > 0 { date(study.started_unix_ms) } else { String::new() };
    let parts = [state::place(study, true), state::machine(study), state::amount(study), day];
    let about: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let class = match state {
        StudyState::Quiet => "quiet",
        StudyState::Imported | StudyState::Simulated | StudyState::Buffered | StudyState::Memory => "other",
        StudyState::Failed | StudyState::NotRun => "failed",
        StudyState::Unfinished { .. } | StudyState::Cached | StudyState::Noisy { .. } => "caution",
    };
    html! {
        div.subject {
            div {
                h1 { code { (study.target) } }
                p.about { @for part in about { span { (part) } " " } }
            }
            div.state.(class) {
                strong { (state::word(state)) }
                p { (state::sentence(state)) }
                (worst(study))
            }
        }
    }
}

/// The most load under the latency that was asked for, a line for each kind and size of requests.
fn of_most_load(study: &StudyFindings) -> Markup {
    let lines = most_load::lines(study, false);
    html! {
        @if !lines.is_empty() {
            h2 { (most_load::HEADING) }
            dl.answers.most-load {
                @for line in &lines { div { dt { (heading(line.of.trim_start())) } dd { (line.text) } } }
            }
            @for note in most_load::notes(study) { p.missing { (note) } }
        }
    }
}

fn stops(study: &StudyFindings) -> Markup {
    html! {
        @if !study.summary.stops.is_empty() {
            div {
                h2 { "What stops it" }
                dl.stops {
                    @for stop in &study.summary.stops {
                        @let brief = first_screen::stop(stop, &study.issuing);
                        div { dt { (heading(stop.rw.word())) "s" } dd { b { (brief.cause) } (in_pieces(&brief.rest)) } }
                    }
                    (commits(study))
                    @for scaling in &study.threads {
                        div { dt { "Threads" } dd { (first_screen::threads(scaling)) } }
                    }
                }
            }
        }
    }
}

/// What stops commits, with their rates.
fn commits(study: &StudyFindings) -> Markup {
    let stop = first_screen::commit_stop(study);
    let rates = first_screen::commits(study);
    html! {
        @if stop.is_some() || rates.is_some() {
            div {
                dt { "Commits" }
                dd {
                    @if let Some(brief) = &stop { b { (brief.cause) } (brief.rest) }
                    @if let Some(rates) = &rates { @if stop.is_some() { ". " } (rates) }
                }
            }
        }
    }
}

/// A text that a narrow screen does not break inside a flag.
fn in_pieces(text: &str) -> Markup {
    html! { @for piece in pieces(text) { span { (piece.trim_end()) } " " } }
}

fn what_to_set(study: &StudyFindings, span_bytes: Option<u64>) -> Markup {
    let reported = &study.summary.what_to_set;
    let others: Vec<[String; 3]> =
        first_screen::pages(study).into_iter().chain(first_screen::of_experiments(study)).collect();
    html! {
        @if !study.summary.how_fast.is_empty() {
            div.settings-part {
                h2 { "What to set" }
                @for advice in &reported.uses { (setting(study, advice, span_bytes)) }
                @for [of, settings, result] in &others { p.half-from { (heading(of)) ": " (settings) ", " (result) "." } }
                @if reported.uses.is_empty() && others.is_empty() {
                    p.none { (heading(first_screen::no_advice(study))) "." }
                }
                @if let Some(half) = first_screen::half_power(&reported.half_power) { p.half-from { (heading(&half)) } }
                @for setting in &reported.to_change { p.half-from { (checks::to_change(setting)) } }
                @if let Some(more) = checks::more_to_change(reported.more_to_change, &study.target) {
                    p.half-from { (more) " (" a href="#checks" { "all that was found" } ")" }
                }
            }
        }
    }
}

/// A use, its settings and their result, with the command to copy.
fn setting(study: &StudyFindings, advice: &UseAdvice, span_bytes: Option<u64>) -> Markup {
    let [of, settings, result] = first_screen::advice(advice, first_screen::is_of_a_share(study));
    let cell = &advice.cell;
    let workload = Workload {
        rw: Rw::of(cell.pattern, cell.rw),
        bs: Bytes(cell.bs_bytes),
        iodepth: cell.iodepth,
        threads: cell.threads,
        cache: cell.cache,
        issuing: advice.iomem.map(|iomem| Issuing { iomem, ..Issuing::default() }),
        ..Workload::default()
    };
    let iomem = advice.iomem.map_or(String::new(), |iomem| format!(" --iomem {iomem}"));
    let threads = if cell.threads > 1 { format!(" --threads {}", cell.threads) } else { String::new() };
    let flags = format!(
        "--rw {} --bs {} --iodepth {}{threads} --cache {}{iomem}",
        workload.rw, workload.bs, cell.iodepth, cell.cache
    );
    let command = format!("halfpower run {} {flags}", run_operand(study));
    html! {
        div.setting.copy {
            p { b { (heading(&of)) } span.settings { (settings) } span.result { (result) } }
            div.line {
                pre tabindex="0" { code { @for piece in pieces(&command) { span { (piece) } } } }
                button type="button" aria-label={ "Copy the command: " (of) } { "Copy" }
                @if let Some(job) = copied_target(study).and_then(|target| fio_job(&workload, target, span_bytes)) {
                    button type="button" data-text=(job) aria-label={ "Copy the fio job: " (of) } { "fio" }
                }
            }
        }
    }
}

/// The answers of the experiments, if there were no walks; that of the most load under a latency stands above.
fn experiments(study: &StudyFindings) -> Markup {
    let ran: Vec<&ExperimentSection> = study.experiments.iter().filter(|one| one.ran).collect();
    let is_here = |one: &&ExperimentSection| one.experiment != Experiment::Load || study.latency_bound.is_none();
    let shown: Vec<&ExperimentSection> = ran.iter().copied().filter(is_here).collect();
    html! {
        @if !study.walked {
            @if ran.is_empty() { p.missing { "None of the experiments could be run; each says why." } }
            dl.answers {
                @for one in shown.iter().take(ANSWERS) {
                    div { dt { a href={ "#" (one.experiment) } { (heading(one.experiment.word())) } } dd { (one.brief()) } }
                }
            }
            @if shown.len() > ANSWERS { p.missing { (shown.len() - ANSWERS) " more below." } }
        }
    }
}

/// All problems of the study in one line: how many, and the worst in few words, with a link to their texts.
fn worst(study: &StudyFindings) -> Markup {
    // What the state means is already beside it.
    let state = state::meaning(&study.summary.state);
    let mut alerts = warnings::alerts(study);
    alerts.retain(|alert| *alert != state);
    let texts = if study.faults.is_empty() { "#trust" } else { "#faults" };
    html! {
        @match alerts.as_slice() {
            [] if study.runs > 0 && !matches!(study.summary.state, StudyState::NotRun | StudyState::Failed) => { p.worst { "Nothing stands against these figures." } },
            [] => {},
            [alert] => { p.worst.caution { a href=(texts) title=(alert) { "1 warning: " (alert) } } },
            [worst, ..] => {
                p.worst.caution { a href=(texts) title=(worst) { (alerts.len()) " warnings, first: " (worst) } }
            },
        }
    }
}
