use super::*;

#[test]
fn words_are_quoted_where_a_shell_would_split_them() {
    let words = ["awk", "{ print $1 }", "it's", "", "a=b"].map(str::to_owned);
    assert_eq!(command(&words), r"awk '{ print $1 }' 'it'\''s' '' a=b");
}

#[test]
fn what_a_command_wrote_cannot_play_with_the_terminal() {
    assert_eq!(harmless("a\tb\n\x1b[2Jc\u{9b}"), "a\tb\n\\u{1b}[2Jc\\u{9b}");
    assert_eq!(one_line("a\nb", 10), "a\\nb");
    assert_eq!(one_line("abcdef", 3), "abc…");
}

#[test]
fn a_near_name_is_found_and_a_far_one_is_not() {
    let names = ["limit", "count", "table"];
    assert_eq!(nearest("limt", names), Some("limit"));
    assert_eq!(nearest("tabel", names), Some("table"));
    assert_eq!(nearest("corpus", names), None);
    assert_eq!(nearest("x", names), None);
}

#[test]
fn columns_are_aligned_whatever_their_colour() {
    let rows = [
        vec!["NAME".to_owned(), "STATE".to_owned()],
        vec![crate::screen::bold("a"), "completed".to_owned()],
        vec!["longer".to_owned(), String::new()],
    ];
    assert_eq!(
        table(&rows),
        "NAME    STATE\n\u{1b}[1ma\u{1b}[0m       completed\nlonger\n"
    );
}

#[test]
fn values_are_told_as_their_author_wrote_them() {
    let list = Value::List(vec![Value::Int(1), Value::Text("b".to_owned())]);
    assert_eq!(value(&list), "[1,\"b\"]");
    assert_eq!(value(&Value::Text("two words".to_owned())), "two words");
    assert_eq!(value(&Value::Float(2.0)), "2");
    assert_eq!(moment_for_programs(Wall(1_000_000)), "1970-01-01T00:00:01Z");
}
