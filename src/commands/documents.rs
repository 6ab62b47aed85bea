//! The files of a tree, as `render` writes them and `verify --against` compares them.

use rayon::prelude::*;
use time::OffsetDateTime;

use super::{assembly::Assembly, failure::Failure, known_secrets::KeyHolder, project::Project};
use crate::{
    changes::founding::{Applied, FOUNDING, SecretValues},
    delivery::{Artifact, ArtifactFile, Manifest, ManifestFile},
    encoding::sha256_hex,
    node::{NodeFile, on_one_line},
    pki::NodePki,
    plan::NodePlan,
    record::{self, ValueDigests},
    secret::Secret,
    secrets::Bundle,
    tree::network_boot,
};

/// The begin of the first and last line of each PEM block (RFC 7468).
const BORDER: &str = "-----";

/// A file of the tree: its description in manifest.json, and its bytes.
pub(super) type TreeFile = (ManifestFile, Vec<u8>);

/// All outputs of one node.
pub(super) struct Documents<'n> {
    pub(super) node: &'n NodePlan,
    boot: Vec<ArtifactFile>,
    pub(super) artifact: Artifact,
    /// When the first of its certificates ends.
    pub(super) ends: OffsetDateTime,
    pki: NodePki,
}

impl<'n> Documents<'n> {
    /// Issues, assembles and packs.
    pub(super) fn of(assembly: &Assembly<'_>, node: &'n NodePlan) -> Result<Self, Failure> {
        let pki = assembly.pki(node)?;
        let files = assembly.files(node, &pki)?;
        let artifact = assembly.artifact(node, &files)?;
        Ok(Self {
            node,
            boot: assembly.pxe_files(node, &artifact)?,
            artifact,
            ends: pki.expires,
            pki,
        })
    }

    /// Those of several nodes. The error is that of the first node that fails.
    pub(super) fn of_all(assembly: &Assembly<'_>, nodes: &[&'n NodePlan]) -> Result<Vec<Self>, Failure> {
        let documents: Vec<_> = nodes.par_iter().map(|node| Self::of(assembly, node)).collect();
        documents.into_iter().collect()
    }

    /// A pool's document has no certificate, and its token counts from the day of founding.
    pub(super) fn expires(&self) -> Option<OffsetDateTime> {
        (!self.node.pool).then_some(self.ends)
    }

    /// The lines with the base64 of its PEM files, as a document of cloud-init has them. A key that the audit does not know of this machine is
    /// not among them.
    pub(super) fn made(&self) -> Vec<Secret<String>> {
        let holder = KeyHolder::of(self.node);
        let is_known = |path: &str| path.ends_with(".crt") || holder.has(path);
        let files = self.pki.files.iter().filter(|file| is_known(&file.path));
        let texts = files.map(|file| on_one_line(file.content.expose()));
        let pem = texts.filter(|text| text.starts_with(BORDER));
        let lines = pem.flat_map(|text| {
            let lines = text.lines().filter(|line| !line.starts_with(BORDER));
            lines.map(|line| Secret::new(line.to_owned())).collect::<Vec<_>>()
        });
        lines.collect()
    }

    /// The files, described.
    pub(super) fn files(&self) -> Vec<(ManifestFile, &[u8])> {
        let of_boot = |file: &'_ ArtifactFile| ManifestFile {
            node: Some(self.node.name.clone()),
            ..ManifestFile::new(file.name.clone())
        };
        let boot = self.boot.iter().map(|file| (of_boot(file), file.content.as_slice()));
        self.artifact
            .tree_files(self.node, self.expires())
            .chain(boot)
            .collect()
    }
}

/// A file with its size and digest.
pub(super) fn described((mut file, bytes): (ManifestFile, &[u8])) -> (ManifestFile, &[u8]) {
    file.bytes = bytes.len() as u64;
    file.sha256 = sha256_hex(bytes);
    (file, bytes)
}

/// Files that belong to no single node.
pub(super) fn shared(
    assembly: &Assembly<'_>,
    project: &Project,
    founder: &[NodeFile],
) -> Result<Vec<TreeFile>, Failure> {
    let kubeconfig = assembly.admin_kubeconfig()?.expose().as_bytes().to_vec();
    let names = node_names(&project.plan.nodes).into_bytes();
    let first = assembly
        .first_script()?
        .map(|script| (network_boot::FIRST_SCRIPT, script.into_bytes()));
    let digests = ValueDigests::of(assembly.bundle());
    let secrets = SecretValues::of(&project.secret_values(), &digests);
    let applied = applied(assembly.bundle(), founder).beside(secrets);
    let applied = serde_json::to_vec_pretty(&applied)?;
    let files = [
        ("admin.kubeconfig", kubeconfig),
        (FOUNDING, applied),
        ("node-names", names),
    ]
    .into_iter()
    .chain(first);
    Ok(files.map(|(path, bytes)| (ManifestFile::new(path), bytes)).collect())
}

/// The files with which the founder founds the cluster, also of one that was founded.
pub(super) fn founder_files(project: &Project, bundle: &Bundle) -> Result<Vec<NodeFile>, Failure> {
    let assembly = Assembly::new(project, bundle, false)?;
    let founder = project.plan.founder();
    Ok(assembly.files(founder, &assembly.pki(founder)?)?.files)
}

/// The settings that only a founder with these files applies.
pub(super) fn applied(bundle: &Bundle, founder: &[NodeFile]) -> Applied {
    let digests = ValueDigests::of(bundle);
    let digest = |value: &str| digests.digest(value);
    Applied::new(record::founding(bundle, founder), founder, &digest)
}

/// One line for each node that registers under its own name, for `firelay-status --cluster --expect`.
fn node_names(nodes: &[NodePlan]) -> String {
    let named = nodes.iter().filter(|node| node.roles.kubernetes() && !node.pool);
    named.map(|node| node.name.clone() + "\n").collect()
}

/// The manifest without its files.
pub(super) fn manifest(project: &Project, assembly: &Assembly<'_>) -> Manifest {
    let (plan, fingerprint) = (&project.plan, assembly.bundle().fingerprint());
    Manifest {
        founded: assembly.is_founded(),
        generations: assembly.generations().clone(),
        administrator_issued_at: assembly.administrator(),
        ports: plan.ports().map(Into::into).collect(),
        ..Manifest::new(&plan.name, &plan.kubernetes.version.to_string(), &fingerprint)
    }
}
