//! Identifies the place of a study: machine, disk and file system.
//!
//! Comparing two identities gives a phrase for each part that differs. A part that either does not know never differs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The identity of a place; unknown parts are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlaceIdentity {
    /// The machine, as a checksum of its machine id.
    pub machine: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The members of the target, in their order.
    pub members: Vec<MemberIdentity>,
}

/// The identity of a member of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemberIdentity {
    /// Its path, absolute and without links.
    pub path: String,
    /// The devices under it: serial numbers, or sizes if there are none.
    pub device: Option<String>,
    /// The UUID of its file system.
    pub filesystem: Option<String>,
}

impl PlaceIdentity {
    /// Whether nothing is known, as for a simulated target.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Such as `the file system of /data is A there and B here`, joined by commas; `None` if no known part differs.
    pub fn difference(&self, here: &Self) -> Option<String> {
        let both = |what: &str, there: &Option<String>, here: &Option<String>| match (there, here) {
            (Some(there), Some(here)) if there != here => Some(format!("{what} is {there} there and {here} here")),
            _ => None,
        };
        let mut phrases =
            vec![both("the machine", &self.machine, &here.machine), both("the kernel", &self.kernel, &here.kernel)];
        for (there, here) in self.members.iter().zip(&here.members) {
            let path = &here.path;
            phrases.push((there.path != *path).then(|| format!("the path is {} there and {path} here", there.path)));
            phrases.push(both(&format!("the device of {path}"), &there.device, &here.device));
            phrases.push(both(&format!("the file system of {path}"), &there.filesystem, &here.filesystem));
        }
        let phrases: Vec<String> = phrases.into_iter().flatten().collect();
        (!phrases.is_empty()).then(|| phrases.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(device: Option<&str>, filesystem: &str) -> PlaceIdentity {
        let member = MemberIdentity {
            path: "/data".to_string(),
            device: device.map(str::to_string),
            filesystem: Some(filesystem.to_string()),
        };
        PlaceIdentity { machine: Some("m".to_string()), kernel: Some("6.1".to_string()), members: vec![member] }
    }

    #[test]
    fn each_part_that_differs_is_named_and_what_is_not_known_is_no_difference() {
        let there = place(Some("S1"), "A");
        assert_eq!(there.difference(&there), None);
        assert_eq!(there.difference(&place(None, "A")), None);
        assert_eq!(PlaceIdentity::default().difference(&there), None);
        assert_eq!(
            there.difference(&place(Some("S2"), "B")).unwrap(),
            "the device of /data is S1 there and S2 here, the file system of /data is A there and B here"
        );
        let elsewhere =
            PlaceIdentity { machine: Some("n".to_string()), kernel: Some("6.2".to_string()), ..there.clone() };
        assert_eq!(
            there.difference(&elsewhere).unwrap(),
            "the machine is m there and n here, the kernel is 6.1 there and 6.2 here"
        );
    }
}
