//! Lines of files of variables, good and bad.

use super::{EnvFileError, parse_env_file};

fn good(text: &str) -> Vec<(String, String)> {
    parse_env_file(text).unwrap()
}

fn bad(text: &str) -> Vec<String> {
    let errors = parse_env_file(text).unwrap_err().into_iter();
    let shown = errors.map(|EnvFileError { line, message }| format!("{line}: {message}"));
    shown.collect()
}

#[test]
fn each_form_of_a_line_gives_its_value() {
    let text = "# settings\n\nA=1\nexport B = no\n".replace(" = ", "=");
    assert_eq!(
        good(&text),
        [("A".into(), "1".into()), ("B".into(), "no".into())]
    );
    let values = [
        ("V=plain text  ", "plain text"),
        ("V=a#b # remark", "a#b"),
        ("V=", ""),
        ("V= # nothing", ""),
        ("V='a # $X \\n' # remark", "a # $X \\n"),
        ("V=\"a\\n\\t\\\"\\\\\\$ # b\"", "a\n\t\"\\$ # b"),
        ("V=a=b", "a=b"),
        ("V=$HOME/x", "$HOME/x"),
        ("\u{feff}V=x\r", "x"),
    ];
    for (line, value) in values {
        assert_eq!(good(line), [("V".into(), value.into())], "{line}");
    }
    // The name of a variable, not the word before one.
    assert_eq!(good("export=1"), [("export".into(), "1".into())]);
    assert_eq!(good("exported=1"), [("exported".into(), "1".into())]);
}

#[test]
fn each_wrong_line_is_told_with_its_number() {
    let text = "A=1\nB\n\nA=2\nC =3\n=4\nD='x\nE=\"x\nF=\"\\q\"\nG='a'b\nH I=1\n";
    assert_eq!(
        bad(text),
        [
            "2: no `=` in it: write NAME=value, or # before a remark",
            "4: A is set in line 1 too",
            "5: a blank before `=`: write NAME=value",
            "6: what stands before `=` is no name of a variable",
            "7: a quote that is not closed in its line; `\\n` within \"...\" is a line end",
            "8: a quote that is not closed in its line; `\\n` within \"...\" is a line end",
            "9: `\\q` within \"...\": write `\\\\q`",
            "10: something behind the closing quote",
            "11: what stands before `=` is no name of a variable",
        ]
    );
    let many = "x\n".repeat(1_000);
    assert_eq!(bad(&many).len(), super::MISTAKES_MAX);
}
