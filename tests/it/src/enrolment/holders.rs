//! Names that pass from one holder to another, and certificates that have ended.

use super::*;

/// A process that waits for a machine, since there is none.
const WAITS: &str = "xavantes: 1\nname: waits\nbody: { activity: only, run: ['true'] }\n";

impl Yard {
    /// Becomes a user in a directory.
    #[track_caller]
    fn join_user(&self, token: &str, dir: &str) -> Done {
        let done = self.xav(&["grid", "join", token, dir]);
        assert_eq!(done.status, Some(0), "{done:?}");
        done
    }

    /// The processes that a user sees.
    #[track_caller]
    fn listed(&self, dir: &str) -> usize {
        let list = self.sandbox.json(&["list", "--grid", dir, "--json"]);
        list.as_array().unwrap().len()
    }

    fn issue(&self, arguments: &[&str]) -> (bool, String) {
        let output = Command::new(daemon("xavantes-gm"))
            .args(["issue", "--config", "lab/gm/gm.toml"])
            .args(arguments)
            .current_dir(self.sandbox.path(""))
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    /// Sets the lifetime of certificates from the next start of the group manager.
    fn set_life(&self, life: Option<&str>) {
        let config = self.sandbox.path("lab/gm/gm.toml");
        let text = fs::read_to_string(&config).unwrap();
        let lines = text
            .lines()
            .filter(|line| !line.contains("certificate-life"));
        let mut text: String = lines.map(|line| format!("{line}\n")).collect();
        if let Some(life) = life {
            text.push_str(&format!("certificate-life = \"{life}\"\n"));
        }
        fs::write(&config, text).unwrap();
    }
}

#[test]
fn a_name_is_not_given_again_with_the_processes_of_the_one_before() {
    let yard = Yard::new();
    let (_gm, _pm) = (yard.gm(), yard.pm());
    let user = ["--role", "user", "--name", "ana"];
    yard.join_user(&yard.token(&user), "first");
    let file = yard.sandbox.file("waits.yaml", WAITS);
    let done = yard.xav(&["submit", "--grid", "first", &file]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(yard.listed("first"), 1);
    let revoke = || yard.xav(&["cert", "revoke", "user/ana", "--grid", "lab"]);
    assert_eq!(revoke().status, Some(0));

    let made = yard.xav(&[&["token", "create", "--grid", "lab"], &user[..]].concat());
    assert!(
        made.stderr.contains("ana was another one before"),
        "{made:?}"
    );
    let joined = yard.join_user(made.stdout.trim_end(), "second");
    assert!(joined.stdout.starts_with("You are ana~2"), "{joined:?}");
    assert!(joined.stderr.contains("not yours"), "{joined:?}");
    assert_eq!(yard.listed("second"), 0);
    assert_eq!(yard.listed("lab"), 1);
    assert_eq!(revoke().status, Some(0));

    // The second one again, in another directory, because the administrator says so.
    let done = yard.xav(&[
        "token",
        "create",
        "--role",
        "user",
        "--take-over",
        "--grid",
        "lab",
    ]);
    assert_eq!(done.status, Some(2), "{done:?}");
    yard.join_user(
        &yard.token(&[&user[..], &["--take-over"]].concat()),
        "third",
    );
    let list = yard
        .sandbox
        .json(&["cert", "list", "--grid", "lab", "--json"]);
    let holders = list.as_array().unwrap().iter();
    let holders: Vec<&str> = holders
        .map(|one| one["holder"].as_str().unwrap())
        .filter(|holder| holder.contains("/user/"))
        .collect();
    let (first, second) = ("xav://grid/main/user/ana", "xav://grid/main/user/ana~2");
    assert_eq!(holders, [first, second, second]);
}

#[test]
fn an_administrator_whose_certificate_has_expired_has_another_one_issued() {
    let yard = Yard::new();
    let list = |dir: &str| yard.xav(&["cert", "list", "--grid", dir]);
    let mut gm = yard.gm();
    let name = {
        let all = yard
            .sandbox
            .json(&["cert", "list", "--grid", "lab", "--json"]);
        let holders = all.as_array().unwrap().clone();
        let holders = holders.iter().map(|one| one["holder"].as_str().unwrap());
        let admin = holders
            .map(str::to_owned)
            .find(|one| one.contains("/admin/"));
        admin.unwrap().rsplit('/').next().unwrap().to_owned()
    };
    yard.set_life(Some("1s"));
    let again = ["--role", "admin", "--name", &name, "--dir", "lab/client"];
    let (is_issued, told) = yard.issue(&again);
    assert!(is_issued, "{told}");
    let expired = wait::until("the certificate expires", || {
        let done = list("lab");
        (done.status == Some(1)).then_some(done)
    });
    assert!(
        expired.stderr.contains("not valid at this time"),
        "{expired:?}"
    );
    assert!(
        expired.stderr.contains("your certificate ended"),
        "{expired:?}"
    );
    assert!(expired.stderr.contains("xavantes-gm issue"), "{expired:?}");

    // Beside the group manager that runs, and while there is none.
    yard.set_life(None);
    let (is_issued, told) = yard.issue(&again);
    assert!(is_issued && told.contains("valid for 89 days"), "{told}");
    let done = list("lab");
    assert_eq!((done.status, &*done.stderr), (Some(0), ""));
    gm.stop();
    let (is_issued, told) = yard.issue(&["--role", "admin", "--name", "eve", "--dir", "eve"]);
    assert!(is_issued, "{told}");
    let (is_issued, told) = yard.issue(&["--role", "admin", "--name", "bob", "--dir", "eve"]);
    assert!(
        !is_issued && told.contains("nothing is written over"),
        "{told}"
    );
    let (is_issued, told) = yard.issue(&["--role", "admin", "--name", "eve", "--dir", "other"]);
    assert!(!is_issued && told.contains("there is a member"), "{told}");
    let _gm = yard.gm();
    let shown = list("eve");
    assert!(shown.stdout.contains("/admin/eve"), "{shown:?}");
    // An administrator makes another one, and one is ended by the other.
    let token = yard.token(&["--role", "admin", "--name", "joe"]);
    yard.join_user(&token, "joe");
    let done = yard.xav(&["cert", "revoke", "admin/eve", "--grid", "joe"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    wait::until("eve is not answered", || {
        list("eve").stderr.contains("was revoked").then_some(())
    });
    for (role, name) in [("am", "am7"), ("pm", "pm7"), ("user", "ana")] {
        let (is_issued, told) = yard.issue(&["--role", role, "--name", name, "--dir", name]);
        assert!(is_issued, "{told}");
        assert!(list("joe").stdout.contains(&format!("/{role}/{name}")));
    }
    assert_eq!(yard.xav(&["nodes", "--grid", "ana"]).status, Some(0));
}

#[test]
fn who_has_a_certificate_that_ends_soon_is_warned_beside_the_answer() {
    let yard = Yard::new();
    yard.set_life(Some("60s"));
    let _gm = yard.gm();
    yard.join_user(&yard.token(&["--role", "user", "--name", "ana"]), "ana");
    let done = yard.xav(&["nodes", "--grid", "ana", "--json"]);
    assert_eq!((done.status, done.stdout.trim()), (Some(0), "[]"));
    let lines: Vec<&str> = done.stderr.lines().collect();
    // The user's own, and nobody else's: those of the managers last.
    assert_eq!(lines.len(), 1, "{done:?}");
    assert!(lines[0].contains("your certificate ends in"), "{done:?}");
    assert!(lines[0].contains("xav cert renew --grid ana"), "{done:?}");
}
