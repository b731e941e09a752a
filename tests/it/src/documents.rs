//! Commands that the documents show. Blocks of README.md and of docs are carried out as written, document by
//! document, with real daemons; `tables.rs` has what cannot be. Commands within sentences, which often show a form,
//! are given to the program with `--help` behind them, so that they are read and not carried out.

mod blocks;
mod reader;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::program::root;
use crate::sandbox::Sandbox;
use blocks::Block;
use reader::Reader;

/// Commands of a document: lines of its blocks, and spans in its text that are whole commands.
fn commands(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            let line = line.split(" #").next().unwrap_or(line).trim();
            found.push(line.strip_prefix("$ ").unwrap_or(line).to_owned());
        } else {
            // A span with brackets, choices or dots shows a form.
            let spans = line.split('`').skip(1).step_by(2);
            let is_whole = |span: &&str| !span.contains(['[', '|', '…']) && !span.contains("...");
            found.extend(spans.filter(is_whole).map(str::to_owned));
        }
    }
    found.retain(|command| command.starts_with("xav "));
    found
}

/// The words of a command, as a shell takes them; a command within it stands for a word. None if it has more of a
/// shell's syntax.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.trim();
    while !rest.is_empty() {
        let (word, left) = if let Some(inner) = rest.strip_prefix("$(") {
            ("word", inner.split_once(')')?.1)
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            quoted.split_once('\'')?
        } else {
            rest.split_once(' ').unwrap_or((rest, ""))
        };
        if word.contains(['>', '|', ';', '&', '"', '\\']) {
            return None;
        }
        // Quotes in the middle, as in `--input reads='data/*.fastq'`.
        words.push(word.replace('\'', ""));
        rest = left.trim_start();
    }
    Some(words)
}

#[test]
fn commands_in_documents_are_understood() {
    let mut documents = vec![root().join("README.md"), root().join("SECURITY.md")];
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    documents.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    documents.sort();
    let sandbox = Sandbox::new();
    let mut n_commands = 0;
    let mut wrong = Vec::new();
    for document in documents {
        let name = PathBuf::from(document.file_name().unwrap());
        for command in commands(&fs::read_to_string(&document).unwrap()) {
            let Some(words) = words(&command) else {
                continue;
            };
            let mut arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            arguments.push("--help");
            let done = sandbox.xav(&arguments);
            n_commands += 1;
            let first = done.stderr.lines().next().unwrap_or_default();
            // An option that is named alone, or with a letter for its value, is one that exists.
            let is_form =
                first.contains("a value is required for") || first.contains("invalid value 'N'");
            if done.status != Some(0) && !is_form {
                wrong.push(format!("{}: {command}: {first}", name.display()));
            }
        }
    }
    assert!(n_commands > 50, "{n_commands} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_found_as_a_shell_would_take_them() {
    let text = "Say `xav list` or `xav list [ID]`.\n```\n$ xav run 'a b' --input x='*.c'   # runs\nls\n\
                xav join $(xav token create) --dir d\n```\n`xav why`";
    let found = commands(text);
    assert_eq!(found.len(), 4);
    assert_eq!(
        words(&found[1]).unwrap(),
        ["xav", "run", "a b", "--input", "x=*.c"]
    );
    assert_eq!(
        words(&found[2]).unwrap(),
        ["xav", "join", "word", "--dir", "d"]
    );
    assert_eq!(words("xav list | wc"), None);
    // One that the program does not know is not understood.
    let unknown = Sandbox::new().xav(&["list", "--colour", "--help"]);
    assert_eq!(unknown.status, Some(2));
}

/// The documents whose commands have a test below.
const CARRIED_OUT: [&str; 7] = [
    "README.md",
    "docs/experiments.md",
    "docs/forecasting.md",
    "docs/grid.md",
    "docs/history.md",
    "docs/operate.md",
    "docs/platforms.md",
];

#[test]
fn commands_of_the_readme_do_what_it_says() {
    Reader::new().reads(CARRIED_OUT[0]);
}

#[test]
fn commands_of_the_experiments_do_what_their_page_says() {
    Reader::new().reads(CARRIED_OUT[1]);
}

#[test]
fn commands_of_forecasting_do_what_its_page_says() {
    Reader::new().reads(CARRIED_OUT[2]);
}

#[test]
fn commands_of_a_grid_do_what_its_page_says() {
    Reader::new().reads(CARRIED_OUT[3]);
}

#[test]
fn commands_of_the_history_do_what_its_page_says() {
    Reader::new().reads(CARRIED_OUT[4]);
}

#[test]
fn commands_of_operation_do_what_its_page_says() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, as whom the page is followed");
        return;
    }
    Reader::new().reads(CARRIED_OUT[5]);
}

#[test]
fn commands_of_platforms_do_what_their_page_says() {
    Reader::new().reads(CARRIED_OUT[6]);
}

#[test]
fn each_document_with_commands_has_a_test_and_each_block_a_language() {
    let mut with_commands = BTreeSet::new();
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().display()));
    let docs = docs.filter(|name| name.ends_with(".md"));
    for name in docs.chain(["README.md".to_owned()]) {
        for block in Block::all(&reader::document(&name)) {
            let known = ["bash", "text", "toml", "yaml", "json"].contains(&&*block.language);
            assert!(known, "{name}:{}: {:?}", block.line, block.language);
            if block.is_commands() {
                with_commands.insert(name.clone());
            }
        }
    }
    assert_eq!(with_commands, CARRIED_OUT.map(str::to_owned).into());
    let named = tables::LEFT.iter().map(|left| left.document);
    let named = named.chain(tables::REPLACED.iter().map(|one| one.document));
    let named = named.chain(tables::GIVEN.iter().map(|given| given.document));
    for document in named {
        assert!(CARRIED_OUT.contains(&document), "{document}");
    }
}
