//! One request by one system call: what the engines on top of pread and pwrite share.

use std::io;

use os::{Buffers, RunFile};

use crate::check::Check;
use crate::{Errno, Operation, Request};

/// Carries out `request` with the bytes of `buffer`, again where a signal got in between.
#[inline]
pub(crate) fn carry_out(
    file: &RunFile,
    (buffers, buffer): (&mut Buffers, u32),
    check: Option<&Check>,
    request: &Request,
    serial: u64,
) -> Result<u32, Errno> {
    let length = request.length as usize;
    if request.operation == Operation::Write {
        match check {
            None => buffers.stamp(buffer, length, serial),
            Some(check) => check.seal(request.slot, &mut buffers.slot_mut(buffer)[..length]),
        }
    }
    loop {
        let moved = match request.operation {
            Operation::Read => file.read_at(&mut buffers.slot_mut(buffer)[..length], request.offset),
            Operation::Write => file.write_at(&buffers.slot(buffer)[..length], request.offset),
            Operation::Flush => file.sync_data().map(|()| 0),
        };
        match moved {
            Ok(bytes) => {
                return match check {
                    None => Ok(bytes as u32),
                    Some(check) => check.look(request.slot, buffers.slot(buffer), bytes as u32),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Errno(error.raw_os_error().unwrap_or(ENOTSUP))),
        }
    }
}

/// For an error that carries no number; none of the three calls gives one.
const ENOTSUP: i32 = 95;
