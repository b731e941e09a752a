//! Labels that an administrator gives a machine.

use std::fs;

use super::until_it_is;
use super::world::World;
use crate::wait;

const ON_GPU: &str = "\
xavantes: 1
name: on-gpu
body:
  parallel:
    - { activity: train, run: ['true'], labels: { gpu: a100, site: lab } }
    - { activity: infer, run: ['true'], labels: { gpu: a100 } }
    - { activity: sort, run: ['true'], labels: { os: linux } }
";

#[test]
fn an_activity_runs_where_an_administrator_has_given_its_labels_and_nowhere_else() {
    let mut world = World::new(1, 2);
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let file = world.sandbox.file("on-gpu.yaml", ON_GPU);
    let submit = |world: &World| {
        let submitted = world.sandbox.xav(&["submit", &file, "--grid", &ana]);
        submitted.expect(0).stdout.trim_end().to_owned()
    };
    let status = until_it_is(&world, &ana, &submit(&world), "faulted");
    let (fault, told) = (
        &status["faults"][0],
        "needs the label gpu: a100; no machine has it",
    );
    assert_eq!(fault["fault"], "no-resource", "{status:#}");
    let message = fault["message"].as_str().unwrap();
    assert!(message.contains(told), "{message}");
    // Meanwhile a machine that has it might have registered, as after a restart.
    let waited = status["makespan_seconds"].as_f64().unwrap();
    assert!(waited >= 10.0, "{waited}");
    let id = status["process"].as_str().unwrap();
    let why = world.sandbox.xav(&["why", id, "--grid", &ana]);
    why.expect(0).shows(told);

    let config = world.home_of(1).join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let labels = "labels = { gpu = \"a100\", site = \"lab\" }\n";
    world.stop_activity_manager(1);
    fs::write(&config, format!("{text}{labels}")).unwrap();
    world.start_activity_manager(1);
    // The process manager may hear of the labels a little later than it is asked.
    let status = wait::until("a machine with the label is known", || {
        let id = submit(&world);
        let status = wait::until("its end", || {
            let status = world
                .sandbox
                .json(&["status", &id, "--grid", &ana, "--json"]);
            status["ended"].is_string().then_some(status)
        });
        (status["state"] == "completed").then_some(status)
    });
    for activity in status["activity_list"].as_array().unwrap() {
        let machine = &activity["attempts"][0]["resource"];
        if activity["activity"] != "sort" {
            assert_eq!(machine, "am2", "{activity:#}");
        }
    }

    let sandbox = &world.sandbox;
    let nodes = sandbox.json(&["nodes", "--grid", &eve, "--json"]);
    assert_eq!(nodes[0]["labels"].get("gpu"), None, "{nodes:#}");
    assert_eq!(nodes[1]["labels"]["gpu"], "a100");
    assert_eq!(nodes[1]["labels"]["os"], "linux");
    sandbox
        .xav(&["nodes", "--grid", &eve])
        .expect(0)
        // Between the two may be what the machine has found of itself, such as podman.
        .shows("gpu=a100,")
        .shows("site=lab");
    sandbox
        .xav(&["nodes", "am2", "--grid", &eve])
        .expect(0)
        .shows("gpu: a100\n")
        .shows("site: lab\n");
}

#[test]
fn labels_that_cannot_be_told_are_refused_when_the_configuration_is_checked() {
    let world = World::new(1, 1);
    let sandbox = &world.sandbox;
    let text = fs::read_to_string(world.home_of(0).join("config.toml")).unwrap();
    let refused = |labels: &str, why: &str| {
        let path = world.home_of(0).join("am.toml");
        fs::write(&path, format!("{text}labels = {labels}\n")).unwrap();
        let path = path.to_str().unwrap();
        sandbox.xav(&["config", "check", path]).expect(2).says(why);
    };
    refused("[\"gpu\"]", "labels must be a table of texts");
    refused("{ gpus = 2 }", "labels must be a table of texts");
    refused("{ os = \"plan9\" }", "the label os cannot be given");
    refused("{ \"a b\" = \"x\" }", "is not the name of a label");
    refused("{ gpu = \"\" }", "the label gpu must be a text");
}
