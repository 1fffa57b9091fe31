//! What states tasks make, and what the files of pressure say of them.

use super::*;

const RUNNING: Doing = Doing {
    running: true,
    on_cpu: true,
    iowait: false,
    memstall: false,
};
const WAITING: Doing = Doing {
    on_cpu: false,
    ..RUNNING
};
const RECLAIMING: Doing = Doing {
    memstall: true,
    ..RUNNING
};
const READING: Doing = Doing {
    running: false,
    on_cpu: false,
    iowait: true,
    memstall: false,
};
const REFAULTING: Doing = Doing {
    memstall: true,
    ..READING
};
const IDLE: Doing = Doing {
    iowait: false,
    ..READING
};

/// Milliseconds in the states of memory, io and cpu: some, full of each.
fn totals(pressure: &mut Pressure, group: usize, at: u64) -> [u64; 6] {
    let file = |resource| {
        let text = pressure.text(group, resource, Nanos(at * 1_000_000));
        let psi = Psi::parse("a pressure file", &text).expect("the kernel's format");
        [psi.some, psi.full].map(|stall| stall.expect("both lines").total.0 / 1_000_000)
    };
    let files = [Resource::Memory, Resource::Io, Resource::Cpu].map(file);
    core::array::from_fn(|index| files[index / 2][index % 2])
}

/// Lets tasks do things from times in milliseconds on, and reads the totals at the end.
fn timeline(changes: &[(u64, usize, Doing)], end: u64) -> [u64; 6] {
    let mut pressure = Pressure::new(1, Nanos::ZERO);
    (0..4).for_each(|_| pressure.add_task(SYSTEM));
    for &(at, task, doing) in changes {
        pressure.change(task, Nanos(at * 1_000_000), |now| *now = doing);
    }
    totals(&mut pressure, SYSTEM, end)
}

#[test]
fn waiting_for_a_cpu_is_some_pressure_and_never_full_for_the_system() {
    let changes = [
        (0, 0, RUNNING),
        (10, 1, WAITING),
        (30, 0, IDLE),
        (30, 1, RUNNING),
    ];
    assert_eq!(timeline(&changes, 100), [0, 0, 0, 0, 20, 0]);
}

#[test]
fn a_read_is_full_while_nobody_wants_the_cpu() {
    let changes = [
        (0, 0, READING),
        (10, 1, RUNNING),
        (25, 1, IDLE),
        (40, 0, RUNNING),
    ];
    assert_eq!(timeline(&changes, 100), [0, 0, 40, 25, 0, 0]);
}

#[test]
fn a_refault_is_full_unless_another_task_is_productive() {
    let changes = [
        (0, 0, REFAULTING),
        (10, 1, RUNNING),
        (25, 1, IDLE),
        (40, 0, IDLE),
    ];
    assert_eq!(timeline(&changes, 100), [40, 25, 40, 25, 0, 0]);
}

#[test]
fn the_cpu_that_reclaims_stalls_those_that_wait_for_it() {
    let changes = [
        (0, 0, RECLAIMING),
        (5, 1, WAITING),
        (20, 0, IDLE),
        (20, 1, RUNNING),
    ];
    assert_eq!(timeline(&changes, 100), [20, 20, 0, 0, 15, 0]);
    let stalled_but_off_the_cpu = [
        (
            0,
            0,
            Doing {
                memstall: true,
                ..WAITING
            },
        ),
        (0, 1, RUNNING),
        (30, 0, IDLE),
    ];
    assert_eq!(
        timeline(&stalled_but_off_the_cpu, 100),
        [30, 0, 0, 0, 30, 0]
    );
}

/// Ticks come at 4 and 8 ms; some pressure is exact.
#[test]
fn before_5_13_reclaim_is_a_full_stall_up_to_the_ticks_that_find_it() {
    let full = |from: u64, to: u64| {
        let mut pressure = Pressure::new(1, Nanos::ZERO);
        pressure.sees_reclaim = false;
        pressure.add_task(SYSTEM);
        pressure.change(0, Nanos(from * 1_000_000), |doing| *doing = RECLAIMING);
        pressure.change(0, Nanos(to * 1_000_000), |doing| *doing = RUNNING);
        let [some, full, ..] = totals(&mut pressure, SYSTEM, 50);
        assert_eq!(some, to - from);
        full
    };
    assert_eq!([full(1, 3), full(3, 9), full(5, 7)], [0, 5, 0]);
}

/// `collect_percpu_times`: 40 ms of one that is busy for 10 ticks, beside one that is for 25.
#[test]
fn a_cpu_weighs_by_the_ticks_in_which_it_is_busy() {
    let mut pressure = Pressure::new(2, Nanos::ZERO);
    (0..2).for_each(|_| pressure.add_task(SYSTEM));
    pressure.move_to_cpu(1, 1, Nanos::ZERO);
    pressure.change(0, Nanos::ZERO, |doing| *doing = RECLAIMING);
    pressure.change(1, Nanos::ZERO, |doing| *doing = RUNNING);
    pressure.change(0, Nanos(40_000_000), |doing| *doing = IDLE);
    let stalled = 40 * 10 / 35;
    assert_eq!(
        totals(&mut pressure, SYSTEM, 100),
        [stalled, stalled, 0, 0, 0, 0]
    );
}

#[test]
fn what_a_task_does_moves_to_its_new_cpu() {
    let mut pressure = Pressure::new(2, Nanos::ZERO);
    (0..2).for_each(|_| pressure.add_task(SYSTEM));
    pressure.change(0, Nanos::ZERO, |doing| *doing = RUNNING);
    pressure.change(1, Nanos::ZERO, |doing| *doing = WAITING);
    pressure.move_to_cpu(1, 1, Nanos(20_000_000));
    pressure.change(1, Nanos(20_000_000), |doing| *doing = RUNNING);
    let waited = 20 * 25 / 45;
    assert_eq!(totals(&mut pressure, SYSTEM, 100)[4], waited);
}

#[test]
fn a_groups_stall_is_its_parents_but_only_the_group_is_stalled_in_full() {
    let mut pressure = Pressure::new(1, Nanos::ZERO);
    let group = pressure.add_group(SYSTEM, Nanos::ZERO);
    pressure.add_task(group);
    pressure.add_task(SYSTEM);
    pressure.change(1, Nanos::ZERO, |doing| *doing = RUNNING);
    pressure.change(0, Nanos::ZERO, |doing| *doing = REFAULTING);
    pressure.change(0, Nanos(20_000_000), |doing| *doing = WAITING);
    assert_eq!(totals(&mut pressure, group, 50), [20, 20, 20, 20, 30, 30]);
    assert_eq!(totals(&mut pressure, SYSTEM, 50), [20, 0, 20, 0, 30, 0]);
    pressure.move_task(0, SYSTEM, Nanos(50_000_000));
    assert_eq!(totals(&mut pressure, group, 90), [20, 20, 20, 20, 30, 30]);
    assert_eq!(totals(&mut pressure, SYSTEM, 90), [20, 0, 20, 0, 70, 0]);
}

/// The figures are those of the load averages' arithmetic, by hand: 100 % for one period from 0
/// gives 371 / 2048 of it, then it decays by 1677 / 2048.
#[test]
fn averages_grow_and_decay_as_load_averages_do() {
    let mut pressure = Pressure::new(1, Nanos::ZERO);
    pressure.add_task(SYSTEM);
    pressure.change(0, Nanos::ZERO, |doing| *doing = REFAULTING);
    let memory = |pressure: &mut Pressure, at| {
        let text = pressure.text(SYSTEM, Resource::Memory, Nanos(at));
        let psi = Psi::parse("memory", &text).expect("the kernel's format");
        let some = psi.some.expect("a line");
        (some.avg10, some.avg60, some.avg300)
    };
    assert_eq!(memory(&mut pressure, PERIOD - JIFFY), (0, 0, 0));
    assert_eq!(memory(&mut pressure, PERIOD), (1811, 327, 68));
    pressure.change(0, Nanos(PERIOD), |doing| *doing = IDLE);
    assert_eq!(memory(&mut pressure, 2 * PERIOD), (1483, 316, 67));
    assert_eq!(memory(&mut pressure, 20 * PERIOD).2, 59);
}

#[test]
fn a_pressure_file_has_two_lines_and_goes_on_from_boot() {
    let mut pressure = Pressure::new(1, Nanos(560_000_000));
    let boot = "some avg10=0.00 avg60=0.00 avg300=0.00 total=43\n\
                full avg10=0.00 avg60=0.00 avg300=0.00 total=40\n";
    let boot = Psi::parse("io", boot).expect("the kernel's format");
    pressure.begin_with(Resource::Io, &boot);
    pressure.add_task(SYSTEM);
    pressure.change(0, Nanos::ZERO, |doing| *doing = READING);
    pressure.change(0, Nanos(7_001_000), |doing| *doing = RUNNING);
    assert_eq!(
        pressure.text(SYSTEM, Resource::Io, Nanos(7_001_000)),
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=7044\n\
         full avg10=0.00 avg60=0.00 avg300=0.00 total=7041\n"
    );
}

#[test]
fn less_than_a_tick_of_work_between_two_readings_is_lost() {
    let mut pressure = Pressure::new(1, Nanos::ZERO);
    pressure.add_task(SYSTEM);
    pressure.change(0, Nanos::ZERO, |doing| *doing = READING);
    pressure.change(0, Nanos(3_900_000), |doing| *doing = IDLE);
    assert_eq!(totals(&mut pressure, SYSTEM, 50), [0; 6]);
}
