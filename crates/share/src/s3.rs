//! Implements S3 over HTTP/1.1, with AWS Signature Version 4.

mod client;
mod head;
mod left_over;
mod listing;
mod objects;
mod rehearsal;
mod requests;
mod signer;
mod site;

pub(crate) use objects::{S3File, S3Share};
pub(crate) use rehearsal::{S3Client, rehearse};
