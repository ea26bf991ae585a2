//! Implements `halfpower generate`: writes completions and man pages from the definition of the command line, and the
//! JSON schemas of `--json` output.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use flate2::read::DeflateDecoder;
use halfpower_spec::{Arrivals, Cache, Direction, EngineName, Experiment, IoMem, Pass, Rw, Sealing, Switch};

use crate::args::{CommandLine, GenerateArgs, Generated};
use crate::values::engines_of_storage;

/// All of `docs/schema`, deflated: names of files and their texts in turns, each with a NUL behind it.
const SCHEMAS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas"));

pub fn generate(args: &GenerateArgs) -> Result<()> {
    let GenerateArgs { what, folder } = args;
    let refused = || format!("{} cannot be written to; name another folder", folder.display());
    fs::create_dir_all(folder).with_context(refused)?;
    let definition = CommandLine::command();
    match what {
        Generated::Completions => {
            let mut definition = with_words(definition);
            for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut definition, "halfpower", &mut script);
                put(&folder.join(shell.file_name("halfpower")), &script).with_context(refused)?;
            }
        }
        Generated::Man => {
            let mut definition = definition.disable_help_subcommand(true);
            definition.build();
            man_pages(&definition, folder).with_context(refused)?;
        }
        Generated::Schema => {
            let mut texts = String::new();
            DeflateDecoder::new(SCHEMAS).read_to_string(&mut texts)?;
            let mut parts = texts.split_terminator('\0');
            while let (Some(name), Some(schema)) = (parts.next(), parts.next()) {
                put(&folder.join(name), schema.as_bytes()).with_context(refused)?;
            }
        }
    }
    Ok(())
}

/// The words that shells complete after an option of a command; of a list they complete the first. Their parsers, which have
/// errors of their own, do not tell them.
fn words_of(command: &str, option: &str) -> Vec<&'static str> {
    match option {
        "rw" if command == "run" => Rw::ALL.iter().map(|one| one.word()).collect(),
        "rw" => Direction::ALL.iter().map(|one| one.word()).collect(),
        "arrivals" => Arrivals::ALL.iter().map(|one| one.word()).collect(),
        "pass" => Pass::ALL.iter().map(|one| one.word()).collect(),
        "write_cache" => Switch::ALL.iter().map(|one| one.word()).collect(),
        "engine" => engines_of_storage().into_iter().map(EngineName::word).collect(),
        "experiments" => std::iter::once("all").chain(Experiment::ALL.iter().map(|one| one.word())).collect(),
        "cache" => Cache::ALL.iter().map(|one| one.word()).collect(),
        "iomem" => IoMem::ALL.iter().map(|one| one.word()).collect(),
        "sealing" => Sealing::ALL.iter().map(|one| one.word()).collect(),
        _ => Vec::new(),
    }
}

/// The definition of a command line with the words of its options, for completions alone.
fn with_words(command: Command) -> Command {
    let name = command.get_name().to_string();
    let with_its_words = |arg: Arg| match words_of(&name, arg.get_id().as_str()) {
        words if words.is_empty() => arg,
        words => arg.value_parser(PossibleValuesParser::new(words)),
    };
    command.mut_args(with_its_words).mut_subcommands(with_words)
}

/// Writes the man page of a command and of its subcommands.
fn man_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        man_pages(below, folder)?;
    }
    let man = Man::new(command.clone());
    let file_name = man.get_filename();
    let name = file_name.trim_end_matches(".1");
    // clap_mangen's title drops an empty date, and names only the subcommand.
    let title = format!(".TH {name} 1 \"\" \"halfpower {}\"\n", env!("CARGO_PKG_VERSION"));
    let mut page = title.into_bytes();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        sections(&text.to_string()).to_writer(&mut page)?;
    }
    put(&folder.join(&file_name), &page)
}

/// Writes a file anew. What has its name there goes first, so that no link of somebody else is followed.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(bytes)
}

/// Formats the end of a help text: a heading such as `Examples:` opens a section; indented lines are not filled.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for block in text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()) {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (heading, lines) = match first.strip_suffix(':').filter(|word| !word.contains(' ')) {
            Some(word) => (word.to_uppercase(), rest),
            None => ("NOTES".to_string(), block),
        };
        roff.control("SH", [heading.as_str()]);
        let as_they_are = lines.starts_with(' ');
        if as_they_are {
            roff.control("nf", []);
        }
        for line in lines.lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        if as_they_are {
            roff.control("fi", []);
        }
    }
    roff
}
