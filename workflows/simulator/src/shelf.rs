//! A shelf for large processes that have ended, which takes small ones too, and is empty when its manager
//! starts.

use process_core::{Shelf, Shelved};

#[derive(Debug)]
pub(crate) struct ShelfInMemory;

struct Bytes(Box<[u8]>);

impl Shelf for ShelfInMemory {
    fn put(&self, bytes: &[u8]) -> Option<Box<dyn Shelved>> {
        Some(Box::new(Bytes(bytes.into())))
    }
}

impl Shelved for Bytes {
    fn read(&self) -> Vec<u8> {
        self.0.to_vec()
    }
}
