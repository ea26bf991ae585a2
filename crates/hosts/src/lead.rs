//! Sends the other processes home when process 0 has come to its end, whichever that is.

use std::rc::Rc;

use crate::Ranks;
use crate::order::Order;
use crate::tree::tell;

/// Process 0, to which the others listen as long as this lives.
pub struct Lead {
    ranks: Rc<dyn Ranks>,
}

impl Lead {
    /// The lead over these, on process 0.
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
        // Whoever is gone needs not be told.
        let _ = tell(self.ranks.as_ref(), Some(Order::End));
    }
}
