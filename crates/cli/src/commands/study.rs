//! `halfpower study`: plan, measure, analyse and report.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use measure::Place;
use record::{StudyFile, TargetKind};
use spec::{Bytes, Question};
use study::Ending;

use super::question::{check_cells, open_place, question};
use super::report::Analysed;
use super::{switched_write_cache, to_file, to_output};
use crate::args::StudyArgs;
use crate::progress::Progress;

pub fn study(args: &StudyArgs) -> Result<()> {
    let stop = os::interrupt::stop_flag()?;
    let question = question(&args.question)?;
    let report_path = args.output.with_extension("html");
    if report_path == args.output {
        bail!("--output {} is the name of its report; name the study file otherwise", args.output.display());
    }
    let mut place = open_place(&args.question, &question)?;
    check_cells(place.as_ref(), &question)?;
    let _write_cache = switched_write_cache(place.as_mut(), &args.question.common)?;
    let mut file = open_file(&args.output, &question, place.as_mut(), &stop)?;
    if place.environment().surroundings.kind == TargetKind::Simulated {
        file.spare_the_disk()?;
    }
    let mut progress = Progress::new(&question, &file, args.json)?;
    let ending = study::conduct(&question, place.as_mut(), &mut file, &mut progress, &stop)?;
    progress.close();
    if ending == Ending::Interrupted {
        bail!(
            "interrupted; what was measured is in {}, and the same command goes on from there",
            args.output.display()
        );
    }
    drop(place);
    let analysed = Analysed::of(&file)?;
    to_file(&report_path, |out| analysed.write_html(out))?;
    to_output(None, |out| {
        if args.json {
            return analysed.write_json(out);
        }
        analysed.write_text(out)?;
        Ok(writeln!(out, "\nReport: {}   Study file: {}", report_path.display(), args.output.display())?)
    })
}

/// The study file with the place ready for it. A file that is there is checked before anything is laid out, and
/// gets the span that it had; a new one is made only when there is something to keep in it.
fn open_file(path: &Path, question: &Question, place: &mut dyn Place, stop: &AtomicBool) -> Result<StudyFile> {
    if !path.exists() {
        place.make_ready(None, stop)?;
        let left_out = study::left_out(question, place.environment());
        place.environment_mut().left_out = left_out;
        return Ok(StudyFile::create(path, question, place.environment())?);
    }
    let mut file = StudyFile::resume(path, question, place.environment())?;
    let span = file.records()?.first().map(|record| Bytes(record.span_bytes));
    place.make_ready(span, stop)?;
    // What the plan was made with stands; only what is about the machine of today is new.
    let began = file.environment();
    let (surroundings, left_out) = (began.surroundings.clone(), began.left_out.clone());
    (place.environment_mut().surroundings, place.environment_mut().left_out) = (surroundings, left_out);
    file.go_on_in(place.environment())?;
    Ok(file)
}
