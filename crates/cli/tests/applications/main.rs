//! Compares what studies, captures and settings promise to databases with what real ones get, on disks of known nature.
//!
//! Needs root, loop devices, the blkio controller, FUSE, PostgreSQL 15, etcd, MariaDB, db_bench of RocksDB and ioping; prints
//! what is missing.

mod disks;
mod etcd;
mod lab;
mod mariadb;
mod postgres;
#[allow(dead_code, reason = "the tests of studies use all of it")]
#[path = "../program/mod.rs"]
mod program;
mod rocksdb;
mod server;
#[allow(dead_code, reason = "the tests of limited devices use all of it")]
#[path = "../devices/throttled.rs"]
mod throttled;
