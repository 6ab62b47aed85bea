//! Where the bytes go.

use std::{borrow::Cow, fmt};

use firelay_base::memo::Memo;
use firelay_verify::Machine;
use serde::Serialize;

use super::{Handover, ManifestFile};
use crate::{
    UNITS,
    encoding::gzip,
    node::NodeFiles,
    plan::NodePlan,
    profile::{DocumentFormat, Encoding},
    spec::DeliveryForm,
};

/// Files in the table of [`Overrun`].
const LARGEST: usize = 10;

/// gzip's header and trailer (RFC 1952 §2.3), which a file within a document does not pay.
const GZIP_FRAME: usize = 18;

/// Kinds of files, by the settings that reduce them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Certificates and keys.
    Pki,
    /// firelay's driver and steps, and other programs.
    Scripts,
    Addons,
    /// kubeadm's configuration and patches.
    Kubeadm,
    /// systemd units and drop-ins.
    Units,
    /// Other files under /etc.
    Configs,
    /// Everything else.
    Other,
}

impl Group {
    /// The kind, for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pki => "certificates and keys",
            Self::Scripts => "boot scripts",
            Self::Addons => "manifests",
            Self::Kubeadm => "kubeadm",
            Self::Units => "units",
            Self::Configs => "other configuration",
            Self::Other => "other",
        }
    }

    /// By path, and scripts by their first two bytes too.
    fn of(path: &str, content: &str) -> Self {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        if path.contains("/pki/") || matches!(extension, "crt" | "key" | "pub" | "pem") {
            Self::Pki
        } else if path.starts_with(UNITS) {
            Self::Units
        } else if content.starts_with("#!") || extension == "sh" {
            Self::Scripts
        } else if path.contains("/kubeadm") {
            Self::Kubeadm
        } else if path.contains("/addons/") || path.contains("/manifests/") {
            Self::Addons
        } else if path.starts_with("/etc/") {
            Self::Configs
        } else {
            Self::Other
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSize {
    /// Path on the node.
    pub path: String,
    pub group: Group,
    /// Bytes on the node.
    pub raw: u64,
    /// Its part of the counted bytes, or of the payload's. The parts are proportional to its own size, compressed
    /// separately if the document is compressed. This is an estimate, since gzip shares repetitions between files.
    pub share: u64,
}

/// The size of one kind of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupSize {
    pub group: Group,
    /// Bytes on the node.
    pub raw: u64,
    /// Sum of [`FileSize::share`].
    pub share: u64,
}

/// One row of `firelay size`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeSize {
    /// Name of the node.
    pub node: String,
    /// Name of the platform's profile.
    pub platform: String,
    /// The platform's field for the document.
    pub attribute: String,
    pub form: DeliveryForm,
    /// How it is encoded.
    pub encoding: Encoding,
    /// Bytes that the platform counts.
    pub counted: u64,
    /// The platform's limit in bytes.
    pub limit: Option<u64>,
    /// `counted` in percent of `limit`, rounded up.
    pub percent: Option<u64>,
    /// Bytes that the machine fetches, if the document is a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<u64>,
    /// By kind, the largest share first.
    pub groups: Vec<GroupSize>,
    /// By file, the largest share first.
    pub files: Vec<FileSize>,
}

/// The compressed sizes of contents: machines share most files.
#[derive(Default)]
pub struct CompressedSizes(Memo<usize>);

impl CompressedSizes {
    /// Bytes of a content as a part of a compressed document.
    fn of(&self, content: &str) -> usize {
        let bytes = content.as_bytes();
        *self.0.of("", bytes, || gzip(bytes).len() - GZIP_FRAME)
    }
}

impl NodeSize {
    /// Weighs the files of a node. This compresses each file once more, so it is for reports and errors only.
    pub fn new(
        node: &NodePlan,
        files: &NodeFiles,
        (handover, payload): (&Handover, Option<u64>),
        sizes: &CompressedSizes,
    ) -> Self {
        let compressed = payload.is_some() || handover.is_compressed();
        let contents = files
            .contents()
            .map(|(path, _, content)| (path.into_owned(), Cow::Borrowed(&**content)));
        let files = file_sizes(
            contents,
            payload.unwrap_or(handover.counted),
            compressed.then_some(sizes),
        );
        Self {
            node: node.name.clone(),
            platform: node.platform.name.clone(),
            attribute: handover.attribute.clone(),
            form: handover.form,
            encoding: handover.encoding,
            counted: handover.counted,
            limit: handover.limit,
            percent: handover.limit.map(|limit| percent(handover.counted, limit)),
            payload,
            groups: group_sizes(&files),
            files,
        }
    }

    /// The same from a rendered tree: a machine, and the description of its delivered file.
    pub fn of_tree(machine: &Machine, given: &ManifestFile, payload: Option<u64>, sizes: &CompressedSizes) -> Self {
        let (form, encoding) = (
            given.form.unwrap_or(DeliveryForm::Plain),
            given.encoding.unwrap_or(Encoding::Plain),
        );
        let counted = given.counted.unwrap_or(given.bytes);
        let compressed = payload.is_some() || form == DeliveryForm::Inner || encoding.is_gzip();
        let contents =
            { machine.root.files() }.map(|(path, _, bytes)| (path.to_owned(), String::from_utf8_lossy(bytes)));
        let files = file_sizes(contents, payload.unwrap_or(counted), compressed.then_some(sizes));
        Self {
            node: machine.name.clone(),
            platform: machine.platform.clone(),
            attribute: given.attribute.clone().unwrap_or_default(),
            form,
            encoding,
            counted,
            limit: given.limit,
            percent: given.limit.map(|limit| percent(counted, limit)),
            payload,
            groups: group_sizes(&files),
            files,
        }
    }
}

/// Rounded up.
fn percent(counted: u64, limit: u64) -> u64 {
    (counted * 100).div_ceil(limit.max(1))
}

fn file_sizes<'c>(
    contents: impl Iterator<Item = (String, Cow<'c, str>)>,
    counted: u64,
    compressed: Option<&CompressedSizes>,
) -> Vec<FileSize> {
    let weigh = |content: &str| compressed.map_or(content.len(), |sizes| sizes.of(content));
    let weighed: Vec<_> = contents
        .map(|(path, content)| (weigh(&content) as u64, path, content))
        .collect();
    let total = weighed.iter().map(|(weight, ..)| weight).sum::<u64>().max(1);
    let size = |(weight, path, content): (u64, String, Cow<'c, str>)| FileSize {
        group: Group::of(&path, &content),
        path,
        raw: content.len() as u64,
        share: counted * weight / total,
    };
    let mut sizes: Vec<_> = weighed.into_iter().map(size).collect();
    sizes.sort_by(|a, b| b.share.cmp(&a.share).then_with(|| a.path.cmp(&b.path)));
    sizes
}

fn group_sizes(files: &[FileSize]) -> Vec<GroupSize> {
    let mut groups: Vec<GroupSize> = Vec::new();
    for file in files {
        match groups.iter_mut().find(|size| size.group == file.group) {
            Some(size) => {
                size.raw += file.raw;
                size.share += file.share;
            }
            None => groups.push(GroupSize {
                group: file.group,
                raw: file.raw,
                share: file.share,
            }),
        }
    }
    groups.sort_by(|a, b| b.share.cmp(&a.share).then_with(|| a.group.cmp(&b.group)));
    groups
}

/// A document that fits in no form. Its `Display` lists its largest files.
#[derive(Debug)]
pub struct Overrun {
    /// The smallest form.
    pub size: NodeSize,
    /// The platform's limit.
    pub limit: u64,
    format: DocumentFormat,
}

impl Overrun {
    pub(super) fn new(node: &NodePlan, files: &NodeFiles, smallest: &Handover) -> Self {
        Self {
            size: NodeSize::new(node, files, (smallest, None), &CompressedSizes::default()),
            limit: smallest.limit.unwrap_or(u64::MAX),
            format: node.os.document,
        }
    }
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeSize {
            node,
            platform,
            attribute,
            counted,
            files,
            ..
        } = &self.size;
        let inner = match self.size.form {
            DeliveryForm::Inner => ", compressed inside",
            DeliveryForm::Pointer => ", by pointer",
            DeliveryForm::Plain | DeliveryForm::Compressed => "",
        };
        writeln!(
            f,
            "{node}: the {} document is too large for {attribute} of platform {platform}: {counted} bytes (sent as {}{inner}), {} over the limit of {}",
            self.format,
            self.size.encoding,
            counted - self.limit,
            self.limit
        )?;
        write!(f, "  {:>8} {:>8}  largest files", "raw", "counted")?;
        for file in files.iter().take(LARGEST) {
            write!(f, "\n  {:>8} {:>8}  {}", file.raw, file.share, file.path)?;
        }
        if let Some(rest) = files.get(LARGEST..).filter(|rest| !rest.is_empty()) {
            let raw: u64 = rest.iter().map(|file| file.raw).sum();
            let share: u64 = rest.iter().map(|file| file.share).sum();
            write!(f, "\n  {raw:>8} {share:>8}  {} more", rest.len())?;
        }
        Ok(())
    }
}
