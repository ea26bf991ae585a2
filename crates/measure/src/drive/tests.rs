//! Tests that no lane hangs a run, with engines that panic, fail or never answer.

use halfpower_engine::{Completion, Engine, Request};
use halfpower_spec::{EngineName, Pass};

use super::*;

struct NoAccount;

impl Account for NoAccount {
    fn begin(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }

    fn end(&mut self) -> Spent {
        Spent::default()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Answers,
    Panics,
    PanicsAsItSettles,
    Fails,
    NeverAnswers,
}

/// An engine in real time with one kind of misbehaviour.
struct Mannered(Manner, Instant, Vec<Completion>);

impl Engine for Mannered {
    fn now(&self) -> Nanos {
        Nanos(self.1.elapsed().as_nanos() as u64)
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        assert!(self.0 != Manner::PanicsAsItSettles, "it cannot settle");
        Ok(())
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.2.extend(batch.iter().map(|request| Completion { slot: request.slot, result: Ok(request.length) }));
        Ok(())
    }

    fn reap(&mut self, _: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        match self.0 {
            Manner::Panics => panic!("a lane of the test"),
            Manner::Fails => Err(EngineError::Unavailable { engine: "test", why: "it fails".to_string() }),
            Manner::NeverAnswers => loop {
                std::thread::park();
            },
            Manner::Answers | Manner::PanicsAsItSettles => {
                done.append(&mut self.2);
                Ok(())
            }
        }
    }
}

fn driven(manners: &[Manner]) -> Result<Vec<LaneOutcome>, MeasureError> {
    let lane = |manner: &Manner| Lane {
        engine: Box::new(Mannered(*manner, Instant::now(), Vec::new())),
        depth: 3,
        range: 0..1 << 20,
        once: false,
        role: LaneRole::Own,
        cpu: None,
    };
    let lanes = manners.iter().map(lane).collect();
    let silence = Some(Nanos(100_000_000));
    let prepared = Prepared {
        lanes,
        engine: EngineName::Null,
        span_bytes: 1 << 20,
        spread_bytes: None,
        cached_bytes: None,
        buffer_segments: None,
        warms_up: false,
        flush: false,
        silence,
    };
    // A long window, so that a lane that should panic does so before the end, however late its thread runs.
    let panics = manners.iter().any(|manner| matches!(manner, Manner::Panics | Manner::PanicsAsItSettles));
    let runtime = Nanos(if panics { 10_000_000_000 } else { 20_000_000 });
    let workload = Workload::default();
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 1 };
    drive(prepared, &run, &mut NoAccount, &AtomicBool::new(false)).map(|(driven, _)| driven)
}

#[test]
fn a_panic_in_any_lane_ends_the_run_with_a_message() {
    for (manner, said) in [(Manner::Panics, "a lane of the test"), (Manner::PanicsAsItSettles, "it cannot settle")] {
        let error = driven(&[Manner::Answers, manner, Manner::Answers]).err().expect("it is an error").to_string();
        assert!(error.contains("panicked") && error.contains(said), "{error}");
    }
}

#[test]
fn a_lane_that_fails_ends_the_others() {
    let error = driven(&[Manner::Answers, Manner::Fails]).err().expect("it is an error").to_string();
    assert!(error.contains("it fails"), "{error}");
}

#[test]
fn a_target_that_never_answers_is_recorded_and_left_behind() {
    let lanes = driven(&[Manner::Answers, Manner::NeverAnswers]).unwrap();
    assert!(!lanes[0].is_lost && lanes[0].tally.ios > 0);
    assert!(lanes[1].is_lost);
    assert_eq!(lanes[1].tally.errors, [(Errno::UNANSWERED, 3)]);
}
