//! A full disk, on a small file system of its own. If none may be mounted, the test reports that
//! and passes.

use std::fs;
use std::path::{Path, PathBuf};

use activity_blobs::{AddError, PlaceError, Placement, Store};
use model::Bytes;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

fn mount_small(path: &Path) -> rustix::io::Result<Mounted> {
    mount("tmpfs", path, "tmpfs", MountFlags::empty(), c"size=1m")?;
    Ok(Mounted(path.to_path_buf()))
}

#[test]
fn a_full_disk_is_named_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let _mounted = match mount_small(&disk) {
        Ok(mounted) => mounted,
        Err(error) => {
            println!("skipped: no file system may be mounted here: {error}");
            return;
        }
    };
    let store = Store::open(&disk.join("store")).unwrap();
    let large = dir.path().join("large");
    fs::write(&large, vec![1; 2 << 20]).unwrap();
    let half = store.add_bytes(&vec![2; 600 << 10]).unwrap();
    store.flush().unwrap();

    let added = store.add_file(&large);
    assert!(matches!(added, Err(AddError::DiskFull { .. })), "{added:?}");
    assert_eq!(fs::read_dir(disk.join("store/tmp")).unwrap().count(), 0);
    let placed = store.place(half, &disk, "copy", Placement::Copy);
    assert!(
        matches!(placed, Err(PlaceError::DiskFull { .. })),
        "{placed:?}"
    );
    assert!(!disk.join("copy").exists());

    assert_eq!((store.n_blobs(), store.size()), (1, half.bytes));
    store.evict(Bytes(0)).unwrap();
    store.add_bytes(&vec![3; 600 << 10]).unwrap();
    store.flush().unwrap();
}
