//! Implements `halfpower calibrate`: fits a model to a study, or measures how well such a model predicts.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use halfpower_analyse::{CalibrateError, Calibration, Ceilings, HeldOut};
use halfpower_experiments::StudyFindings;
use halfpower_model::{Fitted, PathConstants};
use halfpower_record::output::{Destination, Form};
use halfpower_report::{not_fitted_text, path_text};
use halfpower_spec::{Bytes, Cache, Direction, Pattern, format, shell_operand, shell_word};

use super::report::Analysed;
use super::{destination, line, opened, to_output, to_output_as_file};
use crate::args::CalibrateArgs;

pub fn calibrate(args: &CalibrateArgs) -> Result<()> {
    let output = args.output.as_deref().map(|path| named_output(path, args.force)).transpose()?;
    let analysed = Analysed::of(&opened(&args.study)?)?;
    let of_study = || args.study.display().to_string();
    if args.check {
        let held_out = halfpower_analyse::check(&analysed.findings).map_err(refused).with_context(of_study)?;
        return to_output(|out| tell_check(&held_out, out));
    }
    let ceilings = if args.shared { Ceilings::Shared } else { Ceilings::Device };
    let calibration = calibrated(&analysed, ceilings).with_context(of_study)?;
    let text = format!("{}{}", heading(&calibration), halfpower_report::calibration_toml(&calibration));
    match &output {
        None => to_output_as_file(|out| Ok(out.write_all(text.as_bytes())?)),
        Some(output) => {
            output.write(|out| -> Result<()> { Ok(out.write_all(text.as_bytes())?) })?;
            if output.is_standard_output() {
                return Ok(());
            }
            to_output(|out| tell(&calibration, output.path(), out))
        }
    }
}

/// Fits a model to a study.
pub fn calibrated(analysed: &Analysed, ceilings: Ceilings) -> Result<Calibration> {
    // Only the walks use the device's span; other experiments may use memory, for example.
    let walks = analysed.records.iter().filter(|record| record.walks());
    let span = walks.map(|record| record.span_bytes).max().unwrap_or(0);
    let StudyFindings { findings, measured, .. } = &analysed.findings;
    halfpower_analyse::calibrate(findings, measured, Bytes(span), ceilings).map_err(refused)
}

/// The destination of the model; its name must be valid in a `sim:` target, unless it is standard output.
fn named_output(path: &Path, force: bool) -> Result<Destination> {
    let output = destination(path, Form::Model, force)?;
    if output.is_standard_output() {
        return Ok(output);
    }
    if path.extension().is_none_or(|ending| ending != "toml") {
        bail!("--output {}: the name of a model must end in .toml", path.display());
    }
    if path.to_string_lossy().contains([',', '=']) {
        bail!("--output {}: the name of a model must not contain , or =", path.display());
    }
    Ok(output)
}

/// Converts the reason why a study gives no model to an error.
fn refused(error: CalibrateError) -> anyhow::Error {
    anyhow!(halfpower_report::calibrate_error_text(&error))
}

/// The comment that begins the file: what it is, and what was not fitted.
fn heading(calibration: &Calibration) -> String {
    let mut text = "# Fitted by `halfpower calibrate`; `halfpower study sim:THIS-FILE --set disks=4 --output predicted.halfpower`\n\
                    # predicts with it.\n\
                    # A request alone takes fixed_us + KiB x us_per_kib. Requests leave a device no closer together than\n\
                    # that time / side_by_side, size / ceiling_mbps, or 1 / ceiling_iops.\n"
        .to_string();
    if !calibration.not_fitted.is_empty() {
        text += "# Not fitted:\n";
        calibration.not_fitted.iter().for_each(|one| text += &format!("# - {}\n", not_fitted_text(one)));
    }
    text + "\n"
}

fn tell(calibration: &Calibration, path: &Path, out: &mut dyn Write) -> Result<()> {
    let ceilings: Vec<String> = calibration.paths.iter().map(|path| ceiling(&path.constants)).collect();
    let names: Vec<String> = calibration.paths.iter().map(|path| path_text(path.path)).collect();
    let widest = |words: &mut dyn Iterator<Item = &str>| words.map(|words| words.chars().count()).max().unwrap_or(0);
    let width = widest(&mut names.iter().map(String::as_str)).max(11);
    let wide = widest(&mut ceilings.iter().map(String::as_str)).max(7);
    writeln!(
        out,
        "{:width$}  cells   fixed  + a KiB  side by side  {:>wide$}  half within  most within",
        "way through", "ceiling"
    )?;
    for ((path, ceiling), name) in calibration.paths.iter().zip(&ceilings).zip(&names) {
        let constants = &path.constants;
        writeln!(
            out,
            "{:width$}  {:>5}  {:>6}  {:>7}  {:>12}  {ceiling:>wide$}  {:>11}  {:>11}",
            name,
            path.cells,
            format::time_us(constants.fixed_us),
            format::time_us(constants.us_per_kib),
            format::number(constants.side_by_side.unwrap_or(f64::INFINITY)),
            format::percent(path.half_within),
            format::percent(path.most_within),
        )?;
    }
    let of_all = |rw: &Direction| Some(format!("{} in {rw}s", format::mbps(calibration.fitted.shared.mbps(*rw)?)));
    let of_all: Vec<String> = Direction::ALL.iter().filter_map(of_all).collect();
    if !of_all.is_empty() {
        writeln!(out, "What several devices share: {}.", of_all.join(", "))?;
    }
    let mut not_fitted = calibration.not_fitted.iter().map(not_fitted_text);
    not_fitted.try_for_each(|sentence| writeln!(out, "Not fitted: {sentence}"))?;
    writeln!(out)?;
    let next = next_command(&calibration.fitted, path);
    Ok(line(out, &format!("{} is written. Predict with it:  {next}", path.display()))?)
}

/// The ceilings seen on a path, in bytes and in requests a second.
fn ceiling(constants: &PathConstants) -> String {
    let seen = [constants.ceiling_mbps.map(format::mbps), constants.ceiling_iops.map(format::iops)];
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    if seen.is_empty() { "none seen".to_string() } else { seen.join(", ") }
}

/// A command that predicts four such devices: a study of what the model knows, written to a separate file beside the
/// model.
fn next_command(fitted: &Fitted, path: &Path) -> String {
    let (patterns, directions, caches) = known_together(fitted);
    let mut command = format!("halfpower study {} --set disks=4", shell_word(format!("sim:{}", path.display())));
    if patterns.len() < Pattern::ALL.len() {
        command += &format!(" --experiments {}", listed(&patterns));
    }
    if directions.len() < Direction::ALL.len() {
        command += &format!(" --rw {}", listed(&directions));
    }
    if caches != [Cache::Both, Cache::Device] {
        command += &format!(" --cache {}", listed(&caches));
    }
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let output = path.with_file_name(format!("{name}-predicted.halfpower"));
    command + " --output " + &shell_operand(&output)
}

/// The largest sets of patterns, directions and cache settings for which the model knows every combination; the first
/// of equal ones. A study measures all combinations.
fn known_together(fitted: &Fitted) -> (Vec<Pattern>, Vec<Direction>, Vec<Cache>) {
    let mut most = Default::default();
    let mut ways = 0;
    for patterns in subsets(Pattern::ALL) {
        for directions in subsets(Direction::ALL) {
            // Take every cache setting that the model knows for all of these.
            let in_all = |cache: &Cache| {
                let knows = |pattern: &Pattern| {
                    directions.iter().all(|direction| fitted.passage(*pattern, *cache, *direction).is_some())
                };
                patterns.iter().all(knows)
            };
            let caches: Vec<Cache> = Cache::ALL.iter().copied().filter(in_all).collect();
            let together = patterns.len() * directions.len() * caches.len();
            if together > ways {
                (most, ways) = ((patterns.clone(), directions, caches), together);
            }
        }
    }
    most
}

/// All non-empty subsets.
fn subsets<T: Copy>(of: &[T]) -> impl Iterator<Item = Vec<T>> {
    (1_usize..1 << of.len()).map(|chosen| {
        of.iter().enumerate().filter(|(backend, _)| chosen >> backend & 1 == 1).map(|(_, one)| *one).collect()
    })
}

fn listed(words: &[impl Display]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn tell_check(held_out: &HeldOut, out: &mut dyn Write) -> Result<()> {
    let width = held_out.paths.iter().map(|path| path_text(path.path).len()).max().unwrap_or(0).max(11);
    writeln!(out, "{:width$}  cells predicted  half off by less than  nine tenths by less than", "way through")?;
    let mut line = |words: &str, cells: usize, half: f64, most: f64| {
        let half = format::percent(half);
        let most = format::percent(most);
        writeln!(out, "{words:width$}  {cells:>15}  {half:>21}  {most:>24}")
    };
    for path in &held_out.paths {
        line(&path_text(path.path), path.cells, path.half_within, path.most_within)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use halfpower_model::FittedDevice;

    use super::*;

    fn command(ways: &[&str]) -> String {
        let passage = PathConstants { fixed_us: 80.0, ..PathConstants::default() };
        let fitted = Fitted {
            about: String::new(),
            device: FittedDevice { name: "vda".to_string(), measured_mib: 64, processors: 2, ceilings_each_way: false },
            shared: Default::default(),
            path: ways.iter().map(|way| (way.to_string(), passage)).collect::<BTreeMap<_, _>>(),
            error: BTreeMap::new(),
        };
        next_command(&fitted, Path::new("mine.toml"))
    }

    #[test]
    fn the_next_command_asks_for_nothing_that_the_model_does_not_know() {
        // Paths without anything in common: only the first.
        assert_eq!(
            command(&["sequential-buffered-read", "random-direct-write"]),
            "halfpower study sim:mine.toml --set disks=4 --experiments sequential --rw read --cache both \
             --output mine-predicted.halfpower"
        );
        // One missing path costs as few of the others as possible.
        let but_one = ["sequential-direct-read", "sequential-direct-write", "random-direct-read"];
        assert_eq!(
            command(&but_one),
            "halfpower study sim:mine.toml --set disks=4 --experiments sequential --cache device --output \
             mine-predicted.halfpower"
        );
        let all = ["sequential", "random"].map(|pattern| {
            ["buffered", "direct"].map(|cache| ["read", "write"].map(|rw| format!("{pattern}-{cache}-{rw}")))
        });
        let all: Vec<&str> = all.iter().flatten().flatten().map(String::as_str).collect();
        assert_eq!(command(&all), "halfpower study sim:mine.toml --set disks=4 --output mine-predicted.halfpower");
    }
}
