use super::*;
use crate::{Capture, Command, Parse, Produced};

fn bytes(caching: Caching) -> Vec<u8> {
    minicbor::to_vec(caching).unwrap()
}

#[test]
fn each_choice_is_read_as_it_was_written_and_truth_values_stay_what_they_were() {
    for caching in [Caching::Unsaid, Caching::Always, Caching::Never] {
        assert_eq!(Caching::written(caching.choice()), caching);
        let read: Caching = minicbor::decode(&bytes(caching)).unwrap();
        assert_eq!(read, caching);
    }
    assert_eq!(bytes(Caching::Unsaid), minicbor::to_vec(false).unwrap());
    assert_eq!(bytes(Caching::Always), minicbor::to_vec(true).unwrap());
    assert!(minicbor::decode::<Caching>(&minicbor::to_vec(3u8).unwrap()).is_err());
}

#[test]
fn what_makes_something_may_be_recalled_unless_that_is_forbidden() {
    let bare = Activity::new(Command::List(Vec::new()));
    assert!(!bare.may_be_recalled());
    let capture = Capture {
        variable: 0,
        parse: Parse::Text,
    };
    let makes = Activity {
        stdout: Some(capture),
        ..bare.clone()
    };
    assert!(makes.may_be_recalled());
    let output = Produced {
        name: "out".to_owned(),
        path: "out.txt".to_owned(),
    };
    let makes = Activity {
        outputs: vec![output],
        ..bare.clone()
    };
    assert!(makes.may_be_recalled());
    let once = Activity {
        at_most_once: true,
        ..makes.clone()
    };
    assert!(!once.may_be_recalled());
    for (cache, expected) in [(Caching::Always, true), (Caching::Never, false)] {
        for activity in [&bare, &makes, &once] {
            let activity = Activity {
                cache,
                ..activity.clone()
            };
            assert_eq!(activity.may_be_recalled(), expected);
        }
    }
}
