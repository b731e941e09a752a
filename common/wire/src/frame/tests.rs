use super::*;

fn framed(bodies: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        append(&mut out, |out| out.extend_from_slice(body));
    }
    out
}

#[test]
fn frames_come_back_whole_however_they_are_cut() {
    let bodies: [&[u8]; 4] = [b"first", b"", b"a longer third one", &[7; 300]];
    let bytes = framed(&bodies);
    for piece in [1, 2, 3, 7, 64, bytes.len()] {
        let mut buffer = FrameBuffer::new(300);
        let mut seen: Vec<Vec<u8>> = Vec::new();
        for part in bytes.chunks(piece) {
            buffer.push(part);
            while let Some(body) = buffer.take().unwrap() {
                seen.push(body.to_vec());
            }
        }
        assert_eq!(seen, bodies);
        assert!(!buffer.is_within_frame());
    }
}

#[test]
fn length_is_checked_before_the_body_is_there() {
    let mut buffer = FrameBuffer::new(10);
    buffer.push(&11u32.to_le_bytes());
    assert!(matches!(
        buffer.take(),
        Err(FrameError::TooLong {
            bytes: 11,
            bytes_max: 10
        })
    ));

    let mut body = Vec::new();
    let huge = u32::MAX.to_le_bytes();
    let error = read(&mut huge.as_slice(), 1_000, &mut body).unwrap_err();
    assert!(matches!(
        error,
        FrameError::TooLong {
            bytes: 0xffff_ffff,
            ..
        }
    ));
    assert_eq!(body.capacity(), 0);
}

#[test]
fn reader_tells_an_end_between_frames_from_one_within() {
    let bytes = framed(&[b"one", b"two"]);
    let mut body = Vec::new();
    let mut whole = bytes.as_slice();
    assert!(read(&mut whole, 10, &mut body).unwrap());
    assert_eq!(body, b"one");
    assert!(read(&mut whole, 10, &mut body).unwrap());
    assert!(!read(&mut whole, 10, &mut body).unwrap());

    for cut in [1, 3, 5] {
        assert!(matches!(
            read(&mut &bytes[..cut], 10, &mut body),
            Err(FrameError::CutOff)
        ));
    }
}

#[test]
fn fill_takes_what_one_read_gives() {
    let bytes = framed(&[&[1; 100_000], b"end"]);
    let mut source = bytes.as_slice();
    let mut buffer = FrameBuffer::new(200_000);
    let mut lengths = Vec::new();
    while buffer.fill(&mut source).unwrap() > 0 {
        while let Some(body) = buffer.take().unwrap() {
            lengths.push(body.len());
        }
    }
    assert_eq!(lengths, [100_000, 3]);
}
