//! The page of `xav report` in a real browser, without a screen: its script runs, under its own content security policy.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::sandbox::Sandbox;
use crate::wait::holds_within;

/// The names of browsers that print what a page has become.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The widths of windows in pixels: of a screen, and of the narrowest window that chromium makes.
const WIDE: u32 = 1280;
const NARROW: u32 = 500;

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

/// Time in which a browser opens a page. It only bounds a test that would fail anyway.
const PATIENCE: Duration = Duration::from_secs(180);

/// The path of a browser; none where there is none, which is said.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places =
        std::env::split_paths(&path).flat_map(|place| BROWSERS.map(|name| place.join(name)));
    let found = places.find(|place| place.is_file());
    if found.is_none() {
        eprintln!("skipped: needs chromium");
    }
    found
}

/// The document that a page has become when its script has run in a window of this width, and what the browser says of
/// it; none without a browser.
fn opened(sandbox: &Sandbox, page: &str, width: u32) -> Option<(String, String)> {
    let browser = browser()?;
    sandbox.file("opened.html", page);
    let output = |name: &str| fs::File::create(sandbox.path(name)).unwrap();
    // Files, since a browser's helpers hold pipes open after its end.
    let (document, said) = (output("document.html"), output("said.txt"));
    let mut started = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        // Its own shared memory is as small as that of a container.
        .args([
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000"])
        .arg(format!("--window-size={width},900"))
        .arg(format!(
            "--user-data-dir={}",
            sandbox.path("browser").display()
        ))
        .arg(format!("file://{}", sandbox.path("opened.html").display()))
        .env("HOME", sandbox.path(""))
        .stdin(Stdio::null())
        .stdout(document)
        .stderr(said)
        .process_group(0)
        .spawn()
        .unwrap();
    let has_ended = holds_within(PATIENCE, || started.try_wait().unwrap().is_some());
    // All of its processes, as far as they have not ended.
    let group = Pid::from_child(&started);
    let _ = kill_process_group(group, Signal::KILL);
    let status = started.wait().unwrap();
    let text = |name: &str| {
        let bytes = fs::read(sandbox.path(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let said = text("said.txt");
    assert!(has_ended && status.success(), "{status}: {said}");
    Some((text("document.html"), said))
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
    let Some((document, said)) = opened(&sandbox, &with_script(&page, press), WIDE) else {
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
    let Some((document, said)) = opened(&sandbox, &with_script(&page, press), WIDE) else {
        return;
    };
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains(">60 of 61 activities<"), "{document}");
}

/// Says that its script has been there, so that silence means that nothing went wrong. Moves the mouse over the chart,
/// and opens and filters all that can be.
const USE: &str = "\
     document.querySelector('#table tbody button').click();\
     document.querySelectorAll('details').forEach((one) => { one.open = true; });\
     document.querySelectorAll('canvas, svg').forEach((one) => { const at = one.getBoundingClientRect();\
       ['pointermove', 'mousemove', 'click'].forEach((name) => one.dispatchEvent(new MouseEvent(name, { bubbles: true,\
         clientX: at.x + at.width / 2, clientY: at.y + at.height / 2 }))); });\
     document.querySelectorAll('th button, th').forEach((one) => one.click());\
     document.body.dataset.width = innerWidth; document.body.dataset.overflow =\
       document.documentElement.scrollWidth - document.documentElement.clientWidth;";

#[test]
fn a_large_page_opens_without_an_error_at_two_widths_and_fits_them() {
    if browser().is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("shown.yaml", PROCESS.replace("range(60)", "range(3000)"));
    sandbox.xav(&["run", &file, "--quiet"]).expect(0);
    let page = sandbox.xav(&["report", "--out", "-"]).expect(0).stdout;
    // What goes wrong in the page is said by the browser.
    let broken = with_script(&page, "document.querySelector('#none').click()");
    let (_, said) = opened(&sandbox, &broken, WIDE).unwrap();
    assert!(
        said.contains("CONSOLE") && said.contains("Uncaught"),
        "{said}"
    );
    for width in [WIDE, NARROW] {
        let (document, said) = opened(&sandbox, &with_script(&page, USE), width).unwrap();
        assert!(!said.contains("CONSOLE"), "{width}: {said}");
        assert!(document.contains("3001 activities") || document.contains("3,001 activities"));
        let is_used = document.contains("data-overflow=\"0\"");
        assert!(
            is_used,
            "{width}: {:?}",
            document
                .split_once("<body")
                .map(|(_, body)| body.get(..200))
        );
    }
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
        let Some((_, said)) = opened(&sandbox, &page, WIDE) else {
            return;
        };
        let (_, found) = said.split_once("\"AXE has looked").expect(&said);
        assert!(found.starts_with('"'), "{process}: {found}");
    }
}
