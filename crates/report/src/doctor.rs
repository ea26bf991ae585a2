//! Shows what the checks of settings found: in the terminal and as Markdown.

use std::io::{self, Write};

use halfpower_record::{CheckFinding, CheckResult, CheckState, Diagnosis, Evidence, Severity};
use halfpower_spec::{InOrder, escaped};

use crate::Style;
use crate::doctor_tries::{tries_markdown, tries_text};
use crate::terminal::folded;
use crate::words::doctor::{cost, counted};

/// Narrowest and widest width.
const WIDTH: (usize, usize) = (60, 120);
/// Widest column of costs.
const COSTS: usize = 26;
/// Spaces between two columns.
const GAP: usize = 2;
/// Files of one finding that are shown.
const FILES: usize = 3;

/// Prints the findings, the most severe first, and how many checks found nothing; with `all` also notes, and every
/// check by name.
///
/// # Errors
/// Those of `out`.
pub fn doctor_text(seen: &Diagnosis, all: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.clamp(WIDTH.0, WIDTH.1);
    heading(seen, width, style, out)?;
    let found = rows(seen, |severity| severity > Severity::Note);
    let columns = Columns::of(width, &found);
    if !found.is_empty() {
        writeln!(out)?;
        columns.print(("COSTS YOU", "WHAT", "EVIDENCE"), &found, all, style, out)?;
    }
    if !seen.tries.is_empty() {
        writeln!(out, "\n{}", bold("TRIED", style))?;
        tries_text(&seen.tries, width, out)?;
    }
    if !all {
        writeln!(out)?;
        return counts(seen, width, out);
    }
    let notes = rows(seen, |severity| severity == Severity::Note);
    if !notes.is_empty() {
        writeln!(out)?;
        Columns::of(width, &notes).print(("NOTES", "WHAT", "EVIDENCE"), &notes, all, style, out)?;
    }
    every_check(seen, width, style, out)
}

/// `/srv/data  ext4 on nvme0n1          71 checks, 4 findings`.
fn heading(seen: &Diagnosis, width: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let looked = seen.checks.iter().filter(|check| check.state != CheckState::NotApplicable).count();
    let found = findings(seen).filter(|(_, finding)| finding.severity > Severity::Note).count();
    let place = format!("{}  {}", escaped(&seen.target), escaped(&seen.path));
    let sums = format!("{}, {}", counted(looked, "check"), counted(found, "finding"));
    let gap = width.saturating_sub(place.chars().count() + sums.chars().count());
    if gap >= GAP {
        return writeln!(out, "{}{}{sums}", bold(&place, style), " ".repeat(gap));
    }
    for line in folded("", &place, width) {
        writeln!(out, "{}", bold(&line, style))?;
    }
    writeln!(out, "{sums}")
}

fn bold(text: &str, style: &Style) -> String {
    if style.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
}

fn findings(seen: &Diagnosis) -> impl Iterator<Item = (&CheckResult, &CheckFinding)> {
    seen.checks.iter().flat_map(|check| check.findings.iter().map(move |finding| (check, finding)))
}

/// Findings that differ in their subject alone.
struct Row<'a> {
    check: &'a CheckResult,
    first: &'a CheckFinding,
    subjects: Vec<&'a str>,
}

impl Row<'_> {
    /// What was found, with its subjects; also the check's name if asked for.
    fn what(&self, with_code: bool) -> String {
        let what = escaped(&self.first.what);
        let code = if with_code { format!(" ({})", self.check.code) } else { String::new() };
        match self.subjects.join(", ") {
            subjects if subjects.is_empty() => format!("{what}{code}"),
            subjects => format!("{}: {what}{code}", escaped(&subjects)),
        }
    }

    fn evidence(&self) -> String {
        let mut shown: Vec<String> = self.first.evidence.iter().take(FILES).map(short).collect();
        if self.subjects.len() > 1 {
            shown.push(format!("and so for {}", counted(self.subjects.len() - 1, "other")));
        }
        shown.join(", ")
    }

    /// What to do, and how it is undone.
    fn ways(&self, back: bool) -> Vec<String> {
        let others = if self.subjects.len() > 1 { "; likewise the others" } else { "" };
        let change = self.first.change.as_ref().map(|change| format!("{}{others}", escaped(change)));
        let back = self.first.change_back.as_ref().filter(|_| back).map(|back| format!("back: {}", escaped(back)));
        change.into_iter().chain(back).collect()
    }
}

/// The end of a path is enough for the screen.
fn short(evidence: &Evidence) -> String {
    let file = match evidence.file.strip_prefix('/') {
        Some(path) => {
            let parts: Vec<&str> = path.split('/').collect();
            parts[parts.len().saturating_sub(2)..].join("/")
        }
        None => evidence.file.clone(),
    };
    escaped(&format!("{file} {}", evidence.value)).into_owned()
}

/// The findings of these severities, the most severe and then the most costly first.
fn rows(seen: &Diagnosis, wanted: impl Fn(Severity) -> bool) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (check, finding) in findings(seen).filter(|(_, finding)| wanted(finding.severity)) {
        let same = |row: &&mut Row<'_>| {
            let first = row.first;
            let is_same =
                (first.severity, &first.what, &first.cost) == (finding.severity, &finding.what, &finding.cost);
            is_same && row.check.code == check.code && !finding.subject.is_empty()
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.subjects.push(&finding.subject),
            None => {
                let subjects = Some(finding.subject.as_str()).filter(|subject| !subject.is_empty());
                rows.push(Row { check, first: finding, subjects: subjects.into_iter().collect() });
            }
        }
    }
    rows.order_by(|a, b| {
        let by_cost = b.first.cost.rank().total_cmp(&a.first.cost.rank());
        b.first.severity.cmp(&a.first.severity).then(by_cost)
    });
    rows
}

/// Widths of the columns.
struct Columns {
    costs: usize,
    what: usize,
    evidence: usize,
}

impl Columns {
    fn of(width: usize, rows: &[Row<'_>]) -> Self {
        let longest =
            |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
        let costs = longest(&mut rows.iter().map(|row| cost(&row.first.cost))).clamp(9, COSTS);
        let rest = width - costs - 2 * GAP;
        let evidence = longest(&mut rows.iter().map(Row::evidence)).clamp(8, rest * 2 / 5);
        Self { costs, what: rest - evidence, evidence }
    }

    fn print(
        &self,
        headings: (&str, &str, &str),
        rows: &[Row<'_>],
        back: bool,
        style: &Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (first, second, third) = headings;
        let line = format!("{first:<0$}  {second:<1$}  {third}", self.costs, self.what);
        writeln!(out, "{}", bold(line.trim_end(), style))?;
        for row in rows {
            self.row(row, back, style, out)?;
        }
        Ok(())
    }

    fn row(&self, row: &Row<'_>, back: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let costs = folded("", &cost(&row.first.cost), self.costs);
        let what = folded("", &row.what(back), self.what);
        let evidence = folded("", &row.evidence(), self.evidence);
        let cell = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
        for at in 0..costs.len().max(what.len()).max(evidence.len()) {
            let text = format!(
                "{}  {}  {}",
                padded(&cell(&costs, at), self.costs),
                padded(&cell(&what, at), self.what),
                cell(&evidence, at)
            );
            let is_bad = row.first.severity == Severity::Bad && style.colour;
            let text = text.trim_end();
            if is_bad { writeln!(out, "\x1b[33m{text}\x1b[0m")? } else { writeln!(out, "{text}")? }
        }
        let width = self.costs + self.what + self.evidence + 2 * GAP;
        let deep = " ".repeat(self.costs + GAP);
        for way in row.ways(back) {
            // A command that fits on one line can be copied.
            let fits = |indent: usize| indent + 3 + way.chars().count() <= width;
            let lead = if fits(deep.len()) { format!("{deep}-> ") } else { "  -> ".to_string() };
            for line in folded(&lead, &way, width) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.chars().count())))
}

fn of_state(seen: &Diagnosis, state: CheckState) -> Vec<&CheckResult> {
    seen.checks.iter().filter(|check| check.state == state).collect()
}

/// How many checks found nothing, have notes, or could not read what they need.
fn counts(seen: &Diagnosis, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut sentences = Vec::new();
    let fine = of_state(seen, CheckState::Fine).len();
    let noted =
        seen.checks.iter().filter(|check| check.findings.iter().any(|one| one.severity == Severity::Note)).count();
    let unread: Vec<&CheckResult> = seen.checks.iter().filter(|check| !check.unread.is_empty()).collect();
    sentences.push(format!("{} found nothing", counted(fine, "check")));
    if noted > 0 {
        sentences.push(format!("{noted} {} notes", if noted == 1 { "has" } else { "have" }));
    }
    let for_root = unread.iter().filter(|check| check.needs_root).count();
    if for_root > 0 {
        sentences.push(format!(
            "{for_root} could not read what {} need: run as root",
            if for_root == 1 { "its files" } else { "they" }
        ));
    }
    let untold = unread.len() - for_root;
    if untold > 0 {
        sentences.push(format!("of {untold} the kernel does not tell enough"));
    }
    let target = escaped(&seen.target).into_owned();
    let text = format!("{}. All: halfpower doctor --all {target}", sentences.join("; "));
    folded("", &text, width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Every check by name.
fn every_check(seen: &Diagnosis, width: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for (title, lines) in groups(seen) {
        writeln!(out, "\n{}", bold(&title.to_uppercase(), style))?;
        for line in lines.iter().flat_map(|line| folded("  ", line, width)) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out, "\n{EXPLAINED}")
}

/// Where every check is explained.
const EXPLAINED: &str = "docs/doctor.md explains every check.";

/// The checks that could not read something, that found nothing, and that do not apply: a title and lines.
fn groups(seen: &Diagnosis) -> Vec<(&'static str, Vec<String>)> {
    let unread = seen.checks.iter().filter(|check| !check.unread.is_empty()).map(|check| {
        let root = if check.needs_root { " (run as root)" } else { "" };
        format!("{}: {}{root}", check.code, escaped(&check.unread.join("; ")))
    });
    let names = |state: CheckState| {
        let codes: Vec<&str> = of_state(seen, state).iter().map(|check| check.code.as_str()).collect();
        if codes.is_empty() { Vec::new() } else { vec![codes.join(", ")] }
    };
    let mut groups = vec![
        ("Could not read", unread.collect()),
        ("Found nothing", names(CheckState::Fine)),
        ("Do not apply here", names(CheckState::NotApplicable)),
    ];
    groups.retain(|(_, lines)| !lines.is_empty());
    groups
}

/// Writes the findings and notes as GitHub Markdown; with `all` also every check by name.
///
/// # Errors
/// Those of `out`.
pub fn doctor_markdown(seen: &Diagnosis, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let cell = |text: &str| escaped(text).replace('|', "\\|").replace('*', "\\*");
    write!(out, "### {}\n\n{}\n\n", cell(&seen.target), cell(&seen.path))?;
    let mut found = rows(seen, |severity| severity > Severity::Note);
    found.extend(rows(seen, |severity| severity == Severity::Note));
    if !found.is_empty() {
        writeln!(out, "| severity | check | costs you | what | evidence | to change | back |")?;
        writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
    }
    for row in &found {
        let as_code = |command: &Option<String>| command.as_ref().map_or(String::new(), |text| cell(text));
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.first.severity.name(),
            row.check.code,
            cell(&cost(&row.first.cost)),
            cell(&row.what(false)),
            cell(&row.evidence()),
            as_code(&row.first.change),
            as_code(&row.first.change_back),
        )?;
    }
    if !found.is_empty() {
        writeln!(out)?;
    }
    if !seen.tries.is_empty() {
        tries_markdown(&seen.tries, out)?;
    }
    if !all {
        return counts(seen, usize::MAX, out);
    }
    for (title, lines) in groups(seen) {
        writeln!(out, "#### {title}\n")?;
        lines.iter().try_for_each(|line| writeln!(out, "- {}", cell(line)))?;
        writeln!(out)?;
    }
    writeln!(out, "{EXPLAINED}")
}
