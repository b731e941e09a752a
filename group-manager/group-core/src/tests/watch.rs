//! Machines that fall silent.

use model::Span;

use super::bench::{Bench, alive, attach, claim, down, register, show};
use crate::Standing;
use crate::record::MachineNumber;

const A: MachineNumber = MachineNumber(0);

/// Machines `a` and `b` of two slots, watched.
fn watching() -> Bench {
    let mut bench = Bench::watching(Some(Span::from_secs(10)));
    bench.all([register(1, "a", 2), register(2, "b", 2), attach(1)]);
    bench.wait(60);
    bench
}

fn standing(bench: &Bench) -> Option<Standing> {
    bench.drive.machine().standing(A, bench.now.mono)
}

#[test]
fn a_silent_machine_is_not_offered_until_it_is_heard() {
    let mut bench = watching();
    bench.wait(2_000);
    bench.feed(alive(2));
    assert_eq!(standing(&bench), Some(Standing::Reached));
    assert_eq!(show(&bench.wait(1_000)), "pm0: offer e1 r1=b:2/2\n");
    assert_eq!(standing(&bench), Some(Standing::Silent));
    // Nothing of it is granted.
    assert_eq!(
        show(&bench.feed(claim(1, 1, &[(0, 1), (1, 1)]))),
        "am2: grants p1:1\npm0: granted p1 #1 r1:1\n"
    );
    bench.feed(alive(1));
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:2/2 r1=b:1/2\n");
    assert_eq!(standing(&bench), Some(Standing::Reached));
}

#[test]
fn a_machine_that_stays_away_is_lost() {
    let mut bench = watching();
    bench.feed(down(1));
    assert_eq!(standing(&bench), Some(Standing::Disconnected));
    bench.wait(10_700);
    assert_eq!(standing(&bench), Some(Standing::Lost));
    bench.feed(register(3, "a", 2));
    assert_eq!(standing(&bench), Some(Standing::Reached));
}

#[test]
fn nobody_is_watched_where_all_is_one_program() {
    let mut bench = Bench::ready();
    bench.wait(60);
    bench.wait(60_000);
    assert_eq!(standing(&bench), Some(Standing::Reached));
}
