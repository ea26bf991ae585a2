//! Compares whole paths: mean changes, peaks, half power and processor cost.

use super::change::log_percent;
use super::comparison::{Change, CostComparison, CostTerm, HalfPowerComparison, PathComparison};
use super::pairs::{Figure, Logs, OwnCell, Pair, Priors, Weathers};
use super::spread::Estimate;
use crate::{CellSettings, Cost, Curve, Findings, Interval};

/// Compares the common cells of one path, at least one.
pub(crate) fn path(
    pairs: &[Pair],
    asked_by_both: &[Vec<OwnCell>; 2],
    priors: &Priors,
    mhz: Option<[f64; 2]>,
) -> PathComparison {
    let settings = pairs[0].settings;
    let charged_us = mean_change(pairs, Figure::Cost, priors);
    let of_pairs = [0, 1].map(|study| {
        let side = |pair: &Pair| if study == 0 { pair.a.clone() } else { pair.b.clone() };
        let own = |pair: &Pair| {
            let cell = side(pair);
            let mbps = cell.logs(Figure::Throughput).clone();
            OwnCell { settings: pair.settings, mbps, beside_others: cell.beside_others() }
        };
        pairs.iter().map(own).collect::<Vec<_>>()
    });
    let [peak_a, peak_b] = [0, 1].map(|study| peak(&settings, &asked_by_both[study], &of_pairs[study]));
    PathComparison {
        path: settings.path(),
        cells: pairs.len(),
        cells_different: 0,
        throughput_mbps: mean_change(pairs, Figure::Throughput, priors).expect("every pair moved something"),
        latency_ns_p99: mean_change(pairs, Figure::P99, priors),
        charged_us,
        charged_kilocycles: charged_us.zip(mhz).map(|(us, [a, b])| [us.a * a / 1e3, us.b * b / 1e3]),
        peak_mbps: peak_change(&peak_a, &peak_b, priors, pairs[0].weathers),
        peak_at_a: peak_a.settings,
        peak_at_b: peak_b.settings,
    }
}

/// The mean change over the cells without other use of the disk, if there are any; otherwise over all.
fn mean_change(pairs: &[Pair], figure: Figure, priors: &Priors) -> Option<Change> {
    let (beside_others, alone): (Vec<&Pair>, Vec<&Pair>) =
        pairs.iter().partition(|pair| pair.beside_others().contains(&true));
    mean_over(&alone, figure, priors).or_else(|| {
        let others = [0, 1].map(|study| beside_others.iter().any(|pair| pair.beside_others()[study]));
        Some(mean_over(&beside_others, figure, priors)?.beside_others(figure, others))
    })
}

/// The mean of the logarithms over all cells that have the figure; cells run once use the pooled spread of the others. If
/// most were run once, chance is not known.
fn mean_over(pairs: &[&Pair], figure: Figure, priors: &Priors) -> Option<Change> {
    let prior = priors.of_figure(figure);
    let logs: Vec<[&Logs; 2]> = pairs.iter().filter_map(|pair| pair.logs(figure)).map(|(a, b)| [a, b]).collect();
    if logs.is_empty() {
        return None;
    }
    let mut own = Vec::new();
    let mut pooled = Vec::new();
    for pair in pairs {
        match pair.estimate_of_runs(figure, prior) {
            Some(estimate) => own.push(estimate),
            None => pooled.extend(pair.pooled_estimate(figure, prior)),
        }
    }
    let is_repeated = own.len() >= pooled.len();
    let count = logs.len() as f64;
    let [log_a, log_b] = [0, 1].map(|study| logs.iter().map(|of| of[study].mean()).sum::<f64>() / count);
    // The cells have their weather in common, so more of them do not average it away.
    let of_study = |study: usize| (logs.iter().map(|of| of[study].share_between().sqrt()).sum::<f64>() / count).powi(2);
    let share = of_study(0) + of_study(1);
    let weather = pairs[0].weathers.of_figure(figure);
    let estimate = prior.filter(|_| is_repeated).map(|_| Estimate::mean(&own, &pooled).in_weather(weather, share));
    Some(Change::of_logs(log_a, log_b, estimate))
}

/// The fastest cell of one study on the path of `settings`; of those with several runs, if there are any.
fn peak(settings: &CellSettings, asked: &[OwnCell], common: &[OwnCell]) -> OwnCell {
    let own = || asked.iter().chain(common).filter(|cell| cell.settings.path() == settings.path());
    let repeated = own().any(|cell| cell.mbps.count() > 1);
    let eligible = own().filter(|cell| cell.mbps.count() > 1 || !repeated);
    let best = eligible.max_by(|one, other| one.mbps.mean().total_cmp(&other.mbps.mean()));
    best.expect("a path has a common cell").clone()
}

/// The peak of B over the peak of A, even at different settings.
fn peak_change(a: &OwnCell, b: &OwnCell, priors: &Priors, weathers: Weathers) -> Change {
    let figure = Figure::Throughput;
    let estimate = |cell: &OwnCell| cell.mbps.estimate(priors.of_figure(figure), weathers.of_figure(figure));
    let of_both = estimate(a).zip(estimate(b)).map(|(of_a, of_b)| Estimate {
        log_ratio: of_b.log_ratio - of_a.log_ratio,
        error: of_a.error.hypot(of_b.error),
        freedom: of_a.freedom.min(of_b.freedom),
    });
    Change::of_logs(a.mbps.mean(), b.mbps.mean(), of_both)
        .with_estimate_of_b(estimate(b))
        .beside_others(figure, [a.beside_others, b.beside_others])
}

/// Half power at each depth of each path on which both studies have a curve.
pub(crate) fn half_powers(a: &Findings, b: &Findings) -> Vec<HalfPowerComparison> {
    let place = |curve: &Curve| (curve.pattern, curve.rw, curve.cache, curve.iodepth);
    let of_b = |curve: &Curve| b.curves.iter().find(|other| place(other) == place(curve));
    let both = a.curves.iter().filter_map(|curve| Some((curve, of_b(curve)?)));
    both.map(|(a, b)| HalfPowerComparison {
        path: a.path,
        iodepth: a.iodepth,
        bs_bytes_a: a.half_power_bs_bytes,
        bs_bytes_b: b.half_power_bs_bytes,
        bracketed_a: a.half_power_bracketed,
        bracketed_b: b.half_power_bracketed,
        n_half_bytes: n_half(a).zip(n_half(b)).and_then(|(a, b)| ratio(&a, &b)),
    })
    .collect()
}

fn n_half(curve: &Curve) -> Option<Interval> {
    let value = curve.n_half_bytes?;
    let ends = curve.n_half_low_bytes.zip(curve.n_half_high_bytes);
    Some(ends.map_or(Interval::exact(value), |(low, high)| Interval { value, low, high }))
}

/// Processor cost on each path, in each bound, for which both studies have a fit.
pub(crate) fn costs(a: &Findings, b: &Findings, mhz: Option<[f64; 2]>) -> Vec<CostComparison> {
    let place = |cost: &Cost| (cost.pattern, cost.rw, cost.cache, cost.bound);
    let of_b = |cost: &Cost| b.cost.iter().find(|other| place(other) == place(cost));
    let term = |a: Interval, b: Interval| CostTerm {
        a,
        b,
        change: ratio(&a, &b),
        cycles: mhz.map(|[of_a, of_b]| [a.value * of_a, b.value * of_b]),
    };
    let both = a.cost.iter().filter_map(|cost| Some((cost, of_b(cost)?)));
    both.map(|(a, b)| CostComparison {
        path: a.path,
        bound: a.bound,
        fixed_us: term(a.fixed_us, b.fixed_us),
        marginal_us_per_kib: term(a.marginal_us_per_kib, b.marginal_us_per_kib),
    })
    .collect()
}

/// B over A of two values with separate intervals; `None` if a value is 0.
///
/// The interval uses the method of variance estimates recovery: G. Y. Zou, A. Donner, Construction of confidence limits
/// about effect measures: a general approach, 2008, on logarithms. There is none if an interval has no width or reaches
/// 0, which has no logarithm.
fn ratio(a: &Interval, b: &Interval) -> Option<Change> {
    if a.value <= 0.0 || b.value <= 0.0 || !a.value.is_finite() || !b.value.is_finite() {
        return None;
    }
    let mut change = Change::of_logs(a.value.ln(), b.value.ln(), None);
    let wide = |one: &Interval| one.low > 0.0 && one.high.is_finite() && one.low < one.high;
    if wide(b) {
        (change.b_low, change.b_high) = (Some(b.low), Some(b.high));
    }
    if wide(a) && wide(b) {
        let down = |one: &Interval| (one.value / one.low).ln();
        let up = |one: &Interval| (one.high / one.value).ln();
        let log_ratio = (b.value / a.value).ln();
        change.low_percent = Some(log_percent(log_ratio - down(b).hypot(up(a))));
        change.high_percent = Some(log_percent(log_ratio + up(b).hypot(down(a))));
    }
    Some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_ratio_follows_from_both() {
        let interval = |value: f64, share: f64| Interval { value, low: value / share, high: value * share };
        let change = ratio(&interval(10.0, 1.03), &interval(20.0, 1.04)).unwrap();
        let reach = 1.03f64.ln().hypot(1.04f64.ln());
        assert!((change.percent - 100.0).abs() < 1e-9);
        assert!((change.low_percent.unwrap() - 100.0 * (2.0 * (-reach).exp() - 1.0)).abs() < 1e-9);
        assert!((change.high_percent.unwrap() - 100.0 * (2.0 * reach.exp() - 1.0)).abs() < 1e-9);
        let touching = Interval { value: 10.0, low: 0.0, high: 20.0 };
        assert_eq!(ratio(&touching, &interval(20.0, 1.1)).unwrap().interval(), None);
        assert_eq!(ratio(&Interval::exact(0.0), &interval(20.0, 1.1)), None);
    }
}
