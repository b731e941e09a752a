//! Many watchers of one user: all of them are told how the process has ended, and a watcher takes one
//! connection.

use super::submitted;
use super::world::World;
use crate::blocked_process;
use crate::sandbox::Started;

/// More than the connections that a user once had, with some for other requests.
const WATCHERS: usize = 60;

#[test]
fn sixty_watchers_of_one_user_are_told_how_the_process_ends() {
    let world = World::new(1, 1);
    let ana = world.user("ana");
    let id = submitted(&world, &ana);
    let mut watchers: Vec<Started> = (0..WATCHERS)
        .map(|_| world.sandbox.start(&["watch", &id, "--grid", &ana]))
        .collect();
    for watcher in &mut watchers {
        watcher.until_it_says("started");
    }
    // Others are answered meanwhile.
    let list = world.sandbox.json(&["list", "--json", "--grid", &ana]);
    assert_eq!(list[0]["state"], "running");
    blocked_process::open(&world.sandbox);
    for watcher in watchers {
        let watched = watcher.end().expect(0);
        assert!(
            watched.stdout.starts_with("gated completed in "),
            "{watched:?}"
        );
    }
}
