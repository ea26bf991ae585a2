//! Places values on a linear axis from 0, with round ticks.

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
        (0..).map(|count| f64::from(count) * step).take_while(|value| *value <= self.top * (1.0 + 1e-9)).collect()
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
        assert_eq!(LinearScale::up_to(0.0).top, 1.0);
    }

    #[test]
    fn what_lies_beyond_stands_at_the_end() {
        let scale = LinearScale { top: 100.0 };
        assert_eq!([scale.percent(0.0), scale.percent(25.0), scale.percent(900.0)], [100.0, 75.0, 0.0]);
        assert!(scale.is_beyond(101.0) && !scale.is_beyond(100.0));
    }
}
