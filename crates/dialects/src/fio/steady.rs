//! Reads fio's steady state, at which a job ends.

use halfpower_spec::{Nanos, ParseError, SteadyFigure, SteadyState};

use super::take::size;

/// fio's `steadystate` and what goes with it, as far as given.
#[derive(Debug, Clone, Default)]
pub struct Steady {
    /// What is to be steady, and how much, as halfpower writes it.
    criterion: Option<String>,
    /// The time that is judged; 0 judges nothing.
    pub(super) over: Nanos,
    /// What passes before.
    pub(super) after: Nanos,
    /// The interval of a figure.
    pub(super) every: Option<Nanos>,
}

impl Steady {
    /// Takes a `steadystate`, such as `iops_slope:0.3%` or `bw:1m`.
    pub(super) fn take_criterion(&mut self, value: &str) -> Result<(), String> {
        let (figure, limit) = value
            .split_once(':')
            .ok_or_else(|| format!("`{value}`: write what is to be steady and how much, such as iops:10%"))?;
        let figure: SteadyFigure = figure.parse().map_err(|error: ParseError| error.to_string())?;
        let limit = match (limit.ends_with('%'), figure) {
            (true, _) | (false, SteadyFigure::Iops | SteadyFigure::IopsSlope) => limit.replace(' ', ""),
            (false, SteadyFigure::Bw | SteadyFigure::BwSlope) => size(limit)?.0.to_string(),
            (false, SteadyFigure::Lat | SteadyFigure::LatSlope) => {
                return Err(format!(
                    "`{value}`: how far latencies may be off is a share of their mean: write it like {figure}:5%"
                ));
            }
        };
        self.criterion = Some(format!("{figure}:{limit}"));
        Ok(())
    }

    /// Whether fio would judge nothing, since it has no time for it.
    pub(super) fn is_without_time(&self) -> bool {
        self.criterion.is_some() && self.over == Nanos(0)
    }

    /// The steady state at which the job ends; `None` if it goes on.
    pub(super) fn asked(&self) -> Result<Option<SteadyState>, String> {
        let Self { criterion: Some(criterion), over, after, every } = self else { return Ok(None) };
        if *over == Nanos(0) {
            return Ok(None);
        }
        let every = every.map_or(String::new(), |every| format!(":{every}"));
        let text = format!("{criterion}:{over}:{after}{every}");
        text.parse().map(Some).map_err(|error: ParseError| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(criterion: &str, over_s: u64) -> Result<Option<String>, String> {
        let mut steady = Steady { over: Nanos(over_s * 1_000_000_000), ..Steady::default() };
        steady.take_criterion(criterion)?;
        Ok(steady.asked()?.map(|state| state.to_string()))
    }

    #[test]
    fn limits_are_in_fio_s_units() {
        assert_eq!(asked("iops_slope:0.3%", 60), Ok(Some("iops_slope:0.3%:60s".to_string())));
        assert_eq!(asked("iops:2", 60), Ok(Some("iops:2:60s".to_string())));
        assert_eq!(asked("bw:1m", 60), Ok(Some("bw:1048576:60s".to_string())));
        assert_eq!(asked("lat:5%", 60), Ok(Some("lat:5%:60s".to_string())));
        assert!(asked("lat:50us", 60).unwrap_err().contains("lat:5%"));
        assert_eq!(asked("iops:10%", 0), Ok(None), "nothing is judged");
        for wrong in ["iops", "mbps:10%", "iops:x", "bw:x"] {
            assert!(asked(wrong, 60).is_err(), "{wrong}");
        }
    }
}
