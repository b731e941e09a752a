//! The deeds that the audit log is told.

use model::{Identity, Role, SubmitKey};

use super::*;
use crate::{Action, Deed};

fn holder(role: Role, name: &str) -> Caller {
    Caller::Holder(Identity::new("grid", "lab", role, name).unwrap())
}

fn asks(bench: &mut Bench, caller: &Caller, request: Request) {
    let input = Input::Request(ClientId(5), caller.clone(), 1, request);
    bench.give(input);
}

/// The changes since the last look: by whom, what, whose, and the refusal.
fn told(bench: &mut Bench) -> Vec<(Caller, Action, Option<String>, Option<String>)> {
    let told = bench.deeds.drain(..).map(|deed| {
        let Deed {
            client,
            by,
            action,
            process: _,
            owner,
            refusal,
        } = deed;
        assert_eq!(client, ClientId(5));
        (by, action, owner, refusal)
    });
    told.collect()
}

#[test]
fn a_change_is_told_with_who_has_asked_whose_it_is_and_what_came_of_it() {
    let mut bench = Bench::new(|_| None);
    let (ana, admin) = (holder(Role::User, "ana"), holder(Role::Admin, "eve"));
    let owner = || Some("xav://grid/lab/user/ana".to_owned());
    let id = KEY.process();
    let submit = || Request::Submit(Box::new(submission(KEY, diamond())));
    asks(&mut bench, &ana, submit());
    // A repeat is no second submission, and a question is no change.
    asks(&mut bench, &ana, submit());
    asks(&mut bench, &ana, Request::Status(id));
    asks(&mut bench, &ana, Request::List);
    assert_eq!(
        told(&mut bench),
        [(ana.clone(), Action::Submit, owner(), None)]
    );
    asks(&mut bench, &ana, Request::Forget(id));
    let refused = told(&mut bench);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].3.as_ref().unwrap().contains("has not ended"));
    // Nobody learns from a refusal whose process it is.
    asks(&mut bench, &holder(Role::User, "ben"), Request::Cancel(id));
    let unknown = Some("it is not known, or of another owner".to_owned());
    assert_eq!(
        told(&mut bench),
        [(holder(Role::User, "ben"), Action::Cancel, None, unknown)]
    );
    asks(&mut bench, &admin, Request::Cancel(id));
    assert_eq!(told(&mut bench), [(admin, Action::Cancel, owner(), None)]);
    asks(&mut bench, &ana, Request::ForgetHistory(None));
    assert_eq!(
        told(&mut bench),
        [(ana.clone(), Action::ForgetHistory, owner(), None)]
    );
    let mut from = submission(SubmitKey(78), diamond());
    from.base = Some(SubmitKey(1).process());
    asks(&mut bench, &ana, Request::Submit(Box::new(from)));
    let refused = told(&mut bench);
    let base = SubmitKey(1).process();
    assert_eq!(refused[0].1, Action::SubmitFrom(base));
    assert!(
        refused[0]
            .3
            .as_ref()
            .unwrap()
            .contains("take outcomes from")
    );
}

#[test]
fn no_value_of_a_submission_is_told() {
    let mut bench = Bench::new(well);
    let mut submit = submission(KEY, diamond());
    submit.inputs = vec![("password".to_owned(), Value::Text("sesame".to_owned()))];
    asks(
        &mut bench,
        &Caller::Local,
        Request::Submit(Box::new(submit)),
    );
    let text = format!("{:?}", bench.deeds);
    assert!(text.contains("have 1 problems"), "{text}");
    assert!(
        !text.contains("sesame") && !text.contains("password"),
        "{text}"
    );
}
