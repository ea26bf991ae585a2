//! Checks how deeply processors sleep between requests.

use crate::check::Check;
use crate::outcome::{Finding, Look, all, delay, only_if};
use crate::{Outcome, Place};

/// Shorter wake-ups are nothing beside a request.
const LEAST_US: f64 = 50.0;

pub(crate) const STATES: Check = Check {
    code: "idle-states",
    title: "Idle states of processors",
    reads: &["/sys/devices/system/cpu/cpu0/cpuidle/state*/{name,latency,disable}"],
    applies: "processors whose idle states Linux chooses",
    costs: "A processor that slept takes the state's exit latency until it serves the interrupt of a request, where \
            requests go one at a time. The kernel's table gives the latency. A note: the usual setting of every \
            machine.",
    source: "https://docs.kernel.org/admin-guide/pm/cpuidle.html",
    change: "`cpupower idle-set -D 20` disables all states that take more than 20 us, `cpupower idle-set -E` enables \
            all.",
    look: |place| all([states(place)]),
};

fn states(place: &Place) -> Look {
    let folders = place.numbered("sys/devices/system/cpu/cpu0/cpuidle", "state");
    only_if(!folders.is_empty())?;
    let enabled = folders.iter().filter(|folder| place.number::<u32>(format!("{folder}/disable")) != Some(1));
    let latency = |folder: &&String| Some((place.number::<f64>(format!("{folder}/latency"))?, (*folder).clone()));
    let deepest = enabled.filter_map(|folder| latency(&folder)).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((us, folder)) = deepest.filter(|(us, _)| *us >= LEAST_US) else { return Ok(Outcome::Fine) };
    let name = place.text(format!("{folder}/name")).unwrap_or_default();
    Finding::note("", format!("processors sleep as deep as {name}"))
        .saw(&format!("{folder}/latency"), format!("{us:.0}"))
        .costs(delay(us * 1e3, "a request that wakes a processor", "the state's exit latency"))
        .change("cpupower idle-set -D 20")
        .back("cpupower idle-set -E")
        .may_try()
        .end()
}
