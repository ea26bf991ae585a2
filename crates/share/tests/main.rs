//! Tests the clients of file servers against servers in memory.

mod carrying;
mod garbage;
mod garbled;
mod hostile;
mod memory_nfs;
mod memory_s3;
mod memory_smb;
mod memory_smb_keys;
mod nfs;
mod rehearsal;
mod s3;
mod sealing;
mod smb;
#[cfg(feature = "s3")]
mod tls;
