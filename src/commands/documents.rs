//! The files of a tree, as `render` writes them and `verify --against` compares them.

use std::net::IpAddr;

use rayon::prelude::*;
use time::OffsetDateTime;

use super::{assembly::Assembly, failure::Failure, known_secrets::KeyHolder, project::Project};
use crate::{
    audit,
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
    /// Lines of the document that were made for this machine, in their order.
    pub(super) made: Vec<MadeLine>,
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
            made: made(node, &pki),
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

/// A line of a document of which the search for secrets knows the origin.
pub(super) struct MadeLine {
    line: Secret<String>,
    /// The part that is searched like any other text.
    guessed: String,
}

impl MadeLine {
    pub(super) fn borrowed(&self) -> audit::MadeLine<'_> {
        audit::MadeLine {
            line: self.line.expose(),
            guessed: &self.guessed,
        }
    }
}

/// A value of one machine.
#[derive(Clone, Copy)]
enum Own {
    Name,
    Address,
}

/// Lines with the machine's own value, as the text before it and behind it: in the order of the document, around the lines of PEM. What is
/// before the value stays in its place, since it separates the lines around it.
const BEFORE_PEM: [(&str, Own, &str); 2] = [("hostname: ", Own::Name, "\n"), ("fqdn: ", Own::Name, "\n")];
const BEHIND_PEM: [(&str, Own, &str); 7] = [
    ("      name: ", Own::Name, "\n"),
    ("        value: \"", Own::Address, "\"\n"),
    ("    FL_NODE=", Own::Name, "\n"),
    ("    FL_ADDRESSES=", Own::Address, "\n"),
    ("    FL_LOCAL=", Own::Address, "\n"),
    ("    FL_URL_ADDRESS=", Own::Address, "\n"),
    ("    FL_PIN=", Own::Address, "\n"),
];

fn made(node: &NodePlan, pki: &NodePki) -> Vec<MadeLine> {
    let own = |line: &(&str, Own, &str)| made_of_own(node, *line);
    let (before, behind) = (BEFORE_PEM.iter().filter_map(own), BEHIND_PEM.iter().filter_map(own));
    before.chain(made_pem(node, pki)).chain(behind).collect()
}

fn made_of_own(node: &NodePlan, (before, own, behind): (&str, Own, &str)) -> Option<MadeLine> {
    let value = match (own, node.addresses.as_slice()) {
        (Own::Name, _) => Some(node.name.clone()).filter(|name| !node.pool && is_no_secret(name)),
        (Own::Address, [IpAddr::V4(address)]) => Some(address.to_string()),
        (Own::Address, _) => None,
    }?;
    Some(MadeLine {
        line: Secret::new(format!("{before}{value}{behind}")),
        guessed: format!("{before}{behind}"),
    })
}

/// A name that is too short for a secret, and no byte in digits of hex. Longer names are searched.
fn is_no_secret(name: &str) -> bool {
    const SHORT: usize = 15;
    name.len() <= SHORT && name.bytes().any(|byte| matches!(byte, b'g'..=b'z'))
}

/// The lines with the base64 of PEM files. A key that the audit does not know of this machine is not among them.
fn made_pem(node: &NodePlan, pki: &NodePki) -> Vec<MadeLine> {
    let holder = KeyHolder::of(node);
    let is_known = |path: &str| path.ends_with(".crt") || holder.has(path);
    let files = pki.files.iter().filter(|file| is_known(&file.path));
    let texts = files.map(|file| on_one_line(file.content.expose()));
    let pem = texts.filter(|text| text.starts_with(BORDER));
    let lines = pem.flat_map(|text| {
        let lines = text.lines().filter(|line| !line.starts_with(BORDER));
        let made = lines.map(|line| MadeLine {
            line: Secret::new(line.to_owned()),
            guessed: String::new(),
        });
        made.collect::<Vec<_>>()
    });
    lines.collect()
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
