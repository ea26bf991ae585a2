//! Ends the other processes when process 0 ends, for whatever reason.

use std::rc::Rc;

use crate::Ranks;
use crate::order::Order;
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
