//! A member of a group that claims to be another machine of it.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, mpsc};

use model::{Identity, ResourceId, Role};
use shell::identity::Credentials;
use shell::quic::{Event, LinkConfig, LinkEpoch, Links};

use super::world::World;
use crate::wait;

/// Number of the intruder's connections.
const INTRUSIONS: usize = 20;

#[test]
fn a_machine_that_says_the_number_of_another_does_not_displace_it() {
    let mut world = World::new(1, 1);
    let log = world.state_of(Role::Pm).join("log");
    let lines = |wanted: &str| {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let of_am = |line: &&str| line.contains("/am/am1") && line.contains(wanted);
        text.lines().filter(of_am).count()
    };
    wait::until("the machine's link", || {
        (lines("a link is up") > 0).then_some(())
    });

    // Another machine of the group, with a certificate of its own and the first one's number.
    let home = world.machine("am2");
    let credentials = Credentials::load(&Path::new(&home).join("identity")).unwrap();
    let pm = Identity::new("grid", "lab", Role::Pm, "pm1").unwrap();
    let resource = ResourceId::new(credentials.fingerprint().group(), 0);
    let config = LinkConfig {
        address: "127.0.0.1:0".parse().unwrap(),
        credentials,
        epoch: LinkEpoch::begin(Path::new(&home)).unwrap(),
        resource: Some(resource),
        accepts: Vec::new(),
        requests: None,
    };
    let links = Links::bind(config, |_| {}).unwrap();
    let (tell, told) = mpsc::sync_channel(INTRUSIONS);
    // A link lasts for as long as it is held.
    let held = Mutex::new(Vec::new());
    let on_event = move |event| match event {
        Event::Up(link) => held.lock().unwrap().push(link),
        Event::Down { error, .. } | Event::Failed { error, .. } => {
            // What comes after the last one that is counted may be lost.
            let _ = tell.try_send(error.to_string());
        }
        Event::TurnedAway { .. } => {}
    };
    let kept = links.keep(world.address_of_process_manager(), &pm, on_event);
    let wanted = "refused by the peer: the number in the greeting is another machine's";
    let n_refused = told
        .iter()
        .filter(|why| why == wanted)
        .take(INTRUSIONS)
        .count();
    assert_eq!(n_refused, INTRUSIONS);
    drop(kept);
    assert_eq!((lines("a link is up"), lines("a link is down")), (1, 0));
    world.stop();
}
