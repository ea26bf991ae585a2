//! Defines the orders that process 0 gives the others, and ends them when process 0 ends, for whatever reason.

use std::rc::Rc;

use halfpower_spec::{Bytes, Run};
use serde::{Deserialize, Serialize};

use crate::Ranks;
use crate::tree::tell;

/// Process 0 as the leader; dropping it ends the other processes.
pub struct Lead {
    ranks: Rc<dyn Ranks>,
}

impl Lead {
    /// Leads these processes; called on process 0.
    pub fn new(ranks: Rc<dyn Ranks>) -> Self {
        assert_eq!(ranks.rank(), 0, "process 0 leads");
        Self { ranks }
    }

    /// The processes.
    pub fn ranks(&self) -> Rc<dyn Ranks> {
        Rc::clone(&self.ranks)
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        // A failed send is fine: that process has ended already.
        let _ = tell(self.ranks.as_ref(), Some(Order::End));
    }
}

/// An order of process 0 to the others, which wait for nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Meet and open the target; the value goes to the caller's `Opening` unread.
    Meet(serde_json::Value),
    /// Lay out what the first run needs.
    MakeReady {
        /// The size that an earlier start used, if it must be the same.
        span: Option<Bytes>,
    },
    /// Pass all further requests to kernel workers.
    HandToWorkers,
    /// Make a run.
    Run {
        /// The run, as the study asks for it.
        run: Box<Run>,
        /// Whether windows open at one instant everywhere; false in virtual time.
        in_step: bool,
    },
    /// End.
    End,
}
