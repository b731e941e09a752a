//! The permitted configurations of a process manager.

use super::name;

#[test]
fn a_keeper_is_named_as_certificates_name_machines() {
    assert_eq!(name("am1").as_deref(), Some("am1"));
    for wrong in ["", "a machine", "lab/am1"] {
        assert_eq!(name(wrong), None, "{wrong:?}");
    }
}
