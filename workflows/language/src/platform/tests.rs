use super::import::{ImportError, tables};
use super::*;

const WHOLE: &str = "\
xavantes-platform: 1
inside: { bandwidth: 1Gbit/s, latency: 100us }
between: { bandwidth: 100Mbit/s, latency: 5ms }
groups:
  - name: lyon
    machines:
      - { name: fast, count: 2, slots: 4, power: 2.5, memory: 8GiB, labels: { arch: x86_64 } }
      - { name: slow }
  - name: nancy
    inside: { bandwidth: 10Gbit/s, latency: 50us }
    machines: [{ name: n, slots: 2 }]
links:
  - { groups: [nancy, lyon], bandwidth: 10Mbit/s, latency: 7ms }
";

fn read(text: &str) -> PlatformFile {
    compile("p.yaml", text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Each message with its line, column and hint.
fn wrong(text: &str) -> Vec<String> {
    let errors = compile("p.yaml", text.as_bytes()).unwrap_err();
    let say = |report: crate::Report| {
        let hint = report
            .hint
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!("{}:{} {}{hint}", report.line, report.column, report.message)
    };
    errors.reports().into_iter().map(say).collect()
}

#[test]
fn groups_links_and_machines_are_read() {
    let platform = read(WHOLE).platform().unwrap();
    let shown: Vec<String> = platform
        .resources()
        .iter()
        .map(|one| {
            format!(
                "{} {} of {}: {} x {}, {}",
                one.id, one.name, one.id.group, one.slots, one.power, one.memory.0
            )
        })
        .collect();
    assert_eq!(shown[0], "r0 fast-1 of g0: 4 x 2.5, 8589934592");
    assert_eq!(shown[1], "r1 fast-2 of g0: 4 x 2.5, 8589934592");
    assert_eq!(shown[2], format!("r2 slow of g0: 1 x 1, {}", u64::MAX));
    assert_eq!(shown[3], format!("r3 n of g1: 2 x 1, {}", u64::MAX));
    assert_eq!(platform.resources()[1].labels["arch"], "x86_64");
    let link = |bandwidth, latency| NetworkLink { bandwidth, latency };
    let network = platform.network();
    assert_eq!(
        network.link(GroupId::LOCAL, GroupId::LOCAL),
        link(1.25e8, 1e-4)
    );
    assert_eq!(
        network.link(GroupId::new(1), GroupId::new(1)),
        link(1.25e9, 5e-5)
    );
    assert_eq!(
        network.link(GroupId::new(1), GroupId::LOCAL),
        link(1.25e6, 7e-3)
    );
    assert_eq!(network.between, link(1.25e7, 5e-3));
}

#[test]
fn a_list_of_machines_is_a_platform() {
    for text in [
        "machines: [{name: fast, slots: 2, power: 1.0}, {name: slow, power: 0.5}]",
        r#"{"xavantes-platform": 1, "machines": [{"name": "fast", "slots": 2}, {"name": "slow", "power": 0.5}]}"#,
    ] {
        let file = read(text);
        let machines: Vec<_> = file.machines().collect();
        assert_eq!(machines.len(), 2);
        assert_eq!((machines[0].1.as_str(), machines[0].2.slots), ("fast", 2));
        let slow = &machines[1];
        assert_eq!((slow.1.as_str(), slow.2.power.at_start()), ("slow", 0.5));
        assert_eq!(file.platform().unwrap().network().inside, LINK_DEFAULT);
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    for text in [
        WHOLE,
        "machines: [{name: a, price: 0.125, idle-watts: 90, busy-watts: 240.5}]",
        "machines: [{name: a, memory: 3B, labels: {\"a: b\": \"c \\\" }\"}}]",
        "inside: {bandwidth: 3B/s}\nmachines: [{name: a, count: 3}]",
        "machines: [{name: a, power: [{from: 0s, is: 1.5}, {from: 1us, is: 0}, {from: 10h, is: 2}]}]",
    ] {
        let file = read(text);
        assert_eq!(read(&file.yaml()), file, "{}", file.yaml());
    }
}

#[test]
fn every_mistake_is_named_at_its_place() {
    let power = "1.0 is the reference; a machine of power 2.0 does the same in half the time";
    for (text, messages) in [
        ("", vec!["0:0 the file holds no platform (the least platform is `machines: [{ name: here, slots: 2 }]`)".to_owned()]),
        ("machines: []", vec!["1:11 no machine: there is nothing to run on (the least platform is `machines: [{ name: here, slots: 2 }]`)".to_owned()]),
        ("groups: []", vec!["1:9 a platform without a group (the least platform is `machines: [{ name: here, slots: 2 }]`)".to_owned()]),
        ("machines: [{name: a, power: 0}]", vec![format!("1:29 a power of 0: it is a number above 0 ({power})")]),
        ("machines: [{name: a, power: -1.5}]", vec![format!("1:29 a power of -1.5: it is a number above 0 ({power})")]),
        ("machines: [{name: a, power: .nan}]", vec![format!("1:29 text where a power, a number above 0, is expected ({power})")]),
        ("machines: [{name: a, power: .inf}]", vec![format!("1:29 text where a power, a number above 0, is expected ({power})")]),
        ("machines: [{name: a, price: -1}]", vec!["1:29 a price of -1: it is from 0 to 1000000000 (money for a slot and an hour, in any currency: `price: 0.05`)".to_owned()]),
        ("machines: [{name: a, price: cheap}]", vec!["1:29 text where a price is expected (money for a slot and an hour, in any currency: `price: 0.05`)".to_owned()]),
        ("machines: [{name: a, busy-watts: 5}]", vec!["1:22 `busy-watts` without `idle-watts` (what the whole machine draws: `idle-watts: 90, busy-watts: 240`)".to_owned()]),
        ("machines: [{name: a, idle-watts: 5}]", vec!["1:22 `idle-watts` without `busy-watts` (what the whole machine draws: `idle-watts: 90, busy-watts: 240`)".to_owned()]),
        ("machines: [{name: a, idle-watts: 9, busy-watts: 5}]", vec!["1:49 5 watts while it is busy, 9 while it is idle (what the whole machine draws: `idle-watts: 90, busy-watts: 240`)".to_owned()]),
        ("machines: [{name: a, idle-watts: 1, busy-watts: 2e9}]", vec!["1:49 a number of watts of 2e9: it is from 0 to 1000000000 (what the whole machine draws: `idle-watts: 90, busy-watts: 240`)".to_owned()]),
        ("machines: [{name: a, slots: 0}]", vec!["1:29 `0` where a number of slots from 1 to 65536 is expected".to_owned()]),
        ("machines: [{name: a, slots: two}]", vec!["1:29 `two` where a number of slots from 1 to 65536 is expected".to_owned()]),
        ("machines: [{name: a}, {name: a}]", vec!["1:30 the machine `a` is there twice".to_owned()]),
        ("machines: [{name: a-2}, {name: a, count: 2}]", vec!["1:32 the machine `a-2` is there twice".to_owned()]),
        ("machines: [{name: ../a}]", vec!["1:19 `../a` is not the name of a machine (names have a letter or a digit, then letters, digits, `-`, `_` and `.`, at most 64)".to_owned()]),
        ("machines: [{nam: a}]", vec!["1:12 a machine without `name`".to_owned(), "1:13 unknown key `nam` (did you mean `name`?)".to_owned()]),
        ("machines: [{name: a, count: 200000}]", vec!["1:29 `200000` where a number of machines from 1 to 100000 is expected".to_owned()]),
        ("xavantes-platform: 2\nmachines: [{name: a}]", vec!["1:20 `2` is not a version of platform files (this program reads version 1)".to_owned()]),
        ("machines: [{name: a}]\nlinks: []", vec!["2:1 `links` where there are no groups (`inside` says what lies between the machines)".to_owned()]),
        ("inside: {latency: 1ms}\nmachines: [{name: a}]", vec!["1:9 a link without `bandwidth`".to_owned()]),
        ("inside: {bandwidth: 0Mbit/s}\nmachines: [{name: a}]", vec!["1:21 a bandwidth of `0Mbit/s`: nothing would ever arrive (bandwidths are written with a unit: `10Mbit/s`, `1Gbit/s`, `125MB/s`)".to_owned()]),
        ("inside: {bandwidth: 1Mbit/s, latency: -1ms}\nmachines: [{name: a}]", vec!["1:39 `-1ms` is not a duration (durations are written with a unit: `500ms`, `30s`, `2m`, `1h30m`, `1d`)".to_owned()]),
        ("groups: [{name: g, machines: [{name: a}]}, {name: g, machines: [{name: b}]}]", vec!["1:51 the group `g` is there twice".to_owned()]),
        ("groups: [{name: g, machines: [{name: a}]}]\nlinks: [{groups: [g, h], bandwidth: 1kB/s}, {groups: [g, g], bandwidth: 1kB/s}]", vec![
            "2:22 no group is called `h` (did you mean `g`?)".to_owned(),
            "2:54 a link from a group to itself (what lies inside a group is said in it: `inside: { bandwidth: 1Gbit/s }`)".to_owned()]),
        ("- a", vec!["1:1 a list where a mapping (a platform) is expected".to_owned()]),
        ("machines: {name: a}", vec!["1:11 a mapping where a list of machines is expected".to_owned()]),
        ("machines: [{name: a, name: b}]", vec!["1:22 the key `name` is there twice".to_owned()]),
    ] {
        assert_eq!(wrong(text), messages, "{text}");
    }
}

#[test]
fn a_power_over_time_begins_at_the_start_and_goes_on_in_order() {
    let file = read(
        "machines:\n  - { name: a, power: [{ from: 0s, is: 1.0 }, { from: 20s, is: 0.5 }, { from: 1m, is: 0 }] }\n  - { name: b, count: 2 }\n",
    );
    let platform = file.platform().unwrap();
    let ids: Vec<ResourceId> = platform.resources().iter().map(|one| one.id).collect();
    let expected = model::PowerSteps::new([(0.0, 1.0), (20.0, 0.5), (60.0, 0.0)]);
    assert_eq!(platform.power_steps(ids[0]).cloned(), expected.ok());
    assert_eq!(platform.power_steps(ids[2]), None);
    assert_eq!(platform.resources()[0].power, 1.0);
    // One step that holds for ever is the plain number.
    let one = read("machines: [{name: a, power: [{from: 0s, is: 2}]}]");
    assert_eq!(one, read("machines: [{name: a, power: 2}]"));
}

#[test]
fn every_mistake_in_a_power_over_time_is_named_at_its_place() {
    let list = "powers over time are a list: `[{ from: 0s, is: 1.0 }, { from: 20s, is: 0.5 }]`";
    let still = "a machine may stand still later: `[{ from: 0s, is: 1.0 }, { from: 20s, is: 0 }]`";
    for (power, messages) in [
        ("[]", vec![format!("1:29 no power at any time ({list})")]),
        ("{from: 0s, is: 1}", vec![format!("1:29 a mapping where a power, a number above 0 or a list of steps, is expected ({list})")]),
        ("[1.0, 0.5]", vec![
            "1:30 a number where a mapping (a step of power) is expected".to_owned(),
            "1:35 a number where a mapping (a step of power) is expected".to_owned()]),
        ("[{from: 5s, is: 1}]", vec![format!("1:37 the first power is from 5s: nothing is said of 0s ({list})")]),
        ("[{from: 0s, is: 1}, {from: 9s, is: 1}, {from: 5s, is: 1}]", vec!["1:75 a step from 5s after one from 9.0s (each step begins later than the one before)".to_owned()]),
        ("[{from: 0s, is: 1}, {from: 9s, is: 1}, {from: 9000ms, is: 1}]", vec!["1:75 the step from 9000ms is there twice".to_owned()]),
        ("[{from: 0s, is: 0}]", vec![format!("1:45 a power of 0: it is a number above 0 ({still})")]),
        ("[{from: 0s, is: 1}, {from: 9s, is: -1}]", vec![format!("1:64 a power of -1: it is a number from 0 up ({still})")]),
        ("[{from: 0s, is: 1}, {from: 9s, is: half}]", vec![format!("1:64 text where a power, a number from 0 up, is expected ({still})")]),
        ("[{from: 0, is: 1}]", vec!["1:37 `0` is a duration without a unit (durations are written with a unit: `500ms`, `30s`, `2m`, `1h30m`, `1d`)".to_owned()]),
        ("[{is: 1}, {from: 9s}]", vec!["1:30 a step of power without `from`".to_owned(), "1:39 a step of power without `is`".to_owned()]),
        ("[{from: 0s, is: 1, until: 9s}]", vec!["1:48 unknown key `until` (a step of power has `from`, `is`)".to_owned()]),
        ("[{from: 0s, is: 1}, {from: 4000d, is: 1}]", vec!["1:56 a step of power from 4000d: the last begins within 10 years".to_owned()]),
    ] {
        let text = format!("machines: [{{name: a, power: {power}}}]");
        assert_eq!(wrong(&text), messages, "{text}");
    }
    let many: Vec<String> = (0..1_001)
        .map(|second| format!("{{from: {second}s, is: 1}}"))
        .collect();
    let text = format!("machines: [{{name: a, power: [{}]}}]", many.join(", "));
    assert_eq!(
        wrong(&text),
        ["1:29 1001 steps of power; a machine has at most 1000"]
    );
}

#[test]
fn more_machines_than_are_planned_for_are_refused() {
    let text = "machines: [{name: a, count: 60000}, {name: b, count: 60000}, {name: c}]";
    assert_eq!(wrong(text), ["1:37 more than 100000 machines"]);
}

#[test]
fn samples_are_platforms() {
    let two = include_str!("../../../samples/platforms/two-speeds.yaml");
    assert_eq!(read(two).n_machines(), 2);
    let sites = include_str!("../../../samples/platforms/two-sites.yaml");
    let platform = read(sites).platform().unwrap();
    assert_eq!(platform.resources().len(), 15);
    assert_eq!(
        platform
            .network()
            .link(GroupId::new(1), GroupId::new(2))
            .bandwidth,
        1.25e8
    );
}

const CLUSTERS: &str = "\
site,cluster,nodes,gflops_per_node,node_link_mbit_s,node_link_latency_ms,cluster_backbone_mbit_s,cluster_backbone_latency_ms
lyon,capri,56,10,1000,0.1,10000,0.1
lyon,sagi,79,20,1000,0.1,10000,0.1
orsay,gdx,10,5,1000,0.1,10000,0.1
";
const WAN: &str = "a,b,mbit_s,latency_ms\nparis,lyon,100,2\n";

#[test]
fn clusters_and_cities_become_groups_and_links() {
    let file = tables(CLUSTERS, WAN).unwrap();
    assert_eq!(file.n_machines(), 145);
    let text = file.yaml();
    assert_eq!(
        text,
        "\
xavantes-platform: 1
inside: { bandwidth: 1Gbit/s, latency: 100us }
between: { bandwidth: 100Mbit/s, latency: 2400us }
groups:
  - name: capri
    inside: { bandwidth: 1Gbit/s, latency: 300us }
    machines:
      - { name: capri, count: 56, slots: 1, power: 2, labels: { \"site\": \"lyon\" } }
  - name: sagi
    inside: { bandwidth: 1Gbit/s, latency: 300us }
    machines:
      - { name: sagi, count: 79, slots: 1, power: 4, labels: { \"site\": \"lyon\" } }
  - name: gdx
    inside: { bandwidth: 1Gbit/s, latency: 300us }
    machines:
      - { name: gdx, count: 10, slots: 1, power: 1, labels: { \"site\": \"orsay\" } }
links:
  - { groups: [capri, sagi], bandwidth: 1Gbit/s, latency: 400us }
"
    );
    assert_eq!(read(&text), file);
}

#[test]
fn a_network_of_sites_and_routers_goes_by_the_widest_way() {
    // 0 -10- 1 -10- 2, and 0 -1- 2 directly; 1 is a router.
    let nodes =
        "node,worker_nodes,storage_elements,storage_mb\n0,3,1,5\n1,0,0,0\n2,2,0,0\n3,1,0,0\n";
    let links = "a,b,mbit_s\n0,1,10\n1,2,10\n0,2,1\n";
    let file = tables(nodes, links).unwrap();
    let names: Vec<&str> = file
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(names, ["site-0", "site-2", "site-3"]);
    assert_eq!(file.n_machines(), 6);
    // Nothing leads to 3: the tables do not say what lies between.
    let way = NetworkLink {
        bandwidth: 1.25e6,
        latency: 1e-4,
    };
    assert_eq!(file.links, [((0, 1), way)]);
}

#[test]
fn tables_that_are_none_are_refused() {
    assert_eq!(
        tables("a,b\n", ""),
        Err(ImportError::Kind("a,b".to_owned()))
    );
    let error = tables(CLUSTERS, "a,b\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the table of links has no column `mbit_s`"
    );
    let odd = CLUSTERS.replace(",20,", ",NaN,");
    let error = tables(&odd, WAN).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3 of the table of clusters: `NaN` is not a number above 0"
    );
    assert_eq!(
        tables("node,worker_nodes\n0,0\n", "a,b,mbit_s\n"),
        Err(ImportError::Empty)
    );
}
