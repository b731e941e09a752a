//! The deliberate faults fit the tree as it is. That each of them is caught takes some minutes:
//! `cargo sim --mutants`.

#[test]
fn every_deliberate_fault_still_applies() {
    let result = sim::mutants::all_apply();
    assert!(result.is_ok(), "{}", result.expect_err("it is not"));
}
