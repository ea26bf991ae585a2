//! Feeds text to the parsers of targets, quantities, simulated systems and profiles of applications.

use std::io;
use std::path::Path;

use halfpower_measure::SimulatedTarget;
use halfpower_spec::{
    Bytes, Figure, Known, Nanos, ParseError, Profile, Rate, Region, SimulatedDisk, SimulatedSystem, Target, bytes_axis,
    count_axis,
};

/// Returns the TOML of a machine.
fn read(name: &Path) -> io::Result<String> {
    let shipped = halfpower_model::systems().iter().find(|system| Some(system.name) == name.to_str());
    shipped.map(|system| system.text.to_string()).ok_or_else(|| io::Error::other("there is no such machine"))
}

/// Feeds the text of a target.
///
/// # Panics
/// If the printed form does not parse to the same value.
pub(crate) fn target(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Target::parse(&text, read) {
        Ok(target) => {
            let printed = target.to_string();
            assert_eq!(Target::parse(&printed, read).as_ref(), Ok(&target), "{printed}");
            if let Target::System(system) = &target {
                // An impossible machine is refused with an error.
                let _ = SimulatedTarget::system(system, None, None);
            }
        }
        Err(error) => reported(&error),
    }
}

/// Feeds a size, a time, a rate, a region, or a list of values.
///
/// # Panics
/// If the printed form does not parse to the same value.
pub(crate) fn quantity(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    match text.parse::<Bytes>() {
        Ok(bytes) => assert_eq!(bytes.to_string().parse(), Ok(bytes)),
        Err(error) => reported(&error),
    }
    match text.parse::<Nanos>() {
        Ok(time) => assert_eq!(time.to_string().parse(), Ok(time)),
        Err(error) => reported(&error),
    }
    match text.parse::<Rate>() {
        Ok(rate) => assert!(rate.to_string().parse::<Rate>().is_ok_and(|again| again.0.is_finite()), "{rate}"),
        Err(error) => reported(&error),
    }
    match text.parse::<Region>() {
        Ok(region) => assert_eq!(region.to_string().parse(), Ok(region)),
        Err(error) => reported(&error),
    }
    if let Err(error) = bytes_axis(text) {
        reported(&error);
    }
    if let Err(error) = count_axis(text) {
        reported(&error);
    }
}

/// Feeds the TOML of a simulated disk, machine or calibrated device.
pub(crate) fn system(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    if let Err(error) = SimulatedDisk::from_toml("fuzzed.toml", text) {
        reported(&error);
    }
    if let Err(error) = SimulatedTarget::system(&SimulatedSystem::new("fuzzed.toml", text), None, None) {
        assert!(!error.to_string().is_empty());
    }
}

/// Feeds the profile of an application, and computes its formulas.
///
/// # Panics
/// If a value is not finite, or a line to paste is not one line.
pub(crate) fn profile(bytes: &[u8]) {
    let profile = match Profile::read(&String::from_utf8_lossy(bytes)) {
        Ok(profile) => profile,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let figure = |shape: usize, _: Figure| Some(Known { value: shape as f64, low: 0.0, high: 2.0 * shape as f64 });
    for need in &profile.needs {
        assert!(need.figure.value(&figure).is_none_or(|known| known.low <= known.high && known.value.is_finite()));
    }
    for setting in &profile.settings {
        if let Some(known) = setting.value.value(&figure) {
            let line = setting.line_with(setting.fitted(known.value), Some(true));
            assert!(!line.contains('\n'));
        }
    }
}

fn reported(error: &ParseError) {
    assert!(!error.to_string().is_empty());
}
