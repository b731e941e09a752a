use model::{AttemptId, SubmitKey};
use wire::client::ActivityPhase;

use super::*;

const ACTIVITIES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn shown(forecasts: Vec<Forecast>) -> (String, String) {
    let steps = ACTIVITIES[..forecasts.len()].iter();
    let steps = steps.map(|name| format!("{{ activity: {name}, run: [x] }}"));
    let steps = steps.collect::<Vec<String>>().join(", ");
    let text = format!("xavantes: 1\nname: x\nbody: {{ sequence: [{steps}] }}\n");
    let compiled = language::compile("x.yaml", text.as_bytes()).unwrap();
    let ids = compiled.definition.activities().iter().copied();
    let foresight = Foresight {
        activities: ids.zip(forecasts).collect(),
        ..Foresight::default()
    };
    let shown = Shown::of(&foresight, &compiled.definition);
    (shown.line(), shown.text(false))
}

fn stands() -> Forecast {
    Forecast::Stands(AttemptId {
        process: SubmitKey(1).process(),
        activity: ActivityId(1),
        number: 1,
    })
}

fn on(activities: &[u32]) -> Forecast {
    Forecast::Depends(activities.iter().copied().map(ActivityId).collect())
}

#[test]
fn the_line_has_the_reasons_and_their_numbers() {
    let inputs = || Forecast::Runs(Recall::Changed(vec![Change::Inputs(vec!["i".into()])]));
    let of = |forecasts| shown(forecasts).0;
    assert_eq!(of(vec![stands(), stands()]), "none of 2 runs; 2 stand");
    assert_eq!(
        of(vec![inputs(), on(&[1]), stands()]),
        "2 of 3 run: 1 changed input, 1 depends on it; 1 stands"
    );
    let failed = Forecast::Runs(Recall::NotCompleted(ActivityPhase::Faulted));
    assert_eq!(
        of(vec![
            inputs(),
            inputs(),
            failed,
            on(&[1]),
            on(&[1, 2]),
            Forecast::Unknown,
            Forecast::Skipped
        ]),
        "5 of 7 run: 2 changed inputs, 1 not completed before, 2 depend on them; 1 not known before; \
         1 skipped; 0 stand"
    );
}

#[test]
fn activities_are_listed_with_their_reasons() {
    let command = Forecast::Runs(Recall::Changed(vec![Change::Command, Change::Environment]));
    let (_, text) = shown(vec![command, on(&[1]), stands()]);
    for line in [
        "  a  changed: the command, the environment or stdin",
        "  b  depends on a",
        "  a  1 runs",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("  c "), "{text}");
}
