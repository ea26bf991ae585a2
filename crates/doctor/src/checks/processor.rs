//! Checks how fast the processors may run: governor, energy preference, limits of frequency, time stolen, the clock.

use crate::check::Check;
use crate::outcome::{Finding, Look, all, computed, only_if};
use crate::{Outcome, Place};

const CPUS: &str = "sys/devices/system/cpu";
const CPUFREQ: &str = "https://docs.kernel.org/admin-guide/pm/cpufreq.html";
/// A frequency limit within this share of the processor's is none.
const SAME: f64 = 0.95;

/// One look a setting for all processors: the processors at which `fits` holds, as their cpufreq folders.
fn processors_where(place: &Place, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let folders = place.numbered(CPUS, "cpu").into_iter().map(|cpu| format!("{cpu}/cpufreq"));
    folders.filter(|folder| fits(folder)).collect()
}

fn count(found: &[String]) -> String {
    if found.len() == 1 { "1 processor".to_string() } else { format!("{} processors", found.len()) }
}

pub(crate) const GOVERNOR: Check = Check {
    code: "governor",
    title: "Frequency governor",
    reads: &["/sys/devices/system/cpu/cpu*/cpufreq/scaling_{governor,driver,min_freq,max_freq}"],
    applies: "processors whose frequency Linux sets; where the processor decides (intel_pstate, amd-pstate-epp), see \
              energy-preference",
    costs: "powersave keeps the lowest frequency: computed from both limits. ondemand and conservative need time to \
            rise; their cost is unknown, and they are notes.",
    source: CPUFREQ,
    change: "`cpupower frequency-set -g performance` (or schedutil), and back with the old name.",
    look: |place| all([governor(place)]),
};

fn governor(place: &Place) -> Look {
    let of = |folder: &str, file: &str| place.text(format!("{folder}/{file}"));
    let decides_itself = |folder: &str| {
        of(folder, "scaling_driver").is_some_and(|driver| driver == "intel_pstate" || driver == "amd-pstate-epp")
    };
    let set = processors_where(place, |folder| of(folder, "scaling_governor").is_some() && !decides_itself(folder));
    only_if(!set.is_empty())?;
    let with = |names: &[&str]| -> Vec<String> {
        let named = |folder: &&String| {
            of(folder, "scaling_governor").is_some_and(|governor| names.contains(&governor.as_str()))
        };
        set.iter().filter(named).cloned().collect()
    };
    let low = with(&["powersave"]);
    let slow = with(&["ondemand", "conservative"]);
    let (finding, first) = match (low.first(), slow.first()) {
        (Some(first), _) => {
            let bound = |file: &str| place.number::<f64>(format!("{first}/{file}"));
            let finding = Finding::bad("", format!("governor powersave on {}", count(&low)));
            let finding = match (bound("scaling_min_freq"), bound("scaling_max_freq")) {
                (Some(least), Some(most)) if most > least && least > 0.0 => {
                    let how = format!("{:.0} of {:.0} MHz", least / 1e3, most / 1e3);
                    finding.costs(computed(0.0, 1.0 - least / most, "what a processor does", how))
                }
                _ => finding,
            };
            (finding, first)
        }
        (None, Some(first)) => (Finding::note("", format!("the governor on {} rises late", count(&slow))), first),
        (None, None) => return Ok(Outcome::Fine),
    };
    let name = of(first, "scaling_governor").unwrap_or_default();
    finding
        .saw(&format!("{first}/scaling_governor"), &name)
        .change("cpupower frequency-set -g performance")
        .back(format!("cpupower frequency-set -g {name}"))
        .end()
}

pub(crate) const PREFERENCE: Check = Check {
    code: "energy-preference",
    title: "Energy preference",
    reads: &["/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference"],
    applies: "processors that choose their frequency themselves",
    costs: "power and balance_power let the processor stay slow when requests come one at a time. The cost is unknown.",
    source: "https://docs.kernel.org/admin-guide/pm/intel_pstate.html (Energy vs Performance Hints)",
    change: "`echo performance > .../energy_performance_preference` for each processor, and back with the old word.",
    look: |place| all([preference(place)]),
};

fn preference(place: &Place) -> Look {
    let of = |folder: &str| place.text(format!("{folder}/energy_performance_preference"));
    only_if(!processors_where(place, |folder| of(folder).is_some()).is_empty())?;
    let saving = |folder: &str| of(folder).is_some_and(|word| word == "power" || word == "balance_power");
    let found = processors_where(place, saving);
    let Some(first) = found.first() else { return Ok(Outcome::Fine) };
    let word = of(first).unwrap_or_default();
    let all = format!("/{CPUS}/cpu*/cpufreq/energy_performance_preference");
    Finding::warn("", format!("{} prefer saving power: {word}", count(&found)))
        .saw(&format!("{first}/energy_performance_preference"), &word)
        .change(format!("echo performance | tee {all}"))
        .back(format!("echo {word} | tee {all}"))
        .end()
}

pub(crate) const LIMIT: Check = Check {
    code: "frequency-limit",
    title: "Limit of the frequency",
    reads: &[
        "/sys/devices/system/cpu/cpu*/cpufreq/{scaling_max_freq,cpuinfo_max_freq}",
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        "/sys/devices/system/cpu/cpufreq/boost",
    ],
    applies: "processors whose frequency Linux may limit",
    costs: "A limit below the processor's own: computed from both. Turbo switched off: unknown, since the turbo \
            frequency depends on load and heat.",
    source: CPUFREQ,
    change: "`cpupower frequency-set -u FREQUENCY`, `echo 0 > .../no_turbo`, `echo 1 > .../boost`, and back.",
    look: |place| {
        all([limit(place), turbo(place, "intel_pstate/no_turbo", "1", "0"), turbo(place, "cpufreq/boost", "0", "1")])
    },
};

fn limit(place: &Place) -> Look {
    let bound = |folder: &str, file: &str| place.number::<f64>(format!("{folder}/{file}"));
    let share = |folder: &str| Some(bound(folder, "scaling_max_freq")? / bound(folder, "cpuinfo_max_freq")?);
    only_if(!processors_where(place, |folder| share(folder).is_some()).is_empty())?;
    let found = processors_where(place, |folder| share(folder).is_some_and(|share| share < SAME));
    let Some(first) = found.first() else { return Ok(Outcome::Fine) };
    let mhz = |file: &str| bound(first, file).unwrap_or_default() / 1e3;
    let (now, own) = (mhz("scaling_max_freq"), mhz("cpuinfo_max_freq"));
    Finding::warn("", format!("{} limited to {now:.0} of {own:.0} MHz", count(&found)))
        .saw(&format!("{first}/scaling_max_freq"), format!("{:.0}", now * 1e3))
        .saw(&format!("{first}/cpuinfo_max_freq"), format!("{:.0}", own * 1e3))
        .costs(computed(0.0, 1.0 - now / own, "what a processor does", format!("{now:.0} of {own:.0} MHz")))
        .change(format!("cpupower frequency-set -u {own:.0}MHz"))
        .back(format!("cpupower frequency-set -u {now:.0}MHz"))
        .end()
}

fn turbo(place: &Place, file: &str, off: &str, on: &str) -> Look {
    let path = format!("{CPUS}/{file}");
    if place.fact(&path)? != off {
        return Ok(Outcome::Fine);
    }
    Finding::warn("", "turbo frequencies are switched off").saw(&path, off).set(&path, on, off).end()
}

pub(crate) const STEAL: Check = Check {
    code: "steal-time",
    title: "Stolen processor time",
    reads: &["/proc/stat"],
    applies: "virtual machines",
    costs: "The share of the time in which this machine wanted a processor and the host gave it to others, since the \
            start: computed.",
    source: "https://docs.kernel.org/filesystems/proc.html (/proc/stat, steal)",
    change: "It is the host's: fewer machines on it, or reserved processors.",
    look: |place| all([steal(place)]),
};

fn steal(place: &Place) -> Look {
    only_if(place.guest.is_some())?;
    let text = place.fact("proc/stat")?;
    let line = text.lines().find(|line| line.starts_with("cpu ")).unwrap_or_default();
    let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, _, _, interrupt, soft, stolen, ..] = ticks[..] else {
        return Err(Outcome::untold("/proc/stat has no steal time"));
    };
    let wanted = user + nice + system + interrupt + soft + stolen;
    let share = if wanted > 0.0 { stolen / wanted } else { 0.0 };
    let what = format!("the host took {:.0}% of the time that this machine wanted", share * 100.0);
    let finding = match share {
        under if under < 0.05 => return Ok(Outcome::Fine),
        some if some < 0.2 => Finding::warn("", what),
        _ => Finding::bad("", what),
    };
    let how = format!("{stolen:.0} of {wanted:.0} ticks since the start");
    finding
        .saw("proc/stat", format!("steal {stolen:.0}"))
        .costs(computed(share, share, "processor time", how))
        .change("ask the host for reserved processors")
        .end()
}

pub(crate) const CLOCK: Check = Check {
    code: "clock-source",
    title: "Clock source",
    reads: &["/sys/devices/system/clocksource/clocksource0/{current,available}_clocksource"],
    applies: "every machine",
    costs: "hpet, acpi_pm, pit, refined-jiffies and Xen's clock are read by a slow access or a call of the kernel, \
            and every request is stamped with the time. The cost is unknown.",
    source: "https://docs.kernel.org/timers/timekeeping.html",
    change: "`echo tsc > .../current_clocksource` if it is available (else the kernel found it not to be steady), \
            and back.",
    look: |place| all([clock(place)]),
};

fn clock(place: &Place) -> Look {
    let folder = "sys/devices/system/clocksource/clocksource0";
    let file = format!("{folder}/current_clocksource");
    let current = place.fact(&file)?;
    if !["hpet", "acpi_pm", "pit", "refined-jiffies", "jiffies", "xen"].contains(&current.as_str()) {
        return Ok(Outcome::Fine);
    }
    let available = place.text(format!("{folder}/available_clocksource")).unwrap_or_default();
    let finding = Finding::warn("", format!("the clock is {current}, which is slow to read")).saw(&file, &current);
    match available.split_whitespace().find(|name| ["tsc", "kvm-clock"].contains(name)) {
        Some(better) => finding.set(&file, better, &current).end(),
        None => finding.change("journalctl -k -g clocksource tells why the kernel does not trust the TSC").end(),
    }
}
