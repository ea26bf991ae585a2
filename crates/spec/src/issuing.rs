//! Describes how requests are handed to the kernel: the memory of their buffers, and how many requests one system call
//! submits.

use std::fmt;
use std::str::FromStr;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{EngineName, ParseError};

words! {
    /// Which pages the buffers of requests lie in (fio's iomem).
    IoMem, "memory for buffers":
    /// Ordinary pages, as in most applications: a large request has as many segments as pages.
    Pages = "pages",
    /// Huge pages: a large request has one segment, or a few.
    Huge = "huge",
}

/// How requests are handed to the kernel. Workloads of the first releases lack it: they used huge pages for buffers of
/// 256 KiB and more, and one call for all requests that were ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Issuing {
    /// Memory of the buffers.
    pub iomem: IoMem,
    /// Most requests that one system call submits (fio's iodepth_batch); 0 means no limit.
    pub iodepth_batch: u32,
}

/// The default gives most requests a second in ordinary memory: one call per request. With three or more requests in a
/// call, the kernel holds them back until it has seen them all.
impl Default for Issuing {
    fn default() -> Self {
        Self { iomem: IoMem::Pages, iodepth_batch: 1 }
    }
}

impl Issuing {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The same, limited to what `engine` can do: an engine that cannot share calls makes one call per request.
    pub fn by(self, engine: EngineName) -> Self {
        if engine.shares_calls() { self } else { Self { iodepth_batch: 1, ..self } }
    }
}

/// The flags of `halfpower run`, without a space before them.
impl fmt::Display for Issuing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--iomem {} --iodepth-batch {}", self.iomem, self.iodepth_batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[test]
    fn engines_without_shared_calls_make_one_for_each_request() {
        let issuing = Issuing { iomem: IoMem::Huge, iodepth_batch: 8 };
        assert_eq!(issuing.by(EngineName::Libaio), issuing);
        assert_eq!(issuing.by(EngineName::Sync), Issuing { iodepth_batch: 1, ..issuing });
    }

    #[test]
    fn workloads_of_the_first_releases_are_other_workloads() {
        let first = Workload::default();
        let now = Workload { issuing: Some(Issuing::default()), ..first };
        let all = Workload { issuing: Some(Issuing { iomem: IoMem::Huge, iodepth_batch: 0 }), ..first };
        let texts = [first, now, all].map(|workload| workload.identity().to_string());
        assert!(!texts[0].contains("iomem"));
        assert_eq!(texts[1], format!("{} --iomem pages --iodepth-batch 1", texts[0]));
        assert_eq!(texts[2], format!("{} --iomem huge --iodepth-batch 0", texts[0]));
        assert_eq!(now.to_string(), format!("{first} --iomem pages --iodepth-batch 1"));
    }
}
