//! Volume descriptors (ECMA-119 §8).

use super::{
    APPLICATION, Names, SECTOR, SECTOR_BYTES,
    bytes::{both_u16, both_u32, number},
    directory::{Tree, ucs2},
};

/// Where the application identifier begins in a descriptor.
pub(super) const APPLICATION_AT: usize = 574;

/// `%/E`: UCS-2 level 3 (Joliet, "SVD Escape Sequences").
const UCS2_LEVEL_3: &[u8] = b"%/E";

/// 1980-01-01 00:00:00.00 UTC (ECMA-119 §8.4.26.1).
const DATE: &[u8] = b"1980010100000000\0";

const NO_DATE: &[u8] = b"0000000000000000\0";

/// A descriptor by byte positions, which are those of ECMA-119 less one.
struct Descriptor {
    bytes: Vec<u8>,
    names: Names,
}

impl Descriptor {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Text filled with blanks.
    fn text(&mut self, at: usize, length: usize, text: &str) {
        let blank = std::iter::repeat(' ');
        let filled = text.chars().chain(blank);
        let bytes: Vec<u8> = match self.names {
            Names::Plain => filled.take(length).map(|character| character as u8).collect(),
            // A field of an odd length keeps a zero at its end.
            Names::Joliet => filled.take(length / 2).flat_map(ucs2).collect(),
        };
        self.put(at, &bytes);
    }
}

/// The primary descriptor, or Joliet's supplementary one.
pub(super) fn descriptor(
    label: &str,
    names: Names,
    tree: &Tree<'_>,
    sectors: usize,
    (table, root): (usize, usize),
) -> Vec<u8> {
    let mut descriptor = Descriptor {
        bytes: vec![0; SECTOR],
        names,
    };
    let kind = if names == Names::Plain { 1 } else { 2 };
    descriptor.put(0, &[kind]);
    descriptor.put(1, b"CD001\x01");
    descriptor.text(8, 32, "");
    descriptor.text(40, 32, label);
    descriptor.put(80, &both_u32(sectors));
    if names == Names::Joliet {
        descriptor.put(88, UCS2_LEVEL_3);
    }
    for at in [120, 124] {
        descriptor.put(at, &both_u16(1));
    }
    descriptor.put(128, &both_u16(SECTOR_BYTES));
    let bytes = tree.path_table_bytes(names);
    descriptor.put(132, &both_u32(bytes));
    descriptor.put(140, &number(table).to_le_bytes());
    descriptor.put(148, &number(table + bytes.div_ceil(SECTOR)).to_be_bytes());
    descriptor.put(156, &tree.root(names, root));
    for (at, length, text) in [
        (190, 128, ""),
        (318, 128, ""),
        (446, 128, ""),
        (APPLICATION_AT, 128, APPLICATION),
        (702, 37, ""),
        (739, 37, ""),
        (776, 37, ""),
    ] {
        descriptor.text(at, length, text);
    }
    for (at, date) in [(813, DATE), (830, DATE), (847, NO_DATE), (864, NO_DATE)] {
        descriptor.put(at, date);
    }
    descriptor.put(881, &[1]);
    descriptor.bytes
}

/// ECMA-119 §8.3.
pub(super) fn terminator() -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    bytes[..7].copy_from_slice(b"\xffCD001\x01");
    bytes
}
