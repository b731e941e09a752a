//! Templates of a user in one piece of a file: those of a definition, or of the few whose names share a
//! hash.

use minicbor::bytes::ByteVec;

use crate::record::Record;
use crate::store::{Key, Store};

/// The piece of a file in which a definition is: FNV-1a of its name.
pub fn group(definition: &str) -> u64 {
    let bytes = definition.bytes();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Writes templates with their names. One that is damaged later takes no other with it.
pub fn encode_section(templates: &[(Key, Record)]) -> Vec<u8> {
    let all: Vec<(&Key, ByteVec)> = templates
        .iter()
        .map(|(key, template)| (key, ByteVec::from(template.encode())))
        .collect();
    minicbor::to_vec(all).expect("a vector takes all bytes")
}

/// Puts the templates of a section into a store. What is damaged is passed over.
pub fn decode_section(bytes: &[u8], store: &mut Store) {
    let Ok(all) = minicbor::decode::<Vec<(Key, ByteVec)>>(bytes) else {
        return;
    };
    for (key, template) in all {
        if let Some(template) = Record::decode(&key, &template) {
            store.put(&key, template);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SizeClass, Template};

    #[test]
    fn a_section_gives_back_its_templates_and_anything_else_none() {
        let key = Key {
            owner: String::new(),
            definition: "mosaic".to_owned(),
            activity: "project".to_owned(),
            class: SizeClass(3),
        };
        let bytes = encode_section(&[(key.clone(), Record::Attempts(Template::default()))]);
        let mut store = Store::default();
        decode_section(&bytes, &mut store);
        assert_eq!(
            store.of_owner("", None),
            [(key, &Record::Attempts(Template::default()))]
        );
        let mut other = Store::default();
        decode_section(&bytes[..bytes.len() - 1], &mut other);
        decode_section(b"anything", &mut other);
        assert!(other.is_empty());
        assert_ne!(group("mosaic"), group("mosaics"));
    }
}
