//! Names of images: where they are pulled from, and by which digest.

use std::collections::BTreeMap;

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::{Plan, names, report::Report};
use crate::spec::Spec;

/// kubeadm's own image registry.
pub(super) const IMAGE_REPOSITORY: &str = "registry.k8s.io";

/// Prefix of the hex digits (OCI image specification, "Digests").
const ALGORITHM: &str = "sha256:";

/// Images that firelay names, after `artifacts.imageRewrites` and `imageDigests`.
#[derive(Clone, Debug, Default)]
pub struct Images {
    rewrites: BTreeMap<String, String>,
    digests: BTreeMap<String, String>,
    /// Names with which images are pulled, with upstream's names.
    named: BTreeMap<String, String>,
}

impl Images {
    pub(super) fn new(spec: &Spec) -> Self {
        let plain = |map: &BTreeMap<Spanned<String>, Spanned<String>>| {
            let entries = map.iter();
            entries
                .map(|(key, value)| (key.value.clone(), value.value.clone()))
                .collect()
        };
        Self {
            rewrites: plain(&spec.artifacts.image_rewrites),
            digests: plain(&spec.artifacts.image_digests),
            named: BTreeMap::new(),
        }
    }

    /// A repository after `imageRewrites`: the longest prefix on a `/` or `:` boundary wins.
    pub(super) fn repository(&self, upstream: &str) -> String {
        self.rewrites
            .iter()
            .filter_map(|(from, to)| Some((from, to, upstream.strip_prefix(from.as_str())?)))
            .filter(|(_, _, rest)| rest.is_empty() || rest.starts_with(['/', ':']))
            .max_by_key(|(from, _, _)| from.len())
            .map_or_else(|| upstream.to_owned(), |(_, to, rest)| format!("{to}{rest}"))
    }

    /// The name by which an image is pulled.
    pub(super) fn name(&mut self, upstream: &str) -> String {
        let name = self.repository(upstream);
        let pulled = match self.digests.get(upstream) {
            Some(digest) => format!("{name}@{digest}"),
            None => name,
        };
        self.named.insert(pulled.clone(), upstream.to_owned());
        pulled
    }

    /// The named images: the names with which they are pulled, with upstream's names.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named
            .iter()
            .map(|(pulled, upstream)| (pulled.as_str(), upstream.as_str()))
    }
}

/// The images that kubeadm names by itself (kubeadm, app/images/images.go): as they are pulled, with upstream's names.
pub fn of_kubeadm(plan: &Plan) -> Vec<(String, String)> {
    let kubernetes = &plan.kubernetes;
    let (dns, etcd, repository) = (&kubernetes.dns, &plan.etcd, &kubernetes.image_repository);
    let version = format!("v{}", kubernetes.version);
    let upstream = |name: &str, tag: &str| format!("{IMAGE_REPOSITORY}/{name}:{tag}");
    let mut components = vec!["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
    components.extend(kubernetes.kube_proxy.as_ref().map(|_| "kube-proxy"));
    let component = |name| (format!("{repository}/{name}:{version}"), upstream(name, &version));
    let mut images: Vec<_> = components.into_iter().map(component).collect();
    if !dns.disabled {
        let tag = dns.image_tag.as_ref().unwrap_or(&kubernetes.profile.coredns);
        // Only in its own registry it is one level deeper.
        let name = upstream("coredns/coredns", tag);
        let pulled = match &dns.image_repository {
            None if repository == IMAGE_REPOSITORY => name.clone(),
            own => format!("{}/coredns:{tag}", own.as_ref().unwrap_or(repository)),
        };
        images.push((pulled, name));
    }
    if !etcd.external {
        let tag = etcd.image_tag.as_ref().unwrap_or(&kubernetes.profile.etcd_image);
        let own = etcd.image_repository.as_ref().unwrap_or(repository);
        images.push((format!("{own}/etcd:{tag}"), upstream("etcd", tag)));
    }
    images
}

/// Refuses what is no digest, and a digest of an image that firelay does not name.
pub(super) fn check(spec: &Spec, plan: &Plan, report: &mut Report) {
    let kubeadm: Vec<_> = of_kubeadm(plan).into_iter().map(|(_, upstream)| upstream).collect();
    for (image, digest) in &spec.artifacts.image_digests {
        let hex = digest.strip_prefix(ALGORITHM);
        if !hex.is_some_and(|hex| names::is_sha256(hex) && hex == hex.to_lowercase()) {
            let finding = Diagnostic::error("FL0306", "not the digest of an image").at(digest.span);
            report.push(
                finding.label("sha256: and 64 lower-case hex digits").help(
                    "`skopeo inspect --format '{{.Digest}}' docker://IMAGE` prints that of all its architectures",
                ),
            );
        }
        report.extend(unknown(image, plan, &kubeadm));
    }
}

fn unknown(image: &Spanned<String>, plan: &Plan, kubeadm: &[String]) -> Option<Diagnostic> {
    let finding = |message: &str| Diagnostic::error("FL0316", message).at(image.span);
    if image.contains('@') {
        let help = "leave it out, or remove the digest where the image is named";
        return Some(finding("a digest for an image that is named with one").help(help));
    }
    let named: Vec<_> = plan.images.named().map(|(_, upstream)| upstream).collect();
    if named.contains(&image.as_str()) {
        return None;
    }
    let finding = finding("the digest of an image that firelay does not name");
    if kubeadm.contains(&image.value) {
        let help = "leave it out; `imageRewrites` can lead to a registry of yours that never changes a tag";
        return Some(finding.label("kubeadm names this one, by its tag").help(help));
    }
    let help = "`firelay artifacts images` lists the images of this cluster, by upstream's names with --output json";
    Some(finding.suggest(nearest(image, named)).help(help))
}
