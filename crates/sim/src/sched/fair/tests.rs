//! Tests of the fair class: which task comes first, and for how long.

use super::*;

const CFS: Rule = Rule::LeastRuntime;
const EEVDF: Rule = Rule::Deadline { delays: true };

/// A task that has run alone for 100 ms, and a sleeper that ran before it.
fn busy_and_sleeper(rule: Rule) -> (Fair, usize, usize) {
    let mut fair = Fair::new(rule);
    let (busy, sleeper) = (fair.add(), fair.add());
    for task in [sleeper, busy] {
        fair.wake(task);
        assert_eq!(fair.choose(None, |other| other == task), Some(task));
        fair.begin(task);
        fair.account(task, if task == busy { 100_000_000 } else { 0 });
        fair.is_over(task);
        if task == sleeper {
            fair.sleep(task);
        }
    }
    (fair, busy, sleeper)
}

fn nap(fair: &mut Fair, busy: usize, sleeper: usize, runs: i64, sleeps: i64) -> bool {
    fair.begin(sleeper);
    fair.account(sleeper, runs);
    fair.is_over(sleeper);
    fair.sleep(sleeper);
    assert_eq!(fair.choose(None, |task| task == busy), Some(busy));
    fair.begin(busy);
    fair.account(busy, sleeps);
    if !fair.is_delayed(sleeper) {
        fair.is_over(busy);
    }
    fair.wake(sleeper);
    fair.is_over(busy);
    fair.preempts(sleeper, busy)
}

#[test]
fn the_rule_is_the_releases() {
    assert_eq!(Rule::of("6.1.0-56-cloud-amd64"), CFS);
    assert_eq!(Rule::of("6.8.0"), Rule::Deadline { delays: false });
    assert_eq!(Rule::of("6.12.117+deb12-cloud-amd64"), EEVDF);
}

#[test]
fn of_equals_the_one_that_woke_first_comes_first_whatever_its_number() {
    for rule in [CFS, EEVDF] {
        let mut fair = Fair::new(rule);
        let [kswapd, task, other] = [(); 3].map(|()| fair.add_old());
        for woken in [other, kswapd, task] {
            fair.wake(woken);
        }
        assert_eq!(fair.choose(None, |_| true), Some(other), "{rule:?}");
        fair.begin(other);
        fair.give_way(other);
        assert_eq!(fair.choose(None, |_| true), Some(kswapd), "{rule:?}");
    }
}

#[test]
fn a_sleeper_preempts_while_it_is_more_than_the_granularity_behind() {
    let (mut fair, busy, sleeper) = busy_and_sleeper(CFS);
    fair.wake(sleeper);
    assert!(fair.preempts(sleeper, busy), "its credit is 3 ms");
    let mut naps = 1;
    while nap(&mut fair, busy, sleeper, 500_000, 50_000) && naps < 100 {
        naps += 1;
    }
    assert_eq!(naps, 5, "2 ms of the credit, at 0.45 ms a nap");
}

#[test]
fn a_slice_of_six_milliseconds_is_shared_and_looked_at_when_the_clock_ticks() {
    let (mut fair, busy, sleeper) = busy_and_sleeper(CFS);
    fair.begin(busy);
    fair.account(busy, 4_000_000);
    assert!(!fair.is_over_at_tick(busy), "it is alone");
    fair.wake(sleeper);
    fair.begin(sleeper);
    fair.account(sleeper, 2_900_000);
    assert!(!fair.is_over_at_tick(sleeper));
    fair.account(sleeper, 200_000);
    assert!(fair.is_over_at_tick(sleeper));
}

#[test]
fn under_deadlines_a_sleeper_that_uses_little_always_preempts() {
    let (mut fair, busy, sleeper) = busy_and_sleeper(EEVDF);
    fair.wake(sleeper);
    let naps = (0..1000).filter(|_| nap(&mut fair, busy, sleeper, 5003, 55_011));
    assert!(naps.count() >= 998);
}

#[test]
fn without_delayed_dequeueing_it_waits_when_its_claim_is_used_up() {
    let (mut fair, busy, sleeper) = busy_and_sleeper(Rule::Deadline { delays: false });
    fair.wake(sleeper);
    assert!(!nap(&mut fair, busy, sleeper, 5000, 55_000));
}

#[test]
fn two_busy_tasks_take_turns_of_a_slice() {
    for rule in [CFS, EEVDF] {
        let mut fair = Fair::new(rule);
        let tasks = [fair.add(), fair.add()];
        tasks.iter().for_each(|&task| fair.wake(task));
        let mut ran = [0_i64; 2];
        let mut current = None;
        for _ in 0..100 {
            let task = fair.choose(current, |_| true).expect("both want to run");
            fair.begin(task);
            fair.account(task, 4_000_000);
            assert!(fair.is_over_at_tick(task), "{rule:?}");
            ran[task] += 1;
            current = Some(task);
        }
        assert!((ran[0] - ran[1]).abs() <= 1, "{rule:?} {ran:?}");
    }
}

#[test]
fn a_kernel_thread_that_slept_since_boot_is_a_sleeper_and_no_new_task() {
    let preempts = |is_thread: bool| {
        let mut fair = Fair::new(CFS);
        let busy = fair.add();
        fair.wake(busy);
        assert_eq!(fair.choose(None, |_| true), Some(busy));
        fair.begin(busy);
        fair.account(busy, 10_000_000);
        fair.is_over(busy);
        let woken = if is_thread {
            fair.add_old()
        } else {
            fair.add()
        };
        fair.wake(woken);
        fair.preempts(woken, busy)
    };
    assert_eq!([true, false].map(preempts), [true, false]);
}

#[test]
fn a_task_at_nice_5_gets_a_quarter_beside_another() {
    for rule in [CFS, EEVDF] {
        let mut fair = Fair::new(rule);
        let tasks = [fair.add(), fair.add()];
        fair.be_nice(tasks[1]);
        tasks.iter().for_each(|&task| fair.wake(task));
        let mut ran = [0_i64; 2];
        let mut current = None;
        for _ in 0..1000 {
            let task = fair.choose(current, |_| true).expect("both want to run");
            if current != Some(task) {
                fair.begin(task);
            }
            fair.account(task, 4_000_000);
            ran[task] += 1;
            current = Some(task).filter(|&task| !fair.is_over_at_tick(task));
        }
        assert!((240..=250).contains(&ran[1]), "{rule:?} {ran:?}");
    }
}

#[test]
fn a_thread_that_waited_while_the_kernel_booted_takes_the_cpu_of_who_wakes_it_for_a_tick_at_least()
{
    let mut fair = Fair::new(EEVDF);
    let (busy, ksmd) = (fair.add(), fair.add());
    fair.be_nice(ksmd);
    fair.wake(busy);
    fair.choose(None, |_| true)
        .into_iter()
        .for_each(|task| fair.begin(task));
    fair.wake(ksmd);
    assert!(fair.preempts(ksmd, busy));
    assert_eq!(fair.choose(Some(busy), |_| true), Some(ksmd));
    fair.begin(ksmd);
    for (ran, next) in [(4_000_000, ksmd), (4_000_000, busy)] {
        fair.account(ksmd, ran);
        fair.is_over_at_tick(ksmd);
        assert_eq!(fair.choose(Some(ksmd), |_| true), Some(next));
    }
}
