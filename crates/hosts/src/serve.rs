//! Carries out the orders of process 0 on every other process.

use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use halfpower_measure::{MeasureError, measure_own_part};

use crate::lead::Order;
use crate::meeting::{Opening, meet};
use crate::target::HostsTarget;
use crate::tree::tell;
use crate::{HostsError, Ranks};

/// Carries out the orders of process 0 until it sends the last one. Failures of this process go to process 0, which
/// reports them.
///
/// # Errors
/// If process 0, or a process on the way to it, is gone.
pub fn serve(ranks: Rc<dyn Ranks>, program: &str, open: &mut Opening<'_>, stop: &AtomicBool) -> Result<(), HostsError> {
    let mut target: Option<HostsTarget> = None;
    loop {
        match tell::<Order>(ranks.as_ref(), None)? {
            Order::End => return Ok(()),
            Order::Meet(asked) => {
                // Close and remove the files of an earlier target first.
                drop(target.take());
                let met = meet(Rc::clone(&ranks), program, &asked, open);
                target = met.ok().map(|(crew, opened, _)| HostsTarget::of(crew, opened.target));
            }
            Order::MakeReady { span } => {
                let target = there_is(target.as_mut())?;
                let _ = target.make_ready_here(span, stop);
            }
            Order::HandToWorkers => {
                there_is(target.as_mut())?.hand_to_workers_here()?;
            }
            Order::Run { run, in_step } => {
                let target = there_is(target.as_mut())?;
                let made = match target.begin_run(&run, in_step) {
                    Ok(own) => own.map(|own| measure_own_part(target, &own, stop)),
                    Err(error) => Some(Err(error)),
                };
                let _: Result<_, MeasureError> = target.give_part(&run, made, stop);
            }
        }
    }
}

fn there_is(target: Option<&mut HostsTarget>) -> Result<&mut HostsTarget, HostsError> {
    target.ok_or_else(|| HostsError::Unread {
        rank: 0,
        why: "it asks for a run before the target was opened".to_string(),
    })
}
