//! Holds one module per command, and the code that they share: opening targets and writing output.

pub mod again;
pub mod alike;
pub mod applications;
pub mod at_once;
pub mod calibrate;
pub mod compare;
pub mod dialect;
pub mod doctor;
pub mod duet;
pub mod export;
pub mod generate;
pub mod history;
pub mod import;
mod looked_at;
pub mod memory;
pub mod outcome;
pub mod plan;
pub mod predict;
pub mod probe;
pub mod question;
pub mod replay;
pub mod report;
pub mod run;
mod sessions;
pub mod study;
pub mod systems;
pub mod watch;
pub mod witness;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use halfpower_measure::{
    HostPart, RealTarget, RealTargetOptions, ShareTarget, SimulatedTarget, TargetBackend, USUAL_LAYOUT, USUAL_SILENCE,
    WitnessedTarget, WriteCache,
};
use halfpower_record::output::{Destination, Form, OutputError, Unwritten, written};
use halfpower_record::{RecordError, StudyFile, TargetKind};
use halfpower_report::{STYLES, Style};
use halfpower_share::{Access, Credentials};
use halfpower_spec::{
    Bytes, Nanos, ShareAddress, Shown, SimulatedDisk, Switch, Target, escaped, masked, without_password,
};
use halfpower_witness::{Patience, Witness};
use serde::{Deserialize, Serialize};

use crate::measuring_args::{CommonArgs, MayWriteArgs};
use crate::payload_args::PayloadArgs;

/// Default for the longest silence of a file server.
pub const SILENCE_OF_A_SERVER: Nanos = Nanos(30_000_000_000);

/// What a command needs from a target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Purpose {
    /// Whether anything will be written to it.
    pub writes: bool,
    /// Bytes to use; `None` takes the default.
    pub size: Option<Bytes>,
    /// Whether these bytes are spread in pieces over the whole target.
    pub spread: bool,
    /// Longest time for laying out its file.
    pub layout_limit: Nanos,
    /// Setting of the device's write cache for the whole command; `None` leaves it unchanged.
    pub write_cache: Option<Switch>,
}

impl Purpose {
    /// The purpose of a single run; `write_cache` is its study's setting.
    pub fn of_run(common: &CommonArgs, writes: bool, write_cache: Option<Switch>) -> Self {
        Self { writes, size: common.size, spread: common.spread, layout_limit: USUAL_LAYOUT, write_cache }
    }
}

/// A target that a command measures, with the flags that all processes were started with.
pub struct TargetRequest<'a> {
    /// The target.
    pub target: Target,
    /// The flags about target and engine.
    pub common: &'a CommonArgs,
    /// The flags about what is written, of a command that has them.
    pub payload: Option<&'a PayloadArgs>,
}

/// Opens the backend of a target for a purpose. If several processes measure it, `part` holds this process's part and whether
/// another process on this machine has opened the target before.
pub fn backend(
    asked: &TargetRequest<'_>,
    purpose: &Purpose,
    part: Option<(HostPart, bool)>,
) -> Result<Box<dyn TargetBackend>> {
    let TargetRequest { target, common, .. } = asked;
    refuse_useless(common, target)?;
    let (host_part, is_beside_another) = part.map_or((None, false), |(part, beside)| (Some(part), beside));
    let rank = host_part.as_ref().map_or(0, |part| u64::from(part.rank));
    let MayWriteArgs { overwrite, force_in_use, force_content } = common.may_write;
    let wanted = RealTargetOptions {
        size: purpose.size,
        spread: purpose.spread,
        writes: purpose.writes,
        overwrite,
        force_in_use: force_in_use || is_beside_another,
        force_content: force_content || is_beside_another,
        host_part,
        drop_caches: common.drop_caches,
        payload: asked.payload.map_or(Ok(None), PayloadArgs::given)?,
        engine: common.engine,
        // Each host writes different data.
        seed: common.seed.wrapping_add(rank.wrapping_mul(0xD1B5_4A32_D192_ED03)),
        layout_limit: purpose.layout_limit,
        silence: common.timeout.unwrap_or(usual_silence(target)),
    };
    Ok(match target {
        Target::Simulated(disk) => {
            let size = purpose.size.map_or(disk.size, |size| size.min(disk.size));
            Box::new(spread(SimulatedTarget::new(SimulatedDisk { size, ..disk.clone() }), purpose)?)
        }
        Target::System(system) => {
            Box::new(spread(SimulatedTarget::system(system, purpose.size, purpose.write_cache)?, purpose)?)
        }
        Target::Several(several) => Box::new(RealTarget::open_several(several, &wanted)?),
        Target::Share(address) => {
            let access = access(address, common.credentials.as_deref(), wanted.silence)?;
            Box::new(ShareTarget::open(address, &access, &wanted)?)
        }
        Target::Null => Box::new(RealTarget::null(&wanted)?),
        Target::Path(path) => Box::new(RealTarget::open(path, &wanted)?),
    })
}

/// Refuses flags that do nothing on this target.
fn refuse_useless(common: &CommonArgs, target: &Target) -> Result<()> {
    refuse_credentials(common.credentials.as_deref(), target)?;
    if !matches!(target, Target::Simulated(_) | Target::System(_)) {
        return Ok(());
    }
    if common.drop_caches {
        bail!("--drop-caches is about the page caches of this machine, which {target} does not use: leave it out");
    }
    if let Some(timeout) = common.timeout {
        bail!("--timeout {timeout} is for a target that may fail to answer, and {target} always does: leave it out");
    }
    Ok(())
}

/// Refuses credentials for a target that asks for none.
pub fn refuse_credentials(credentials: Option<&Path>, target: &Target) -> Result<()> {
    match credentials.filter(|_| !matches!(target, Target::Share(_))) {
        Some(path) => {
            let path = path.display();
            bail!("--credentials {path}: {target} is neither on a file server nor in a bucket: leave it out")
        }
        None => Ok(()),
    }
}

fn usual_silence(target: &Target) -> Nanos {
    if matches!(target, Target::Share(_)) { SILENCE_OF_A_SERVER } else { USUAL_SILENCE }
}

/// Credentials and timeout for a share; the user's wish to stop ends all waiting for it.
pub fn access(address: &ShareAddress, credentials: Option<&Path>, silence: Nanos) -> Result<Access> {
    let credentials = Credentials::find(address, credentials, halfpower_os::hidden_line::ask)?;
    let stop = halfpower_os::interrupt::handed_out();
    Ok(Access { credentials, timeout: Duration::from_nanos(silence.0), stop })
}

/// Adds the witness that `--far-end` asks for to the target.
pub fn with_far_end(target: Box<dyn TargetBackend>, common: &CommonArgs) -> Result<Box<dyn TargetBackend>> {
    let Some(command) = &common.far_end else { return Ok(target) };
    if target.environment().capabilities.kind == TargetKind::Simulated {
        bail!("--far-end: a simulated target has no machine at its far end; leave the flag out");
    }
    let witness = Witness::start(command, Patience::default())?;
    Ok(Box::new(WitnessedTarget::new(target, witness)))
}

fn spread(target: SimulatedTarget, purpose: &Purpose) -> Result<SimulatedTarget> {
    Ok(if purpose.spread { target.spread()? } else { target })
}

/// Switches the device's write cache if asked to; dropping the returned value restores it.
pub fn switched_write_cache(backend: &mut dyn TargetBackend, position: Option<Switch>) -> Result<Option<WriteCache>> {
    let Some(switch) = position else { return Ok(None) };
    let simulated = backend.environment().capabilities.kind == TargetKind::Simulated;
    if simulated && backend.environment().device.is_some() {
        // The simulated machine was created with this setting.
        return Ok(None);
    }
    let device = backend.environment_mut().device.as_mut().filter(|device| device.is_alone());
    let Some(device) = device else {
        bail!("--write-cache {switch}: no single device is known under the target; leave the flag out");
    };
    let held = WriteCache::set(&device.name, switch)?;
    device.write_cache = Some(WriteCache::setting(switch).to_string());
    Ok(Some(held))
}

/// Calls `write` with standard output, and flushes it. What is written is escaped, but for line breaks and tabs: names and
/// texts of studies drive no terminal. What the reader of a pipe does not read any more is left out, and the command goes on to its
/// verdict. An error of writing says what could not be written.
pub fn to_output(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    written_to(Shown::new(BufWriter::new(io::stdout().lock())), write)
}

/// As [`to_output`], for a text that has styles of its own if `style` has colours.
pub fn to_styled_output(style: &Style, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let shown = Shown::new(BufWriter::new(io::stdout().lock()));
    written_to(if style.colour { shown.with_styles(STYLES) } else { shown }, write)
}

/// As [`to_output`], for a file that other programs read: only on a terminal, nobody reads it as it is.
pub fn to_output_as_file(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    match io::stdout().is_terminal() {
        true => to_output(write),
        false => written_to(BufWriter::new(io::stdout().lock()), write),
    }
}

/// Writes a line; a line break in `text` does not end it.
pub fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", escaped(text))
}

fn written_to(out: impl Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let open = halfpower_os::standard_output::refuse_closed();
    match open.map_err(Unwritten::Stream).and_then(|()| written(out, write)) {
        Err(unwritten) if unwritten.has_no_reader() => Ok(()),
        Err(Unwritten::Stream(error)) => {
            Err(error).context("standard output cannot be written; check the file or the program that takes it")
        }
        Err(Unwritten::Content(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// Shuts this process out from all but these files and the folders of its outputs, before it reads what may come from
/// anybody. Not every kernel can do that; then nothing changes.
pub fn shut_out<'a>(files: impl IntoIterator<Item = &'a Path>, outputs: impl IntoIterator<Item = &'a Path>) {
    let folders: Vec<PathBuf> = outputs.into_iter().flat_map(folders_of).collect();
    // SQLite looks at what lies beside a study under its name.
    let beside = |path: &Path| {
        ["", "-journal", "-wal"].map(|ending| {
            let mut name = path.as_os_str().to_os_string();
            name.push(ending);
            PathBuf::from(name)
        })
    };
    let files: Vec<PathBuf> = files.into_iter().flat_map(beside).collect();
    halfpower_os::sandbox::enter(files.iter().map(PathBuf::as_path), folders.iter().map(PathBuf::as_path));
}

/// The folder in which an output is made, or the nearest one that exists; and the one that a link leads to.
fn folders_of(output: &Path) -> Vec<PathBuf> {
    let named = std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf());
    let led_to = std::fs::canonicalize(&named).ok();
    let nearest = |path: &Path| path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_path_buf);
    [Some(named), led_to].iter().flatten().filter_map(|path| nearest(path)).collect()
}

/// Opens a study to read it, and tells of a file beside it that was not applied.
pub fn opened(path: &Path) -> Result<StudyFile, RecordError> {
    let file = StudyFile::open(path)?;
    tell_set_aside(&file);
    Ok(file)
}

/// Tells of a file beside a study that was not applied to it.
pub fn tell_set_aside(file: &StudyFile) {
    if let Some(beside) = file.set_aside() {
        crate::tell::tell!(
            "halfpower: {} is not of the study's own making and was not applied to {}; it can be removed",
            beside.display(),
            file.path().display()
        );
    }
}

/// Refuses words that hold the password of an address; the error shows none.
pub fn refuse_passwords(words: &[OsString]) -> Result<()> {
    match words.iter().filter_map(|word| without_password(word.to_str()?)).next() {
        None => Ok(()),
        Some(shown) => bail!(
            "{}: an address must not hold a password, which others could see; put it into HALFPOWER_SMB_PASSWORD, or into \
             a file for --credentials",
            masked(&shown)
        ),
    }
}

/// Checks the destination of a file before any work is done. Removes unfinished files of killed processes beside it.
pub fn destination(path: &Path, form: Form, force: bool) -> Result<Destination, OutputError> {
    for removed in halfpower_record::output::sweep(path) {
        crate::tell::tell!("halfpower: removed {}, which a killed halfpower left unfinished", removed.display());
    }
    Destination::new(path, form, force)
}

/// Refuses a file that goes to standard output where `--json` prints there too.
///
/// # Errors
/// A sentence that names the file.
pub fn refuse_beside_json<'a>(json: bool, files: impl IntoIterator<Item = &'a Destination>) -> Result<()> {
    match files.into_iter().find(|file| json && file.is_standard_output()) {
        Some(file) => bail!(
            "{}: --json prints to standard output too, and only one can go there; name another file, or leave --json out",
            file.path().display()
        ),
        None => Ok(()),
    }
}

/// Whether two paths name one file, as far as their text tells.
pub fn are_one(one: &Path, other: &Path) -> bool {
    let absolute = [one, other].map(std::path::absolute);
    one == other || matches!(absolute, [Ok(one), Ok(other)] if one == other)
}
