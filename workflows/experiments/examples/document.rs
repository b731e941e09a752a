//! `cargo run --release -p experiments --example document -- RESULTS_DIR DOCUMENT` writes the tables
//! and charts of the experiments of a directory (`xav experiment all --to RESULTS_DIR`) into a
//! document: what stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->` is replaced, and the
//! charts that the document shows go to the folder beside it that is called like it. Studies without
//! results there keep their parts and charts.
#![expect(
    clippy::unwrap_used,
    reason = "a program for those who write the document"
)]

use std::fs;
use std::path::{Path, PathBuf};

use experiments::report;
use experiments::results::Results;
use experiments::study::Study;

/// Charts of the studies of rescheduling that a document shows of each; the others tell the same.
const SHOWN: [&str; 2] = ["-slr.svg", "-worse.svg"];
/// The study of which it shows all.
const SHOWN_WHOLE: [Study; 3] = [Study::Static, Study::Bandwidth, Study::Lasting];

fn main() {
    let arguments: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [from, document] = &arguments[..] else {
        panic!("two arguments: the directory of the results, the document");
    };
    let folder_name = document.file_stem().unwrap().to_str().unwrap().to_owned();
    let folder = document.parent().unwrap().join(&folder_name);
    fs::create_dir_all(&folder).unwrap();
    let mut text = fs::read_to_string(document).unwrap();
    for study in Study::ALL {
        let path = from.join(format!("{}.results", study.name()));
        let Ok(bytes) = fs::read(&path) else { continue };
        let results = Results::whole(&bytes).unwrap_or_else(|| panic!("{}", path.display()));
        let part = part(&results, &folder, &folder_name);
        text = replaced(&text, study.name(), &part);
    }
    fs::write(document, text).unwrap();
}

/// The text of a study, without the charts that the document leaves out.
fn part(results: &Results, folder: &Path, folder_name: &str) -> String {
    let study = results.design().study;
    let mut text = report::markdown(results, &format!("{folder_name}/"));
    for (name, chart) in report::charts(results) {
        let is_shown = SHOWN_WHOLE.contains(&study) || SHOWN.iter().any(|end| name.ends_with(end));
        if is_shown {
            fs::write(folder.join(&name), chart.svg()).unwrap();
        } else {
            let _ = fs::remove_file(folder.join(&name));
            let link = format!("\n![{}]({folder_name}/{name})\n", chart.title);
            text = text.replace(&link, "");
        }
    }
    text
}

fn replaced(text: &str, name: &str, part: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}: begin -->"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = text
        .split_once(&begin)
        .expect("the document has the marks of each study");
    let (_, after) = rest.split_once(&end).expect("each mark has an end");
    format!("{before}{begin}\n\n{part}\n{end}{after}")
}
