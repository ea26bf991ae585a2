//! Writes the data behind a fitted device, what could not be fitted, and why a study supports no model.

use std::collections::BTreeMap;

use halfpower_analyse::{
    CalibrateError, Calibration, FittedPath, MeasuredRange, NotFitted, PathSettings, Remark, Unfittable,
};
use halfpower_model::Fitted;
use halfpower_spec::format;

use super::settings::{path, size_and_depth};

/// The fitted device as TOML, with a comment on each constant.
pub fn toml(calibration: &Calibration) -> String {
    let remarks: BTreeMap<String, String> =
        calibration.remarks.iter().map(|(place, remark)| (place.clone(), remark_words(remark))).collect();
    let Calibration { fitted, runs, target, .. } = calibration;
    let about = format!("{} as {runs} runs on {target} saw it", fitted.device.name);
    Fitted { about, ..fitted.clone() }.to_toml(&remarks)
}

fn remark_words(remark: &Remark) -> String {
    match remark {
        Remark::MeasuredSpan => "how much of the target was measured".to_string(),
        Remark::Path { range, fitted, farthest } => {
            let farthest = farthest.map_or(String::new(), |(cell, share)| {
                let cell = size_and_depth(&cell);
                let share = format::percent(share);
                format!(";\nfarthest off: {cell}, predicted {share} of what was measured")
            });
            path_words(range, fitted, &farthest)
        }
        Remark::Draws { draws } => format!(
            "How far predictions may be off: fixed_us, us_per_kib, side_by_side, ceiling_mbps and ceiling_iops as\n\
             {draws} draws of the cells give them, and a misfit that no constants explain."
        ),
        Remark::RequestTime { cells } => format!("fitted; the time of a request bounds {}", cells_words(*cells)),
        Remark::HeldBack { cells } => {
            format!("fitted; the median latency of {}, where a limit of rate holds back others", cells_words(*cells))
        }
        Remark::Slice => "how long a limit's requests wait for its next slice".to_string(),
        Remark::ByteRate { mbps: Some(mbps) } => {
            format!("fitted; the bytes of one request pass at {}", format::mbps(*mbps))
        }
        Remark::ByteRate { mbps: None } => "no effect of the size was seen".to_string(),
        Remark::SideBySide { cells: Some(cells) } => {
            format!("fitted; more depth does not speed up {}", cells_words(*cells))
        }
        Remark::SideBySide { cells: None } => "not seen: the deepest that was measured".to_string(),
        Remark::Ceiling { cells } => format!("fitted; it bounds {}", cells_words(*cells)),
        Remark::Unseen { cells: Some(cells) } => format!("the soaker's bound less the charge, over {cells} cells"),
        Remark::Unseen { cells: None } => "unknown: no run beside the soaker".to_string(),
        Remark::ChargeUnknown => "unknown: no two sizes whose charge is known".to_string(),
        Remark::Charge { cells, iodepth, scatter } => {
            let scatter = scatter.map_or(String::new(), |share| format!(", scattered by {}", format::percent(share)));
            format!("fitted to {cells} cells, {iodepth} deep{scatter}")
        }
        Remark::Wait { cells } => format!("the median of what {cells} shallower cells are charged beyond"),
        Remark::CeilingsOfPaths { paths } => {
            let paths = if *paths == 1 { "one way".to_string() } else { format!("{paths} ways") };
            format!("fitted: the most of the ceilings of {paths}, taken for what devices share")
        }
        Remark::Members(shared) => {
            format!("measured: {} members together ({} {}s)", shared.members, shared.pattern, shared.rw)
        }
        Remark::SharedUnknown { reads, writes } => shared_unknown(*reads, *writes),
    }
}

fn path_words(range: &MeasuredRange, fitted: &FittedPath, farthest: &str) -> String {
    let MeasuredRange { bs_bytes: [least, most], depths: [shallow, deep] } = range;
    let least = format::size(*least as f64);
    let most = format::size(*most as f64);
    let constants = &fitted.constants;
    let missing: Vec<&str> =
        [(constants.ceiling_mbps.is_none(), "in bytes"), (constants.ceiling_iops.is_none(), "in requests")]
            .into_iter()
            .filter_map(|(missing, words)| missing.then_some(words))
            .collect();
    let none =
        if missing.is_empty() { String::new() } else { format!("\nNo ceiling {} was seen.", missing.join(" or ")) };
    format!(
        "{} cells, {least} to {most}, {shallow} to {deep} deep: half of them within {}, nine tenths within \
         {}{farthest}.{none}",
        fitted.cells,
        format::percent(fitted.half_within),
        format::percent(fitted.most_within)
    )
}

fn shared_unknown(reads: bool, writes: bool) -> String {
    let missing: Vec<&str> = [(reads, "read_mbps"), (writes, "write_mbps")]
        .into_iter()
        .filter_map(|(missing, name)| missing.then_some(name))
        .collect();
    format!(
        "What several devices would share: {} unknown, since a single device does not show it.\n\
         Where you know it, write it here or say --set shared.read_mbps=...",
        missing.join(" and ") + if missing.len() == 1 { " is" } else { " are" }
    )
}

fn cells_words(count: usize) -> String {
    if count == 1 { "one cell".to_string() } else { format!("{count} cells") }
}

/// Says in a sentence what could not be fitted.
pub fn not_fitted(not_fitted: &NotFitted) -> String {
    format!("{}.", what_is_not_fitted(not_fitted))
}

fn what_is_not_fitted(not_fitted: &NotFitted) -> String {
    let listed = |paths: &[PathSettings]| paths.iter().copied().map(path).collect::<Vec<_>>().join(", ");
    match not_fitted {
        NotFitted::Path { path: of_path, why } => format!("{}: {}", path(*of_path), unfittable(*why)),
        NotFitted::SideBySide { paths } => {
            format!("How many requests go side by side: no cell was bound by it ({})", listed(paths))
        }
        NotFitted::UnseenTime { paths } => {
            format!("Processor time that nobody is charged: no run beside the soaker ({})", listed(paths))
        }
    }
}

fn unfittable(why: Unfittable) -> String {
    match why {
        Unfittable::TooFewCells { needed, usable } => {
            format!("of at least {needed} cells that it takes, {usable} could be used")
        }
        Unfittable::OneSize { bs_bytes } => {
            format!("all cells are of {}, so nothing tells what the size does", format::size(bs_bytes as f64))
        }
        Unfittable::NoLine => "the cells lie on no line".to_string(),
    }
}

/// Says why a study cannot be used for calibration, and what to do.
pub fn error(error: &CalibrateError) -> String {
    let too_little = |why: &str| {
        format!(
            "no way through the target can be fitted: {why}; measure more cells (a larger --budget, more of --bs and \
             --iodepth) and calibrate again"
        )
    };
    match error {
        CalibrateError::NoWalks => "the study has no runs of the experiments sequential and random, which show what \
                                    block size and depth do: measure those too (--experiments sequential,random) and \
                                    calibrate again"
            .to_string(),
        CalibrateError::TooLittle(paths) => {
            too_little(&paths.iter().map(what_is_not_fitted).collect::<Vec<_>>().join(". "))
        }
        CalibrateError::HalvesTooSmall => too_little("half of the cells are too few to fit a model to"),
    }
}
