//! Implements `halfpower witness`: answers another halfpower about this machine.

use std::io::{self, BufReader, IsTerminal};

use anyhow::Result;

use crate::args::WitnessArgs;

pub fn witness(args: &WitnessArgs) -> Result<()> {
    let input = io::stdin();
    if input.is_terminal() {
        eprintln!(
            "halfpower witness answers another halfpower, which starts it with --far-end. The end of its input (Ctrl-D) \
             ends it."
        );
    }
    Ok(halfpower_witness::serve(BufReader::new(input), io::stdout(), &args.processes)?)
}
