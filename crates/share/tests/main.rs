//! Tests of the clients of file servers, against a server in memory.

mod garbage;
mod memory_nfs;
mod nfs;
