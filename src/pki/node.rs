//! Which files which node gets.

use time::OffsetDateTime;

use super::{
    Authorities, Error, NodePki, PkiFile,
    authorities::Ca,
    control_plane, etcd, kubelet,
    leaf::{self, Issued, Leaf},
};
use crate::{
    plan::{NodePlan, Plan},
    secret::Secret,
    secrets::Bundle,
};

/// Everything of one node. Pure: what other nodes there are changes nothing.
pub fn issue(plan: &Plan, authorities: &Authorities, bundle: &Bundle, node: &NodePlan) -> Result<NodePki, Error> {
    let mut desk = Desk {
        plan,
        authorities,
        bundle,
        node,
        files: Vec::new(),
        expires: None,
    };
    if node.roles.kubernetes() {
        desk.certificate("pki/ca.crt", &bundle.kubernetes.certificate);
        kubelet::issue(&mut desk)?;
    }
    if node.roles.control_plane {
        control_plane::issue(&mut desk)?;
    }
    if node.roles.etcd && plan.etcd.external {
        etcd::issue_member(&mut desk)?;
    }
    Ok(desk.close())
}

/// The files of one node while they are being made.
pub(super) struct Desk<'a> {
    pub(super) plan: &'a Plan,
    authorities: &'a Authorities,
    pub(super) bundle: &'a Bundle,
    pub(super) node: &'a NodePlan,
    files: Vec<PkiFile>,
    expires: Option<OffsetDateTime>,
}

impl Desk<'_> {
    /// Signs the leaf of this node that stands at `path`, from which its key follows.
    pub(super) fn sign(&mut self, path: &str, leaf: &Leaf) -> Result<Issued, Error> {
        let label = format!("node/{}/{path}", self.node.name);
        let issued = leaf::sign(self.plan, self.authorities, self.bundle, &label, leaf)?;
        self.expires = Some(
            self.expires
                .map_or(issued.not_after, |expires| expires.min(issued.not_after)),
        );
        Ok(issued)
    }

    /// Signs a leaf into `PATH.crt` and `PATH.key`.
    pub(super) fn pair(&mut self, path: &str, leaf: &Leaf) -> Result<(), Error> {
        let issued = self.sign(path, leaf)?;
        self.certificate(&format!("{path}.crt"), &issued.certificate);
        self.secret(&format!("{path}.key"), issued.key);
        Ok(())
    }

    /// Lays a public file, 0644.
    pub(super) fn certificate(&mut self, path: &str, text: &str) {
        self.files.push(PkiFile {
            path: path.to_owned(),
            content: Secret::new(text.to_owned()),
            mode: 0o644,
        });
    }

    /// Lays a file that only root reads, 0600.
    pub(super) fn secret(&mut self, path: &str, content: Secret<String>) {
        self.files.push(PkiFile {
            path: path.to_owned(),
            content,
            mode: 0o600,
        });
    }

    fn close(mut self) -> NodePki {
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
        let authority = self.authorities.get(Ca::Kubernetes).not_after;
        NodePki {
            files: self.files,
            expires: self.expires.unwrap_or(authority),
        }
    }
}
