//! Bytes that lie on the disk in fewer bytes: events of one process are much alike.
//!
//! Packed bytes: their number before (4, big-endian), and a block of LZ4. Checksums are of packed bytes, so
//! damage is found before anything is unpacked from it, or, where the checksum needs what is inside, refused
//! by the bounds here.

use lz4_flex::block;

/// Bytes below which packing gains less than it costs.
const BYTES_MIN: usize = 256;

/// What is packed takes at most this part of its bytes: the others are read without unpacking.
const GAIN_PARTS: usize = 8;

/// Bytes before the block.
const LENGTH_BYTES: usize = 4;

/// The bytes packed; none where that gains little.
pub(crate) fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() < BYTES_MIN {
        return None;
    }
    let length = u32::try_from(bytes.len()).ok()?;
    let mut packed = vec![0; LENGTH_BYTES + block::get_maximum_output_size(bytes.len())];
    packed[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    let n_bytes = block::compress_into(bytes, &mut packed[LENGTH_BYTES..]).ok()?;
    packed.truncate(LENGTH_BYTES + n_bytes);
    let gains = packed.len() <= bytes.len() - bytes.len() / GAIN_PARTS;
    gains.then_some(packed)
}

/// The bytes as they were before; none if they are no packed ones, or more than `bytes_max`.
pub(crate) fn unpacked(packed: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let (length, block) = packed.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    if length > bytes_max {
        return None;
    }
    let mut bytes = vec![0; length];
    let n_bytes = block::decompress_into(block, &mut bytes).ok()?;
    (n_bytes == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES_MAX: usize = 1 << 20;

    #[test]
    fn few_bytes_and_those_without_repeats_stay_as_they_are() {
        assert_eq!(packed(&[7; BYTES_MIN - 1]), None);
        let drawn: Vec<u8> = (0..64_u32)
            .flat_map(|n| n.wrapping_mul(0x9e37_79b1).to_be_bytes())
            .collect();
        assert_eq!(drawn.len(), BYTES_MIN);
        assert_eq!(packed(&drawn), None);
        assert!(packed(&[7; BYTES_MIN]).is_some_and(|packed| packed.len() < BYTES_MIN / 4));
    }

    #[test]
    fn more_bytes_than_the_bound_are_refused_unseen() {
        let packed = packed(&[7; 1_000]).unwrap();
        assert_eq!(unpacked(&packed, 999), None);
        assert_eq!(unpacked(&packed, 1_000), Some(vec![7; 1_000]));
        let mut claimed = packed.clone();
        claimed[..LENGTH_BYTES].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(unpacked(&claimed, BYTES_MAX), None);
        assert_eq!(unpacked(&packed[..packed.len() - 1], BYTES_MAX), None);
        assert_eq!(unpacked(&[], BYTES_MAX), None);
    }

    proptest! {
        #[test]
        fn packed_bytes_come_back(part in prop::collection::vec(any::<u8>(), 1..200), n in 2..50_usize) {
            let bytes = part.repeat(n);
            if let Some(packed) = packed(&bytes) {
                prop_assert!(packed.len() < bytes.len());
                prop_assert_eq!(unpacked(&packed, BYTES_MAX), Some(bytes));
            }
        }

        #[test]
        fn garbage_is_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpacked(&bytes, BYTES_MAX);
        }
    }
}
