//! The forms of a document: plain, compressed inside itself, compressed as a whole, by pointer (docs/adr/0012-the-ladder.md).

use std::{borrow::Cow, cell::OnceCell};

use super::{
    Error, Handover,
    pointer::{self, PayloadKeys, Pointed},
    size,
};
use crate::{
    document::{Compression, Document},
    encoding::{base64, base64_len, gzip, gzip_tightly},
    node::NodeFiles,
    plan::NodePlan,
    profile::{Counted, Encoding, UserData},
    spec::DeliveryForm,
};

/// The slow search saves about 6 %, and 12 of what hardly compresses: what is over the limit by more than one part in so many
/// is not searched for.
const HOPELESS: u64 = 5;

/// What a form is made of.
pub(super) struct Forms<'a> {
    pub(super) cluster: &'a str,
    pub(super) node: &'a NodePlan,
    pub(super) files: &'a NodeFiles,
    pub(super) keys: &'a PayloadKeys,
    pub(super) user_data: &'a UserData,
    pub(super) document: &'a dyn Document,
    /// The whole document.
    pub(super) plain: &'a str,
}

/// A form that fits.
pub(super) struct Fitting {
    pub(super) handover: Handover,
    /// The bytes to hand over, if they are not the readable document's.
    pub(super) sent: Option<Vec<u8>>,
    /// The small document as text, and what it names.
    pub(super) pointed: Option<Pointed>,
}

/// A form of one rung.
struct Candidate<'a> {
    rung: DeliveryForm,
    text: Cow<'a, str>,
    compress: fn(&[u8]) -> Vec<u8>,
    gzip: OnceCell<Vec<u8>>,
}

impl<'a> Candidate<'a> {
    fn new(rung: DeliveryForm, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            rung,
            text: text.into(),
            compress: gzip,
            gzip: OnceCell::new(),
        }
    }

    fn gzip(&self) -> &Vec<u8> {
        self.gzip.get_or_init(|| (self.compress)(self.text.as_bytes()))
    }

    /// Bytes before base64.
    fn decoded(&self, encoding: Encoding) -> &[u8] {
        if encoding.is_gzip() {
            self.gzip()
        } else {
            self.text.as_bytes()
        }
    }

    /// A platform that counts after base64 does so whoever encodes: firelay, Terraform or the API's client.
    fn counted(&self, encoding: Encoding, counted: Counted) -> u64 {
        let decoded = self.decoded(encoding).len();
        let bytes = match counted {
            Counted::Encoded => base64_len(decoded),
            Counted::Sent if encoding.is_base64() => base64_len(decoded),
            Counted::Decoded | Counted::Sent => decoded,
        };
        bytes as u64
    }

    /// The file to hand over; `None` when that is the readable document itself.
    fn encoded(&self, encoding: Encoding) -> Option<Vec<u8>> {
        match (self.rung, encoding) {
            (DeliveryForm::Plain, Encoding::Plain) => None,
            _ if encoding.is_base64() => Some(base64(self.decoded(encoding)).into_bytes()),
            _ => Some(self.decoded(encoding).to_vec()),
        }
    }
}

/// The smallest of the forms that did not fit.
#[derive(Default)]
struct Smallest(Option<Handover>);

impl Smallest {
    fn note(&mut self, handover: Handover) {
        if self
            .0
            .as_ref()
            .is_none_or(|smallest| handover.counted < smallest.counted)
        {
            self.0 = Some(handover);
        }
    }
}

impl Forms<'_> {
    /// The lowest rung that fits, or the one that is fixed; nothing is compressed, encoded or split before its turn comes.
    pub(super) fn select(&self) -> Result<Fitting, Error> {
        let fixed = self.node.delivery.rung;
        let by_pointer = self.node.delivery.pointer.iter().map(|_| DeliveryForm::Pointer);
        let forms = self.user_data.forms().into_iter().chain(by_pointer);
        let mut smallest = Smallest::default();
        for rung in forms.filter(|rung| fixed.is_none_or(|fixed| fixed == *rung)) {
            if let Some(taken) = self.try_form(form, &mut smallest)? {
                return Ok(taken);
            }
        }
        match smallest.0 {
            Some(smallest) => Err(Error::TooLarge(Box::new(size::Overrun::new(
                self.node, self.files, &smallest,
            )))),
            None => Err(Error::NoRung {
                node: self.node.name.clone(),
                platform: self.node.platform.name.clone(),
            }),
        }
    }

    /// The first form of a rung that fits.
    fn try_form(&self, rung: DeliveryForm, smallest: &mut Smallest) -> Result<Option<Fitting>, Error> {
        match rung {
            DeliveryForm::Plain => Ok(self.first(&Candidate::new(rung, self.plain), is_literal, smallest)),
            DeliveryForm::Inner => {
                let packed = self.document.render(self.files, Compression::Inner);
                let packed = packed.map_err(|source| Error::Document {
                    node: self.node.name.clone(),
                    source,
                })?;
                Ok(self.first(&Candidate::new(rung, packed), is_literal, smallest))
            }
            DeliveryForm::Compressed => Ok(self.compressed(rung, self.plain, smallest)),
            DeliveryForm::Pointer => self.pointed(smallest),
        }
    }

    /// gzip, and once more by a slower search where that may be enough.
    fn compressed(&self, rung: DeliveryForm, text: &str, smallest: &mut Smallest) -> Option<Fitting> {
        let quick = Candidate::new(rung, text);
        if let Some(taken) = self.first(&quick, Encoding::is_gzip, smallest) {
            return Some(taken);
        }
        let near = |encoding: &Encoding| {
            let counted = quick.counted(*encoding, self.user_data.counted);
            encoding.is_gzip()
                && self
                    .user_data
                    .limit
                    .is_some_and(|limit| counted <= limit + limit / HOPELESS)
        };
        if !self.user_data.encodings.iter().any(near) {
            return None;
        }
        let tight = Candidate {
            compress: gzip_tightly,
            ..Candidate::new(rung, text)
        };
        self.first(&tight, Encoding::is_gzip, smallest)
    }

    /// The small document, in whatever the platform takes: it hardly ever needs compression.
    fn pointed(&self, smallest: &mut Smallest) -> Result<Option<Fitting>, Error> {
        let Some(pointer) = &self.node.delivery.pointer else {
            return Ok(None);
        };
        let pointed = pointer::point(self.cluster, self.node, pointer, self.files, self.plain, self.keys)?;
        let candidate = Candidate::new(DeliveryForm::Pointer, pointed.stub.as_str());
        let literal = self.first(&candidate, is_literal, smallest);
        let taken = literal.or_else(|| self.compressed(DeliveryForm::Pointer, &pointed.stub, smallest));
        Ok(taken.map(|taken| Fitting {
            pointed: Some(pointed),
            ..taken
        }))
    }

    fn first(&self, candidate: &Candidate<'_>, kind: fn(Encoding) -> bool, smallest: &mut Smallest) -> Option<Fitting> {
        for encoding in self
            .user_data
            .encodings
            .iter()
            .copied()
            .filter(|encoding| kind(*encoding))
        {
            let handover = self.handover(candidate, encoding);
            if self.user_data.limit.is_none_or(|limit| handover.counted <= limit) {
                return Some(Fitting {
                    sent: candidate.encoded(encoding),
                    handover,
                    pointed: None,
                });
            }
            smallest.note(handover);
        }
        None
    }

    fn handover(&self, candidate: &Candidate<'_>, encoding: Encoding) -> Handover {
        let form = match candidate.rung {
            DeliveryForm::Plain | DeliveryForm::Compressed => "",
            DeliveryForm::Inner => ".packed",
            DeliveryForm::Pointer => ".pointer",
        };
        let gzip = if encoding.is_gzip() { ".gz" } else { "" };
        let base64 = if encoding.is_base64() { ".b64" } else { "" };
        Handover {
            file: format!("{}{form}{gzip}{base64}", self.document.file_name()),
            attribute: self.user_data.attribute.clone(),
            rung: candidate.rung,
            encoding,
            counted: candidate.counted(encoding, self.user_data.counted),
            limit: self.user_data.limit,
        }
    }
}

fn is_literal(encoding: Encoding) -> bool {
    !encoding.is_gzip()
}
