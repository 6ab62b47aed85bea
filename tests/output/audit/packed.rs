//! A CA key in a worker's document, encoded and formatted in every usual way.

use std::io::Write as _;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};

use super::{
    rendered::Rendered,
    tampered::{Beside, der, gzip, hex},
};

/// In lines of sixty, with text before and after each.
fn lines(text: &str, before: &str, behind: &str) -> String {
    let lines = text
        .as_bytes()
        .chunks(60)
        .map(|line| std::str::from_utf8(line).unwrap());
    lines.map(|line| format!("{before}{line}{behind}\n")).collect()
}

fn each(bytes: &[u8], sign: impl Fn(&u8) -> String) -> String {
    bytes.iter().map(sign).collect()
}

fn nested(text: &str, times: usize) -> String {
    (0..times).fold(text.to_owned(), |inner, _| STANDARD.encode(inner))
}

fn base32(bytes: &[u8]) -> String {
    let bits = each(bytes, |byte| format!("{byte:08b}"));
    let letter = |bits: &[u8]| {
        let bits = std::str::from_utf8(bits).unwrap();
        let value = usize::from_str_radix(&format!("{bits:0<5}"), 2).unwrap();
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[value])
    };
    bits.as_bytes().chunks(5).map(letter).collect()
}

/// With a window of `1 << bits`; 15 bits are the default.
fn zlib(bytes: &[u8], bits: u8) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    let mut stream = encoder.finish().unwrap();
    stream[0] = (bits - 8) << 4 | 8;
    stream[1] = (0..31)
        .find(|flags| (u16::from(stream[0]) * 256 + flags) % 31 == 0)
        .unwrap()
        .try_into()
        .unwrap();
    stream
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let of = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    text.encode_utf16().flat_map(of).collect()
}

/// The encoded key, by the name of its encoding.
pub fn packings(pem: &str) -> Vec<(&'static str, Vec<u8>)> {
    let packed = gzip(pem.as_bytes());
    let base64 = STANDARD.encode(&packed);
    let of_urls = URL_SAFE_NO_PAD.encode(&packed);
    let text = |text: String| text.into_bytes();
    let json = format!("[\"{}\"]", lines(&base64, "", "\", \"").replace('\n', ""));
    let escaped = base64.replace('+', "\\u002b").replace('/', "\\u002f");
    vec![
        ("base64 six times", text(nested(pem, 6))),
        ("base64 twenty times", text(nested(pem, 20))),
        ("xxd -p of gzip", text(lines(&hex(&packed), "", ""))),
        ("base64 for URLs in lines", text(lines(&of_urls, "", ""))),
        ("base64 in a JSON array", text(json)),
        ("a quotation", text(lines(&base64, "> ", ""))),
        ("a quotation for URLs", text(lines(&of_urls, "> ", ""))),
        ("a comment", text(lines(&base64, "# ", ""))),
        ("hex in a comment", text(lines(&hex(&packed), "# ", ""))),
        ("a list", text(lines(&base64, "  - '", "',"))),
        (
            "a script",
            text(lines(&base64, "echo '", "' >> /var/lib/something/that/is/long")),
        ),
        (
            "zlib behind something",
            [b"head\0\0", &zlib(pem.as_bytes(), 15)[..]].concat(),
        ),
        ("zlib of a small window", zlib(pem.as_bytes(), 10)),
        (
            "base64 behind gzip",
            [&gzip(b"harmless")[..], b"\n", base64.as_bytes()].concat(),
        ),
        (
            "base64 of gzip and of something behind",
            text(STANDARD.encode([&gzip(b"harmless")[..], pem.as_bytes()].concat())),
        ),
        (
            "the name of a gzip stream",
            flate2::GzBuilder::new()
                .filename(base64.as_str())
                .write(Vec::new(), flate2::Compression::best())
                .finish()
                .unwrap(),
        ),
        ("base32", text(base32(&packed))),
        (
            "small base32 in lines",
            text(lines(&base32(&packed).to_lowercase(), "", "")),
        ),
        ("octal", text(each(&packed, |byte| format!("\\{byte:03o}")))),
        ("\\x", text(each(&packed, |byte| format!("\\x{byte:02x}")))),
        ("\\x in JSON", text(each(&packed, |byte| format!("\\\\x{byte:02x}")))),
        ("0x in lines", text(each(&packed, |byte| format!("  0x{byte:02X},\n")))),
        ("hex with blanks", text(each(&packed, |byte| format!("{byte:02x} ")))),
        ("a list of numbers", text(format!("{packed:?}"))),
        ("UTF-16", utf16(&base64, false)),
        ("UTF-16, the other way round", utf16(&base64, true)),
        (
            "\\u in JSON",
            text(serde_json::to_string(&base64).unwrap().replace(&base64, &escaped)),
        ),
        (
            "\\u alone",
            text(each(base64.as_bytes(), |byte| format!("\\u{byte:04x}"))),
        ),
    ]
}

/// Each as it is, and as firelay encodes a file.
#[test]
fn a_ca_key_is_found_however_it_is_packed() {
    let tree = Rendered::of("mixed");
    let bundle = tree.bundle();
    let message = "w1 is no control plane and holds what is for control planes alone: CA kubernetes".to_owned();
    let expected = [("FL1081", message)];
    for with_bundle in [true, false] {
        let searching = Beside::new(&tree, with_bundle);
        let mut missed = Vec::new();
        for (name, bytes) in packings(bundle.kubernetes.key.expose()) {
            let laid = format!(
                "write_files: [{{path: /a, encoding: b64, content: {}}}]",
                STANDARD.encode(&bytes)
            );
            for bytes in [bytes.as_slice(), laid.as_bytes()] {
                let found = searching.findings(bytes);
                missed.extend(Some((name, found.clone())).filter(|_| found != expected));
            }
        }
        assert!(missed.is_empty(), "{with_bundle}: {missed:#?}");
    }
}

/// The search reports where it stops.
#[test]
fn what_is_packed_too_deep_is_told() {
    let searching = Beside::new(&Rendered::of("mixed"), true);
    let deep = |times| searching.findings(nested("a text that nobody needs to see", times).as_bytes());
    assert_eq!(deep(20), []);
    let message = "this file is packed deeper than was searched".to_owned();
    assert_eq!(deep(34), [("FL1087", message)]);
}

/// Twice the input takes about twice the time, for every encoding: nothing is decoded repeatedly.
#[test]
fn what_is_unpacked_grows_with_the_file() {
    let searching = Beside::new(&Rendered::of("mixed"), true);
    let key = der(firelay::secrets::PrivateKey::p256(&[7; 32]).unwrap().to_pem().expose());
    let noise: Vec<u8> = key
        .iter()
        .cycle()
        .zip(0_u32..)
        .take(1 << 16)
        .map(|(byte, at)| byte ^ (at.wrapping_mul(at) >> 7).to_le_bytes()[0])
        .collect();
    for bytes in [
        b"\x78\x9c\x01\0\0\xff\xff".repeat(1 << 13),
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03".repeat(1 << 13),
        b"\\u002b\\x2b\\053".repeat(1 << 12),
        b"0x30, 30, 48, ".repeat(1 << 12),
        STANDARD.encode(&noise).into_bytes(),
        lines(&nested(&STANDARD.encode(&noise), 3), "> ", "").into_bytes(),
        noise,
    ] {
        let begun = std::time::Instant::now();
        searching.findings(&bytes);
        let most = std::time::Duration::from_secs(30);
        assert!(begun.elapsed() < most, "{:?}: {:?}", begun.elapsed(), &bytes[..20]);
    }
}
