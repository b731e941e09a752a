use super::*;

fn known(ids: &[&str]) -> Vec<(ProcessId, String)> {
    ids.iter()
        .map(|id| (id.parse().unwrap(), "primes".to_owned()))
        .collect()
}

#[test]
fn a_process_is_found_by_the_beginning_of_its_name() {
    let known = known(&["0abc000000000", "0abd000000000", "1xyz000000000"]);
    assert_eq!(choose(Some("1"), &known).unwrap(), known[2].0);
    assert_eq!(choose(Some("0ABD"), &known).unwrap(), known[1].0);
    assert_eq!(choose(None, &known).unwrap(), known[0].0);
}

#[test]
fn a_name_that_fits_several_or_none_is_refused_with_what_is_there() {
    let known = known(&["0abc000000000", "0abd000000000"]);
    let several = choose(Some("0ab"), &known).unwrap_err();
    assert_eq!(
        several.to_string(),
        "2 processes begin with 0ab\n  0abc000000000 primes\n  0abd000000000 primes"
    );
    assert_eq!(several.status, status::REFUSED);
    let none = choose(Some("9"), &known).unwrap_err();
    assert_eq!(
        none.to_string(),
        "there is no process 9\n  xav list shows all processes"
    );
    let empty = choose(None, &[]).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "there is no process yet\n  start one: xav run FILE"
    );
}

#[test]
fn a_name_is_that_of_its_newest_process_where_no_id_begins_so() {
    let known: Vec<(ProcessId, String)> = [
        ("1xyz000000000", "align"),
        ("0abc000000000", "a"),
        ("a000000000000", "align"),
    ]
    .map(|(id, name)| (id.parse().unwrap(), name.to_owned()))
    .to_vec();
    assert_eq!(choose(Some("align"), &known).unwrap(), known[0].0);
    // A word that is the beginning of an ID too is refused: nothing is cancelled or forgotten by mistake.
    let doubtful = choose(Some("a"), &known).unwrap_err();
    assert_eq!(
        doubtful.to_string(),
        "a is the beginning of the ID a000000000000, and the name of other processes\n  \
         say more of the ID that you mean; the newest process of the name a is 0abc000000000"
    );
    assert_eq!(choose(Some("a0"), &known).unwrap(), known[2].0);
    let slip = choose(Some("algin"), &known).unwrap_err();
    assert_eq!(
        slip.to_string(),
        "there is no process algin\n  did you mean align? xav list shows all processes"
    );
}
