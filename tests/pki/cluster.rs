//! A small plan and a bundle from a fixed stream of randomness.

use std::{collections::BTreeMap, sync::Arc};

use firelay::{
    pki::{self, Authorities, NodePki},
    plan::*,
    profile::{KubernetesProfile, Profiles},
    secrets::{Bundle, BundleRequest},
    spec::{Access, Algorithm, Arch, CaKeys, FlannelBackend, JoinIdentity},
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime, macros::datetime};

pub const ISSUED_AT: OffsetDateTime = datetime!(2026-11-20 12:00:00 UTC);

/// SHA-256 of a counter: looks random, is the same in every run.
pub fn stream() -> impl FnMut(&mut [u8]) -> Result<(), getrandom::Error> {
    let mut counter = 0u64;
    move |bytes| {
        for chunk in bytes.chunks_mut(32) {
            counter += 1;
            chunk.copy_from_slice(&Sha256::digest(counter.to_be_bytes())[..chunk.len()]);
        }
        Ok(())
    }
}

pub fn bundle_of(algorithm: Algorithm) -> Bundle {
    let request = BundleRequest {
        cluster: "lab".into(),
        algorithm,
        ca_validity: Duration::hours(87_600),
        backdate: Duration::hours(24),
    };
    Bundle::create(&request, ISSUED_AT, &mut stream()).unwrap()
}

pub fn bundle() -> Bundle {
    bundle_of(Algorithm::EcdsaP256)
}

pub fn issue(plan: &Plan, bundle: &Bundle, name: &str) -> NodePki {
    let node = plan.nodes.iter().find(|node| node.name == name).unwrap();
    pki::issue(plan, &Authorities::open(bundle).unwrap(), bundle, node).unwrap()
}

/// One control plane `cp1` and one worker `worker-1`.
pub fn plan() -> Plan {
    let profiles = Profiles::embedded().unwrap();
    let control_plane = RoleSet {
        control_plane: true,
        ..RoleSet::default()
    };
    let worker = RoleSet {
        worker: true,
        ..RoleSet::default()
    };
    Plan {
        name: "lab".into(),
        kubernetes: kubernetes(Arc::clone(&profiles.kubernetes["1.36"])),
        endpoint: EndpointPlan {
            host: "api.lab.test".into(),
            port: 6443,
            provider: ProviderPlan::External,
        },
        network: network(),
        etcd: etcd(),
        runtime: runtime(),
        image_archives: Vec::new(),
        image_rewrites: BTreeMap::new(),
        manifests: Vec::new(),
        access: Access::default(),
        pki: PkiPlan {
            algorithm: Algorithm::EcdsaP256,
            ca_validity: Duration::hours(87_600),
            leaf_validity: Duration::hours(8_760),
            backdate: Duration::hours(24),
            extra_sans: Vec::new(),
            ca_keys: CaKeys::ControlPlane,
        },
        join: JoinPlan {
            token_ttl: Duration::hours(24),
            wait_timeout: Duration::minutes(30),
        },
        nodes: vec![
            NodePlan {
                founder: true,
                ..node(&profiles, "cp1", control_plane, &["10.77.0.11"])
            },
            node(&profiles, "worker-1", worker, &["10.77.0.21"]),
        ],
    }
}

pub fn node(profiles: &Profiles, name: &str, roles: RoleSet, addresses: &[&str]) -> NodePlan {
    NodePlan {
        name: name.into(),
        pool: false,
        roles,
        founder: false,
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        mac: None,
        os: Arc::clone(&profiles.os["ubuntu-24.04"]),
        platform: Arc::clone(&profiles.platform["metal"]),
        arch: Arch::Amd64,
        identity: JoinIdentity::Certificate,
        labels: BTreeMap::new(),
        admin_labels: BTreeMap::new(),
        taints: Vec::new(),
        kubelet_config: BTreeMap::new(),
        kubelet_args: Vec::new(),
        preinstalled: true,
        bin_dir: "/usr/bin".into(),
        artifacts: Vec::new(),
        host: Default::default(),
    }
}

fn kubernetes(profile: Arc<KubernetesProfile>) -> KubernetesPlan {
    KubernetesPlan {
        version: "1.36.2".parse().unwrap(),
        profile,
        image_repository: "registry.k8s.io".into(),
        kubeadm_feature_gates: BTreeMap::new(),
        feature_gates: BTreeMap::new(),
        api_server: ComponentPlan::default(),
        controller_manager: ComponentPlan::default(),
        scheduler: ComponentPlan::default(),
        kubelet_config: BTreeMap::new(),
        kube_proxy: None,
        dns: DnsPlan {
            domain: "cluster.local".into(),
            image_repository: None,
            image_tag: None,
            disabled: false,
        },
        patches: Vec::new(),
        skip_phases: Vec::new(),
    }
}

fn network() -> NetworkPlan {
    NetworkPlan {
        pods: vec!["10.244.0.0/16".parse().unwrap()],
        services: vec!["10.96.0.0/12".parse().unwrap()],
        api_service: "10.96.0.1".parse().unwrap(),
        cluster_dns: "10.96.0.10".parse().unwrap(),
        node_mask_ipv4: Some(24),
        node_mask_ipv6: None,
        cni: CniPlan::Flannel {
            backend: FlannelBackend::Vxlan,
            mtu: None,
            port: None,
            vni: None,
            direct_routing: false,
        },
    }
}

fn etcd() -> EtcdPlan {
    EtcdPlan {
        external: false,
        version: "3.6.8".parse().unwrap(),
        data_dir: "/var/lib/etcd".into(),
        extra_args: Vec::new(),
        extra_envs: Vec::new(),
        image_repository: None,
        image_tag: None,
        server_cert_sans: Vec::new(),
        peer_cert_sans: Vec::new(),
    }
}

fn runtime() -> RuntimePlan {
    RuntimePlan {
        version: "2.2.0".parse().unwrap(),
        sandbox_image: "registry.k8s.io/pause:3.10.2".into(),
        snapshotter: "overlayfs".into(),
        registries: Vec::new(),
        runtimes: Vec::new(),
        nerdctl: false,
    }
}
