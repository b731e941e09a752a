use model::{Artifact, ArtifactKind, Bytes, Hash};
use proptest::prelude::*;

use super::{Content, Item, Listing, ListingError};

fn file(path: &str, n: u8) -> Item {
    let content = Content::File(Artifact {
        hash: Hash([n; 32]),
        bytes: Bytes(u64::from(n)),
        kind: if n.is_multiple_of(2) {
            ArtifactKind::Program
        } else {
            ArtifactKind::File
        },
    });
    Item {
        path: path.into(),
        content,
    }
}

fn empty(path: &str) -> Item {
    Item {
        path: path.into(),
        content: Content::EmptyDirectory,
    }
}

#[test]
fn the_text_is_sorted_and_escaped() {
    let listing =
        Listing::new(vec![file("z", 1), empty("a/empty"), file("a/l\nf\\n ü", 2)]).unwrap();
    let one = "01".repeat(32);
    let two = "02".repeat(32);
    let text = listing.to_text().unwrap();
    assert_eq!(
        text,
        format!("xavantes listing 1\nd a/empty\np {two} 2 a/l\\nf\\\\n ü\nf {one} 1 z\n")
    );
    assert_eq!(Listing::parse(text.as_bytes()).unwrap(), listing);
    assert_eq!(listing.bytes(), Bytes(3));
    assert_eq!(
        Listing::default().to_text().unwrap(),
        "xavantes listing 1\n"
    );
}

#[test]
fn invalid_trees_are_refused() {
    let refused = |items: Vec<Item>| Listing::new(items).unwrap_err();
    for path in [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        "./a",
        "a/.",
        "a\0b",
        &"a/".repeat(101),
    ] {
        assert_eq!(
            refused(vec![file(path, 1)]),
            ListingError::Path { path: path.into() }
        );
    }
    let path = "a".to_string();
    assert_eq!(
        refused(vec![file("a", 1), file("a", 2)]),
        ListingError::Order { path }
    );
    let path = "a/b/c".to_string();
    assert_eq!(
        refused(vec![file("a", 1), file("a-b", 1), file("a/b/c", 2)]),
        ListingError::Under { path: path.clone() }
    );
    assert_eq!(
        refused(vec![empty("a/b"), file("a/b/c", 2)]),
        ListingError::Under { path }
    );
}

#[test]
fn other_texts_of_the_same_tree_are_refused() {
    let hash = "ab".repeat(32);
    let good = format!("xavantes listing 1\nf {hash} 7 x\n");
    assert!(Listing::parse(good.as_bytes()).is_ok());
    for bad in [
        good.replace(" 7 ", " 07 "),
        good.replace(" 7 ", " +7 "),
        good.replace(" 7 ", "  7 "),
        good.replace(&hash, &hash.to_uppercase()),
        good.replace("listing 1", "listing 2"),
        good.replace("x\n", "x"),
        good.replace("x\n", "x\n\n"),
        good.replace("x\n", "x\\y\n"),
        good.replace("f ", "g "),
        good.replace("x\n", "../x\n"),
        format!("{good}d a\n"),
        String::new(),
    ] {
        assert!(Listing::parse(bad.as_bytes()).is_err(), "{bad:?}");
    }
    assert!(Listing::parse(&[0xff, 0xfe]).is_err());
}

proptest! {
    #[test]
    fn every_tree_has_one_text_and_is_read_back(
        paths in proptest::collection::btree_map("[a-c \\\\\n.ü]{1,3}(/[a-c\n]{1,3}){0,3}", 0_u8..9, 0..12)
    ) {
        let items: Vec<Item> = paths
            .iter()
            .map(|(path, n)| if *n == 0 { empty(path) } else { file(path, *n) })
            .collect();
        if let Ok(listing) = Listing::new(items) {
            let text = listing.to_text().unwrap();
            prop_assert_eq!(Listing::parse(text.as_bytes()).unwrap(), listing);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(xavantes listing 1\n)?[dfp0-9a-f \\\\/.\n]{0,90}") {
        let _ = Listing::parse(text.as_bytes());
    }
}
