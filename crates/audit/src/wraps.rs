//! Encodings around the layers of a file, and why a file is not searched to the end.

use std::fmt;

/// An encoding or compression around bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wrap {
    Gzip,
    Zlib,
    Base64,
    Base32,
    Hex,
    Percent,
    Escapes,
    Numbers,
    Utf16,
}

impl fmt::Display for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Base64 => "base64",
            Self::Base32 => "base32",
            Self::Hex => "hex",
            Self::Percent => "percent-encoding",
            Self::Escapes => "escapes",
            Self::Numbers => "a list of bytes",
            Self::Utf16 => "UTF-16",
        })
    }
}

/// The reason why not all of a file was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unsearched {
    /// It decodes to too many bytes.
    Grows,
    /// It has too many nested encodings.
    Deep,
    /// The file itself is too large.
    Large,
    /// It is a pipe, a device, a dangling link or a link to a directory.
    NoFile,
}

impl Unsearched {
    /// Message and help.
    pub(crate) fn explained(self) -> (&'static str, &'static str) {
        match self {
            Self::Grows => (
                "this file unpacks to more than was searched",
                "look at what is packed in it: no document that a machine can use grows so much",
            ),
            Self::Deep => (
                "this file is packed deeper than was searched",
                "look at what is packed in it: nothing that a machine can use is wrapped so often",
            ),
            Self::Large => (
                "this file is larger than was searched",
                "look at what is in it, and take it out of the tree: no platform takes a document of that size",
            ),
            Self::NoFile => (
                "this is no file, and was not searched",
                "take it out of the tree: pipes, devices, and links to directories or to nowhere belong into none",
            ),
        }
    }
}
