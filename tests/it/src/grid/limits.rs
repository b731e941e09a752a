//! Limits that the administrator of a machine sets for commands: the settings of its `am.toml` hold for what users
//! of the grid send, and a fault says which of them it was.

use super::until_it_is;
use super::world::World;
use crate::wait;

const MACHINE: &str = "command-file-size-max = \"1MiB\"\ncommand-open-files-max = 64\n\
                       command-nice = 7\ncommand-io = \"idle\"\n";

const DEFINITION: &str = r#"xavantes: 1
name: limited
body:
  sequence:
    - activity: one
      run: { shell: "nproc; grep Cpus_allowed_list: /proc/self/status; nice; ulimit -n; ionice -p $$" }
    - activity: two
      run: { shell: "nproc" }
      cores: 2
    - activity: busy
      run: { shell: "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do timeout 0.5 sh -c 'while :; do :; done' & done; wait" }
    - activity: large
      run: { shell: "exec head -c 2000000 /dev/zero > large" }
"#;

#[test]
fn commands_on_a_grid_have_their_own_cpus_and_the_limits_of_their_machine() {
    let n_cpus = std::thread::available_parallelism().unwrap().get();
    let world = World::with_machines(1, MACHINE);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let file = sandbox.file("limited.yaml", DEFINITION);
    let done = sandbox.xav(&["submit", &file, "--grid", &ana]).expect(0);
    let id = done.stdout.trim_end();
    let ended = until_it_is(&world, &ana, id, "faulted");
    let fault = ended["faults"][0]["message"].as_str().unwrap();
    assert!(
        fault.contains("no file above 1.0 MiB (command-file-size-max)"),
        "{fault}"
    );
    let said = |name: &str| {
        let arguments = ["logs", id, name, "--stdout", "--grid", &ana];
        wait::until("what was said", || {
            Some(sandbox.xav(&arguments).expect(0).stdout)
        })
    };
    let one = said("one");
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines[2..], ["7", "64", "idle"], "{one}");
    let all = ended["activity_list"].as_array().unwrap();
    let busy = all.iter().find(|one| one["activity"] == "busy").unwrap();
    // Machines of a grid have two slots here; with fewer CPUs, none is bound.
    if n_cpus < 2 {
        println!("skipped: there is one CPU");
        return;
    }
    assert_eq!((lines[0], said("two").as_str()), ("1", "2\n"), "{one}");
    let cpu = lines[1].rsplit('\t').next().unwrap();
    assert!(cpu.parse::<u32>().is_ok(), "{one}");
    let busy = &busy["attempts"][0];
    let (cpu, wall) = (busy["cpu_seconds"].as_f64(), busy["wall_seconds"].as_f64());
    assert!(cpu.unwrap() < wall.unwrap() * 1.1, "{busy}");
}
