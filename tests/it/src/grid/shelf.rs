//! Large processes that have ended lie in files beside the journal, and answer as before.

use std::fs;
use std::path::Path;

use model::Role;

use super::world::World;
use crate::wait;

/// As many activities as make a process large.
const MANY: usize = 5_000;

fn n_files(shelf: &Path) -> usize {
    fs::read_dir(shelf).map_or(0, Iterator::count)
}

#[test]
fn a_large_process_that_has_ended_is_read_from_its_file_also_after_a_kill() {
    let mut world = World::new(1, 1);
    let user = world.user("ana");
    let text = format!(
        "\
xavantes: 1
name: wide
body:
  for-each:
    item: n
    in: ${{ range({MANY}) }}
    do:
      activity: one
      run: [\"true\"]
"
    );
    let file = world.sandbox.file("wide.yaml", text);
    let run = ["run", &file, "--json", "--grid", &user];
    let ended = world.sandbox.json(&run);
    let process = ended["process"].as_str().unwrap();
    let shelf = world.state_of(Role::Pm).join("ended");
    let is_there = || (n_files(&shelf) == 1).then_some(());
    wait::until("the process lies on the shelf", is_there);
    let status = ["status", process, "--json", "--grid", &user];
    let told = world.sandbox.json(&status);
    assert_eq!(told["activities"]["completed"], MANY);
    world.kill_process_manager(0);
    wait::until("the process lies on the shelf again", is_there);
    assert_eq!(world.sandbox.json(&status), told);
    world
        .sandbox
        .xav(&["forget", process, "--grid", &user])
        .expect(0);
    wait::until("the file is gone", || (n_files(&shelf) == 0).then_some(()));
}
