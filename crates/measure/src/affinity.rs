//! Chooses the processor that lanes are pinned to.

use halfpower_probe::{Interrupts, Root};
use halfpower_spec::Affinity;

/// The processor for the lanes of a run on this device; `None` means any.
///
/// # Errors
/// Why there is no such processor, as a sentence without the full stop.
pub(crate) fn processor(affinity: Affinity, device: Option<&str>) -> Result<Option<usize>, String> {
    if affinity == Affinity::All {
        return Ok(None);
    }
    let interrupts = device.and_then(|device| halfpower_probe::interrupts(&Root::live(), device));
    choose(affinity, &halfpower_os::processor::usable(), interrupts.as_ref())
}

fn choose(affinity: Affinity, usable: &[usize], interrupts: Option<&Interrupts>) -> Result<Option<usize>, String> {
    let [first, _, ..] = usable else {
        return Err("this process may use a single processor, so that there is nothing to choose".to_string());
    };
    if !matches!(affinity, Affinity::Interrupt | Affinity::Other) {
        return Ok((affinity == Affinity::One).then_some(*first));
    }
    let Some(interrupts) = interrupts else {
        return Err("the kernel does not tell which interrupts are the device's".to_string());
    };
    let shared = |queue: &Vec<usize>| usable.iter().filter(|processor| queue.contains(processor)).count() > 1;
    if !interrupts.queues.is_empty() && !interrupts.queues.iter().any(shared) {
        return Err(
            "every processor has a queue of the device for itself, whose interrupts follow the submitter".into()
        );
    }
    let taken = |processor: &usize| interrupts.by_processor.get(processor).copied().unwrap_or(0);
    let counts = || usable.iter().map(|processor| (taken(processor), *processor));
    // On a tie, take the first processor.
    let most = counts().max_by_key(|(count, processor)| (*count, std::cmp::Reverse(*processor)));
    let (Some(most), Some(fewest)) = (most, counts().min()) else { return Ok(None) };
    if most.0 == fewest.0 {
        return Err("the device's interrupts are spread evenly over the processors".to_string());
    }
    Ok(Some(if affinity == Affinity::Interrupt { most.1 } else { fewest.1 }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn interrupts(counts: &[(usize, u64)], queues: &[&[usize]]) -> Interrupts {
        let queues = queues.iter().map(|queue| queue.to_vec()).collect();
        Interrupts { by_processor: BTreeMap::from_iter(counts.iter().copied()), queues }
    }

    #[test]
    fn the_interrupts_processor_and_one_with_the_fewest() {
        let seen = interrupts(&[(0, 7), (1, 900), (2, 3), (3, 0)], &[&[0, 1, 2, 3]]);
        let choose = |affinity, usable: &[usize]| choose(affinity, usable, Some(&seen)).unwrap();
        assert_eq!(choose(Affinity::All, &[0, 1, 2]), None);
        assert_eq!(choose(Affinity::One, &[1, 2]), Some(1));
        assert_eq!(choose(Affinity::Interrupt, &[0, 1, 2]), Some(1));
        assert_eq!(choose(Affinity::Other, &[0, 1, 2]), Some(2), "3 may not be used");
        assert_eq!(choose(Affinity::Interrupt, &[0, 2]), Some(0));
    }

    #[test]
    fn where_there_is_nothing_to_choose_it_says_why() {
        let why = |usable: &[usize], seen: Option<&Interrupts>| choose(Affinity::Interrupt, usable, seen).unwrap_err();
        let shared = interrupts(&[(0, 7), (1, 900)], &[&[0, 1, 2, 3]]);
        assert!(why(&[0], Some(&shared)).contains("single processor"));
        assert!(why(&[0, 1], None).contains("does not tell"));
        assert!(why(&[0, 1], Some(&interrupts(&[(0, 7), (1, 900)], &[&[0], &[1]]))).contains("follow the submitter"));
        assert!(why(&[2, 3], Some(&shared)).contains("evenly"));
    }
}
