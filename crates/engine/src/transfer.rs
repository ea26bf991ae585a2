//! How is a request said to the kernel's asynchronous interfaces? In the words that both of them share.

use os::{Action, Transfer};

use crate::{Operation, Request};

impl From<&Request> for Transfer {
    #[inline]
    fn from(request: &Request) -> Self {
        let (action, length) = match request.operation {
            Operation::Read => (Action::Read, request.length),
            Operation::Write => (Action::Write, request.length),
            Operation::Flush => (Action::Flush, 0),
        };
        Self { slot: request.slot, action, offset: request.offset, length }
    }
}
