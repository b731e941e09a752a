//! A machine whose activity manager is gone, under leases that are as short as they may be: its executor
//! has stopped the commands there by the end of the lease, and only then they start elsewhere.

use super::freeze::{runs, staying};
use super::until_it_is;
use super::world::World;
use crate::wait;

/// Activities of which each stays until its own gate is opened: as many as there are slots.
const STAYING: [&str; 4] = ["a", "b", "c", "d"];
/// Seconds from the last question that was answered until commands are dead...
const LEASE: f64 = 5.0;
/// ...and what the process manager allows for a kill that takes effect late.
const MARGIN: f64 = 0.5;

#[test]
fn commands_are_dead_at_the_end_of_a_short_lease_and_then_start_elsewhere() {
    let mut world = World::with_leases(2, "5s");
    let ana = world.user("ana");
    let file = staying(&world.sandbox, &STAYING);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    let first = wait::until("four commands to run", || {
        let runs = runs(&world.sandbox);
        (runs.len() == STAYING.len()).then_some(runs)
    });
    let home = world.home_of(0).to_str().unwrap().to_owned();
    let (lost, others): (Vec<&str>, Vec<&str>) = STAYING
        .into_iter()
        .partition(|name| first[*name][0].place.starts_with(&home));
    assert_eq!((lost.len(), others.len()), (2, 2), "{first:?}");

    world.end_activity_manager(0);
    let gone = shell::clock::wall().0 as f64 / 1e6;
    for name in others {
        world.sandbox.file(&format!("lives/gate-{name}"), "");
    }
    wait::until("what was lost to start elsewhere", || {
        let runs = runs(&world.sandbox);
        lost.iter().all(|name| runs[*name].len() > 1).then_some(())
    });
    for name in &lost {
        world.sandbox.file(&format!("lives/gate-{name}"), "");
    }
    let ended = until_it_is(&world, &ana, id, "completed");
    let runs = runs(&world.sandbox);
    for (name, of) in &runs {
        if !lost.contains(&name.as_str()) {
            assert_eq!(of.len(), 1, "{name}: {of:?}\n{}", world.logs());
            continue;
        }
        let [there, elsewhere] = &of[..] else {
            panic!("{name}: {of:?}\n{ended:#}");
        };
        let (dead, begun) = (there.last - gone, elsewhere.start - gone);
        println!(
            "{name}: dead {dead:.2} s after its manager was gone, elsewhere after {begun:.2} s"
        );
        assert!(!there.has_ended && elsewhere.has_ended, "{name}: {of:?}");
        assert!(there.last < elsewhere.start, "{name}: {of:?}");
        assert!(dead < LEASE + MARGIN, "{name}: {of:?}");
        assert!(!elsewhere.place.starts_with(&home), "{name}: {of:?}");
    }
    wait::until("the executor to end", || {
        (!world.has_executor(0)).then_some(())
    });
}
