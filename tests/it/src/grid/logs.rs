//! The own logs of a grid's daemons, as an administrator sees them from anywhere.

use super::world::World;
use crate::wait;

#[test]
fn an_administrator_sees_the_log_of_any_daemon_and_nobody_else_does() {
    let mut world = World::new(2, 1);
    let (eve, ana) = (world.admin("eve"), world.user("ana"));
    let logs = |world: &World, grid: &str, more: &[&str]| {
        let mut arguments = vec!["logs", "--daemon"];
        arguments.extend(more);
        arguments.extend(["--grid", grid]);
        world.sandbox.xav(&arguments)
    };
    let of = |name: &str| logs(&world, &eve, &[name, "-n", "1000"]).expect(0);
    // Each logs its links.
    of("gm").shows("peer=xav://grid/lab/am/am1");
    let pm = of("pm1").shows("peer=xav://grid/lab/am/am1");
    assert!(!pm.stdout.contains("peer=xav://grid/lab/pm/"), "{pm:?}");
    of("am/am1").shows("peer=xav://grid/lab/pm/pm2");
    let short = logs(&world, &eve, &["am1", "--lines", "1"]).expect(0);
    assert_eq!(short.stdout.lines().count(), 1, "{short:?}");
    let own = logs(&world, &eve, &[]).expect(0);
    assert_eq!(own.stdout, logs(&world, &eve, &["gm1"]).expect(0).stdout);

    for name in [&[][..], &["gm"], &["pm1"], &["am1"], &["nobody"]] {
        let refused = logs(&world, &ana, name).expect(1);
        assert_eq!(refused.stdout, "");
        refused.says("this is for administrators only");
    }
    logs(&world, &eve, &["am7"])
        .expect(1)
        .says("there is no daemon \"am7\": there are gm, pm1, pm2, am1");
    let daemons = ["logs", "--daemon", "am1"];
    let here = world.sandbox.xav(&daemons).expect(2);
    here.says("only a grid has daemons");

    // One is followed over an end of it and another start.
    let arguments = ["logs", "--daemon", "am1", "-n", "0", "-f", "--grid", &eve];
    let mut followed = world.sandbox.start(&arguments);
    world.end_process_manager(1);
    followed.until_it_writes("a link is down peer=xav://grid/lab/pm/pm2");
    world.kill_activity_manager(0);
    followed.until_it_writes("a link is up peer=xav://grid/lab/pm/pm1");
    drop(followed);

    // A frozen machine keeps its links for a moment, and answers nothing.
    world.freeze_activity_manager(0);
    let silent = wait::until("the machine to be out of reach", || {
        let done = logs(&world, &eve, &["am1"]);
        (done.status == Some(1)).then_some(done)
    });
    silent
        .says("am am1 cannot be reached: the last word of it came ")
        .says(" ago");
    world.thaw_activity_manager(0);
    wait::until("the machine to be there again", || {
        let done = logs(&world, &eve, &["am1"]);
        (done.status == Some(0)).then_some(())
    });
}
