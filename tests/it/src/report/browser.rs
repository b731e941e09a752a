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

/// The page with a script at its end. Its policy lets those run that carry the page's own number.
fn with_script(page: &str, script: &str) -> String {
    let (_, nonce) = page.split_once("<script nonce=\"").unwrap();
    let (nonce, _) = nonce.split_once('"').unwrap();
    let script = format!("<script nonce=\"{nonce}\">{script}</script></body>");
    page.replace("</body>", &script)
}

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
    let press = "[...document.querySelectorAll('#table button')]\
         .find((one) => one.textContent === 'say').click()";
    let Some((document, said)) = opened(&sandbox, &with_script(&page, press)) else {
        eprintln!("skipped: needs chromium");
        return;
    };
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("61 activities"), "{document}");
    // What a user has written is text, and never a part of the page.
    assert!(document.contains("&lt;b&gt;hello&lt;/b&gt;"));
    assert!(!document.contains("<b>hello"));
    let (_, details) = document.split_once("id=\"details\"").unwrap();
    let (details, _) = details.split_once("id=\"tip\"").unwrap();
    for words in [
        "Command, as written",
        "said = ",
        "echo ${ inputs.word } &lt;/script&gt;&lt;b&gt;",
        "stdout into said",
    ] {
        assert!(details.contains(words), "{words}: {details}");
    }
}

#[test]
fn a_step_of_the_graph_that_is_pressed_shows_its_activities() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("shown.yaml", PROCESS);
    sandbox.xav(&["run", &file, "--slots", "3"]).expect(0);
    let page = sandbox.xav(&["report", "--out", "-"]).expect(0).stdout;
    // All slots count, those included that nothing held.
    assert!(page.contains("of 3 slots on 1 machine"));
    // The items of an activity are one step.
    assert_eq!(page.matches("<g class=\"step\"").count(), 2);
    assert!(page.contains("<title>each: 60 completed</title>"));
    let press = "document.querySelector('g.step').dispatchEvent(new MouseEvent('click'))";
    let Some((document, said)) = opened(&sandbox, &with_script(&page, press)) else {
        eprintln!("skipped: needs chromium");
        return;
    };
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains(">60 of 61 activities<"), "{document}");
}

/// Runs axe-core over the page and says what it finds.
const AXE: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations, passes }) => \
     console.log('AXE', passes.length > 20 ? 'has looked' : 'has not looked', \
     ...violations.flatMap((one) => one.nodes.map((node) => `${one.id} ${node.target}`))))";

#[test]
fn axe_core_finds_nothing() {
    let Some(axe) = std::env::var_os("XAVANTES_AXE") else {
        eprintln!("skipped: needs axe.min.js of axe-core, which XAVANTES_AXE names");
        return;
    };
    let axe = fs::read_to_string(axe)
        .unwrap()
        .replace("</script", "<\\/script");
    let sandbox = Sandbox::new();
    let file = sandbox.file("shown.yaml", PROCESS);
    let faulty = crate::sandbox::root().join("workflows/samples/faulty/faulty.yaml");
    sandbox.xav(&["run", &file]).expect(0);
    sandbox.xav(&["run", faulty.to_str().unwrap()]).expect(1);
    for process in ["shown", "faulty"] {
        let page = sandbox
            .xav(&["report", process, "--out", "-"])
            .expect(0)
            .stdout;
        // Everything is open: the details of an activity, and the steps as a list.
        let open = "document.querySelector('#table tbody button').click();\
             document.querySelectorAll('details').forEach((one) => { one.open = true; });";
        let page = with_script(&with_script(&page, &axe), &format!("{open}{AXE}"));
        let Some((_, said)) = opened(&sandbox, &page) else {
            eprintln!("skipped: needs chromium");
            return;
        };
        let (_, found) = said.split_once("\"AXE has looked").expect(&said);
        assert!(found.starts_with('"'), "{process}: {found}");
    }
}
