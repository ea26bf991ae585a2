//! `halfpower calibrate`: a small model of what a study measured, to predict with; or what such a model is worth.

use std::io::Write;
use std::path::Path;

use analyse::{Calibration, Ceilings, HeldOut, format};
use anyhow::{Context, Result, bail};
use record::StudyFile;
use spec::{Bytes, Cache, Direction, Pattern};

use super::question::quoted;
use super::report::Analysed;
use super::{to_file, to_output};
use crate::args::CalibrateArgs;

pub fn calibrate(args: &CalibrateArgs) -> Result<()> {
    if let Some(output) = args.output.as_ref().filter(|path| path.extension().is_none_or(|ending| ending != "toml")) {
        bail!("--output {}: sim: targets are read from files that end in .toml; name it so", output.display());
    }
    let analysed = Analysed::of(&StudyFile::open(&args.study)?)?;
    let of_study = || args.study.display().to_string();
    if args.check {
        let held_out = analyse::check(&analysed.findings).with_context(of_study)?;
        return to_output(None, |out| tell_check(&held_out, out));
    }
    let span = analysed.records.iter().map(|record| record.span_bytes).max().unwrap_or(0);
    let ceilings = if args.shared { Ceilings::Shared } else { Ceilings::Device };
    let calibration = analyse::calibrate(&analysed.findings, Bytes(span), ceilings).with_context(of_study)?;
    let text = format!("{}{}", heading(&calibration), calibration.fitted.to_toml(&calibration.remarks));
    match &args.output {
        None => to_output(None, |out| Ok(out.write_all(text.as_bytes())?)),
        Some(path) => {
            to_file(path, |out| Ok(out.write_all(text.as_bytes())?))?;
            to_output(None, |out| tell(&calibration, path, out))
        }
    }
}

/// What the file is, and what it does not hold.
fn heading(calibration: &Calibration) -> String {
    let mut text = "# Fitted by `halfpower calibrate`; `halfpower study sim:THIS-FILE --set disks=4` predicts with it.\n\
                    # A request alone takes fixed_us + KiB x us_per_kib. Requests leave a device no closer together than\n\
                    # that time / side_by_side, size / ceiling_mbps, or 1 / ceiling_iops.\n"
        .to_string();
    if !calibration.unknown.is_empty() {
        text += "# Not fitted:\n";
        calibration.unknown.iter().for_each(|sentence| text += &format!("# - {sentence}\n"));
    }
    text + "\n"
}

fn tell(calibration: &Calibration, path: &Path, out: &mut dyn Write) -> Result<()> {
    let width = calibration.ways.iter().map(|way| way.words.len()).max().unwrap_or(0).max(11);
    writeln!(
        out,
        "{:width$}  cells   fixed  + a KiB  side by side    ceiling  half within  most within",
        "way through"
    )?;
    for way in &calibration.ways {
        let passage = &way.passage;
        let ceiling = passage.ceiling_mbps.map_or("none seen".to_string(), format::mbps);
        writeln!(
            out,
            "{:width$}  {:>5}  {:>6}  {:>7}  {:>12}  {ceiling:>9}  {:>11}  {:>11}",
            way.words,
            way.cells,
            format::time_us(passage.fixed_us),
            format::time_us(passage.us_per_kib),
            format::number(passage.side_by_side.unwrap_or(f64::INFINITY)),
            format::percent(way.half_within),
            format::percent(way.most_within),
        )?;
    }
    calibration.unknown.iter().try_for_each(|sentence| writeln!(out, "Not fitted: {sentence}"))?;
    writeln!(out, "\n{} is written. Predict with it:  {}", path.display(), next_command(calibration, path))?;
    Ok(())
}

/// A study that asks for what the model knows, of four such devices.
fn next_command(calibration: &Calibration, path: &Path) -> String {
    let knows =
        |pattern: Pattern, cache: Cache, rw: Direction| calibration.fitted.passage(pattern, cache, rw).is_some();
    let of_any = |pattern: &Pattern, cache: &Cache| Direction::ALL.iter().any(|rw| knows(*pattern, *cache, *rw));
    let patterns: Vec<Pattern> =
        Pattern::ALL.iter().copied().filter(|pattern| Cache::ALL.iter().any(|cache| of_any(pattern, cache))).collect();
    let in_all = |cache: &Cache, rw: &Direction| patterns.iter().all(|pattern| knows(*pattern, *cache, *rw));
    let directions: Vec<Direction> =
        Direction::ALL.iter().copied().filter(|rw| Cache::ALL.iter().any(|cache| in_all(cache, rw))).collect();
    let caches: Vec<Cache> =
        Cache::ALL.iter().copied().filter(|cache| directions.iter().all(|rw| in_all(cache, rw))).collect();
    let mut command = format!("halfpower study {} --set disks=4", quoted(&format!("sim:{}", path.display())));
    let listed = |words: Vec<String>| words.join(",");
    if patterns.len() < Pattern::ALL.len() {
        command += &format!(" --experiments {}", listed(patterns.iter().map(Pattern::to_string).collect()));
    }
    if directions.len() < Direction::ALL.len() {
        command += &format!(" --rw {}", listed(directions.iter().map(Direction::to_string).collect()));
    }
    if caches != [Cache::Both, Cache::Device] {
        command += &format!(" --cache {}", listed(caches.iter().map(Cache::to_string).collect()));
    }
    command
}

fn tell_check(held_out: &HeldOut, out: &mut dyn Write) -> Result<()> {
    let width = held_out.ways.iter().map(|way| way.words.len()).max().unwrap_or(0).max(11);
    writeln!(out, "{:width$}  cells predicted  half off by less than  nine tenths by less than", "way through")?;
    let mut line = |words: &str, cells: usize, half: f64, most: f64| {
        let (half, most) = (format::percent(half), format::percent(most));
        writeln!(out, "{words:width$}  {cells:>15}  {half:>21}  {most:>24}")
    };
    for way in &held_out.ways {
        line(&way.words, way.cells, way.half_within, way.most_within)?;
    }
    line("all", held_out.cells, held_out.half_within, held_out.most_within)?;
    writeln!(
        out,
        "\nEach half of the cells was predicted by a model that was fitted to the other half: the median error is {}.",
        format::percent(held_out.half_within)
    )?;
    match held_out.runs_apart {
        Some(apart) => writeln!(out, "Two runs of the same cell are {} apart in the median.", format::percent(apart))?,
        None => writeln!(out, "No cell was run twice, so how well runs repeat is not known.")?,
    }
    Ok(())
}
