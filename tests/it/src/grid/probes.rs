//! Links are measured where files are to cross them and nothing is known of them.

use model::Role;

use super::until_it_is;
use super::world::World;
use crate::wait;

/// The probes that the first machine has answered.
fn n_answered(world: &World) -> u64 {
    let text = world.metrics_of(Role::Am);
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("xavantes_probes_total "));
    line.expect("it is counted").trim().parse().unwrap()
}

#[test]
fn machines_measure_their_links_where_a_process_passes_files() {
    let world = World::with_metrics(2);
    let grid = world.user("ada");
    let run = |name: &str, inputs: &str| {
        let text = format!(
            "\
xavantes: 1
name: {name}
body:
  sequence:
    - activity: first
      run: {{ shell: \"echo one > out\" }}
      outputs: {{ out: out }}
    - activity: second
      run: {{ shell: \"sleep 0.1\" }}{inputs}
"
        );
        let file = world.sandbox.file(&format!("{name}.yaml"), &text);
        let submit = ["submit", &file, "--grid", &grid];
        let done = world.sandbox.xav(&submit).expect(0);
        let id = done.stdout.trim_end().to_owned();
        until_it_is(&world, &grid, &id, "completed");
    };
    // No file goes from one activity to another.
    run("apart", "");
    assert_eq!(n_answered(&world), 0);
    run("after", "\n      inputs: { out: first.out }");
    wait::until("a link to be measured", || {
        (n_answered(&world) > 0).then_some(())
    });
}
