//! The form in which a document is delivered: plain, compressed inside itself, compressed as a whole, or by pointer
//! (docs/adr/0012-delivery-forms.md).

use std::{borrow::Cow, cell::OnceCell};

use super::{
    Error, Handover,
    pointer::{self, PayloadKeys, Pointed},
    size,
};
use crate::{
    document::{Compression, Document},
    encoding::{base64, base64_len, gzip, gzip_tightest, gzip_tightly, gzip_with_end},
    node::NodeFiles,
    plan::NodePlan,
    profile::{Counted, Encoding, UserData},
    spec::DeliveryForm,
};

/// Bytes by which documents of two bundles differ: signatures, and bytes that compress by chance.
pub const MARGIN: u64 = 64;

/// A text's gzip.
type Compress = fn(&[u8]) -> Vec<u8>;

/// Slower searches, the faster first, and the part of the limit by which a document may exceed it before one is tried: the first
/// saves about 6 %, and 12 % of content that hardly compresses; the second saves up to 0.5 % more.
const SEARCHES: [(Compress, u64); 2] = [(gzip_tightly, 5), (gzip_tightest, 16)];

/// A document that leaves this part of the limit free has room: none of its bytes counts.
const ROOM: u64 = 8;

/// A document whose form is to be selected.
pub(super) struct Candidates<'a> {
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
pub(super) struct Selected {
    pub(super) handover: Handover,
    /// The bytes to deliver, if they differ from the readable document.
    pub(super) sent: Option<Vec<u8>>,
    /// The small document as text, and its payload.
    pub(super) pointed: Option<Pointed>,
}

/// The text of a form.
struct Candidate<'a> {
    form: DeliveryForm,
    text: Cow<'a, str>,
    compress: Compress,
    gzip: OnceCell<Vec<u8>>,
}

impl<'a> Candidate<'a> {
    fn new(form: DeliveryForm, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            form,
            text: text.into(),
            compress: gzip,
            gzip: OnceCell::new(),
        }
    }

    /// Bytes before base64.
    fn decoded(&self, encoding: Encoding) -> &[u8] {
        let plain = self.text.as_bytes();
        if encoding.is_gzip() {
            self.gzip.get_or_init(|| (self.compress)(plain))
        } else {
            plain
        }
    }

    /// A platform that counts after base64 does so for every encoder: firelay, Terraform or the API's client.
    fn counted(&self, encoding: Encoding, counted: Counted) -> u64 {
        let decoded = self.decoded(encoding).len();
        let bytes = match counted {
            Counted::Encoded => base64_len(decoded),
            Counted::Sent if encoding.is_base64() => base64_len(decoded),
            Counted::Decoded | Counted::Sent => decoded,
        };
        bytes as u64
    }

    /// The file to deliver; `None` for the readable document itself.
    fn encoded(&self, encoding: Encoding) -> Option<Vec<u8>> {
        match (self.form, encoding) {
            (DeliveryForm::Plain, Encoding::Plain) => None,
            _ if encoding.is_base64() => Some(base64(self.decoded(encoding)).into_bytes()),
            _ => Some(self.decoded(encoding).to_vec()),
        }
    }
}

impl Candidates<'_> {
    /// The first form that fits, or the one that the spec requires. A form is compressed, encoded or split only if the
    /// earlier ones do not fit.
    pub(super) fn select_form(&self) -> Result<Selected, Error> {
        let fixed = self.node.delivery.form;
        let pointer = self.node.delivery.pointer.iter().map(|_| DeliveryForm::Pointer);
        let forms = self.user_data.forms().into_iter().chain(pointer);
        let mut rejected = Vec::new();
        for form in forms.filter(|form| fixed.is_none_or(|fixed| fixed == *form)) {
            if let Some(selected) = self.try_form(form, &mut rejected)? {
                return Ok(selected);
            }
        }
        let smallest = rejected.into_iter().min_by_key(|handover| handover.counted);
        Err(match smallest {
            Some(smallest) => Error::TooLarge(Box::new(size::Overrun::new(self.node, self.files, &smallest))),
            None => Error::NoForm {
                node: self.node.name.clone(),
                platform: self.node.platform.name.clone(),
            },
        })
    }

    /// A form in the first encoding that fits.
    fn try_form(&self, form: DeliveryForm, rejected: &mut Vec<Handover>) -> Result<Option<Selected>, Error> {
        match form {
            DeliveryForm::Plain => Ok(self.first(&Candidate::new(form, self.plain), is_literal, rejected)),
            DeliveryForm::Inner => {
                let packed = self.document.render(self.files, Compression::Inner);
                let packed = packed.map_err(Error::of_document(self.node))?;
                Ok(self.first(&Candidate::new(form, packed), is_literal, rejected))
            }
            DeliveryForm::Compressed => Ok(self.compressed(form, self.plain, rejected)),
            DeliveryForm::Pointer => self.pointed(rejected),
        }
    }

    /// gzip with the end that machines share, if the document has room. For others the whole is searched.
    fn compressed_quickly(&self, form: DeliveryForm, text: &str) -> Option<Selected> {
        let end = self.document.shared_end(text)?;
        let packed = gzip_with_end(text.as_bytes(), end);
        let candidate = Candidate {
            gzip: packed.into(),
            ..Candidate::new(form, text)
        };
        let selected = self.first(&candidate, Encoding::is_gzip, &mut Vec::new())?;
        let limit = self.user_data.limit;
        let has_room = limit.is_none_or(|limit| selected.handover.counted + limit / ROOM <= limit);
        has_room.then_some(selected)
    }

    /// gzip, and again by slower searches where it does not fit or hardly fits.
    fn compressed(&self, form: DeliveryForm, text: &str, rejected: &mut Vec<Handover>) -> Option<Selected> {
        if let Some(selected) = self.compressed_quickly(form, text) {
            return Some(selected);
        }
        let (mut candidate, mut fitting) = (Candidate::new(form, text), None);
        for (compress, part) in SEARCHES {
            fitting = self.first(&candidate, Encoding::is_gzip, rejected).or(fitting);
            if fitting.as_ref().is_some_and(|it| self.has_room(it)) || !self.is_near(&candidate, part) {
                return fitting;
            }
            candidate = Candidate {
                compress,
                ..Candidate::new(form, text)
            };
        }
        self.first(&candidate, Encoding::is_gzip, rejected).or(fitting)
    }

    /// Whether the document of another bundle would fit as well.
    fn has_room(&self, selected: &Selected) -> bool {
        let limit = self.user_data.limit;
        limit.is_none_or(|limit| selected.handover.counted + MARGIN <= limit)
    }

    /// Whether a document exceeds the limit by at most one `part`-th.
    fn is_near(&self, candidate: &Candidate<'_>, part: u64) -> bool {
        let UserData { counted, limit, .. } = self.user_data;
        let most = limit.map(|limit| limit + limit / part);
        let mut encodings = self.user_data.encodings.iter().filter(|encoding| encoding.is_gzip());
        encodings.any(|encoding| most.is_some_and(|most| candidate.counted(*encoding, *counted) <= most))
    }

    /// The small document; it hardly ever needs compression.
    fn pointed(&self, rejected: &mut Vec<Handover>) -> Result<Option<Selected>, Error> {
        let Some(pointer) = &self.node.delivery.pointer else {
            return Ok(None);
        };
        let pointed = pointer::point(self.cluster, self.node, pointer, self.files, self.plain, self.keys)?;
        let candidate = Candidate::new(DeliveryForm::Pointer, pointed.stub.as_str());
        let literal = self.first(&candidate, is_literal, rejected);
        let selected = literal.or_else(|| self.compressed(DeliveryForm::Pointer, &pointed.stub, rejected));
        Ok(selected.map(|selected| Selected {
            pointed: Some(pointed),
            ..selected
        }))
    }

    fn first(
        &self,
        candidate: &Candidate<'_>,
        kind: fn(Encoding) -> bool,
        rejected: &mut Vec<Handover>,
    ) -> Option<Selected> {
        let encodings = self.user_data.encodings.iter().copied();
        for encoding in encodings.filter(|encoding| kind(*encoding)) {
            let handover = self.handover(candidate, encoding);
            if self.user_data.limit.is_none_or(|limit| handover.counted <= limit) {
                return Some(Selected {
                    sent: candidate.encoded(encoding),
                    handover,
                    pointed: None,
                });
            }
            rejected.push(handover);
        }
        None
    }

    fn handover(&self, candidate: &Candidate<'_>, encoding: Encoding) -> Handover {
        let form = match candidate.form {
            DeliveryForm::Plain | DeliveryForm::Compressed => "",
            DeliveryForm::Inner => ".packed",
            DeliveryForm::Pointer => ".pointer",
        };
        let gzip = if encoding.is_gzip() { ".gz" } else { "" };
        let base64 = if encoding.is_base64() { ".b64" } else { "" };
        Handover {
            file: format!("{}{form}{gzip}{base64}", self.document.file_name()),
            attribute: self.user_data.attribute.clone(),
            form: candidate.form,
            encoding,
            counted: candidate.counted(encoding, self.user_data.counted),
            limit: self.user_data.limit,
        }
    }
}

fn is_literal(encoding: Encoding) -> bool {
    !encoding.is_gzip()
}
