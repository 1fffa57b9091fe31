//! Several things at a time, which begin in their order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Does `one` with each thing, this many at a time; they begin in their order. The first error
/// keeps further ones from beginning.
///
/// # Errors
/// The first in the order of the things.
pub fn side_by_side<T: Sync, R: Send, E: Send>(
    things: &[T],
    at_a_time: usize,
    one: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut ended = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(index) else {
                break;
            };
            let result = one(thing);
            stop.fetch_or(result.is_err(), Ordering::Relaxed);
            ended.push((index, result));
        }
        ended
    };
    let mut ended: Vec<(usize, Result<R, E>)> = thread::scope(|scope| {
        let more = at_a_time.min(things.len()).saturating_sub(1);
        let more: Vec<_> = (0..more).map(|_| scope.spawn(work)).collect();
        let mut ended = work();
        for worker in more {
            match worker.join() {
                Ok(more) => ended.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ended
    });
    ended.sort_by_key(|(index, _)| *index);
    ended.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;

    /// Notes the order in which things begin, and the most that were under way at once.
    fn watched(number: usize, failing: Option<u32>) -> (Vec<u32>, usize, Result<Vec<u32>, u32>) {
        let things: Vec<u32> = (0..40).collect();
        let (begun, most) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let (under_way, all_began) = (AtomicUsize::new(0), Barrier::new(number));
        let result = side_by_side(&things, number, |thing| {
            begun.lock().unwrap().push(*thing);
            let now = under_way.fetch_add(1, Ordering::Relaxed) + 1;
            most.fetch_max(now, Ordering::Relaxed);
            if *thing < u32::try_from(number).unwrap() {
                all_began.wait();
            }
            under_way.fetch_sub(1, Ordering::Relaxed);
            if failing == Some(*thing) {
                Err(*thing)
            } else {
                Ok(*thing)
            }
        });
        (begun.into_inner().unwrap(), most.into_inner(), result)
    }

    #[test]
    fn so_many_are_under_way_at_a_time_and_all_are_done_in_order() {
        for number in [1, 2, 5] {
            let (mut begun, most, result) = watched(number, None);
            assert_eq!(most, number);
            assert_eq!(result, Ok((0..40).collect()));
            if number > 1 {
                begun.sort_unstable();
            }
            assert!(
                begun.into_iter().eq(0..40),
                "each once, one by one in order"
            );
        }
    }

    #[test]
    fn an_error_keeps_others_from_beginning_and_those_under_way_end() {
        let (begun, _, result) = watched(1, Some(3));
        assert_eq!((begun.len(), result), (4, Err(3)));
        let things = [1, 2, 3, 4, 5, 6];
        let (failed, ended) = (Barrier::new(2), AtomicUsize::new(0));
        let result = side_by_side(&things, 2, |thing| {
            failed.wait();
            if *thing == 1 {
                return Err("it stops");
            }
            // The other one has failed by the time this ends.
            thread::sleep(std::time::Duration::from_millis(200));
            ended.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        assert_eq!(result, Err("it stops"));
        assert_eq!(ended.into_inner(), 1);
    }
}
