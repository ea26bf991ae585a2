//! Defines the flags of `halfpower compare`.

use std::path::PathBuf;

use clap::Args;
use halfpower_analyse::Condition;

use crate::values::{NamedStudy, Prices, named_study, parse, prices};

pub const COMPARE_EXAMPLES: &str = "Examples:
  halfpower compare before.halfpower after.halfpower
  halfpower compare old=a.halfpower new=b.halfpower tuned=c.halfpower --markdown
  halfpower compare study.halfpower --save main      keeps a copy as the baseline `main`
  halfpower compare --baseline main study.halfpower --fail-if 'random read peak < -5%'
  halfpower compare --baseline main study.halfpower --fail-if 'bs=4k iodepth=1 p99 > 1ms'";

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline, then the studies to compare with it; NAME= gives a file a shorter name
    #[arg(required = true, value_name = "[NAME=]STUDY", value_parser = named_study())]
    pub studies: Vec<NamedStudy>,
    /// Compare with the baseline of this name, which --save has kept
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Keep a copy of the study as a baseline of this name, in ~/.local/share/halfpower/baselines
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Also write an HTML page with the curves of all studies to this file
    #[arg(long)]
    pub html: Option<PathBuf>,
    /// Print the comparison as JSON only
    #[arg(long)]
    pub json: bool,
    /// Print the comparison as Markdown, for a pull request or an issue
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Exit with code 1 if this condition holds, such as 'random read peak < -5%'; may be repeated
    ///
    /// A condition is [sequential|random] [read|write|all] [both|os|device|none] [bs=SIZE] [iodepth=N] QUANTITY
    /// <|<=|>|>= LIMIT.
    ///
    /// LIMIT is a change from A to B in percent of A (-5%), a difference B minus A with its sign (+200us, -100MB/s), or a
    /// figure of B without one (50k, 2GB/s, 1.5ms).
    ///
    /// QUANTITY is one of: peak (throughput of the best common cell of a path); throughput, cost (charged processor
    /// time a request) and p99 (of latency), each the mean over a path's common cells; iops (of the cell that has most in
    /// A); half_power (n1/2, the block size at which half of a request's time is overhead, at each depth). With bs= or
    /// iodepth= it is that of each cell they name; p50, and limits of throughput, cost and p99 that are no percentages,
    /// need one of them.
    ///
    /// The condition is checked on every path (pattern, direction and cache setting), or cell, that it names. It holds if
    /// it holds on one of them. The estimate must satisfy it. The 95% interval of a change must exclude zero, unless zero
    /// satisfies the condition too; the 95% interval of a figure must satisfy it whole. Cells with a single run have no
    /// confidence interval and never trigger the condition.
    #[arg(long, value_name = "CONDITION", value_parser = parse::<Condition>, allow_hyphen_values = true)]
    pub fail_if: Vec<Condition>,
    /// Set the price of each study's system, to compare GB/$, KAPS/$ (random 8 KiB reads/s) and MAPS/$ (1 MiB reads/s)
    #[arg(long, value_name = "A,B,...", value_parser = prices)]
    pub price: Option<Prices>,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}
