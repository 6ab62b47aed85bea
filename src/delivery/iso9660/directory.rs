//! Directories and path tables.

use std::collections::BTreeSet;

use super::{
    Names, SECTOR,
    bytes::{both_u16, both_u32, number},
};

/// 1980-01-01 00:00:00 UTC (ECMA-119 §9.1.5): images carry no time, and a month of zero is not one.
const DATE: [u8; 7] = [80, 1, 1, 0, 0, 0, 0];

/// Flag of a directory (ECMA-119 §9.1.6).
const DIRECTORY: u8 = 2;

/// Bytes of a directory record before its identifier (ECMA-119 §9.1).
const RECORD_HEAD: usize = 33;

/// Names of a directory itself and of the one above it (ECMA-119 §6.8.2.2).
const SELF: &[u8] = &[0];
const PARENT: &[u8] = &[1];

/// The directories of an image, the root first, then by depth, parent and name, which is the order of path tables.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    directories: Vec<Directory<'a>>,
}

#[derive(Debug)]
struct Directory<'a> {
    path: &'a str,
    /// Place of its parent in the list; the root's is its own.
    parent: usize,
    files: Vec<File<'a>>,
}

#[derive(Debug)]
struct File<'a> {
    name: &'a str,
    sector: usize,
    bytes: usize,
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn depth(path: &str) -> usize {
    if path.is_empty() { 0 } else { path.split('/').count() }
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: impl Iterator<Item = &'a str>) -> Self {
        let mut paths = BTreeSet::from([(0, vec![""], "")]);
        let files: Vec<_> = files.collect();
        for file in &files {
            let above = std::iter::successors(Some(split(file).0), |path| Some(split(path).0));
            paths.extend(
                above
                    .take_while(|path| !path.is_empty())
                    .map(|path| (depth(path), path.split('/').collect(), path)),
            );
        }
        let mut tree = Self {
            directories: Vec::new(),
        };
        for (_, _, path) in paths {
            let parent = tree.at(split(path).0);
            tree.directories.push(Directory {
                path,
                parent,
                files: Vec::new(),
            });
        }
        for file in files {
            let (directory, name) = split(file);
            let at = tree.at(directory);
            tree.directories[at].files.push(File {
                name,
                sector: 0,
                bytes: 0,
            });
        }
        tree
    }

    /// The index of a directory in the list, or the root.
    fn at(&self, path: &str) -> usize {
        let found = self.directories.iter().position(|directory| directory.path == path);
        found.unwrap_or_default()
    }

    /// Sets the position of a file's bytes.
    pub(super) fn place(&mut self, path: &str, sector: usize, bytes: usize) {
        let (directory, name) = split(path);
        let at = self.at(directory);
        let mut files = self.directories[at].files.iter_mut();
        if let Some(file) = files.find(|file| file.name == name) {
            (file.sector, file.bytes) = (sector, bytes);
        }
    }

    /// The name of each directory, the root's as a single zero (ECMA-119 §9.4.5).
    fn identifiers(&self, names: Names) -> impl Iterator<Item = Vec<u8>> {
        self.directories.iter().map(move |directory| match directory.path {
            "" => SELF.to_vec(),
            path => identifier(split(path).1, names, false),
        })
    }

    pub(super) fn path_table_bytes(&self, names: Names) -> usize {
        self.identifiers(names)
            .map(|name| (8 + name.len()).next_multiple_of(2))
            .sum()
    }

    /// ECMA-119 §9.4, in one of the byte orders.
    pub(super) fn path_table(
        &self,
        names: Names,
        root: usize,
        long: fn(u32) -> [u8; 4],
        short: fn(u16) -> [u8; 2],
    ) -> Vec<u8> {
        let mut table = Vec::new();
        let sectors = self.sectors(names, root);
        for ((directory, name), sector) in self.directories.iter().zip(self.identifiers(names)).zip(sectors) {
            table.extend([length(&name), 0]);
            table.extend(long(number(sector)));
            table.extend(short(u16::try_from(directory.parent + 1).unwrap_or(u16::MAX)));
            table.extend(&name);
            table.resize(table.len().next_multiple_of(2), 0);
        }
        table
    }

    pub(super) fn extent_sectors(&self, names: Names) -> impl Iterator<Item = usize> {
        // Lengths do not depend on where anything is.
        let extents = self.records(names, &vec![0; self.directories.len()]);
        extents.into_iter().map(|extent| extent.len() / SECTOR)
    }

    /// First sectors of the directories, given the root's.
    fn sectors(&self, names: Names, root: usize) -> Vec<usize> {
        let lengths = self.extent_sectors(names);
        let ends = lengths.scan(root, |next, sectors| Some(std::mem::replace(next, *next + sectors)));
        ends.collect()
    }

    /// The directories' bytes, in whole sectors.
    pub(super) fn extents(&self, names: Names, root: usize) -> Vec<Vec<u8>> {
        self.records(names, &self.sectors(names, root))
    }

    /// The record of the root in a volume descriptor.
    pub(super) fn root(&self, names: Names, sector: usize) -> Vec<u8> {
        let sectors = self.extent_sectors(names).next().unwrap_or_default();
        record(SELF, sector, sectors * SECTOR, DIRECTORY)
    }

    fn records(&self, names: Names, sectors: &[usize]) -> Vec<Vec<u8>> {
        let empty = vec![0; self.directories.len()];
        // A directory contains its parent's and children's lengths, so lengths are computed first.
        let lengths: Vec<_> = (0..self.directories.len())
            .map(|at| self.extent(at, names, &empty, &empty).len())
            .collect();
        let all = 0..self.directories.len();
        all.map(|at| self.extent(at, names, sectors, &lengths)).collect()
    }

    fn extent(&self, at: usize, names: Names, sectors: &[usize], lengths: &[usize]) -> Vec<u8> {
        let directory = &self.directories[at];
        let entry = |name: &[u8], other: usize| record(name, sectors[other], lengths[other], DIRECTORY);
        let below = (1..self.directories.len()).filter(|other| self.directories[*other].parent == at);
        let mut named: Vec<_> = below
            .map(|other| {
                let name = identifier(split(self.directories[other].path).1, names, false);
                (name.clone(), entry(&name, other))
            })
            .chain(directory.files.iter().map(|file| {
                let name = identifier(file.name, names, true);
                (name.clone(), record(&name, file.sector, file.bytes, 0))
            }))
            .collect();
        named.sort();
        let mut extent = Vec::new();
        let first = [entry(SELF, at), entry(PARENT, directory.parent)];
        for record in first.into_iter().chain(named.into_iter().map(|(_, record)| record)) {
            // No record crosses the end of a sector (ECMA-119 §6.8.1.1).
            if extent.len() % SECTOR + record.len() > SECTOR {
                extent.resize(extent.len().next_multiple_of(SECTOR), 0);
            }
            extent.extend(record);
        }
        extent.resize(extent.len().next_multiple_of(SECTOR), 0);
        extent
    }
}

/// ECMA-119 §9.1.
fn record(name: &[u8], sector: usize, bytes: usize, flags: u8) -> Vec<u8> {
    let total = (RECORD_HEAD + name.len()).next_multiple_of(2);
    let mut record = vec![u8::try_from(total).unwrap_or(u8::MAX), 0];
    record.extend(both_u32(sector));
    record.extend(both_u32(bytes));
    record.extend(DATE);
    record.extend([flags, 0, 0]);
    record.extend(both_u16(1));
    record.push(length(name));
    record.extend(name);
    record.resize(total, 0);
    record
}

fn length(name: &[u8]) -> u8 {
    u8::try_from(name.len()).unwrap_or(u8::MAX)
}

/// A name in one of the trees; a file's in the plain one has a dot and a version (ECMA-119 §7.5.1).
fn identifier(name: &str, names: Names, file: bool) -> Vec<u8> {
    match names {
        // The form of genisoimage and Windows, without the plain tree's version number.
        Names::Joliet => name.chars().flat_map(ucs2).collect(),
        Names::Plain => {
            let plain = |character: char| match character.to_ascii_uppercase() {
                kept @ ('A'..='Z' | '0'..='9') => kept,
                '.' if file => '.',
                _ => '_',
            };
            let mut name: String = name.chars().map(plain).collect();
            if file {
                name += if name.contains('.') { ";1" } else { ".;1" };
            }
            name.into_bytes()
        }
    }
}

/// A character of the Basic Multilingual Plane; names of seeds have no other.
pub(super) fn ucs2(character: char) -> [u8; 2] {
    let mut units = [0; 2];
    character.encode_utf16(&mut units);
    units[0].to_be_bytes()
}
