//! Modules of a core import each other in one direction: their graph is printed, and has no circle.
//!
//! Siblings are compared, at each level of the tree of modules: where `a::b` imports `c::d`, `a` imports
//! `c`. An import of a module above or below the own one is no arrow.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{stripped, tokens, without_tests};
use crate::workspace::{TextFile, files};

/// The folders of the cores' sources.
const CORES: &[&str] = &[
    "group-manager/group-core/src/",
    "process-manager/process-core/src/",
    "activity-manager/activity-core/src/",
];

/// Cores that still have circles, and how many of their modules are in one. A number may only go down;
/// a core without a circle leaves the list.
const STILL_IN_CIRCLES: &[(&str, usize)] = &[];

/// A module: the names of the modules down to it from the root, which is empty.
type Module = Vec<String>;

/// For each module of one parent the siblings that it imports.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The arrows between siblings, by their parent. Each module is there, also one that imports nothing.
fn arrows(core: &str, files: &[TextFile]) -> BTreeMap<Module, Arrows> {
    let sources: BTreeMap<Module, String> = files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
        .filter_map(|file| {
            let module = module_of(file.path.strip_prefix(core)?);
            Some((module, without_tests(&stripped(&file.text)).to_owned()))
        })
        .collect();
    let modules: BTreeSet<&Module> = sources.keys().collect();
    let mut reexports = BTreeMap::new();
    if let Some(root) = sources.get(&Module::new()) {
        for path in paths(root, &Module::new()) {
            if let Some(name) = path.last() {
                reexports.entry(name.clone()).or_insert(path);
            }
        }
    }
    let mut arrows: BTreeMap<Module, Arrows> = BTreeMap::new();
    for module in &modules {
        if let Some((name, parent)) = module.split_last() {
            let siblings = arrows.entry(parent.to_vec()).or_default();
            siblings.entry(name.clone()).or_default();
        }
    }
    for (module, code) in sources.iter().filter(|(module, _)| !module.is_empty()) {
        for mut path in paths(code, module) {
            if path.len() == 1
                && !modules.contains(&path)
                && let Some(origin) = reexports.get(&path[0])
            {
                path.clone_from(origin);
            }
            while !path.is_empty() && !modules.contains(&path) {
                path.pop();
            }
            let n_shared = module.iter().zip(&path).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(n_shared), path.get(n_shared)) {
                let siblings = arrows.entry(module[..n_shared].to_vec()).or_default();
                siblings.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    arrows
}

/// The module that a file below `src` is.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let names = path.split('/').filter(|&name| name != "lib");
    names.map(str::to_owned).collect()
}

/// Every path from the crate's root that is named in a module: what stands behind `crate::`, `super::` and
/// `self::`, and in the root behind `use`, with the names in braces spread.
fn paths(code: &str, module: &Module) -> Vec<Module> {
    let tokens: Vec<&str> = tokens(code).into_iter().map(|(_, token)| token).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_in_path = at > 0 && tokens[at - 1] == "::";
        let leads = tokens.get(at + 1) == Some(&"::");
        let base = match tokens[at] {
            "crate" if leads && !is_in_path => Some(Module::new()),
            "self" if leads && !is_in_path => Some(module.clone()),
            "super" if leads && !is_in_path => Some(above(module)),
            "use" if module.is_empty() => Some(Module::new()),
            _ => None,
        };
        at += 1;
        if let Some(base) = base {
            at += usize::from(tokens.get(at) == Some(&"::"));
            at = spread(&tokens, at, base, &mut found);
        }
    }
    found
}

/// Adds the paths that begin at a token, and answers where they end.
fn spread(tokens: &[&str], mut at: usize, mut path: Module, found: &mut Vec<Module>) -> usize {
    while let Some(&token) = tokens.get(at) {
        at += 1;
        match token {
            "{" => {
                while tokens.get(at).is_some_and(|&token| token != "}") {
                    at = spread(tokens, at, path.clone(), found);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            "super" => path = above(&path),
            "self" | "crate" => {}
            name if name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') =>
            {
                path.push(name.to_owned());
            }
            // `*`, or a sign that no path has.
            _ => break,
        }
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    // An import under another name: `as NAME`.
    if tokens.get(at) == Some(&"as") {
        at += 2;
    }
    found.push(path);
    at
}

fn above(module: &Module) -> Module {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// The siblings that are in a circle: each is reached from itself.
fn in_circles(arrows: &Arrows) -> BTreeSet<&str> {
    let reaches_itself = |name: &String| {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<&String> = arrows[name].iter().collect();
        while let Some(next) = waiting.pop() {
            if reached.insert(next) {
                waiting.extend(arrows.get(next).into_iter().flatten());
            }
        }
        reached.contains(name)
    };
    let names = arrows.keys().filter(|name| reaches_itself(name));
    names.map(String::as_str).collect()
}

/// Names of the crate and of its modules in circles, with all levels together.
fn circles(core: &str, files: &[TextFile]) -> Vec<String> {
    let mut found = Vec::new();
    for (parent, siblings) in arrows(core, files) {
        for name in in_circles(&siblings) {
            found.push([parent.as_slice(), &[name.to_owned()]].concat().join("::"));
        }
    }
    found
}

fn crate_name(core: &str) -> &str {
    core.trim_end_matches("/src/")
        .rsplit('/')
        .next()
        .unwrap_or(core)
}

fn complaints(cores: &[&str], known: &[(&str, usize)], files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for core in cores {
        let name = crate_name(core);
        let found = circles(core, files);
        let allowed = known.iter().find(|(core, _)| *core == name);
        let n_allowed = allowed.map_or(0, |(_, n)| *n);
        if found.len() > n_allowed {
            complaints.push(format!(
                "{name}: {} modules import each other in a circle, at most {n_allowed}: {}",
                found.len(),
                found.join(" ")
            ));
        } else if found.len() < n_allowed {
            complaints.push(format!(
                "{name}: {} modules are left in circles; say so in STILL_IN_CIRCLES",
                found.len()
            ));
        }
    }
    complaints
}

/// The graph of a core as text, a module a line.
fn drawn(core: &str, files: &[TextFile]) -> String {
    let mut text = String::new();
    for (parent, siblings) in arrows(core, files) {
        let inside = [&[crate_name(core).to_owned()], parent.as_slice()].concat();
        let circle: Vec<&str> = in_circles(&siblings).into_iter().collect();
        let says = match circle.as_slice() {
            [] => "no circle".to_owned(),
            names => format!("{} in a circle: {}", names.len(), names.join(" ")),
        };
        let n_modules = siblings.len();
        text += &format!("{} has {n_modules} modules, {says}\n", inside.join("::"));
        for (from, to) in &siblings {
            let to: Vec<&str> = to.iter().map(String::as_str).collect();
            text += format!("  {from} -> {}", to.join(" ")).trim_end_matches(" -> ");
            text.push('\n');
        }
    }
    text
}

#[test]
fn modules_of_cores_import_each_other_in_one_direction() {
    for core in CORES {
        println!("{}", drawn(core, files()));
    }
    crate::assert_none(&complaints(CORES, STILL_IN_CIRCLES, files()));
}

#[test]
fn every_way_to_name_a_module_is_an_arrow() {
    let file = |name: &str, text: &str| TextFile::new(&format!("x/core/src/{name}"), text);
    let files = [
        file(
            "lib.rs",
            "mod a;\nmod b;\nmod c;\nmod d;\npub use d::{Deep, low::Low as Lower};",
        ),
        file(
            "a.rs",
            "use crate::{b, c::{self, C}};\n// use crate::d;\nuse super::a::A;",
        ),
        file(
            "b.rs",
            "fn f(x: crate::Deep) {}\n#[cfg(test)]\nmod tests { use crate::a::A; }",
        ),
        file("c.rs", "fn f() { super::d::low::g() }"),
        file("c/tests.rs", "use crate::a::A;"),
        file(
            "d.rs",
            "mod low;\nmod high;\nuse self::low::Low;\nuse wire::a::A;",
        ),
        file("d/low.rs", "use super::Deep;\nuse super::high::*;"),
        file("d/high.rs", ""),
    ];
    let text = drawn("x/core/src/", &files);
    let expected = "\
core has 4 modules, no circle
  a -> b c
  b -> d
  c -> d
  d
core::d has 2 modules, no circle
  high
  low -> high
";
    assert_eq!(text, expected);
}

#[test]
fn a_circle_is_named_and_an_exception_may_only_shrink() {
    let files = [
        TextFile::new("x/core/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;"),
        TextFile::new("x/core/src/a.rs", "use crate::b::B;"),
        TextFile::new("x/core/src/b.rs", "use crate::c::C;"),
        TextFile::new("x/core/src/c.rs", "use crate::a::A;"),
        TextFile::new("x/core/src/d.rs", "use crate::a::A;"),
    ];
    let complaints = |known| complaints(&["x/core/src/"], known, &files);
    let grown = "core: 3 modules import each other in a circle, at most 2: a b c";
    assert_eq!(complaints(&[("core", 2)]), [grown]);
    assert_eq!(complaints(&[("core", 3)]), [""; 0]);
    let shrunk = "core: 3 modules are left in circles; say so in STILL_IN_CIRCLES";
    assert_eq!(complaints(&[("core", 4)]), [shrunk]);
}
