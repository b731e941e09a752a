use super::*;

fn rows(powers: Powers) -> Vec<Vec<f64>> {
    match powers {
        Powers::PerTask(rows) => rows,
        Powers::Steps(_) => panic!("a factor for each task"),
    }
}

fn steps(powers: Powers) -> Vec<Steps> {
    match powers {
        Powers::PerTask(_) => panic!("steps of time"),
        Powers::Steps(steps) => steps,
    }
}

#[test]
fn a_fifth_of_the_machines_is_slow_for_the_whole_run() {
    let powers = Load::Lasting
        .powers(40, 5_000, &Traces::default(), 3)
        .unwrap();
    let rows = rows(powers);
    // A task loses at most a tenth, so what is below 0.7 is a slow machine, for every task.
    let is_slow = |factor: &&f64| **factor <= 0.7;
    let slow = rows[0].iter().filter(is_slow).count();
    assert!((900..1_100).contains(&slow), "{slow}");
    for row in &rows {
        assert_eq!(row.iter().filter(is_slow).count(), slow);
        assert!(row.iter().all(|factor| (0.09..=1.0).contains(factor)));
        let free = row.iter().copied().fold(0.0, f64::max);
        assert!(free > 0.9);
    }
}

#[test]
fn independent_factors_are_those_of_tasks_and_not_of_machines() {
    let powers = Load::Independent.powers(2_000, 3, &Traces::default(), 3);
    let rows = rows(powers.unwrap());
    assert!(rows.iter().all(|row| row.iter().all(|&f| f == row[0])));
    let mean = rows.iter().map(|row| row[0]).sum::<f64>() / 2_000.0;
    assert!((mean - 0.7).abs() < 0.02, "{mean}");
}

#[test]
fn loads_that_come_and_go_hold_as_long_as_they_say() {
    let machines = steps(Load::OnOff.powers(1, 50, &Traces::default(), 3).unwrap());
    let worked: f64 = machines
        .iter()
        .map(|machine| machine.worked(0.0, DRAWN_UNTIL) / DRAWN_UNTIL)
        .sum();
    assert!((worked / 50.0 - 0.75).abs() < 0.02, "{worked}");
    let mut changes = 0;
    for machine in &machines {
        let at = |step: u32| machine.factor(f64::from(step) * 10.0);
        changes += (1..40_000).filter(|&step| at(step) != at(step - 1)).count();
    }
    // 400,000 / 3,000 changes a machine.
    assert!((6_000..7_300).contains(&changes), "{changes}");
}

#[test]
fn a_tenth_of_the_jobs_on_shared_machines_gets_all_of_the_power() {
    let powers = Load::TimeShared.powers(1, 20, &Traces::default(), 3);
    let (mut unhindered, mut sum) = (0, 0.0);
    for machine in steps(powers.unwrap()) {
        for job in 0..1_300 {
            let factor = machine.factor((f64::from(job) + 0.5) * JOB);
            assert!((SHARE_LEAST..=1.0).contains(&factor));
            unhindered += u32::from(factor == 1.0);
            sum += factor;
        }
    }
    assert!((2_300..2_900).contains(&unhindered), "{unhindered}");
    let mean = sum / 26_000.0;
    assert!((0.4..0.8).contains(&mean), "{mean}");
}

#[test]
fn measured_loads_are_those_of_one_machine_each_and_go_round() {
    let text = "vm,s0,s1,s2\na,10,20,30\nb,90,100,80\n";
    let traces = Traces::parse(text).unwrap();
    let machines = steps(Load::Planetlab.powers(1, 40, &traces, 3).unwrap());
    let mut seen = std::collections::BTreeSet::new();
    for machine in machines {
        let factors: Vec<i32> = (0..4)
            .map(|step| (100.0 * machine.factor(300.0 * f64::from(step))).round() as i32)
            .collect();
        assert_eq!(factors[0], factors[3]);
        seen.insert(factors);
    }
    let cycles = [
        [90, 80, 70],
        [80, 70, 90],
        [70, 90, 80],
        [10, 1, 20],
        [1, 20, 10],
        [20, 10, 1],
    ];
    let all = cycles.map(|c| vec![c[0], c[1], c[2], c[0]]);
    assert_eq!(seen, all.into_iter().collect());
    let free = Load::Planetlab.powers(1, 2, &Traces::default(), 3).unwrap();
    assert_eq!(free, Powers::nominal(2));
}

#[test]
fn a_third_of_the_time_is_stalled() {
    let machines = steps(Load::Stalling.powers(1, 50, &Traces::default(), 3).unwrap());
    let worked: f64 = machines
        .iter()
        .map(|machine| machine.worked(0.0, DRAWN_UNTIL) / DRAWN_UNTIL)
        .sum();
    let mean = (2.0 + STALLED) / 3.0;
    assert!((worked / 50.0 - mean).abs() < 0.03, "{worked}");
    for machine in &machines {
        let factors = (0..4_000).map(|step| machine.factor(f64::from(step) * 100.0));
        assert!(factors.into_iter().all(|f| f == 1.0 || f == STALLED));
    }
}

#[test]
fn slow_machines_are_slow_whether_others_use_them_or_not() {
    let speeds = Load::Mixed.speeds(5_000, 3);
    let slow = speeds.iter().filter(|&&speed| speed < 1.0).count();
    assert!((900..1_100).contains(&slow), "{slow}");
    let machines = steps(Load::Mixed.powers(1, 5_000, &Traces::default(), 3).unwrap());
    for (machine, speed) in machines.iter().zip(&speeds) {
        let share = machine.factor(0.0) / speed;
        assert!((share - 1.0).abs() < 1e-9 || (share - BUSY).abs() < 1e-9);
    }
    let links = Load::SlowLinks.links(5_000, 3);
    assert!(links.iter().all(|links| (0.05..=1.0).contains(links)));
    assert!(Load::Lasting.links(5, 3).is_empty());
    assert_eq!(Load::Lasting.speeds(2, 3), [1.0; 2]);
}
