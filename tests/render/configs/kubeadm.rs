//! The complete documents of `kubeadm init` and `kubeadm join`. kubeadm only warns about unknown fields, so a misspelt
//! name would be ignored.

use firelay::{
    node::kubeadm::{self, JoinCredentials},
    plan::*,
    secret::Secret,
    spec::*,
};
use firelay_yaml::{Tree, diagnostic::Span};
use serde_json::{Value, json};
use time::Duration;

use super::{
    cluster::{ETCD, node, os, pairs, plan},
    tool,
};

const TOKEN: &str = "abcdef.0123456789abcdef";

fn credentials() -> JoinCredentials {
    JoinCredentials {
        token: Secret::new(TOKEN.into()),
        ca_cert_hashes: vec!["sha256:00ff".into()],
        signing_file: false,
    }
}

fn init(plan: &Plan) -> Vec<Value> {
    tool::yaml(kubeadm::init(plan, plan.founder(), &credentials()).unwrap().expose())
}

fn join(plan: &Plan, node: &NodePlan) -> Value {
    let documents = tool::yaml(kubeadm::join(plan, node, &credentials()).unwrap().expose());
    assert_eq!(documents.len(), 1);
    documents[0].clone()
}

fn timeouts() -> Value {
    json!({
        "controlPlaneComponentHealthCheck": "10m", "discovery": "30m", "etcdAPICall": "3m",
        "kubeletHealthCheck": "10m", "kubernetesAPICall": "2m", "tlsBootstrap": "10m",
    })
}

fn control_plane_taint() -> Value {
    json!([{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
}

#[test]
fn a_plain_cluster_says_only_what_is_its_own() {
    let expected = json!([
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "InitConfiguration",
            "bootstrapTokens": [{"token": TOKEN, "ttl": "24h"}],
            "nodeRegistration": {
                "name": "cp1", "criSocket": "unix:///run/containerd/containerd.sock", "taints": control_plane_taint(),
                "kubeletExtraArgs": [{"name": "node-ip", "value": "10.0.0.11"}],
            },
            "localAPIEndpoint": {"advertiseAddress": "10.0.0.11"},
            "timeouts": timeouts(),
        },
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration",
            "clusterName": "prod", "kubernetesVersion": "v1.36.4", "controlPlaneEndpoint": "api.example.com:6443",
            "networking": {"podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/12"},
            "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
            "encryptionAlgorithm": "ECDSA-P256",
        },
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd", "clusterDNS": ["10.96.0.10"], "failCgroupV1": true,
            "shutdownGracePeriod": "60s", "shutdownGracePeriodCriticalPods": "20s",
        },
    ]);
    assert_eq!(Value::Array(init(&plan())), expected);
}

#[test]
fn a_token_that_nobody_joins_with_is_drawn_by_kubeadm_and_soon_over() {
    let mut plan = plan();
    plan.nodes.retain(|node| node.identity == JoinIdentity::Certificate);
    assert_eq!(init(&plan)[0]["bootstrapTokens"], json!([{"ttl": "1m"}]));
}

fn component(name: &str) -> ComponentPlan {
    ComponentPlan {
        own_args: pairs(&[("audit-log-maxage", "30")]),
        extra_args: pairs(&[("v", "2"), (name, "no")]),
        extra_volumes: vec![VolumePlan {
            name: "audit".into(),
            host_path: "/etc/audit".into(),
            mount_path: "/audit".into(),
            read_only: true,
            path_type: Some("DirectoryOrCreate".into()),
        }],
        extra_envs: pairs(&[("GOGC", "50")]),
    }
}

fn component_document(name: &str, own: &[(&str, &str)]) -> Value {
    let user = [("audit-log-maxage", "30"), ("v", "2"), (name, "no")];
    let pairs = own.iter().chain(&user);
    json!({
        "extraArgs": pairs.map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>(),
        "extraVolumes": [{
            "name": "audit", "hostPath": "/etc/audit", "mountPath": "/audit", "readOnly": true,
            "pathType": "DirectoryOrCreate",
        }],
        "extraEnvs": [{"name": "GOGC", "value": "50"}],
    })
}

/// A plan that sets every field of ClusterConfiguration.
fn full() -> Plan {
    let mut plan = plan();
    let kubernetes = &mut plan.kubernetes;
    kubernetes.image_repository = "registry.example.com/k8s".into();
    kubernetes.kubeadm_feature_gates = [("NodeLocalCRISocket".into(), true)].into();
    kubernetes.feature_gates = [("Alpha".into(), true), ("Beta".into(), false)].into();
    kubernetes.api_server = component("profiling");
    kubernetes.controller_manager = component("use-service-account-credentials");
    kubernetes.scheduler = component("leader-elect");
    kubernetes.dns = DnsPlan {
        domain: "example.internal".into(),
        image_repository: Some("registry.example.com/dns".into()),
        image_tag: Some("v1.14.2".into()),
        disabled: true,
    };
    kubernetes.skip_phases = vec!["addon/coredns".into()];
    plan.endpoint.host = "fd00::1".into();
    plan.endpoint.port = 8443;
    plan.network.pods = vec!["10.244.0.0/16".parse().unwrap(), "fd00:10::/48".parse().unwrap()];
    plan.network.services = vec!["10.96.0.0/12".parse().unwrap(), "fd00:96::/112".parse().unwrap()];
    (plan.network.node_mask_ipv4, plan.network.node_mask_ipv6) = (Some(25), Some(80));
    plan.etcd.data_dir = "/data/etcd".into();
    plan.etcd.extra_args = pairs(&[("heartbeat-interval", "250")]);
    plan.etcd.extra_envs = pairs(&[("GOMAXPROCS", "2")]);
    plan.etcd.image_repository = Some("registry.example.com".into());
    plan.etcd.image_tag = Some("3.6.14-0".into());
    plan.etcd.server_cert_sans = vec!["etcd.example.com".into()];
    plan.etcd.peer_cert_sans = vec!["peer.example.com".into()];
    plan.pki.extra_sans = vec!["api.example.org".into()];
    (plan.pki.leaf_validity, plan.pki.ca_validity) = (Duration::hours(17_520), Duration::hours(43_800));
    plan
}

/// firelay's own documents pass the schema that validates patched documents.
#[test]
fn what_is_written_is_what_the_version_takes() {
    let mut full = full();
    full.kubernetes.feature_gates.clear();
    let codes = Codes {
        field: "FL0709",
        value: "FL0710",
    };
    for plan in [plan(), full] {
        let joining = plan.nodes.iter().filter(|node| !node.founder);
        let documents: Vec<_> = init(&plan)
            .into_iter()
            .chain(joining.map(|node| join(&plan, node)))
            .collect();
        for document in documents {
            let text = document.to_string();
            let (kind, version) = (
                document["kind"].as_str().unwrap(),
                document["apiVersion"].as_str().unwrap(),
            );
            let accepted = &plan.kubernetes.accepted;
            assert!(accepted.has_document(kind, version), "{kind}");
            let root = Tree::parse(&text).unwrap().root;
            assert_eq!(accepted.document(kind, &root, Span::default(), codes), [], "{text}");
        }
    }
}

#[test]
fn every_setting_reaches_the_cluster_configuration() {
    let documents = init(&full());
    let gates = ("feature-gates", "Alpha=true,Beta=false");
    let masks = [
        gates,
        ("node-cidr-mask-size-ipv4", "25"),
        ("node-cidr-mask-size-ipv6", "80"),
    ];
    let mut api_server = component_document("profiling", &[gates]);
    api_server["certSANs"] = json!(["api.example.org"]);
    let expected = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration",
        "clusterName": "prod", "kubernetesVersion": "v1.36.4", "controlPlaneEndpoint": "[fd00::1]:8443",
        "networking": {
            "podSubnet": "10.244.0.0/16,fd00:10::/48", "serviceSubnet": "10.96.0.0/12,fd00:96::/112",
            "dnsDomain": "example.internal",
        },
        "etcd": {"local": {
            "dataDir": "/data/etcd", "imageRepository": "registry.example.com", "imageTag": "3.6.14-0",
            "extraArgs": [{"name": "heartbeat-interval", "value": "250"}],
            "extraEnvs": [{"name": "GOMAXPROCS", "value": "2"}],
            "serverCertSANs": ["etcd.example.com"], "peerCertSANs": ["peer.example.com"],
        }},
        "apiServer": api_server,
        "controllerManager": component_document("use-service-account-credentials", &masks),
        "scheduler": component_document("leader-elect", &[gates]),
        "dns": {"imageRepository": "registry.example.com/dns", "imageTag": "v1.14.2", "disabled": true},
        "imageRepository": "registry.example.com/k8s",
        "encryptionAlgorithm": "ECDSA-P256",
        "certificateValidityPeriod": "17520h", "caCertificateValidityPeriod": "43800h",
        "featureGates": {"NodeLocalCRISocket": true},
    });
    assert_eq!(documents[1], expected);
    assert_eq!(documents[0]["skipPhases"], json!(["addon/coredns"]));
    let gates = json!({"Alpha": true, "Beta": false});
    assert_eq!(
        (&documents[2]["featureGates"], &documents[3]["featureGates"]),
        (&gates, &gates)
    );
}

#[test]
fn the_users_kubelet_and_proxy_fields_win_and_objects_merge() {
    let mut plan = plan();
    let user = json!({"cgroupDriver": "cgroupfs", "evictionHard": {"memory.available": "5%"}, "failCgroupV1": null});
    plan.kubernetes.kubelet_config = serde_json::from_value(user).unwrap();
    plan.kubernetes.kube_proxy = Some(KubeProxyPlan {
        mode: Some(ProxyMode::Nftables),
        config: [("conntrack".into(), json!({"maxPerCore": 0}))].into(),
    });
    let documents = init(&plan);
    assert_eq!(documents[2]["cgroupDriver"], "cgroupfs");
    assert_eq!(documents[2]["evictionHard"], json!({"memory.available": "5%"}));
    assert_eq!(documents[2].get("failCgroupV1"), None);
    let expected = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": "nftables", "conntrack": {"maxPerCore": 0},
    });
    assert_eq!(documents[3], expected);
}

#[test]
fn the_users_shutdown_periods_stand_alone() {
    let mut plan = plan();
    plan.kubernetes.kubelet_config = [("shutdownGracePeriod".into(), json!("10s"))].into();
    let kubelet = &init(&plan)[2];
    assert_eq!(kubelet["shutdownGracePeriod"], "10s");
    assert_eq!(kubelet.get("shutdownGracePeriodCriticalPods"), None);
}

#[test]
fn a_disabled_kube_proxy_is_said_in_the_cluster_configuration() {
    let mut plan = plan();
    plan.kubernetes.kube_proxy = None;
    let documents = init(&plan);
    assert_eq!(documents[1]["proxy"], json!({"disabled": true}));
    assert_eq!(documents.len(), 3);
}

#[test]
fn external_members_are_named_by_address_of_either_family() {
    let mut plan = plan();
    plan.etcd.external = true;
    plan.nodes
        .extend([node("etcd1", ETCD, "10.0.2.1"), node("etcd2", ETCD, "fd00::2")]);
    let expected = json!({"external": {
        "endpoints": ["https://10.0.2.1:2379", "https://[fd00::2]:2379"],
        "caFile": "/etc/kubernetes/pki/etcd/ca.crt",
        "certFile": "/etc/kubernetes/pki/apiserver-etcd-client.crt",
        "keyFile": "/etc/kubernetes/pki/apiserver-etcd-client.key",
    }});
    assert_eq!(init(&plan)[1]["etcd"], expected);
}

#[test]
fn a_worker_joins_by_its_own_certificate_and_holds_no_token() {
    let mut plan = plan();
    plan.nodes[2].labels = [("rack".into(), "a".into()), ("tier".into(), "app".into())].into();
    plan.nodes[2].addresses.push("fd00::5".parse().unwrap());
    plan.nodes[2].kubelet_args = pairs(&[("v", "4"), ("node-ip", "10.9.9.9")]);
    let expected = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration",
        "nodeRegistration": {
            "name": "worker-1", "criSocket": "unix:///run/containerd/containerd.sock", "taints": [],
            "kubeletExtraArgs": [
                {"name": "node-labels", "value": "rack=a,tier=app"},
                {"name": "v", "value": "4"}, {"name": "node-ip", "value": "10.9.9.9"},
            ],
            "ignorePreflightErrors":
                ["FileAvailable--etc-kubernetes-kubelet.conf", "FileAvailable--etc-kubernetes-pki-ca.crt"],
        },
        "discovery": {"file": {"kubeConfigPath": "/etc/kubernetes/kubelet.conf"}},
        "timeouts": timeouts(),
    });
    assert_eq!(join(&plan, &plan.nodes[2]), expected);
}

#[test]
fn a_control_plane_joins_as_administrator() {
    let plan = plan();
    let document = join(&plan, &plan.nodes[1]);
    assert_eq!(
        document["discovery"],
        json!({"file": {"kubeConfigPath": "/etc/firelay/kubeconfig/admin.conf"}})
    );
    assert_eq!(
        document["controlPlane"],
        json!({"localAPIEndpoint": {"advertiseAddress": "10.0.0.12"}})
    );
    let registration = &document["nodeRegistration"];
    assert_eq!(
        registration["ignorePreflightErrors"],
        json!(["FileAvailable--etc-kubernetes-kubelet.conf"])
    );
    assert_eq!(registration["taints"], control_plane_taint());
}

#[test]
fn a_pool_joins_by_token_under_the_name_of_its_host() {
    let plan = plan();
    let document = join(&plan, &plan.nodes[3]);
    let expected = json!({
        "criSocket": "unix:///run/containerd/containerd.sock", "taints": [],
        "ignorePreflightErrors": ["FileAvailable--etc-kubernetes-pki-ca.crt"],
    });
    assert_eq!(document["nodeRegistration"], expected);
    let expected = json!({"bootstrapToken": {
        "token": TOKEN, "apiServerEndpoint": "api.example.com:6443", "caCertHashes": ["sha256:00ff"],
    }});
    assert_eq!(document["discovery"], expected);
}

#[test]
fn a_pool_registers_with_the_family_of_the_pods() {
    let mut plan = plan();
    plan.network.pods = vec!["fd00:244::/48".parse().unwrap(), "10.244.0.0/16".parse().unwrap()];
    let document = join(&plan, &plan.nodes[3]);
    assert_eq!(
        document["nodeRegistration"]["kubeletExtraArgs"],
        json!([{"name": "node-ip", "value": "::"}])
    );
}

#[test]
fn patches_are_laid_where_there_are_any() {
    let mut plan = plan();
    plan.kubernetes.patches = vec![
        PatchPlan {
            target: PatchTarget::KubeApiserver,
            kind: PatchType::Json,
            content: "[]".into(),
        },
        PatchPlan {
            target: PatchTarget::Etcd,
            kind: PatchType::Strategic,
            content: "{}".into(),
        },
    ];
    plan.nodes[0].os = os("flatcar");
    plan.nodes[2].kubelet_config = [("maxPods".into(), json!(50))].into();
    let names = |node| -> Vec<_> {
        kubeadm::patches(&plan, &plan.nodes[node])
            .unwrap()
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    let users = ["kube-apiserver00+json.yaml", "etcd01+strategic.yaml"];
    assert_eq!(names(1), users);
    assert_eq!(names(0), [users[0], users[1], "kubeletconfiguration90+merge.yaml"]);
    assert_eq!(names(2), ["kubeletconfiguration90+merge.yaml"]);
    assert!(names(3).is_empty());

    let content = |node| tool::yaml(&kubeadm::patches(&plan, &plan.nodes[node]).unwrap().pop().unwrap().1);
    assert_eq!(
        content(0),
        [json!({"volumePluginDir": "/var/lib/kubelet/volumeplugins"})]
    );
    assert_eq!(content(2), [json!({"maxPods": 50})]);
    let directory = json!({"directory": "/etc/firelay/kubeadm/patches"});
    assert_eq!(
        (&init(&plan)[0]["patches"], &join(&plan, &plan.nodes[2])["patches"]),
        (&directory, &directory)
    );
    assert_eq!(join(&plan, &plan.nodes[3]).get("patches"), None);
}

#[test]
fn a_read_only_usr_moves_the_controller_managers_plugin_directory() {
    let mut plan = plan();
    plan.nodes[1].os = os("flatcar");
    let arguments = &init(&plan)[1]["controllerManager"]["extraArgs"];
    assert_eq!(
        *arguments,
        json!([{"name": "flex-volume-plugin-dir", "value": "/var/lib/kubelet/volumeplugins"}])
    );
}

/// kube-controller-manager signs with one certificate alone, and without `ca.key` it does not sign.
#[test]
fn after_a_rotation_of_the_cas_the_signer_has_a_file_of_its_own() {
    let arguments = |plan: &Plan| {
        let credentials = JoinCredentials {
            signing_file: true,
            ..credentials()
        };
        let documents = tool::yaml(kubeadm::init(plan, plan.founder(), &credentials).unwrap().expose());
        documents[1]["controllerManager"]["extraArgs"].to_string()
    };
    let mut plan = plan();
    assert!(
        arguments(&plan)
            .contains(r#"{"name":"cluster-signing-cert-file","value":"/etc/kubernetes/pki/ca-signing.crt"}"#)
    );
    assert!(!init(&plan)[1].to_string().contains("signing"));
    plan.pki.ca_keys = firelay::spec::CaKeys::None;
    assert!(!arguments(&plan).contains("signing"));
}

#[test]
fn the_token_is_never_shown() {
    let plan = plan();
    let document = kubeadm::init(&plan, plan.founder(), &credentials()).unwrap();
    assert!(!format!("{document:?}").contains(TOKEN));
}
