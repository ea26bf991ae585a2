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
    /// Compare with the baseline that --save kept under this name
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
    /// LIMIT is a change from A to B in percent of A (-5%), a signed difference B minus A (+200us, -100MB/s), or an
    /// unsigned figure of B itself (50k, 2GB/s, 1.5ms).
    ///
    /// QUANTITY is one of: peak (throughput of a path's best common cell); throughput, cost (charged processor time per
    /// request) and p99 (99th percentile of latency), each the mean over a path's common cells; iops (of the cell with
    /// the most in A); half_power (n1/2, the block size at which half of a request's time is overhead, at each depth).
    /// With bs= or iodepth=, QUANTITY is that of each cell they name. p50 needs bs= or iodepth=; so do throughput, cost
    /// and p99 if LIMIT is not in percent.
    ///
    /// The condition is checked on every path (pattern, direction and cache setting), or cell, that it names, and holds
    /// if one of them meets it: its estimate satisfies the condition; the 95% interval of a change excludes zero,
    /// unless zero satisfies the condition too; all of the 95% interval of a figure satisfies the condition. Cells with
    /// a single run have no confidence interval and never meet it.
    #[arg(long, value_name = "CONDITION", value_parser = parse::<Condition>, allow_hyphen_values = true)]
    pub fail_if: Vec<Condition>,
    /// Set the price of each study's system, to compare GB/$, KAPS/$ (random 8 KiB reads/s) and MAPS/$ (1 MiB reads/s)
    #[arg(long, value_name = "A,B,...", value_parser = prices)]
    pub price: Option<Prices>,
    /// Replace a file that halfpower did not make; a study is never replaced
    #[arg(long)]
    pub force: bool,
}
