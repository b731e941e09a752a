//! Activities that run at the same time on one machine, one of which attacks the other: by accounts of
//! slots they are kept apart, by one account for all they are not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::world::World;

/// `victim` writes a result and says who it is; `attacker` reads that result through the directory of
/// the process and writes another one there; `victim` ends after it.
const DEFINITION: &str = "\
xavantes: 1
name: attacked
inputs: { open: string }
variables: { seen: string, who: string, other: string }
outputs: { seen: '${ seen }', who: '${ who }', other: '${ other }', result: victim.result }
body:
  parallel:
    - activity: victim
      run: { shell: \"umask 077; echo real > result; id -u; echo $$ > ${inputs.open}/pid.new; chmod 644 ${inputs.open}/pid.new; mv ${inputs.open}/pid.new ${inputs.open}/pid; until test -e ${inputs.open}/tried; do sleep 0.01; done\" }
      stdout: { into: who, as: text }
      outputs: { result: result }
    - activity: attacker
      run: { shell: \"id -u >&2; until test -e ${inputs.open}/pid; do sleep 0.01; done; there=/proc/$(cat ${inputs.open}/pid)/cwd; cat $there/result; echo forged > $there/result; echo > ${inputs.open}/tried\" }
      stdout: { into: seen, as: text }
      stderr: { into: other, as: text }
";

/// Runs the attack under an account setting. Returns the outputs, the victim's file and the text of
/// `xav nodes am1`; `None` without root.
fn attacked(setting: &str) -> Option<(Value, String, String)> {
    let world = World::with_accounts(setting)?;
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let open = sandbox.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let input = format!("open={}", open.display());
    let file = sandbox.file("attacked.yaml", DEFINITION);
    let run = ["run", &file, "-i", &input, "--grid", &ana, "--json"];
    let ended = sandbox.json(&run);
    assert_eq!(ended["state"], "completed", "{ended:#}\n{}", world.logs());
    let outputs = ended["outputs"].clone();
    let id = ended["process"].as_str().unwrap();
    let results = sandbox.json(&["results", id, "--grid", &ana, "--json"]);
    let path = results["result"]["path"].as_str();
    let path = path.unwrap_or_else(|| panic!("{results:#}"));
    let result = fs::read_to_string(path).unwrap();
    let nodes = sandbox.xav(&["nodes", "am1", "--grid", &ana]).expect(0);
    Some((outputs, result, nodes.stdout))
}

#[test]
fn an_activity_neither_reads_nor_forges_what_one_in_another_slot_makes() {
    // Users of this run alone.
    let first = 2_000_000_000 + 4 * std::process::id();
    let range = format!("accounts = \"{first}..{}\"", first + 2);
    let Some((outputs, result, nodes)) = attacked(&range) else {
        return;
    };
    assert_eq!((&outputs["seen"], &*result), (&"".into(), "real\n"));
    let other = outputs["other"].as_str().unwrap();
    assert!(other.contains("Permission denied"), "{other}");
    let user = outputs["who"].as_str().unwrap();
    let other = other.lines().next().unwrap();
    assert_ne!(user, other);
    for user in [user, other] {
        let user: u32 = user.parse().unwrap();
        assert!((first..first + 3).contains(&user), "{user}");
    }
    assert!(
        nodes.contains("accounts of commands: one for each attempt"),
        "{nodes}"
    );
}

#[test]
fn one_account_for_all_keeps_nobody_apart_and_says_so() {
    let Some((outputs, result, nodes)) = attacked("account = \"nobody\"") else {
        return;
    };
    assert_eq!((&outputs["seen"], &*result), (&"real".into(), "forged\n"));
    assert!(nodes.contains("and not from each other"), "{nodes}");
}

/// `make` makes a file; `pass` looks at it, tries to change it, and passes it on; `end` reads it again.
const LINKED: &str = "\
xavantes: 1
name: linked
variables: { about: string, sums: string }
outputs: { about: '${ about }', sums: '${ sums }' }
body:
  parallel:
    - activity: make
      run: { shell: \"head -c 2097152 /dev/urandom > whole; sha256sum < whole > sum; echo small > small\" }
      outputs: { whole: whole, sum: sum, small: small }
    - activity: pass
      run: { shell: \"stat -c '%h %a' in little; (echo more >> in) 2>&1 | grep -o 'Permission denied'; chmod u+w in 2>&1 | grep -o 'not permitted'; echo more >> little; mv in out\" }
      inputs: { in: make.whole, little: make.small }
      stdout: { into: about, as: text }
      outputs: { out: out }
    - activity: end
      run: { shell: \"cat sum; for file in first second; do sha256sum < $file; done; wc -l < little\" }
      inputs: { sum: make.sum, first: make.whole, second: pass.out, little: make.small }
      stdout: { into: sums, as: text }
";

#[test]
fn a_linked_input_is_the_blob_itself_which_no_command_can_change() {
    // Others than those of the test above, which may run at the same time.
    let first = 2_100_000_000 + 4 * std::process::id();
    let accounts = format!("accounts = \"{first}..{}\"\ninputs = \"link\"", first + 2);
    let Some(world) = World::with_accounts(&accounts) else {
        return;
    };
    let ana = world.user("ana");
    let file = world.sandbox.file("linked.yaml", LINKED);
    let run = ["run", &file, "--grid", &ana, "--json"];
    let ended = world.sandbox.json(&run);
    assert_eq!(ended["state"], "completed", "{ended:#}\n{}", world.logs());
    let outputs = &ended["outputs"];
    assert_eq!(
        outputs["about"],
        "2 444\n1 644\nPermission denied\nnot permitted"
    );
    let sums: Vec<&str> = outputs["sums"].as_str().unwrap().lines().collect();
    assert_eq!((sums[0], sums[0]), (sums[1], sums[2]));
    assert_eq!(sums[3], "1");
}
