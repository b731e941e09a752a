//! The permitted configurations of a process manager, and what it hears of its own certificate.

use super::*;

#[test]
fn a_keeper_is_named_as_certificates_name_machines() {
    assert_eq!(name("am1").as_deref(), Some("am1"));
    for wrong in ["", "a machine", "lab/am1"] {
        assert_eq!(name(wrong), None, "{wrong:?}");
    }
}

#[test]
fn a_group_manager_alone_says_that_the_certificate_is_revoked_and_one_that_is_away_says_nothing() {
    let peer = Identity::new("grid", "lab", Role::Gm, "gm").unwrap();
    let address = "h:1".to_owned();
    let down = |error| Event::Down {
        peer: peer.clone(),
        error,
    };
    let failed = |error| Event::Failed {
        address: address.clone(),
        error,
    };
    let revoked = LinkError::RefusedByPeer(Refusal::Revoked);
    assert_eq!(tells_barred(&down(revoked.clone())), Some(true));
    assert_eq!(tells_barred(&failed(revoked)), Some(true));
    let others = [
        LinkError::Silent,
        LinkError::Forgotten,
        LinkError::RefusedByPeer(Refusal::Stopping),
        LinkError::RefusedByPeer(Refusal::Full),
        // That is the group manager's certificate.
        LinkError::Refused(Refusal::Revoked),
    ];
    for error in others {
        assert_eq!(tells_barred(&down(error.clone())), None, "{error}");
        assert_eq!(tells_barred(&failed(error.clone())), None, "{error}");
    }
}
