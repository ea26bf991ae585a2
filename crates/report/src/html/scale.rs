//! Places values on the axes of the first screen's charts, in percent of the height.

/// Most ticks.
const TICKS: f64 = 5.0;

/// A linear axis from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinearScale {
    /// Highest value on it.
    pub top: f64,
}

impl LinearScale {
    /// An axis that holds `highest` with a margin above it.
    pub fn up_to(highest: f64) -> Self {
        Self { top: if highest > 0.0 { highest * 1.08 } else { 1.0 } }
    }

    /// Position of a value in percent from the top; values outside the axis are placed at its end.
    pub fn percent(&self, value: f64) -> f64 {
        100.0 * (1.0 - (value / self.top).clamp(0.0, 1.0))
    }

    /// Whether a value lies above the axis.
    pub fn is_beyond(&self, value: f64) -> bool {
        value > self.top
    }

    /// Round values from 0 to the top.
    pub fn ticks(&self) -> Vec<f64> {
        let power = 10f64.powf((self.top / TICKS).log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| self.top / step <= TICKS).unwrap_or(10.0 * power);
        let ticks = (0..).map(|count| f64::from(count) * step).take_while(|value| *value <= self.top * (1.0 + 1e-9));
        ticks.map(as_written).collect()
    }
}

/// The value that is meant: three times 0.2 is a little more than 0.6, and a label would show all its digits.
fn as_written(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// Margin of a logarithmic axis at either end, as a factor.
const LOG_MARGIN: f64 = 1.3;

/// A logarithmic axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogScale {
    low: f64,
    high: f64,
}

impl LogScale {
    /// An axis that holds `values`, which are above 0, with a margin.
    pub fn over(values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        Self { low: low / LOG_MARGIN, high: high * LOG_MARGIN }
    }

    /// Position of a value in percent from the top.
    pub fn percent(&self, value: f64) -> f64 {
        100.0 * (self.high / value).ln() / (self.high / self.low).ln()
    }

    /// Powers of ten, with values between them if the axis has few.
    pub fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 2.2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().floor() as i32;
        let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|value| (self.low..=self.high).contains(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(LinearScale { top: 917.0 }.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
        assert_eq!(LinearScale { top: 25.0 }.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(LinearScale { top: 0.3 }.ticks().len(), 4);
        // The labels of a path that is slower than 1 MB/s.
        let labels: Vec<String> = LinearScale { top: 0.7 }.ticks().iter().map(f64::to_string).collect();
        assert_eq!(labels, ["0", "0.2", "0.4", "0.6"]);
        assert_eq!(LinearScale::up_to(0.0).top, 1.0);
    }

    #[test]
    fn what_lies_beyond_stands_at_the_end() {
        let scale = LinearScale { top: 100.0 };
        assert_eq!([scale.percent(0.0), scale.percent(25.0), scale.percent(900.0)], [100.0, 75.0, 0.0]);
        assert!(scale.is_beyond(101.0) && !scale.is_beyond(100.0));
    }

    #[test]
    fn a_logarithmic_axis_holds_its_values_and_has_round_ticks() {
        let scale = LogScale::over(&[90_000.0, 400_000.0]);
        assert!(scale.percent(90_000.0) < 100.0 && scale.percent(400_000.0) > 0.0);
        assert_eq!(scale.ticks(), [100_000.0, 200_000.0, 500_000.0]);
        assert_eq!(LogScale::over(&[100.0, 1e6]).ticks(), [100.0, 1e3, 1e4, 1e5, 1e6]);
    }
}
