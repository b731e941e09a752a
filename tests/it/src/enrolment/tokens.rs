//! Tokens that wait to be used: an administrator sees them and cancels one.

use serde_json::Value;

use super::Yard;

fn list(yard: &Yard) -> Vec<Value> {
    let listed = yard.xav(&["token", "list", "--grid", "lab", "--json"]);
    let listed: Value = serde_json::from_str(&listed.expect(0).stdout).unwrap();
    listed.as_array().unwrap().clone()
}

#[test]
fn open_tokens_are_listed_and_a_cancelled_one_admits_nobody_also_after_a_kill() {
    let yard = Yard::new();
    let mut gm = yard.gm();
    let none = yard.xav(&["token", "list", "--grid", "lab"]).expect(0);
    assert_eq!(none.stdout, "");
    let machine = yard.token(&["--role", "am"]);
    let user = yard.token(&["--role", "user", "--name", "ada", "--ttl", "2h"]);
    let listed = list(&yard);
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[0]["role"], &listed[1]["name"]),
        (&"am".into(), &"ada".into())
    );
    let maker = listed[0]["made_by"].as_str().unwrap();
    assert!(maker.starts_with("xav://grid/main/admin/"), "{maker}");
    // The shown ID is not enough to join.
    let shown = yard
        .xav(&["token", "list", "--grid", "lab"])
        .expect(0)
        .stdout;
    assert!(
        !shown.contains(&machine) && shown.contains("ada"),
        "{shown}"
    );
    let id = listed[0]["id"].as_str().unwrap();
    let cancelled = yard.xav(&["token", "cancel", &id[..12], "--grid", "lab"]);
    cancelled.expect(0).shows("admits nobody any more");
    // The answer was durable.
    gm.kill();
    let _gm = yard.gm();
    let (joined, text) = yard.join_am(&machine, "n1");
    assert!(
        !joined && text.ends_with("the join token was cancelled"),
        "{text}"
    );
    assert_eq!(list(&yard).len(), 1);
    // The token itself names it as well, and is not sent for that.
    yard.xav(&["token", "cancel", &user, "--grid", "lab", "--json"])
        .expect(0);
    assert_eq!(list(&yard), Vec::<Value>::new());
    let again = yard.xav(&["token", "cancel", &user, "--grid", "lab"]);
    again.expect(1).says("there is no open join token");
}

#[test]
fn tokens_are_for_administrators() {
    let yard = Yard::new();
    let _gm = yard.gm();
    let token = yard.token(&["--role", "user", "--name", "ada"]);
    yard.xav(&["grid", "join", &token, "ada"]).expect(0);
    for command in [&["token", "list"][..], &["token", "cancel", "0"]] {
        let refused = yard.xav(&[command, &["--grid", "ada"]].concat());
        refused.expect(1).says("administrators");
    }
}
