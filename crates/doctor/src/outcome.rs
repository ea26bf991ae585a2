//! Defines what a look may end in, and builds findings and their costs.

use halfpower_record::{Basis, CheckFinding, Cost, Evidence, Severity};

/// What a check says of one device or file.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It cannot concern this.
    NotApplicable,
    /// It looked, and nothing is wrong.
    Fine,
    /// It could not read what it needs.
    Unread {
        /// What it could not read, and why.
        what: String,
        /// Whether root can.
        root_can: bool,
    },
    /// It found something.
    Found(Box<CheckFinding>),
}

/// The outcome of a look at one thing; an error is an outcome that came early.
pub(crate) type Look = Result<Outcome, Outcome>;

impl Outcome {
    /// Not read, for a reason that root does not mend.
    pub fn untold(what: impl Into<String>) -> Self {
        Self::Unread { what: what.into(), root_can: false }
    }
}

/// Ends early where something cannot concern this.
pub(crate) fn only_if(applies: bool) -> Result<(), Outcome> {
    if applies { Ok(()) } else { Err(Outcome::NotApplicable) }
}

/// The outcomes of looks, early or not.
pub(crate) fn all(looks: impl IntoIterator<Item = Look>) -> Vec<Outcome> {
    looks.into_iter().map(|look| look.unwrap_or_else(|early| early)).collect()
}

/// A finding on its way.
pub(crate) struct Finding(CheckFinding);

impl Finding {
    fn new(severity: Severity, subject: &str, what: impl Into<String>) -> Self {
        Self(CheckFinding {
            severity,
            subject: subject.to_string(),
            what: what.into(),
            evidence: Vec::new(),
            cost: Cost::Unknown,
            change: None,
            change_back: None,
            may_try: false,
        })
    }

    /// It costs much, or puts data at risk.
    pub fn bad(subject: &str, what: impl Into<String>) -> Self {
        Self::new(Severity::Bad, subject, what)
    }

    /// It may cost performance.
    pub fn warn(subject: &str, what: impl Into<String>) -> Self {
        Self::new(Severity::Warn, subject, what)
    }

    /// Good to know.
    pub fn note(subject: &str, what: impl Into<String>) -> Self {
        Self::new(Severity::Note, subject, what)
    }

    /// Adds a file, relative to the root, with the part of its text that counts.
    pub fn saw(mut self, file: &str, value: impl ToString) -> Self {
        let is_path = file.starts_with("sys/") || file.starts_with("proc/");
        let file = if is_path { format!("/{file}") } else { file.to_string() };
        self.0.evidence.push(Evidence { file, value: value.to_string() });
        self
    }

    /// Sets the cost.
    pub fn costs(mut self, cost: Cost) -> Self {
        self.0.cost = cost;
        self
    }

    /// Sets what to do.
    pub fn change(mut self, how: impl Into<String>) -> Self {
        self.0.change = Some(how.into());
        self
    }

    /// Sets how it is undone.
    pub fn back(mut self, how: impl Into<String>) -> Self {
        self.0.change_back = Some(how.into());
        self
    }

    /// Sets the way there and back of a setting in a file, relative to the root.
    pub fn set(self, file: &str, new: &str, old: &str) -> Self {
        self.change(write(new, file)).back(write(old, file))
    }

    /// As `set`, for a setting that may be switched for a trial without any risk to data.
    pub fn try_set(mut self, file: &str, new: &str, old: &str) -> Self {
        self.0.may_try = true;
        self.set(file, new, old)
    }

    /// It may be switched for a trial without any risk to data.
    pub fn may_try(mut self) -> Self {
        self.0.may_try = true;
        self
    }

    /// The finding as the outcome of a look.
    pub fn end(self) -> Look {
        Ok(Outcome::Found(Box::new(self.0)))
    }
}

/// The command that writes a value to a file, given relative to the root.
fn write(value: &str, file: &str) -> String {
    let value = if value.contains(' ') { format!("'{value}'") } else { value.to_string() };
    format!("echo {value} > /{file}")
}

/// The value and the file, relative to the root, of a command that [`Finding::set`] made.
pub(crate) fn written(command: &str) -> Option<(&str, &str)> {
    let (value, file) = command.strip_prefix("echo ")?.rsplit_once(" > /")?;
    Some((value.trim_matches('\''), file))
}

/// A lost share that was computed here.
pub(crate) fn computed(least: f64, most: f64, of: &str, how: impl Into<String>) -> Cost {
    Cost::Share { least, most, of: of.into(), basis: Basis::Computed(how.into()) }
}

/// A lost share that others measured.
pub(crate) fn published(least: f64, most: f64, of: &str, source: &str) -> Cost {
    Cost::Share { least, most, of: of.into(), basis: Basis::Published(source.into()) }
}

/// All above so many bytes a second is lost.
pub(crate) fn above_bytes(bytes_per_s: f64, of: &str, how: impl Into<String>) -> Cost {
    Cost::Ceiling {
        bytes_per_s: Some(bytes_per_s),
        requests_per_s: None,
        of: of.into(),
        basis: Basis::Computed(how.into()),
    }
}

/// All above so many requests a second is lost.
pub(crate) fn above_requests(requests_per_s: f64, of: &str, basis: Basis) -> Cost {
    Cost::Ceiling { bytes_per_s: None, requests_per_s: Some(requests_per_s), of: of.into(), basis }
}

/// Requests take so many nanoseconds longer at most.
pub(crate) fn delay(ns: f64, of: &str, how: impl Into<String>) -> Cost {
    Cost::Delay { ns, of: of.into(), basis: Basis::Computed(how.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_tells_what_it_writes_and_where() {
        for (value, file) in [("none", "sys/block/sda/queue/scheduler"), ("write back", "sys/block/vda/cache_type")] {
            assert_eq!(written(&write(value, file)), Some((value, file)));
        }
        assert_eq!(written("losetup --direct-io=on /dev/loop0"), None);
        assert_eq!(written("raise io.max"), None);
    }
}
