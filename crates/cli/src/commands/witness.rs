//! Implements `halfpower witness`: reports this machine's resource use to another halfpower, and measures on request.

use std::io::{self, BufReader, IsTerminal};

use anyhow::Result;
use halfpower_measure::OfferedWays;

use super::{SILENCE_OF_A_SERVER, access};
use crate::args::WitnessArgs;
use crate::values::served;

pub fn witness(args: &WitnessArgs) -> Result<()> {
    let input = io::stdin();
    if input.is_terminal() {
        eprintln!(
            "halfpower witness answers another halfpower, which starts it with --far-end. The end of its input (Ctrl-D) \
             ends it."
        );
    }
    let share = args.share.as_ref().map(|address| {
        let address = served(address.clone())?;
        let access = access(&address, args.credentials.as_deref(), SILENCE_OF_A_SERVER)?;
        anyhow::Ok((address, access))
    });
    let mut ways = OfferedWays::new(args.local.clone(), share.transpose()?);
    Ok(halfpower_witness::serve(BufReader::new(input), io::stdout(), &args.processes, &mut ways)?)
}
