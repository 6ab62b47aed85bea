//! Numbers and sectors as ECMA-119 writes them.

use super::SECTOR;

/// A number in both byte orders (ECMA-119 §7.2.3, §7.3.3).
pub(super) fn both_u16(value: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (value.to_le_bytes(), value.to_be_bytes());
    [a, b, c, d]
}

/// [`both_u16`] for a longer one.
pub(super) fn both_u32(value: usize) -> [u8; 8] {
    let value = number(value);
    let ([a, b, c, d], [e, f, g, h]) = (value.to_le_bytes(), value.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// A position or length within an image; documents are far below its limit of 4 GiB.
pub(super) fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// An image that grows by whole sectors.
#[derive(Debug, Default)]
pub(super) struct Sectors(Vec<u8>);

impl Sectors {
    pub(super) fn skip(&mut self, sectors: usize) {
        self.0.resize(self.0.len() + sectors * SECTOR, 0);
    }

    /// Appends bytes and fills the last sector.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(SECTOR), 0);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
