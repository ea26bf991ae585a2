//! `halfpower calibrate`: a small model of what a study measured, to predict with; or what such a model is worth.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use analyse::{Calibration, Ceilings, HeldOut, format};
use anyhow::{Context, Result, bail};
use model::{Fitted, Passage};
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
    if let Some(output) = args.output.as_ref().filter(|path| path.to_string_lossy().contains([',', '='])) {
        bail!("--output {}: in a sim: target settings follow a comma; name a file without , and =", output.display());
    }
    let analysed = Analysed::of(&StudyFile::open(&args.study)?)?;
    let of_study = || args.study.display().to_string();
    if args.check {
        let held_out = analyse::check(&analysed.findings).with_context(of_study)?;
        return to_output(None, |out| tell_check(&held_out, out));
    }
    // What other experiments used, such as memory, is none of the device.
    let walks = analysed.records.iter().filter(|record| record.run.walks());
    let span = walks.map(|record| record.span_bytes).max().unwrap_or(0);
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
    let mut text = "# Fitted by `halfpower calibrate`; `halfpower study sim:THIS-FILE --set disks=4 --output predicted.halfpower`\n\
                    # predicts with it.\n\
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
    let ceilings: Vec<String> = calibration.ways.iter().map(|way| ceiling(&way.passage)).collect();
    let widest = |words: &mut dyn Iterator<Item = &str>| words.map(|words| words.chars().count()).max().unwrap_or(0);
    let width = widest(&mut calibration.ways.iter().map(|way| way.words.as_str())).max(11);
    let wide = widest(&mut ceilings.iter().map(String::as_str)).max(7);
    writeln!(
        out,
        "{:width$}  cells   fixed  + a KiB  side by side  {:>wide$}  half within  most within",
        "way through", "ceiling"
    )?;
    for (way, ceiling) in calibration.ways.iter().zip(&ceilings) {
        let passage = &way.passage;
        writeln!(
            out,
            "{:width$}  {:>5}  {:>6}  {:>7}  {:>12}  {ceiling:>wide$}  {:>11}  {:>11}",
            way.words,
            way.cells,
            format::time_us(passage.fixed_us),
            format::time_us(passage.us_per_kib),
            format::number(passage.side_by_side.unwrap_or(f64::INFINITY)),
            format::percent(way.half_within),
            format::percent(way.most_within),
        )?;
    }
    let of_all = |rw: &Direction| Some(format!("{} in {rw}s", format::mbps(calibration.fitted.shared.mbps(*rw)?)));
    let of_all: Vec<String> = Direction::ALL.iter().filter_map(of_all).collect();
    if !of_all.is_empty() {
        writeln!(out, "What several devices share: {}.", of_all.join(", "))?;
    }
    calibration.unknown.iter().try_for_each(|sentence| writeln!(out, "Not fitted: {sentence}"))?;
    writeln!(out, "\n{} is written. Predict with it:  {}", path.display(), next_command(&calibration.fitted, path))?;
    Ok(())
}

/// What a way was seen to come up against, in bytes and in requests.
fn ceiling(passage: &Passage) -> String {
    let seen = [passage.ceiling_mbps.map(format::mbps), passage.ceiling_iops.map(format::iops)];
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    if seen.is_empty() { "none seen".to_string() } else { seen.join(", ") }
}

/// A study that asks for what the model knows, of four such devices, in a file of its own beside the one that was
/// calibrated from.
fn next_command(fitted: &Fitted, path: &Path) -> String {
    let (patterns, directions, caches) = known_together(fitted);
    let mut command = format!("halfpower study {} --set disks=4", quoted(&format!("sim:{}", path.display())));
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
    command + " --output " + &quoted(&output.to_string_lossy())
}

/// Most patterns, directions and cache settings of which the model knows every combination; of several as many, the
/// first. A study asks for all combinations.
fn known_together(fitted: &Fitted) -> (Vec<Pattern>, Vec<Direction>, Vec<Cache>) {
    let mut most = Default::default();
    let mut ways = 0;
    for patterns in subsets(Pattern::ALL) {
        for directions in subsets(Direction::ALL) {
            // Whatever these know together only adds to them.
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

/// Every choice of some of these.
fn subsets<T: Copy>(of: &[T]) -> impl Iterator<Item = Vec<T>> {
    (1_usize..1 << of.len()).map(|chosen| {
        of.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1).map(|(_, one)| *one).collect()
    })
}

fn listed(words: &[impl Display]) -> String {
    words.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::FittedDevice;

    use super::*;

    fn command(ways: &[&str]) -> String {
        let passage = Passage { fixed_us: 80.0, ..Passage::default() };
        let fitted = Fitted {
            about: String::new(),
            device: FittedDevice { name: "vda".to_string(), measured_mib: 64, processors: 2 },
            shared: Default::default(),
            path: ways.iter().map(|way| (way.to_string(), passage)).collect::<BTreeMap<_, _>>(),
        };
        next_command(&fitted, Path::new("mine.toml"))
    }

    #[test]
    fn the_next_command_asks_for_nothing_that_the_model_does_not_know() {
        // Ways that have nothing in common: the first of them alone.
        assert_eq!(
            command(&["sequential-buffered-read", "random-direct-write"]),
            "halfpower study sim:mine.toml --set disks=4 --experiments sequential --rw read --cache both \
             --output mine-predicted.halfpower"
        );
        // A way that lacks costs no more than it has to.
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
