use std::cell::OnceCell;

use super::{Error, seed, size};
use crate::{
    document::{self, Compression, Document, base64, base64_len, gzip, gzip_tightly},
    node::NodeFiles,
    plan::NodePlan,
    profile::{Counted, DocumentFormat, Encoding, UserData},
};

/// The files of one node, ready for the tree.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The document as text first; then, if it is another file, the form that is handed over; then what the platform
    /// reads beside it.
    pub files: Vec<ArtifactFile>,
    /// What the platform is given.
    pub handover: Handover,
}

/// One file of a node.
#[derive(Clone)]
pub struct ArtifactFile {
    /// Name within the node's directory.
    pub name: String,
    /// The bytes; they hold secrets.
    pub content: Vec<u8>,
}

impl std::fmt::Debug for ArtifactFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArtifactFile({}, {} bytes)", self.name, self.content.len())
    }
}

/// How the document goes to the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Name of the file to hand over, one of [`Artifact::files`].
    pub file: String,
    /// What takes it: a Terraform attribute, a metadata key, a file name.
    pub attribute: String,
    /// How the file is encoded.
    pub encoding: Encoding,
    /// The document is compressed inside itself.
    pub inner: bool,
    /// Bytes that the platform counts.
    pub counted: u64,
    /// Most bytes that it takes.
    pub limit: Option<u64>,
}

impl Handover {
    /// The platform sees compressed bytes.
    pub(super) fn is_compressed(&self) -> bool {
        self.inner || is_gzip(self.encoding)
    }
}

/// Renders a node's document and finds the form in which its platform takes it: the first of the profile's encodings that
/// fits the limit, then those with gzip once more by a slower search, and after them those without gzip of a document that
/// is compressed inside itself. Nothing is compressed or encoded before its turn comes.
pub fn package(cluster: &str, node: &NodePlan, files: &NodeFiles) -> Result<Artifact, Error> {
    let failed = |source| Error::Document {
        node: node.name.clone(),
        source,
    };
    let user_data = user_data(node)?;
    let document = document::for_os(&node.os).map_err(failed)?;
    let plain = document.render(files, Compression::None).map_err(failed)?;
    let (handover, sent) = fit(node, files, user_data, &*document, &plain)?;
    let beside = match node.os.document {
        DocumentFormat::CloudInit => seed::files(cluster, node, &plain, handover.encoding),
        DocumentFormat::Ignition => Vec::new(),
    };
    let text = ArtifactFile {
        name: document.file_name().to_owned(),
        content: plain.into_bytes(),
    };
    let sent = sent.map(|content| ArtifactFile {
        name: handover.file.clone(),
        content,
    });
    Ok(Artifact {
        files: std::iter::once(text).chain(sent).chain(beside).collect(),
        handover,
    })
}

fn user_data(node: &NodePlan) -> Result<&UserData, Error> {
    node.os.user_data(&node.platform).ok_or_else(|| Error::NotCarried {
        node: node.name.clone(),
        platform: node.platform.name.clone(),
        os: node.os.name.clone(),
        format: node.os.document,
    })
}

/// A document in both of gzip's states; the compressed one is made when it is first asked for.
struct Body<'a> {
    inner: bool,
    text: std::borrow::Cow<'a, str>,
    compress: fn(&[u8]) -> Vec<u8>,
    gzip: OnceCell<Vec<u8>>,
}

impl<'a> Body<'a> {
    fn new(inner: bool, text: impl Into<std::borrow::Cow<'a, str>>) -> Self {
        Self {
            inner,
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
        if is_gzip(encoding) {
            self.gzip()
        } else {
            self.text.as_bytes()
        }
    }

    /// A platform that counts after base64 does so whoever encodes: firelay, Terraform or the API's client.
    fn counted(&self, encoding: Encoding, counted: Counted) -> u64 {
        let decoded = self.decoded(encoding).len();
        let bytes = match counted {
            Counted::Decoded => decoded,
            Counted::Encoded => base64_len(decoded),
            Counted::Sent if is_base64(encoding) => base64_len(decoded),
            Counted::Sent => decoded,
        };
        bytes as u64
    }

    /// The file to hand over; `None` when that is the readable document itself.
    fn encoded(&self, encoding: Encoding) -> Option<Vec<u8>> {
        match (self.inner, encoding) {
            (false, Encoding::Plain) => None,
            _ if is_base64(encoding) => Some(base64(self.decoded(encoding)).into_bytes()),
            _ => Some(self.decoded(encoding).to_vec()),
        }
    }
}

fn is_gzip(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Gzip | Encoding::GzipBase64)
}

fn is_base64(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Base64 | Encoding::GzipBase64)
}

/// The first form that fits, and its bytes if they are not the readable document's.
fn fit(
    node: &NodePlan,
    files: &NodeFiles,
    user_data: &UserData,
    document: &dyn Document,
    plain: &str,
) -> Result<(Handover, Option<Vec<u8>>), Error> {
    let mut smallest: Option<Handover> = None;
    let mut take = |body: &Body<'_>, encoding: Encoding| {
        let handover = handover(user_data, document.file_name(), body, encoding);
        if user_data.limit.is_none_or(|limit| handover.counted <= limit) {
            return Some((handover, body.encoded(encoding)));
        }
        if smallest
            .as_ref()
            .is_none_or(|smallest| handover.counted < smallest.counted)
        {
            smallest = Some(handover);
        }
        None
    };
    let body = Body::new(false, plain);
    if let Some(taken) = user_data.encodings.iter().find_map(|encoding| take(&body, *encoding)) {
        return Ok(taken);
    }
    let body = Body {
        compress: gzip_tightly,
        ..Body::new(false, plain)
    };
    let mut compressed = user_data.encodings.iter().filter(|encoding| is_gzip(**encoding));
    if let Some(taken) = compressed.find_map(|encoding| take(&body, *encoding)) {
        return Ok(taken);
    }
    if user_data.inner_compression {
        let packed = document.render(files, Compression::Inner);
        let packed = packed.map_err(|source| Error::Document {
            node: node.name.clone(),
            source,
        })?;
        let body = Body::new(true, packed);
        let mut encodings = user_data.encodings.iter().filter(|encoding| !is_gzip(**encoding));
        if let Some(taken) = encodings.find_map(|encoding| take(&body, *encoding)) {
            return Ok(taken);
        }
    }
    let smallest = smallest.expect("a platform profile has at least one encoding");
    Err(Error::TooLarge(Box::new(size::Overrun::new(node, files, &smallest))))
}

fn handover(user_data: &UserData, document: &str, body: &Body<'_>, encoding: Encoding) -> Handover {
    let inner = if body.inner { ".packed" } else { "" };
    let gzip = if is_gzip(encoding) { ".gz" } else { "" };
    let base64 = if is_base64(encoding) { ".b64" } else { "" };
    Handover {
        file: format!("{document}{inner}{gzip}{base64}"),
        attribute: user_data.attribute.clone(),
        encoding,
        inner: body.inner,
        counted: body.counted(encoding, user_data.counted),
        limit: user_data.limit,
    }
}
