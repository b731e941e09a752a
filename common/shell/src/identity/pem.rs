//! The text form of certificates and keys (RFC 7468). rustls reads it.

/// Characters of a line.
const LINE: usize = 64;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A certificate as text.
pub(super) fn certificate(der: &[u8]) -> String {
    pem("CERTIFICATE", der)
}

/// A private key (PKCS#8) as text.
pub(super) fn key(der: &[u8]) -> String {
    pem("PRIVATE KEY", der)
}

fn pem(label: &str, der: &[u8]) -> String {
    let mut letters = String::with_capacity(der.len().div_ceil(3) * 4);
    for three in der.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(three.get(at).copied().unwrap_or(0))
        });
        for place in 0..4 {
            letters.push(if place <= three.len() {
                char::from(ALPHABET[bits >> (18 - 6 * place) & 63])
            } else {
                '='
            });
        }
    }
    let mut text = format!("-----BEGIN {label}-----\n");
    for start in (0..letters.len()).step_by(LINE) {
        text.push_str(&letters[start..letters.len().min(start + LINE)]);
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

#[test]
fn written_certificates_are_read_back() {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    for bytes in 1..200_u8 {
        let der: Vec<u8> = (0..bytes).map(|n| n.wrapping_mul(37)).collect();
        let read = CertificateDer::from_pem_slice(certificate(&der).as_bytes());
        assert_eq!(&*read.unwrap(), &der[..]);
    }
}
