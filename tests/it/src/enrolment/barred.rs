//! A process manager whose certificate is revoked takes no process, and does again with another certificate.

use std::sync::Arc;

use rustix::process::Signal;

use super::*;

/// A process that reads a file.
const READS: &str = "\
xavantes: 1
name: reads
inputs: { text: file }
body: { activity: one, run: [cat, text], inputs: { text: inputs.text } }
";

#[test]
fn a_process_manager_whose_certificate_is_revoked_takes_no_process_until_it_has_another_one() {
    // A daemon keeps to what it inherits, and under `nohup` that is to ignore the signal. A handler is not inherited.
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::default()).unwrap();
    let yard = Yard::new();
    let (_gm, pm) = (yard.gm(), yard.pm());
    let listen = format!("127.0.0.1:{}", two_ports().unwrap());
    let token = yard.token(&["--role", "pm"]);
    let join = [
        "join",
        &token,
        "--dir",
        "lab/pm2",
        "--name",
        "pm2",
        "--listen",
        &listen,
        "--address",
        &listen,
        "--run",
    ];
    let _other = start(&yard.sandbox, "xavantes-pm", &join);
    let token = yard.token(&["--role", "am"]);
    let join = [
        "join", &token, "--dir", "lab/am1", "--name", "am1", "--run", "--slots", "2", "--shared",
    ];
    let _am = start(&yard.sandbox, "xavantes-am", &join);
    let token = yard.token(&["--role", "user", "--name", "ana"]);
    yard.xav(&["grid", "join", &token, "ana"]).expect(0);
    let file = yard.sandbox.file("reads.yaml", READS);
    let text = yard.sandbox.file("text", "words\n");
    let submit = |grid: &str| {
        let text = format!("text={text}");
        yard.xav(&["submit", &file, "-i", &text, "--grid", grid])
    };
    // `lab` knows the first process manager alone.
    submit("lab").expect(0);
    yard.xav(&["drain", "am1", "--grid", "lab"]).expect(0);
    let short = "xavantes: 1\nname: short\nbody: { activity: one, run: ['true'] }\n";
    let short = yard.sandbox.file("short.yaml", short);
    let first = yard.xav(&["submit", &short, "--grid", "lab"]).expect(0);
    let first = first.stdout.trim_end();

    yard.xav(&["cert", "revoke", "pm/pm", "--grid", "lab"])
        .expect(0);
    let refused = wait::until("the process manager to hear of it", || {
        let done = submit("lab");
        (done.status != Some(0)).then_some(done)
    });
    refused
        .expect(2)
        .says("the process manager takes no process: its certificate was revoked")
        .says("as soon as an administrator has issued it another certificate");
    yard.xav(&["undrain", "am1", "--grid", "lab"]).expect(0);
    submit("ana")
        .expect(0)
        .says("pm pm: the process manager takes no process: its certificate was revoked")
        .says(": pm2 has taken the process");
    yard.xav(&["why", first, "--grid", "lab"])
        .expect(0)
        .shows("the group manager, which has revoked the certificate of the process manager");

    let issued = Command::new(daemon("xavantes-gm"))
        .args(["issue", "--config", "lab/gm/gm.toml"])
        .args(["--role", "pm", "--name", "pm", "--dir", "lab/pm"])
        .current_dir(yard.sandbox.path(""))
        .output()
        .unwrap();
    assert!(issued.status.success(), "{issued:?}");
    pm.signal(Signal::HUP);
    wait::until("the process manager to take processes again", || {
        (submit("lab").status == Some(0)).then_some(())
    });
    // What it had recorded goes on.
    wait::until("the process to end", || {
        let status = yard
            .sandbox
            .json(&["status", first, "--json", "--grid", "lab"]);
        (status["state"] == "completed").then_some(())
    });
}
