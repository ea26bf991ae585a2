//! Implements `halfpower generate`: writes completions and man pages from the definition of the command line.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{CommandLine, GenerateArgs, Generated};

pub fn generate(args: &GenerateArgs) -> Result<()> {
    let GenerateArgs { what, folder } = args;
    let refused = || format!("{} cannot be written to; name another folder", folder.display());
    fs::create_dir_all(folder).with_context(refused)?;
    let mut definition = CommandLine::command();
    match what {
        Generated::Completions => {
            for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
                clap_complete::generate_to(shell, &mut definition, "halfpower", folder).with_context(refused)?;
            }
        }
        Generated::Man => clap_mangen::generate_to(definition, folder).with_context(refused)?,
    }
    Ok(())
}
