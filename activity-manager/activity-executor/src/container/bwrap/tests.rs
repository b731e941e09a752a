use std::os::unix::fs::symlink;

use super::super::tests::{contained, wanted};
use super::*;

#[test]
fn bubblewrap_mounts_the_image_read_only_and_shares_nothing() {
    let place = tempfile::TempDir::new().unwrap();
    let (image, work) = (place.path().join("image"), place.path().join("work"));
    fs::create_dir_all(image.join("usr")).unwrap();
    fs::create_dir_all(image.join("tmp")).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(work.join("a"), "").unwrap();
    symlink("usr/bin", image.join("bin")).unwrap();
    let container = contained(ContainerKind::Bwrap, image.to_str().unwrap());
    let all = arguments(&wanted(&container, &work, &["x"]), &image).unwrap();
    let all: Vec<&str> = all.iter().map(|word| word.to_str().unwrap()).collect();
    let all = format!("{} ", all.join(" "));
    let (image, work) = (image.display(), work.display());
    for expected in [
        "--unshare-user --unshare-pid --unshare-ipc --unshare-uts ",
        "--unshare-net ",
        "--symlink usr/bin /bin ",
        &format!("--ro-bind {image}/usr /usr "),
        &format!("--bind {work} /job --ro-bind {work}/a /job/a --remount-ro / "),
    ] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert!(!all.contains(&format!("{image}/tmp")), "{all}");
}
