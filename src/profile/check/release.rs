//! Checks of the files that list releases: Kubernetes, containerd, downloads, the endpoint's images.

use super::Check;
use crate::profile::{ArtifactFormat, ArtifactTarget, Catalog, ContainerdReleases, EndpointProfile, KubernetesProfile};

impl Check<'_> {
    pub(in crate::profile) fn kubernetes(&mut self, kubernetes: &KubernetesProfile) {
        if kubernetes.versions.is_empty() {
            self.wrong("versions", "a minor without versions", "", "");
        }
        for (at, version) in kubernetes.versions.iter().enumerate() {
            if format!("{}.{}", version.major, version.minor) != kubernetes.minor {
                let label = format!("this is no {}", kubernetes.minor);
                self.wrong(&format!("versions/{at}"), "a version of another minor", &label, "");
            }
        }
        if !kubernetes.kubeadm_api.starts_with("kubeadm.k8s.io/v") {
            self.wrong(
                "kubeadmApi",
                "not a version of kubeadm's configuration",
                "",
                "write it as kubeadm.k8s.io/v1beta4",
            );
        }
        self.word("pause", &kubernetes.pause, "-_.");
        self.word("coredns", &kubernetes.coredns, "-_.");
        self.word("etcdImage", &kubernetes.etcd_image, "-_.");
    }

    pub(in crate::profile) fn catalog(&mut self, catalog: &Catalog) {
        for (name, artifact) in &catalog.artifacts {
            let key = format!("artifacts/{name}");
            let url = &artifact.url;
            if !(url.starts_with("https://") || url.starts_with("http://")) || url.contains([' ', '"', '\'']) {
                let label = "http:// or https://, a host, no blanks and quotes";
                self.wrong(&format!("{key}/url"), "not a URL that can be fetched", label, "");
            }
            if artifact.format == ArtifactFormat::Binary && artifact.members.len() > 1 {
                self.wrong(
                    &format!("{key}/members"),
                    "a binary with several names",
                    "it is one file",
                    "",
                );
            }
            if let Some(directory) = &artifact.directory {
                self.path(&format!("{key}/directory"), directory);
            }
            let places = artifact.members.len() + usize::from(artifact.directory.is_some());
            if artifact.target == ArtifactTarget::Tree && places != 1 {
                let help = "one member, or `directory` for the whole archive";
                self.wrong(&format!("{key}/target"), "a tree without one place", "", help);
            }
            for (version, digests) in &artifact.releases {
                for (arch, digest) in digests {
                    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                    if ![64, 128].contains(&digest.len()) || !digest.bytes().all(hex) {
                        let arch = serde_json::to_value(arch).unwrap_or_default();
                        let arch = arch.as_str().unwrap_or_default();
                        let place = format!("{key}/releases/{version}/{arch}");
                        self.wrong(
                            &place,
                            "not a SHA-256 or SHA-512",
                            "64 or 128 digits, a-f in lower case",
                            "",
                        );
                    }
                }
            }
        }
    }

    pub(in crate::profile) fn endpoint(&mut self, endpoint: &EndpointProfile) {
        let images = &endpoint.images;
        self.word("images/kubeVip", &images.kube_vip, "-_./:@");
        self.word("images/haproxy", &images.haproxy, "-_./:@");
    }

    pub(in crate::profile) fn containerd(&mut self, containerd: &ContainerdReleases) {
        for (at, release) in containerd.releases.iter().enumerate() {
            if !(2..=3).contains(&release.config_version) {
                let place = format!("releases/{at}/configVersion");
                self.wrong(
                    &place,
                    "a version of containerd's configuration that firelay does not write",
                    "",
                    "versions: 2, 3",
                );
            }
        }
    }
}
