//! The files of one node.

use time::OffsetDateTime;

use super::{
    Error, ManifestFile, ManifestPort,
    form::{Candidates, Selected},
    pointer::{Located, PayloadKeys, Pointed},
    seed,
};
use crate::{
    document,
    node::NodeFiles,
    plan::{NodePlan, PortPlan},
    profile::{DocumentFormat, Encoding, UserData},
    spec::{DeliveryForm, Role},
};

/// The files of one node, ready for the tree.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// First the document as text; then the delivered file, if it is another one; then the files that the platform
    /// reads with it; then the payload for another place.
    pub files: Vec<ArtifactFile>,
    /// Where the end of the document as text begins that many machines have in common.
    pub shared_end: Option<usize>,
    /// cloud-init's name for the machine as these files make it: another document or network is another instance. `None` where
    /// no file and no server names it.
    pub instance: Option<String>,
    /// The document for the platform.
    pub handover: Handover,
    /// The file that has to be uploaded before the machine boots.
    pub payload: Option<Payload>,
}

/// One file of a node.
#[derive(Clone)]
pub struct ArtifactFile {
    /// Name within the node's directory.
    pub name: String,
    /// The content; it contains secrets.
    pub content: Vec<u8>,
}

impl ArtifactFile {
    /// A file of text.
    pub(super) fn text(name: impl Into<String>, content: String) -> Self {
        Self {
            name: name.into(),
            content: content.into_bytes(),
        }
    }
}

impl std::fmt::Debug for ArtifactFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArtifactFile({}, {} bytes)", self.name, self.content.len())
    }
}

/// The delivery of the document to the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Name of the delivered file, one of [`Artifact::files`].
    pub file: String,
    /// The platform's field for it: a Terraform attribute, a metadata key, a file name. It is the same for every form.
    pub attribute: String,
    pub form: DeliveryForm,
    /// How the file is encoded.
    pub encoding: Encoding,
    /// Bytes that the platform counts.
    pub counted: u64,
    /// The platform's limit in bytes.
    pub limit: Option<u64>,
}

impl Handover {
    /// The platform sees compressed bytes.
    pub(super) fn is_compressed(&self) -> bool {
        self.form == DeliveryForm::Inner || self.encoding.is_gzip()
    }
}

/// The file that a machine fetches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Name of the file, one of [`Artifact::files`].
    pub file: String,
    /// Its URL, without the key.
    pub url: String,
    pub bytes: u64,
    /// Its content is encrypted.
    pub sealed: bool,
}

impl Payload {
    fn new(located: &Located) -> Self {
        Self {
            file: located.file.clone(),
            url: located.place.url(),
            bytes: located.bytes.len() as u64,
            sealed: located.sealed,
        }
    }
}

/// Renders a node's document in a form that its platform accepts: the first [`DeliveryForm`] that fits, or the one that
/// the spec requires.
pub fn package(cluster: &str, node: &NodePlan, files: &NodeFiles, keys: &PayloadKeys) -> Result<Artifact, Error> {
    let failed = Error::of_document(node);
    let document = document::for_os(&node.os).map_err(&failed)?;
    let plain = document.render(files, document::Compression::None).map_err(failed)?;
    let candidates = Candidates {
        cluster,
        node,
        files,
        keys,
        user_data: user_data(node)?,
        document: &*document,
        plain: &plain,
    };
    let Selected {
        handover,
        sent,
        pointed,
    } = candidates.select_form()?;
    let given = pointed.as_ref().map_or(&plain, |Pointed { stub, .. }| stub);
    let is_named = node.platform.meta_data || node.boot.is_some();
    let instance = is_named.then(|| seed::instance_id(cluster, node, given));
    let beside = match node.os.document {
        DocumentFormat::CloudInit => seed::files(node, instance.as_deref(), handover.encoding),
        DocumentFormat::Ignition => Vec::new(),
    };
    let shared_end = document.shared_end(&plain);
    let file = |name: &str, content| ArtifactFile {
        name: name.to_owned(),
        content,
    };
    let payload = pointed.map(|Pointed { payload, .. }| payload);
    let described = payload.as_ref().map(Payload::new);
    let sent = sent.map(|content| file(&handover.file, content));
    let payload = payload.map(|located| file(&located.file, located.bytes));
    let text = file(document.file_name(), plain.into_bytes());
    Ok(Artifact {
        files: std::iter::once(text).chain(sent).chain(beside).chain(payload).collect(),
        shared_end,
        instance,
        handover,
        payload: described,
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

impl Artifact {
    /// The bytes of a file.
    pub(super) fn content(&self, name: &str) -> Option<&[u8]> {
        let mut files = self.files.iter();
        let file = files.find(|file| file.name == name)?;
        Some(&file.content)
    }

    /// The node's files under `nodes/NAME/`, described and with their bytes.
    pub fn tree_files<'a>(
        &'a self,
        node: &'a NodePlan,
        expires: Option<OffsetDateTime>,
    ) -> impl Iterator<Item = (ManifestFile, &'a [u8])> {
        self.files.iter().map(move |file| {
            let handover = (file.name == self.handover.file).then_some(&self.handover);
            let payload = self.payload.as_ref().filter(|payload| payload.file == file.name);
            let described = ManifestFile {
                path: format!("nodes/{}/{}", node.name, file.name),
                node: Some(node.name.clone()),
                pool: node.pool,
                roles: roles(node),
                platform: Some(node.platform.name.clone()),
                mac: handover.and_then(|_| node.mac.clone()),
                uuid: handover.and_then(|_| node.uuid.clone()),
                memory: handover.is_some() && node.boot.as_ref().is_some_and(|boot| boot.memory),
                attribute: handover.map(|handover| handover.attribute.clone()),
                form: handover.map(|handover| handover.form),
                max_exposure: handover.and(node.delivery.max_exposure),
                encoding: handover.map(|handover| handover.encoding),
                counted: handover.map(|handover| handover.counted),
                limit: handover.and_then(|handover| handover.limit),
                url: payload.map(|payload| payload.url.clone()),
                sealed: payload.map(|payload| payload.sealed),
                expires,
                ..ManifestFile::default()
            };
            (described, file.content.as_slice())
        })
    }
}

/// The roles of a node, in the manifest's order.
pub fn roles(node: &NodePlan) -> Vec<Role> {
    let roles = [
        (node.roles.control_plane, Role::ControlPlane),
        (node.roles.worker, Role::Worker),
        (node.roles.etcd, Role::Etcd),
    ];
    roles
        .into_iter()
        .filter_map(|(has, role)| has.then_some(role))
        .collect()
}

impl From<PortPlan> for ManifestPort {
    fn from(port: PortPlan) -> Self {
        let PortPlan { protocol, port, on, of } = port;
        Self { protocol, port, on, of }
    }
}
