//! A plan to start from: one founder, one joining control plane, one worker, one pool, all plain.

use std::{collections::BTreeMap, sync::Arc};

use firelay::{
    plan::*,
    profile::{KubernetesProfile, OsProfile, Profiles},
    spec::*,
    yaml::Spanned,
};
use semver::Version;
use time::Duration;

pub fn profiles() -> Profiles {
    Profiles::embedded().unwrap()
}

pub fn os(name: &str) -> Arc<OsProfile> {
    profiles().os[name].clone()
}

pub fn spanned<T>(value: T) -> Spanned<T> {
    Spanned {
        value,
        span: Default::default(),
    }
}

pub fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

pub fn node(name: &str, roles: RoleSet, address: &str) -> NodePlan {
    NodePlan {
        name: name.into(),
        pool: false,
        roles,
        founder: false,
        addresses: address
            .split(',')
            .filter(|it| !it.is_empty())
            .map(|it| it.parse().unwrap())
            .collect(),
        mac: None,
        os: os("ubuntu-24.04"),
        platform: profiles().platform["nocloud"].clone(),
        arch: Arch::Amd64,
        identity: JoinIdentity::Certificate,
        labels: BTreeMap::new(),
        admin_labels: BTreeMap::new(),
        taints: Vec::new(),
        kubelet_config: BTreeMap::new(),
        kubelet_args: Vec::new(),
        preinstalled: false,
        bin_dir: "/usr/local/bin".into(),
        artifacts: Vec::new(),
        host: Default::default(),
    }
}

pub const CONTROL_PLANE: RoleSet = RoleSet {
    control_plane: true,
    worker: false,
    etcd: false,
};
pub const WORKER: RoleSet = RoleSet {
    control_plane: false,
    worker: true,
    etcd: false,
};
pub const ETCD: RoleSet = RoleSet {
    control_plane: false,
    worker: false,
    etcd: true,
};

fn nodes() -> Vec<NodePlan> {
    let taint = TaintPlan {
        key: "node-role.kubernetes.io/control-plane".into(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    let control_plane = |name, address| NodePlan {
        taints: vec![taint.clone()],
        ..node(name, CONTROL_PLANE, address)
    };
    vec![
        NodePlan {
            founder: true,
            ..control_plane("cp1", "10.0.0.11")
        },
        control_plane("cp2", "10.0.0.12"),
        node("worker-1", WORKER, "10.0.1.1"),
        NodePlan {
            pool: true,
            identity: JoinIdentity::Token,
            ..node("burst", WORKER, "")
        },
    ]
}

fn kubernetes(profile: Arc<KubernetesProfile>) -> KubernetesPlan {
    KubernetesPlan {
        version: profile.versions[0].clone(),
        image_repository: "registry.k8s.io".into(),
        kubeadm_feature_gates: BTreeMap::new(),
        feature_gates: BTreeMap::new(),
        api_server: ComponentPlan::default(),
        controller_manager: ComponentPlan::default(),
        scheduler: ComponentPlan::default(),
        kubelet_config: BTreeMap::new(),
        kube_proxy: Some(KubeProxyPlan {
            mode: None,
            config: BTreeMap::new(),
        }),
        dns: DnsPlan {
            domain: "cluster.local".into(),
            image_repository: None,
            image_tag: None,
            disabled: false,
        },
        patches: Vec::new(),
        skip_phases: Vec::new(),
        profile,
    }
}

pub fn plan() -> Plan {
    Plan {
        name: "prod".into(),
        kubernetes: kubernetes(profiles().kubernetes["1.36"].clone()),
        endpoint: EndpointPlan {
            host: "api.example.com".into(),
            port: 6443,
            provider: ProviderPlan::External,
        },
        network: NetworkPlan {
            pods: vec!["10.244.0.0/16".parse().unwrap()],
            services: vec!["10.96.0.0/12".parse().unwrap()],
            api_service: "10.96.0.1".parse().unwrap(),
            cluster_dns: "10.96.0.10".parse().unwrap(),
            node_mask_ipv4: Some(24),
            node_mask_ipv6: None,
            cni: CniPlan::None,
        },
        etcd: EtcdPlan {
            external: false,
            version: Version::new(3, 6, 14),
            data_dir: "/var/lib/etcd".into(),
            extra_args: Vec::new(),
            extra_envs: Vec::new(),
            image_repository: None,
            image_tag: None,
            server_cert_sans: Vec::new(),
            peer_cert_sans: Vec::new(),
        },
        runtime: RuntimePlan {
            version: Version::new(2, 3, 4),
            sandbox_image: "registry.k8s.io/pause:3.10.2".into(),
            snapshotter: "overlayfs".into(),
            registries: Vec::new(),
            runtimes: Vec::new(),
            nerdctl: false,
        },
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
        nodes: nodes(),
    }
}
