//! Fits a small model of a device to a study, with the data behind each constant, and measures how well it predicts.
//!
//! The model is [`halfpower_model::Fitted`]: for each path, the time of a single request, the number of requests in
//! parallel, the ceilings, and the processor cost of a request.

mod calibration;
mod held_out;
mod path_constants;
mod rate_limit;

use std::collections::BTreeMap;

use halfpower_model::{Fitted, FittedDevice, FittedShared, PathConstants};
use halfpower_spec::{Bytes, Direction};

pub use calibration::{
    CalibrateError, Calibration, Ceilings, FittedPath, MeasuredRange, NotFitted, Remark, Unfittable,
};
pub use held_out::{HeldOut, HeldOutPath, check};

use crate::path::paths;
use crate::{Findings, MeasuredCeilings, PathSettings, SharedCeiling};
use path_constants::{Fit, significant, typical};

/// Fits a device to the findings and to the ceilings that experiments measured; `span` is how much of the target was
/// measured.
///
/// # Errors
/// If nothing was measured that a constant could be fitted to.
pub fn calibrate(
    findings: &Findings,
    measured: &MeasuredCeilings,
    span: Bytes,
    ceilings: Ceilings,
) -> Result<Calibration, CalibrateError> {
    if findings.cells.is_empty() {
        return Err(CalibrateError::NoWalks);
    }
    let (mut fits, mut not_fitted) = fits(findings);
    if fits.is_empty() {
        return Err(CalibrateError::TooLittle(not_fitted));
    }
    let mut remarks = BTreeMap::new();
    for fit in &mut fits {
        if ceilings == Ceilings::Shared {
            fit.remarks.remove("ceiling_mbps");
        }
        let key = key(fit);
        remarks.insert(format!("path.{key}"), fit.remark());
        remarks.insert(format!("error.{key}"), Remark::Draws { draws: fit.error.draws.len() });
        remarks.extend(fit.remarks.iter().map(|(name, remark)| (format!("path.{key}.{name}"), remark.clone())));
    }
    // Taken before a ceiling is moved to what devices share.
    let paths = fits.iter().map(Fit::fitted).collect();
    let shared = shared(&measured.shared, ceilings, &mut fits, &mut remarks);
    not_fitted.extend(unseen(&fits));
    remarks.insert("device.measured_mib".to_string(), Remark::MeasuredSpan);
    let name = findings.device.as_ref().map_or("device".to_string(), |device| device.name.clone());
    let device = FittedDevice {
        name,
        measured_mib: (span.0 >> 20).max(1),
        processors: findings.machine.cpus.max(1),
        ceilings_each_way: rate_limit::is_each_way(findings.cells.iter(), &findings.levels),
    };
    let path = fits.iter().map(|fit| (key(fit), rounded(fit.constants))).collect();
    let error = fits.iter().map(|fit| (key(fit), fit.error.clone())).collect();
    let fitted = Fitted { about: String::new(), device, shared, path, error };
    Ok(Calibration { fitted, runs: findings.runs, target: findings.target.clone(), remarks, paths, not_fitted })
}

/// The paths that can be fitted, with their processor cost; and those that cannot.
fn fits(findings: &Findings) -> (Vec<Fit>, Vec<NotFitted>) {
    let mut fits = Vec::new();
    let mut not_fitted = Vec::new();
    for path in paths(&typical(&findings.cells)) {
        match path_constants::fit(&path, &findings.levels) {
            Ok(mut fit) => {
                path_constants::add_cost(&mut fit, &path, &findings.cost);
                fits.push(fit);
            }
            Err(why) => not_fitted.push(NotFitted::Path { path: path.settings, why }),
        }
    }
    (fits, not_fitted)
}

fn key(fit: &Fit) -> String {
    Fitted::key(fit.path.pattern, fit.path.cache, fit.path.rw)
}

/// What parallel members were seen to share; or the ceilings of a single device, if these are shared.
fn shared(
    measured: &[SharedCeiling],
    ceilings: Ceilings,
    fits: &mut [Fit],
    remarks: &mut BTreeMap<String, Remark>,
) -> FittedShared {
    let mut of = |rw: Direction| {
        let place = format!("shared.{rw}_mbps");
        if ceilings == Ceilings::Shared {
            let here = fits.iter_mut().filter(|fit| fit.path.rw == rw);
            let ceilings: Vec<f64> = here.filter_map(Fit::give_ceiling).collect();
            let most = ceilings.iter().copied().reduce(f64::max)?;
            remarks.insert(place, Remark::CeilingsOfPaths { paths: ceilings.len() });
            return Some(significant(most));
        }
        let most = measured.iter().find(|shared| shared.rw == rw)?;
        remarks.insert(place, Remark::Members(*most));
        Some(significant(most.mbps))
    };
    let shared = FittedShared { read_mbps: of(Direction::Read), write_mbps: of(Direction::Write) };
    let reads = shared.read_mbps.is_none();
    let writes = shared.write_mbps.is_none();
    if reads || writes {
        remarks.insert("shared".to_string(), Remark::SharedUnknown { reads, writes });
    }
    shared
}

/// The parts of the model that no cell showed.
fn unseen(fits: &[Fit]) -> Vec<NotFitted> {
    let lacking = |lacks: &dyn Fn(&Fit) -> bool| -> Option<Vec<PathSettings>> {
        let paths: Vec<PathSettings> = fits.iter().filter(|fit| lacks(fit)).map(|fit| fit.path).collect();
        (!paths.is_empty()).then_some(paths)
    };
    let depth = lacking(&|fit| !fit.parallelism_seen).map(|paths| NotFitted::SideBySide { paths });
    let soaker = lacking(&|fit| !fit.unseen_known).map(|paths| NotFitted::UnseenTime { paths });
    [depth, soaker].into_iter().flatten().collect()
}

fn rounded(constants: PathConstants) -> PathConstants {
    PathConstants {
        fixed_us: significant(constants.fixed_us),
        us_per_kib: significant(constants.us_per_kib),
        side_by_side: constants.side_by_side.map(significant),
        ceiling_mbps: constants.ceiling_mbps.map(significant),
        ceiling_iops: constants.ceiling_iops.map(significant),
        slice_us: significant(constants.slice_us),
        charged_us: significant(constants.charged_us),
        charged_us_per_kib: significant(constants.charged_us_per_kib),
        wait_us: significant(constants.wait_us),
        unseen_us: significant(constants.unseen_us),
        unseen_us_per_kib: significant(constants.unseen_us_per_kib),
    }
}
