//! The page of `xav report` in a real browser, without a screen: its script runs, under its own content security policy.

use std::fs;
use std::process::Command;

use crate::sandbox::Sandbox;

/// The names of browsers that print what a page has become.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const PROCESS: &str = r#"
xavantes: 1
name: shown
inputs: { word: { type: string, default: "<b>hello</b>" } }
variables: { said: string }
outputs: { said: "${ said }" }
body:
  sequence:
    - for-each: { item: n, in: "${ range(60) }", do: { activity: each, run: [echo, "${ n }"] } }
    - { activity: say, run: [echo, "${ inputs.word }", "</script><b>"], stdout: { into: said } }
"#;

/// The document that a page has become when its script has run, and what the browser says of it; none without a
/// browser.
fn opened(sandbox: &Sandbox, page: &str) -> Option<(String, String)> {
    let path = std::env::var_os("PATH")?;
    let mut places =
        std::env::split_paths(&path).flat_map(|place| BROWSERS.map(|name| place.join(name)));
    let browser = places.find(|place| place.is_file())?;
    sandbox.file("opened.html", page);
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000"])
        .arg(format!(
            "--user-data-dir={}",
            sandbox.path("browser").display()
        ))
        .arg(format!("file://{}", sandbox.path("opened.html").display()))
        .env("HOME", sandbox.path(""))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_browser_shows_the_page_and_the_command_of_the_activity_that_is_pressed() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("shown.yaml", PROCESS);
    sandbox.xav(&["run", &file]).expect(0);
    sandbox.xav(&["report", "--out", "page.html"]).expect(0);
    let page = fs::read_to_string(sandbox.path("page.html")).unwrap();
    assert!(page.contains("<h2 id=\"values\">"));
    assert!(page.contains("<dt>Time zone</dt>"));
    // The policy lets scripts with the page's own number run: this one presses an activity.
    let (_, nonce) = page.split_once("<script nonce=\"").unwrap();
    let (nonce, _) = nonce.split_once('"').unwrap();
    let press = format!(
        "<script nonce=\"{nonce}\">[...document.querySelectorAll('#table button')]\
         .find((one) => one.textContent === 'say').click()</script></body>"
    );
    let Some((document, said)) = opened(&sandbox, &page.replace("</body>", &press)) else {
        eprintln!("skipped: needs chromium");
        return;
    };
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("61 activities"), "{document}");
    // What a user has written is text, and never a part of the page.
    assert!(document.contains("&lt;b&gt;hello&lt;/b&gt;"));
    assert!(!document.contains("<b>hello"));
    let (_, details) = document.split_once("id=\"details\"").unwrap();
    let (details, _) = details.split_once("</aside>").unwrap();
    for words in [
        "Command",
        "echo ${ inputs.word } &lt;/script&gt;&lt;b&gt;",
        "stdout into said",
    ] {
        assert!(details.contains(words), "{words}: {details}");
    }
}
