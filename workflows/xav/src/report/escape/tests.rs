use super::*;

const BAD: &str = "</script><b a=\"1\" c='2'>&\u{1b}[31m\u{202e}x\0";

#[test]
fn text_in_html_is_only_text() {
    assert_eq!(
        html(BAD),
        "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\\u{1b}[31m\\u{202e}x\\u{0}"
    );
}

#[test]
fn text_in_json_neither_ends_its_script_nor_changes() {
    let value = serde_json::json!({ "name": BAD, "more": "<!--\u{2028}" });
    let written = json(&value);
    assert!(!written.contains(['<', '>', '&', '\u{2028}']), "{written}");
    let read: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(read, value);
}

#[test]
fn lines_and_tabs_stay() {
    assert_eq!(visible("a\tb\nc\rd"), "a\tb\nc\\u{d}d");
    assert_eq!(visible("Größe ✓"), "Größe ✓");
}
