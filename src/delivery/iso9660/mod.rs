//! ISO 9660 images with a Joliet tree (ECMA-119, 3rd edition of 2017; Joliet specification of 1995): the volumes from
//! which cloud-init and Ignition read a document.
//!
//! Both trees refer to the same bytes. The plain one has names in capitals, as the standard requires; Linux, Windows
//! and every archiver use the Joliet names, which are the original ones. Images depend on neither time nor randomness.

mod bytes;
mod directory;
mod volume;

use std::collections::BTreeMap;

use self::{bytes::Sectors, directory::Tree};

/// Bytes of a logical sector (ECMA-119 §6.1.2).
const SECTOR: usize = SECTOR_BYTES as usize;
const SECTOR_BYTES: u16 = 2048;

/// Sectors that are left to the system (ECMA-119 §6.2.1).
const SYSTEM_AREA: usize = 16;

/// The application identifier of images.
pub const APPLICATION: &str = "FIRELAY";

/// Which of an image's trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// `USER_DATA.;1` (ECMA-119 §7.5, interchange level 2).
    Plain,
    /// `user-data` in UCS-2 (Joliet, "Joliet Directory Identifiers").
    Joliet,
}

/// An image of these files, by path with `/`. The label has 16 characters at most, the name of a file or directory 28.
pub fn image(label: &str, files: &BTreeMap<&str, &[u8]>) -> Vec<u8> {
    let mut tree = Tree::new(files.keys().copied());
    let plan = Plan::new(&tree);
    let mut next = plan.files;
    for (path, content) in files {
        tree.place(path, next, content.len());
        next += content.len().div_ceil(SECTOR);
    }
    let mut image = Sectors::default();
    image.skip(SYSTEM_AREA);
    for (names, table, root) in [
        (Names::Plain, plan.tables[0], plan.directories[0]),
        (Names::Joliet, plan.tables[1], plan.directories[1]),
    ] {
        image.push(&volume::descriptor(label, names, &tree, next, (table, root)));
    }
    image.push(&volume::terminator());
    for (names, root) in [
        (Names::Plain, plan.directories[0]),
        (Names::Joliet, plan.directories[1]),
    ] {
        image.push(&tree.path_table(names, root, u32::to_le_bytes, u16::to_le_bytes));
        image.push(&tree.path_table(names, root, u32::to_be_bytes, u16::to_be_bytes));
    }
    for (names, root) in [
        (Names::Plain, plan.directories[0]),
        (Names::Joliet, plan.directories[1]),
    ] {
        tree.extents(names, root).iter().for_each(|extent| image.push(extent));
    }
    files.values().for_each(|content| image.push(content));
    image.into_bytes()
}

/// Whether [`image`] created the image, whatever it contains.
pub fn is_ours(image: &[u8]) -> bool {
    let at = SYSTEM_AREA * SECTOR + volume::APPLICATION_AT;
    image.get(at..at + APPLICATION.len()) == Some(APPLICATION.as_bytes())
}

/// The first sectors of an image's parts.
struct Plan {
    /// The first path table of each tree; the second follows it.
    tables: [usize; 2],
    /// The root directory of each tree; the others follow it.
    directories: [usize; 2],
    files: usize,
}

impl Plan {
    /// Two descriptors and the terminator, four path tables, directories, files.
    fn new(tree: &Tree<'_>) -> Self {
        let sectors = |bytes: usize| bytes.div_ceil(SECTOR);
        let both = [Names::Plain, Names::Joliet];
        let [plain, joliet] = both.map(|names| sectors(tree.path_table_bytes(names)));
        let [of_plain, of_joliet] = both.map(|names| tree.extent_sectors(names).sum::<usize>());
        let tables = SYSTEM_AREA + 3;
        let directories = tables + 2 * (plain + joliet);
        Self {
            tables: [tables, tables + 2 * plain],
            directories: [directories, directories + of_plain],
            files: directories + of_plain + of_joliet,
        }
    }
}

#[cfg(test)]
mod tests;
