//! The data of the checks: the text files of the repository and cargo's metadata, each read once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// Larger files are data, which no check reads.
const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// One platform, so that the answer is the same on every machine.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// A text file, by its path from the root with `/` between names.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A crate of the workspace, or one that it is built with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its folder from the root; `None` for other people's.
    pub(crate) folder: Option<String>,
    pub(crate) licence: Option<String>,
    pub(crate) imports: BTreeSet<String>,
    pub(crate) dev_imports: BTreeSet<String>,
    /// All that a normal build of it brings along, itself excluded.
    pub(crate) closure: BTreeSet<String>,
}

impl TextFile {
    #[cfg(test)]
    pub(crate) fn new(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// In a file or folder for tests, measurements or examples, or in a crate of the test folder.
    pub(crate) fn is_test(&self) -> bool {
        let mut names = self.path.split('/');
        names.any(|name| matches!(name, "tests" | "tests.rs" | "benches" | "examples"))
    }
}

pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors()
        .nth(2)
        .expect("the crate lies two folders deep")
        .to_path_buf()
}

/// All text files, in the order of their paths.
pub(crate) fn files() -> &'static [TextFile] {
    static FILES: OnceLock<Vec<TextFile>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = root();
        let mut found = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("the repository can be read") {
                let entry = entry.expect("the repository can be read");
                let name = entry.file_name().to_string_lossy().into_owned();
                let kind = entry.file_type().expect("the repository can be read");
                if kind.is_dir() {
                    let hidden = name.starts_with('.') && !matches!(&*name, ".ci" | ".cargo");
                    if !hidden && name != "target" {
                        folders.push(entry.path());
                    }
                } else if kind.is_file()
                    // In a second work tree it is a file that says where the first one is.
                    && name != ".git"
                    && entry
                        .metadata()
                        .is_ok_and(|data| data.len() <= TEXT_BYTES_MAX)
                    && let Ok(text) = fs::read_to_string(entry.path())
                {
                    let path = entry.path();
                    let path = path
                        .strip_prefix(&root)
                        .expect("it was found below the root");
                    found.insert(path.to_string_lossy().into_owned(), text);
                }
            }
        }
        found
            .into_iter()
            .map(|(path, text)| TextFile { path, text })
            .collect()
    })
}

/// The text of one file; empty if it is not there.
pub(crate) fn text_of(path: &str) -> &'static str {
    files()
        .iter()
        .find(|file| file.path == path)
        .map_or("", |file| &file.text)
}

/// All crates that a build of the workspace on Linux needs, the workspace's own included.
pub(crate) fn packages() -> &'static [Package] {
    static PACKAGES: OnceLock<Vec<Package>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let metadata = MetadataCommand::new()
            .manifest_path(root().join("Cargo.toml"))
            .other_options(["--filter-platform".to_owned(), PLATFORM.to_owned()])
            .exec()
            .expect("cargo metadata reads the workspace");
        let mut packages: Vec<Package> = metadata
            .packages
            .iter()
            .map(|package| {
                let ours = package.source.is_none();
                let imports_of = |kinds: &[DependencyKind]| {
                    let all = package.dependencies.iter();
                    let some = all.filter(|dependency| kinds.contains(&dependency.kind));
                    some.map(|dependency| dependency.name.clone()).collect()
                };
                Package {
                    name: package.name.to_string(),
                    version: package.version.to_string(),
                    folder: ours.then(|| folder_of(package.manifest_path.as_std_path())),
                    licence: package.license.clone(),
                    imports: imports_of(&[DependencyKind::Normal, DependencyKind::Build]),
                    dev_imports: imports_of(&[DependencyKind::Development]),
                    closure: if ours {
                        closure(&metadata, &package.id)
                    } else {
                        BTreeSet::new()
                    },
                }
            })
            .collect();
        packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        packages
    })
}

fn folder_of(manifest: &Path) -> String {
    let folder = manifest.parent().expect("a manifest lies in a folder");
    folder
        .strip_prefix(root())
        .unwrap_or(folder)
        .to_string_lossy()
        .into_owned()
}

fn closure(metadata: &Metadata, of: &cargo_metadata::PackageId) -> BTreeSet<String> {
    let resolve = metadata
        .resolve
        .as_ref()
        .expect("metadata was asked for with dependencies");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut seen = BTreeSet::from([of]);
    let mut waiting = vec![of];
    while let Some(id) = waiting.pop() {
        for dependency in &nodes[id].deps {
            let normal = |kind: &cargo_metadata::DepKindInfo| kind.kind == DependencyKind::Normal;
            if dependency.dep_kinds.iter().any(normal) && seen.insert(&dependency.pkg) {
                waiting.push(&dependency.pkg);
            }
        }
    }
    seen.remove(of);
    seen.into_iter()
        .map(|id| metadata[id].name.to_string())
        .collect()
}
