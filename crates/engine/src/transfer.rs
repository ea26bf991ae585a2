//! Converts requests to transfers of the kernel's asynchronous interfaces.

use halfpower_os::{Action, Transfer};

use crate::{Operation, Request};

impl From<&Request> for Transfer {
    #[inline]
    fn from(request: &Request) -> Self {
        let (action, length) = match request.operation {
            Operation::Read => (Action::Read, request.length),
            Operation::Write => (Action::Write, request.length),
            Operation::Flush => (Action::Flush, 0),
            // Callers send trims only to engines that make a call for each (see `Operation::Trim`).
            Operation::Trim => unreachable!("the kernel's asynchronous interfaces get no trims"),
        };
        Self { slot: request.slot, action, offset: request.offset, length }
    }
}
