//! The embedded profiles are complete and consistent.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fs, path::Path, time::Instant};

use firelay::{
    profile::{ArtifactScope, DocumentFormat, GateState, KubernetesProfile, Profiles},
    spec::Arch,
};
use firelay_yaml::Minor;
use semver::Version;

fn profiles() -> Profiles {
    Profiles::embedded().unwrap()
}

fn stems(folder: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles").join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_file_is_embedded_under_its_own_name() {
    let profiles = profiles();
    assert_eq!(stems("os"), profiles.os.into_keys().collect());
    assert_eq!(stems("platform"), profiles.platform.into_keys().collect());
    assert_eq!(stems("kubernetes"), profiles.kubernetes.into_keys().collect());
}

#[test]
fn every_digest_is_a_lower_case_sha256_or_sha512_for_both_architectures() {
    for (name, artifact) in &profiles().catalog.artifacts {
        for version in artifact.releases.keys() {
            for arch in [Arch::Amd64, Arch::Arm64] {
                let digest = artifact.digest(version, arch).unwrap();
                let hex = digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                assert!(
                    matches!(digest.len(), 64 | 128) && hex,
                    "{name} {version} {arch:?}: {digest}"
                );
            }
        }
    }
}

/// CRI-O's bundle for 1.37, whose digest nobody's table has: a spec that asks for it is refused with FL0303.
fn is_undigested(minor: &str, name: &str) -> bool {
    (minor, name) == ("1.37", "crio")
}

#[test]
fn every_version_that_a_minor_names_is_in_the_catalog() {
    let profiles = profiles();
    for (minor, profile) in &profiles.kubernetes {
        for name in ["kubelet", "kubeadm", "kubectl"] {
            for version in &profile.versions {
                assert!(
                    profiles.catalog.artifacts[name].releases.contains_key(version),
                    "{name} {version}"
                );
                assert_eq!(profiles.kubernetes(version).unwrap().minor, *minor);
            }
        }
        let listed = profile
            .components
            .iter()
            .filter(|(name, _)| !is_undigested(minor, name));
        for (name, version) in listed {
            assert!(
                profiles.catalog.artifacts[name].releases.contains_key(version),
                "{minor}: {name} {version}"
            );
        }
        assert!(
            profile.versions.is_sorted_by(|newer, older| newer > older),
            "{minor}: newest first"
        );
    }
}

#[test]
fn every_artifact_has_a_version_in_every_minor() {
    let profiles = profiles();
    for profile in profiles.kubernetes.values() {
        for (name, artifact) in &profiles.catalog.artifacts {
            let of_kubernetes = artifact.releases.contains_key(&profile.versions[0]);
            assert!(
                of_kubernetes || profile.component(name).is_some(),
                "{}: {name}",
                profile.minor
            );
        }
    }
}

#[test]
fn the_containerd_of_a_minor_is_one_that_it_accepts_and_firelay_can_configure() {
    let profiles = profiles();
    for profile in profiles.kubernetes.values() {
        let version = profile.component("containerd").unwrap();
        assert!(profile.accepts_containerd(version), "{}", profile.minor);
    }
    for version in profiles.catalog.artifacts["containerd"].releases.keys() {
        assert!(profiles.containerd(version).is_some(), "containerd {version}");
        assert!(
            profiles
                .kubernetes
                .values()
                .all(|profile| profile.accepts_containerd(version)),
            "{version}"
        );
    }
    let config_version = |version| {
        profiles
            .containerd(&Version::parse(version).unwrap())
            .map(|it| it.config_version)
    };
    assert_eq!(config_version("1.7.34"), Some(2));
    assert_eq!(config_version("2.0.0"), Some(3));
    assert_eq!(config_version("2.3.4"), Some(3));
    assert_eq!(config_version("1.6.36"), None);
    assert_eq!(config_version("3.0.0"), None);
}

#[test]
fn questions_are_answered_by_minor() {
    let profiles = profiles();
    let (old, new) = (&profiles.kubernetes["1.34"], &profiles.kubernetes["1.36"]);
    assert!(new.accepts_flag("kubelet", "port") && !new.accepts_flag("kube-scheduler", "port"));
    assert!(old.accepts_flag("kubelet", "pod-infra-container-image"));
    assert!(!new.accepts_flag("kubelet", "pod-infra-container-image") && new.accepts_flag("kubelet", "node-ip"));
    assert!(old.accepts_kubeadm_feature_gate("ControlPlaneKubeletLocalMode"));
    assert!(!new.accepts_kubeadm_feature_gate("ControlPlaneKubeletLocalMode"));
    assert!(new.accepts_encryption_algorithm("ECDSA-P256") && !new.accepts_encryption_algorithm("Ed25519"));
}

#[test]
fn feature_gates_and_fields_come_and_go_with_minors() {
    let profiles = profiles();
    let minor = |text: &str| text.parse::<Minor>().unwrap();
    let gates = &profiles.feature_gates;
    let state = |name: &str, text: &str| gates.state(name, minor(text));
    assert_eq!(state("GangScheduling", "1.34"), None);
    assert_eq!(state("GangScheduling", "1.35"), Some(GateState::Off));
    assert_eq!(gates.later("GangScheduling", minor("1.34")), Some(minor("1.35")));
    assert_eq!(state("HonorPVReclaimPolicy", "1.35"), Some(GateState::LockedOn));
    assert_eq!(
        (
            state("HonorPVReclaimPolicy", "1.36"),
            gates.earlier("HonorPVReclaimPolicy", minor("1.36"))
        ),
        (None, Some(minor("1.35")))
    );
    assert_eq!(
        (state("AppArmor", "1.34"), gates.earlier("AppArmor", minor("1.34"))),
        (None, Some(minor("1.32")))
    );
    assert_eq!(state("InOrderInformers", "1.35"), Some(GateState::On));
    assert_eq!(state("CustomCPUCFSQuotaPeriod", "1.34"), Some(GateState::Off));
    assert_eq!(
        (gates.requires(minor("1.34")).count(), gates.covers(minor("1.38"))),
        (0, false)
    );

    let kubelet = profiles.kinds.fields("KubeletConfiguration").unwrap();
    let curves = &kubelet["tlsCurvePreferences"];
    assert!(curves.is_of(minor("1.36")) && !curves.is_of(minor("1.35")));
    assert!(kubelet["failCgroupV1"].is_of(minor("1.34")));
    // The union of the top-level fields of 1.34 to 1.37.
    assert_eq!(kubelet.len(), 126);
    assert_eq!(profiles.kinds.fields("KubeProxyConfiguration").unwrap().len(), 24);
}

/// Flags and kinds of an unknown minor are not checked. k8s-openapi is a second source of the kinds.
#[test]
fn flags_and_kinds_of_every_minor_are_known() {
    let profiles = profiles();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, kubernetes) in &profiles.kubernetes {
        let minor: Minor = name.parse().unwrap();
        for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"] {
            let flags = profiles.flags.of(component, minor).unwrap();
            assert!(flags.contains(&"feature-gates"), "{component} {name}");
            let both = |flag: &&str| !kubernetes.accepts_flag(component, flag);
            assert_eq!(
                flags.iter().find(|flag| both(flag)),
                None,
                "{component} {name}: there, and removed"
            );
        }
        let etcd = Minor::of(&kubernetes.components["etcd"]);
        assert!(profiles.flags.of("etcd", etcd).is_some(), "etcd of {name}");
        assert!(profiles.objects.covers(minor));
        let schemas = fs::read_to_string(root.join(format!("tests/openapi/{name}.json"))).unwrap();
        let schemas: serde_json::Value = serde_json::from_str(&schemas).unwrap();
        for object in schemas["kinds"].as_object().unwrap().keys() {
            let (version, kind) = object.split_once(' ').unwrap();
            assert!(
                profiles.objects.kinds(version, minor).contains(&kind),
                "{object} in {name}"
            );
        }
    }
}

#[test]
fn the_oldest_minor_has_what_it_had() {
    let profiles = profiles();
    let (oldest, next) = (&profiles.kubernetes["1.33"], &profiles.kubernetes["1.34"]);
    assert!(!oldest.accepts_encryption_algorithm("ECDSA-P384") && next.accepts_encryption_algorithm("ECDSA-P384"));
    assert!(!oldest.accepts_etcd(&Version::new(3, 6, 14)) && next.accepts_etcd(&Version::new(3, 6, 14)));
    assert_eq!(oldest.component("etcd").map(|it| it.minor), Some(5));
    let authentication = |of: &KubernetesProfile| of.configuration_files["authentication"].api_versions[0].clone();
    assert_eq!(authentication(oldest), "apiserver.config.k8s.io/v1beta1");
    assert_eq!(authentication(next), "apiserver.config.k8s.io/v1");
}

#[test]
fn urls_and_members_are_filled_in() {
    let profiles = profiles();
    let (version, arch) = (Version::new(3, 6, 14), Arch::Arm64);
    let etcd = &profiles.catalog.artifacts["etcd"];
    let url = "https://github.com/etcd-io/etcd/releases/download/v3.6.14/etcd-v3.6.14-linux-arm64.tar.gz";
    assert_eq!(etcd.url_of(&version, arch), url);
    assert_eq!(etcd.members_of(&version, arch)[1], "etcd-v3.6.14-linux-arm64/etcdctl");
    for artifact in profiles.catalog.artifacts.values() {
        assert!(
            ["{version}", "{short}"].iter().any(|part| artifact.url.contains(part))
                && ["{arch}", "{machine}"].iter().any(|part| artifact.url.contains(part)),
            "{}",
            artifact.url
        );
    }
    let tools = profiles
        .catalog
        .artifacts
        .values()
        .filter(|it| it.scope == ArtifactScope::Kubernetes)
        .count();
    assert_eq!(
        tools, 7,
        "kubelet, kubeadm, containerd, runc, crio, crictl, cni-plugins"
    );
}

#[test]
fn every_os_can_be_delivered_and_every_platform_is_of_use() {
    let profiles = profiles();
    for os in profiles.os.values() {
        assert!(
            profiles
                .platform
                .values()
                .any(|platform| os.user_data(platform).is_some()),
            "{}",
            os.name
        );
        assert_eq!(
            os.ignition_version.is_some(),
            os.document == DocumentFormat::Ignition,
            "{}",
            os.name
        );
        assert!(!os.architectures.is_empty(), "{}", os.name);
    }
    for platform in profiles.platform.values() {
        let forms = [&platform.cloud_init, &platform.ignition];
        let carried: Vec<_> = forms.into_iter().flatten().collect();
        assert!(!carried.is_empty(), "{}", platform.name);
        assert!(
            carried.iter().all(|it| !it.encodings.is_empty() && it.limit != Some(0)),
            "{}",
            platform.name
        );
    }
}

#[test]
fn paths_are_absolute_and_writable_on_a_read_only_usr() {
    for os in profiles().os.values() {
        let paths = [
            &os.paths.bin,
            &os.paths.lib,
            &os.paths.cni_bin,
            &os.paths.volume_plugins,
            &os.package_bin,
        ];
        assert!(
            paths.iter().all(|path| path.starts_with('/') && !path.ends_with('/')),
            "{}: {paths:?}",
            os.name
        );
        if os.document == DocumentFormat::Ignition {
            assert!(!os.paths.volume_plugins.starts_with("/usr"), "{}", os.name);
        }
    }
}

#[test]
fn the_digests_do_not_slow_the_start_down() {
    let start = Instant::now();
    profiles();
    let took = start.elapsed();
    println!("profiles parsed in {took:?}");
    assert!(took.as_millis() < 500, "{took:?} even without optimisation is too long");
}

#[test]
fn every_file_says_when_its_facts_were_read() {
    for folder in ["os", "platform", "kubernetes", "runtime", "."] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles").join(folder);
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&path).unwrap_or_else(|_| "# 2026-".to_owned());
            let dated = |line: &str| line.starts_with('#') && line.contains("2026-");
            assert!(text.lines().take(8).any(dated), "{}", path.display());
        }
    }
}

/// The tables of roles/kubespray_defaults/vars/main/checksums.yml (46dbdd39, 2026-08-21) that no artifact of the catalogue names, and why.
const ELSEWHERE: [(&str, &str); 12] = [
    ("argocd_install_checksums", "the add-on argoCd"),
    ("calico_crds_checksums", "the plugin calico"),
    ("calicoctl_binary_checksums", "a tool of administrators"),
    ("ciliumcli_binary_checksums", "a tool of administrators"),
    (
        "containerd_static_archive_checksums",
        "the other build of the same release",
    ),
    ("gvisor_containerd_shim_binary_checksums", "in the archive gvisor"),
    ("gvisor_runsc_binary_checksums", "in the archive gvisor"),
    ("cri_dockerd_archive_checksums", "no Docker"),
    ("gateway_api_experimental_crds_checksums", "the add-on gatewayApi"),
    ("gateway_api_standard_crds_checksums", "the add-on gatewayApi"),
    ("prometheus_operator_crds_checksums", "the add-on prometheusCrds"),
    ("yq_checksums", "a tool of Kubespray's own tasks"),
];

/// The other tables of that file.
const KUBESPRAY: [&str; 15] = [
    "cni_binary_checksums",
    "containerd_archive_checksums",
    "crictl_checksums",
    "crio_archive_checksums",
    "crun_checksums",
    "etcd_binary_checksums",
    "helm_archive_checksums",
    "kata_containers_binary_checksums",
    "kubeadm_checksums",
    "kubectl_checksums",
    "kubelet_checksums",
    "nerdctl_archive_checksums",
    "runc_checksums",
    "skopeo_binary_checksums",
    "youki_checksums",
];

#[test]
fn everything_that_kubespray_downloads_is_in_the_catalogue_or_has_a_reason() {
    let catalog = profiles().catalog;
    let ours: BTreeSet<_> = catalog
        .artifacts
        .values()
        .filter_map(|it| it.kubespray.as_deref())
        .collect();
    assert_eq!(ours, BTreeSet::from(KUBESPRAY));
    assert!(
        ELSEWHERE
            .iter()
            .all(|(table, why)| !ours.contains(table) && !why.is_empty())
    );
}
