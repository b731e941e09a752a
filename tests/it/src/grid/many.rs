//! Many small processes at once.

use super::until_it_is;
use super::world::World;
use crate::sandbox::Started;

/// Processes that are submitted together: more than the machines have slots.
const PROCESSES: usize = 20;

#[test]
fn processes_that_are_submitted_together_all_complete_at_their_first_attempt() {
    let world = World::new(1, 2);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let one = "xavantes: 1\nname: one\nbody:\n  activity: one\n  run: [/bin/true]\n";
    let file = sandbox.file("one.yaml", one);
    let submitted: Vec<Started> = (0..PROCESSES)
        .map(|_| sandbox.start(&["submit", &file, "--grid", &ana]))
        .collect();
    for one in submitted {
        let done = one.end().expect(0);
        let status = until_it_is(&world, &ana, done.stdout.trim_end(), "completed");
        let activity = &status["activity_list"][0];
        assert_eq!(
            activity["attempts"].as_array().unwrap().len(),
            1,
            "{status}"
        );
        assert_eq!(status["generation"], 1, "{status}");
    }
}
