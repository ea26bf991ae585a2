//! Shows a study while it measures: the first screen in place on the terminal, or without a terminal a line every ten
//! seconds.
//!
//! All of it is made between runs, never inside a measured window, and takes at most a twentieth of the time: a frame that
//! took long is followed by a pause that is longer still.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use halfpower_os::keys::{Keys, is_behind};
use halfpower_record::{Environment, Record, StudyFile, TargetKind};
use halfpower_report::{InPlace, Now, Style, live_frame};
use halfpower_spec::{Nanos, Question, Run, escaped};
use halfpower_study::{Observer, SoFar};

use crate::commands::report::{environment_of, may_colour};
use crate::progress::is_dumb;
use crate::study_progress::StudyProgress;
use crate::tell::tell;

/// Time of the study from which there is a screen: by then rows of small requests have a second run, five seconds after
/// their first.
const FIRST_SCREEN: Nanos = Nanos(7_000_000_000);
/// Least time between two frames, and their time as a part of all.
const FRAME: Duration = Duration::from_secs(1);
const PART: u32 = 20;
/// Time between two lines without a terminal.
const LINE: Duration = Duration::from_secs(10);
/// Columns and rows of a terminal that does not tell.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Shows a running study; dropping this removes the screen.
pub struct Live {
    told: Told,
    output: Output,
}

/// Where a study is shown.
enum Output {
    Nowhere,
    Lines { due: Instant },
    Screen(Screen),
}

impl Live {
    /// Begins to show the study of `question` in `file`, after its records so far; nothing if `quiet`. On a terminal the
    /// key `q` sets `stop`.
    pub fn new(question: &Question, file: &StudyFile, stop: &Arc<AtomicBool>, quiet: bool) -> Result<Self> {
        let mut progress = StudyProgress::about(question);
        let earlier = file.records()?;
        if !quiet && !earlier.is_empty() {
            tell!("Continuing after {} runs in {}.", earlier.len(), file.path().display());
        }
        earlier.iter().for_each(|record| progress.add(&record.run, record.mbps()));
        let environment = environment_of(file);
        // Virtual time passes too quickly for lines.
        let is_virtual = environment.capabilities.kind == TargetKind::Simulated;
        let output = match std::io::stderr().is_terminal() && !is_dumb() {
            _ if quiet => Output::Nowhere,
            true => Output::Screen(Screen::new(stop)?),
            false if is_virtual => Output::Nowhere,
            false => Output::Lines { due: Instant::now() + LINE },
        };
        let records = file.comparable_records()?;
        Ok(Self { told: Told { question: question.clone(), environment, records, progress }, output })
    }
}

impl Observer for Live {
    fn begins(&mut self, run: &Run, so_far: &SoFar) {
        match &mut self.output {
            Output::Nowhere => {}
            Output::Lines { due } if Instant::now() < *due => {}
            Output::Lines { due } => {
                tell!("{}", self.told.line(so_far));
                *due = Instant::now() + LINE;
            }
            Output::Screen(screen) => screen.show(&self.told, run, so_far),
        }
    }

    fn ended(&mut self, record: &Record) {
        self.told.progress.add(&record.run, record.mbps());
        let Output::Screen(screen) = &mut self.output else { return };
        self.told.records.push(record.clone());
        if record.error_count() > 0 {
            // An error must stay visible above the screen.
            let kinds: Vec<&str> = record.errors.keys().map(String::as_str).collect();
            let kinds = kinds.join(", ");
            screen.say(&format!("{} requests failed ({kinds}): {}", record.error_count(), record.run.workload));
        }
    }
}

/// What a study has given so far.
struct Told {
    question: Question,
    environment: Environment,
    /// The records so far, where they are shown.
    records: Vec<Record>,
    progress: StudyProgress,
}

impl Told {
    /// The frame before `run`.
    fn frame(&self, run: &Run, so_far: &SoFar, has_key: bool, (style, rows): (&Style, usize)) -> Vec<String> {
        let is_early = so_far.spent < FIRST_SCREEN || self.records.is_empty();
        let study =
            (!is_early).then(|| halfpower_experiments::analyse(&self.question, &self.environment, &self.records));
        let now = Now {
            share: so_far.share(),
            counts: &self.progress.counts(so_far),
            current: &self.progress.current(run),
            best: &self.progress.best(),
            decides: so_far.decides,
            has_key,
        };
        live_frame(study.as_ref(), &now, style, rows)
    }

    /// The same in a line: how far the study is, and its fastest cells so far.
    fn line(&self, so_far: &SoFar) -> String {
        let parts = [self.progress.counts(so_far), self.progress.best()];
        parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// The screen on the terminal of standard error.
struct Screen {
    in_place: InPlace,
    keys: Keys,
    /// When the next frame may be made.
    due: Instant,
}

impl Screen {
    fn new(stop: &Arc<AtomicBool>) -> std::io::Result<Self> {
        Ok(Self { in_place: InPlace::default(), keys: Keys::new(stop)?, due: Instant::now() })
    }

    /// Draws the frame before `run` if it is time, and at once after the process was stopped and continued.
    fn show(&mut self, told: &Told, run: &Run, so_far: &SoFar) {
        let was_continued = self.keys.was_continued();
        if was_continued {
            self.in_place.forget();
        }
        let began = Instant::now();
        if (began < self.due && !was_continued) || is_behind() {
            return;
        }
        let has_key = self.keys.hold();
        let (columns, rows) = terminal_size::terminal_size_of(std::io::stderr())
            .map_or(USUAL_SIZE, |(columns, rows)| (usize::from(columns.0), usize::from(rows.0)));
        // The last column stays free, so that no line is folded, and the last row is the cursor's.
        let style = Style { width: columns.saturating_sub(1), colour: may_colour() };
        let frame = told.frame(run, so_far, has_key, (&style, rows.saturating_sub(1)));
        put(&self.in_place.redraw(&frame, (columns, rows)));
        let now = Instant::now();
        self.due = now + FRAME.max((now - began) * PART);
    }

    /// Writes a line that stays, in the place of the screen, which the next frame brings back.
    fn say(&mut self, line: &str) {
        put(&format!("{}{}\n", self.in_place.clear(), escaped(line)));
        self.due = Instant::now();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Behind another process, the terminal shows what is not ours.
        if !is_behind() {
            put(&self.in_place.clear());
        }
    }
}

/// Writes to standard error in one piece; if it is closed, what is shown is lost and the study goes on.
fn put(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use halfpower_measure::{SimulatedTarget, TargetBackend};
    use halfpower_spec::{Cache, SimulatedDisk};

    use super::*;

    const DISK: &str = "fixed=80us,rate=500MB/s,disks=4,shared=1600MB/s,noise=3%";
    /// The widths at which frames are looked at, and that of the golden ones.
    const WIDTHS: [usize; 6] = [20, 39, 59, 79, 119, 200];
    const GOLDEN: usize = 79;
    /// Rows of the terminal, without the cursor's.
    const ROWS: usize = 39;

    /// Takes the frames of a study at some moments of its time.
    struct Photographer {
        told: Told,
        /// The seconds that are still to come.
        at: Vec<u64>,
        frames: Vec<(u64, Vec<String>)>,
        last: Option<(Run, SoFar)>,
    }

    impl Photographer {
        fn take(&mut self, second: u64, run: &Run, so_far: &SoFar) {
            for width in WIDTHS {
                let style = Style { width, colour: false };
                let frame = self.told.frame(run, so_far, true, (&style, ROWS));
                assert!(frame.len() <= ROWS, "{frame:#?}");
                assert!(frame.iter().all(|line| line.chars().count() <= width), "{width}: {frame:#?}");
                if width == GOLDEN {
                    self.frames.push((second, frame));
                }
            }
        }
    }

    impl Observer for Photographer {
        fn begins(&mut self, run: &Run, so_far: &SoFar) {
            if let Some(second) = self.at.first().copied().filter(|second| so_far.spent.0 >= second * 1_000_000_000) {
                self.at.remove(0);
                self.take(second, run, so_far);
            }
            self.last = Some((*run, *so_far));
        }

        fn ended(&mut self, record: &Record) {
            self.told.progress.add(&record.run, record.mbps());
            self.told.records.push(record.clone());
        }
    }

    /// The frames of a simulated study of two minutes at 5, 15 and 60 s, and at its end.
    fn frames() -> Vec<(u64, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        let question = Question { cache: vec![Cache::Device], ..Question::about(format!("sim:{DISK}")) };
        let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(DISK).unwrap());
        let environment = backend.environment().clone();
        let mut file = StudyFile::create(&folder.path().join("s.halfpower"), &question, &environment).unwrap();
        file.spare_the_disk().unwrap();
        let progress = StudyProgress::about(&question);
        let told = Told { question: question.clone(), environment, records: Vec::new(), progress };
        let mut photographer = Photographer { told, at: vec![5, 15, 60], frames: Vec::new(), last: None };
        let stop = AtomicBool::new(false);
        halfpower_study::conduct(&question, &mut backend, &mut file, &mut photographer, (0, &stop)).unwrap();
        let (run, so_far) = photographer.last.unwrap();
        photographer.take(120, &run, &SoFar { left: Nanos(0), ..so_far });
        photographer.frames
    }

    fn assert_golden(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/live").join(name);
        if std::env::var_os("HALFPOWER_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == golden,
            "{name} is not what it was, bless it with HALFPOWER_BLESS=1 if it is right; now:\n{text}"
        );
    }

    #[test]
    fn the_screen_grows_while_a_study_measures() {
        let frames = frames();
        assert_eq!(frames.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [5, 15, 60, 120]);
        for (second, frame) in &frames {
            let text = frame.join("\n") + "\n";
            assert_eq!(text.contains("HOW FAST"), second * 1_000_000_000 >= FIRST_SCREEN.0, "{text}");
            assert!(text.contains("why: ") && text.contains("q ends it") && !text.contains("cut short"), "{text}");
            assert_golden(&format!("{second}.txt"), &text);
        }
    }

    #[test]
    fn without_a_terminal_a_line_tells_how_far_it_is_and_the_best_so_far() {
        let question = Question::about("/");
        let environment = Environment::default();
        let progress = StudyProgress::about(&question);
        let told = Told { question, environment, records: Vec::new(), progress };
        let so_far = SoFar {
            runs: 2,
            spent: Nanos(30_000_000_000),
            left: Nanos(90_000_000_000),
            decides: halfpower_spec::Decides::Leaders,
        };
        assert_eq!(told.line(&so_far), "25%, run 3, 0 cells so far, 1:30 left at most");
    }
}
