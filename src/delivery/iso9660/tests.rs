#![allow(clippy::unwrap_used)]
use super::*;

fn u32_at(image: &[u8], at: usize) -> usize {
    u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize
}

/// Walks the tree below a root record, and collects paths with their bytes.
fn walk(image: &[u8], record: usize, above: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    let (sector, length) = (u32_at(image, record + 2), u32_at(image, record + 10));
    let (mut at, end) = (sector * SECTOR, sector * SECTOR + length);
    let mut seen = 0;
    while at < end {
        let size = usize::from(image[at]);
        if size == 0 {
            at = (at + 1).next_multiple_of(SECTOR);
            continue;
        }
        assert!(at % SECTOR + size <= SECTOR, "a record goes over the end of its sector");
        let name = &image[at + 33..at + 33 + usize::from(image[at + 32])];
        if seen >= 2 {
            let units: Vec<_> = name
                .chunks(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            let path = format!("{above}{}", String::from_utf16(&units).unwrap());
            if image[at + 25] & 2 == 0 {
                let (start, bytes) = (u32_at(image, at + 2) * SECTOR, u32_at(image, at + 10));
                found.insert(path, image[start..start + bytes].to_vec());
            } else {
                walk(image, at, &format!("{path}/"), found);
            }
        }
        (seen, at) = (seen + 1, at + size);
    }
    assert!(seen >= 2, "a directory names itself and its parent");
}

#[test]
fn a_reader_of_the_joliet_tree_finds_every_file() {
    let large = vec![7; 3 * SECTOR + 1];
    // Enough files for a directory of two sectors.
    let names: Vec<_> = (0..60).map(|number| format!("a/b/file-number-{number:02}")).collect();
    let mut files: BTreeMap<&str, &[u8]> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    files.extend([("empty", &b""[..]), ("a/large", &large), ("z/y/x", b"x")]);
    let image = image("config-2", &files);
    assert_eq!(image.len() % SECTOR, 0);
    assert_eq!(u32_at(&image, SYSTEM_AREA * SECTOR + 80) * SECTOR, image.len());
    let mut found = BTreeMap::new();
    walk(&image, (SYSTEM_AREA + 1) * SECTOR + 156, "", &mut found);
    let expected: BTreeMap<_, _> = files
        .iter()
        .map(|(name, bytes)| (name.to_string(), bytes.to_vec()))
        .collect();
    assert_eq!(found, expected);
    assert!(is_ours(&image));
    assert!(!is_ours(&image[..SECTOR]));
}
