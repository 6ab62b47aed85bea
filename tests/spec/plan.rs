//! The plan that a spec resolves to.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::fmt::Write as _;

use firelay::{
    plan::{HostPlan, Plan, ProviderPlan},
    spec::{Arch, JoinIdentity, TaintEffect},
};
use serde_json::json;
use support::plan::{node, resolve};
use time::Duration;

const HEAD: &str = "\
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: prod
kubernetes: { version: 1.36.4 }
endpoint: { host: api.example.com }
os: ubuntu-24.04
platform: aws
";

/// The plan of the usual lines with one control plane, plus these lines.
fn with(extra: &str) -> Plan {
    resolve(&format!(
        "{HEAD}{extra}\nnodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}\n"
    ))
}

fn every_key() -> Plan {
    resolve(include_str!("../plan/every-key.yaml"))
}

fn pairs<'a>(pairs: impl IntoIterator<Item = &'a (String, String)>) -> Vec<(&'a str, &'a str)> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

#[test]
fn absent_settings_have_their_documented_defaults() {
    let plan = with("");
    let network = &plan.network;
    assert_eq!(network.pods, ["10.244.0.0/16".parse().unwrap()]);
    assert_eq!(network.services, ["10.96.0.0/12".parse().unwrap()]);
    assert_eq!(network.api_service.to_string(), "10.96.0.1");
    assert_eq!(network.cluster_dns.to_string(), "10.96.0.10");
    assert_eq!((network.node_mask_ipv4, network.node_mask_ipv6), (Some(24), None));
    let [plugin] = plan.addons.as_slice() else {
        panic!("{:?}", plan.addons)
    };
    assert_eq!(
        (plugin.key(), &plugin.choice.parameters["backend"]),
        ("flannel", &"vxlan".into())
    );
    assert!(!plugin.choice.parameters.contains_key("mtu"));
    assert_eq!(
        (plan.endpoint.port, plan.kubernetes.image_repository.as_str()),
        (6443, "registry.k8s.io")
    );
    assert_eq!(
        plan.runtime.sandbox_image,
        format!("registry.k8s.io/pause:{}", plan.kubernetes.profile.pause)
    );
    assert_eq!(plan.pki.ca_validity, Duration::days(3650));
    assert_eq!(plan.pki.leaf_validity, Duration::days(365));
    assert_eq!(plan.pki.backdate, Duration::days(1));
    assert_eq!(
        (plan.join.token_ttl, plan.join.wait_timeout, plan.join.found_after),
        (Duration::days(1), Duration::minutes(30), Duration::minutes(5))
    );
    assert_eq!(
        (
            plan.kubernetes.dns.domain.as_str(),
            plan.kubernetes.dns.image_repository.clone()
        ),
        ("cluster.local", None)
    );
    assert!(!plan.etcd.external && plan.etcd.data_dir == "/var/lib/etcd");
    let founder = plan.founder();
    assert_eq!(
        (founder.arch, founder.identity, founder.bin_dir.as_str()),
        (Arch::Amd64, JoinIdentity::Certificate, "/usr/local/bin")
    );
}

#[test]
fn rows_become_machines_in_order() {
    let plan = every_key();
    let names: Vec<_> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(
        names,
        ["cp1", "cp2", "cp3", "etcd-01", "etcd-02", "etcd-03", "both", "burst"]
    );
    let addresses = |name| {
        node(&plan, name)
            .addresses
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(addresses("cp2"), ["10.0.0.12", "fd00:1::12"]);
    assert_eq!(addresses("etcd-03"), ["10.0.0.23"]);
    assert!(addresses("burst").is_empty());
    let founders: Vec<_> = plan
        .nodes
        .iter()
        .filter(|node| node.founder)
        .map(|node| &node.name)
        .collect();
    assert_eq!(founders, ["cp1"]);
    assert_eq!(node(&plan, "both").mac.as_deref(), Some("52:54:00:ab:cd:ef"));
}

#[test]
fn the_nearer_setting_wins_and_of_roles_the_first_listed() {
    let plan = every_key();
    let both = node(&plan, "both");
    // Listed as [worker, control-plane]: the worker's `tier` wins, the control plane's `zone` remains.
    let labels: Vec<_> = both
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(labels, [("pool", "general"), ("tier", "worker"), ("zone", "role")]);
    assert_eq!(
        (both.os.name.as_str(), both.arch, both.platform.name.as_str()),
        ("ubuntu-22.04", Arch::Arm64, "nocloud")
    );
    assert!(both.taints.is_empty());
    assert_eq!(
        json!(both.kubelet_config),
        json!({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}, "maxPods": 60, "podPidsLimit": 4096})
    );
    assert_eq!(pairs(&both.kubelet_args), [("v", "5"), ("node-ip", "10.0.0.31")]);

    let cp1 = node(&plan, "cp1");
    assert_eq!(cp1.labels.get("zone").unwrap(), "node");
    assert_eq!(
        cp1.admin_labels.keys().collect::<Vec<_>>(),
        ["node-role.kubernetes.io/infra"]
    );
    assert_eq!(pairs(&cp1.kubelet_args), [("v", "1"), ("node-ip", "10.0.0.1")]);
    assert_eq!(json!(plan.kubernetes.kubelet_config)["maxPods"], 200);

    let burst = node(&plan, "burst");
    assert!(burst.pool && burst.identity == JoinIdentity::Token);
    assert_eq!(
        (burst.os.name.as_str(), burst.platform.name.as_str()),
        ("debian-13", "openstack")
    );
    assert_eq!(burst.labels.get("pool").unwrap(), "burst");
    assert_eq!(
        burst.taints.first().map(|taint| taint.effect),
        Some(TaintEffect::PreferNoSchedule)
    );
}

#[test]
fn a_control_plane_keeps_pods_away_unless_it_is_a_worker_too() {
    let plan = resolve(&format!(
        "{HEAD}nodes:
  - {{ name: a, roles: [control-plane], addresses: [10.0.0.11] }}
  - {{ name: b, roles: [control-plane, worker], addresses: [10.0.0.12] }}
  - {{ name: c, roles: [control-plane, worker], addresses: [10.0.0.13], taints: [{{ key: x, effect: NoExecute }}] }}
  - {{ name: d, roles: [worker], addresses: [10.0.0.14] }}
"
    ));
    let taints = |name| {
        node(&plan, name)
            .taints
            .iter()
            .map(|taint| taint.key.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(taints("a"), ["node-role.kubernetes.io/control-plane"]);
    assert_eq!((taints("b"), taints("c"), taints("d")), (vec![], vec!["x"], vec![]));
}

#[test]
fn machines_fetch_what_their_roles_need() {
    let plan = every_key();
    let fetched = |name| {
        node(&plan, name)
            .artifacts
            .iter()
            .map(|artifact| artifact.name.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(fetched("etcd-01"), ["etcd"]);
    assert!(
        fetched("cp1").contains(&"kubeadm") && fetched("cp1").contains(&"nerdctl") && !fetched("cp1").contains(&"etcd")
    );
    assert!(
        !with("")
            .founder()
            .artifacts
            .iter()
            .any(|artifact| artifact.name == "nerdctl")
    );

    let artifact = |node_name, name| {
        node(&plan, node_name)
            .artifacts
            .iter()
            .find(|artifact| artifact.name == name)
            .unwrap()
            .clone()
    };
    let containerd = artifact("both", "containerd");
    assert_eq!(containerd.version.to_string(), "2.3.3");
    assert!(
        containerd
            .url
            .starts_with("http://files.example.com/mirror/github.com/containerd/"),
        "{}",
        containerd.url
    );
    assert!(containerd.url.contains("arm64") && containerd.directory == "/opt/firelay/bin");
    let crictl = artifact("cp1", "crictl");
    assert_eq!(
        (crictl.url.as_str(), crictl.digest),
        ("https://files.example.com/crictl-1.36.0-amd64.tar.gz", "a".repeat(64))
    );
    // The override has no digest for arm64, so the catalog's digest applies.
    assert_ne!(artifact("both", "crictl").digest, "a".repeat(64));
    assert_eq!(artifact("cp1", "cni-plugins").directory, "/opt/cni/bin");
}

#[test]
fn preinstalled_machines_fetch_nothing() {
    let plan = with("artifacts: { source: preinstalled }");
    let founder = plan.founder();
    assert!(founder.preinstalled && founder.artifacts.is_empty());
    assert_eq!(founder.bin_dir, "/usr/bin");
    assert_eq!(
        with("artifacts: { source: preinstalled, binDir: /opt/k8s }")
            .founder()
            .bin_dir,
        "/opt/k8s"
    );
}

#[test]
fn each_machine_of_a_row_has_its_own_addresses_on_its_interfaces() {
    let plan = resolve(&format!(
        "{}platform: metal
interfaces: [{{ name: eno1, subnets: [10.0.0.0/16], gateways: [10.0.0.1] }}]
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}
  - {{ name: 'w{{1..3}}', roles: [worker], addresses: [10.0.1.254-10.0.2.0], interfaces: [{{ name: eno2, addresses: [10.9.0.1-10.9.0.3/24] }}] }}",
        HEAD.replace("platform: aws\n", "")
    ));
    let of = |name: &str| -> Vec<String> {
        let interfaces = &node(&plan, name).interfaces;
        let all = interfaces.iter().flat_map(|interface| {
            let name = &interface.name;
            interface.addresses.iter().map(move |net| format!("{name} {net}"))
        });
        all.collect()
    };
    assert_eq!(of("cp1"), ["eno1 10.0.0.11/16"]);
    assert_eq!(of("w1"), ["eno1 10.0.1.254/16", "eno2 10.9.0.1/24"]);
    assert_eq!(of("w3"), ["eno1 10.0.2.0/16", "eno2 10.9.0.3/24"]);
    assert_eq!(node(&plan, "w2").interfaces[0].routes[0].to.to_string(), "0.0.0.0/0");
}

#[test]
fn bonds_bring_their_devices() {
    let plan = every_key();
    let interfaces = &node(&plan, "both").interfaces;
    let names: Vec<_> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["eno1", "eno2", "bond0", "eno3", "bond1", "storage", "lan0"]);
    assert_eq!(interfaces[0].controller.as_deref(), Some("bond0"));
    assert_eq!(interfaces[3].controller.as_deref(), Some("bond1"));
    let addresses: Vec<_> = interfaces[2].addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.31/24", "fd00:1::31/64"]);
    assert!(node(&plan, "burst").interfaces.is_empty());
}

#[test]
fn images_are_rewritten_by_the_longest_prefix() {
    let plan = every_key();
    assert_eq!(plan.kubernetes.image_repository, "mirror.example.com/kube");
    assert_eq!(plan.runtime.sandbox_image, "mirror.example.com/reg/pause:3.10.2");
    assert_eq!(
        plan.kubernetes.dns.image_repository.as_deref(),
        Some("mirror.example.com/reg/dns")
    );
    // kubeadm would look for MIRROR/coredns where a mirror of registry.k8s.io has MIRROR/coredns/coredns.
    let mirrored = with("artifacts: { imageRewrites: { registry.k8s.io: m.example.com/k8s } }");
    assert_eq!(
        mirrored.kubernetes.dns.image_repository.as_deref(),
        Some("m.example.com/k8s/coredns")
    );
}

#[test]
fn etcd_is_external_as_soon_as_a_node_has_the_role() {
    let plan = every_key();
    assert!(plan.etcd.external);
    assert_eq!(plan.etcd_members().count(), 3);
    let arguments = pairs(&plan.etcd.extra_args);
    assert_eq!(
        arguments[..2],
        [("heartbeat-interval", "250"), ("election-timeout", "2500")]
    );
    assert_eq!(
        arguments[2..],
        [
            ("quota-backend-bytes", "8589934592"),
            ("tls-min-version", "TLS1.2"),
            ("cipher-suites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
            ("auto-compaction-retention", "8")
        ]
    );
}

#[test]
fn keys_of_the_control_plane_become_arguments_files_and_mounts() {
    let kubernetes = every_key().kubernetes;
    let api_server = &kubernetes.api_server;
    assert_eq!(
        pairs(&api_server.own_args),
        [
            ("audit-policy-file", "/etc/kubernetes/apiserver/audit-policy.yaml"),
            ("audit-log-path", "/var/log/events/audit.log"),
            ("audit-log-maxage", "7"),
            ("audit-log-maxbackup", "3"),
            ("audit-log-maxsize", "50"),
            (
                "audit-webhook-config-file",
                "/etc/kubernetes/apiserver/audit-webhook.yaml"
            ),
            (
                "encryption-provider-config",
                "/etc/kubernetes/apiserver/encryption.yaml"
            ),
            ("enable-admission-plugins", "NodeRestriction,AlwaysPullImages"),
            ("disable-admission-plugins", "DefaultIngressClass"),
            (
                "admission-control-config-file",
                "/etc/kubernetes/apiserver/admission.yaml"
            ),
            ("authentication-config", "/etc/kubernetes/apiserver/authentication.yaml"),
            ("authorization-config", "/etc/kubernetes/apiserver/authorization.yaml"),
            ("tls-min-version", "VersionTLS12"),
            ("tls-cipher-suites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
        ]
    );
    let mounts: Vec<_> = api_server
        .extra_volumes
        .iter()
        .map(|it| (&*it.mount_path, it.read_only))
        .collect();
    let own = [("/var/log/events", false), ("/etc/kubernetes/apiserver", true)];
    assert_eq!(mounts[..2], own);
    let scheduler = kubernetes.control_plane.configurations.last().unwrap();
    assert_eq!(
        json!(scheduler.content),
        json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 50,
            "clientConnection": { "kubeconfig": "/etc/kubernetes/scheduler.conf" },
        })
    );
    // A bearer token is not printed with the plan.
    assert!(!format!("{:?}", kubernetes.control_plane).contains("hunter2"));
}

#[test]
fn what_is_not_said_of_the_control_plane_leaves_no_trace() {
    let kubernetes = with("").kubernetes;
    for pod in [
        &kubernetes.api_server,
        &kubernetes.controller_manager,
        &kubernetes.scheduler,
    ] {
        assert!(pod.own_args.is_empty() && pod.extra_volumes.is_empty());
    }
    assert!(kubernetes.control_plane.configurations.is_empty() && kubernetes.control_plane.audit_webhook.is_none());
}

#[test]
fn dual_stack_takes_dns_and_api_from_the_first_service_range() {
    let network = every_key().network;
    assert_eq!(
        (network.api_service.to_string(), network.cluster_dns.to_string()),
        ("10.40.0.1".into(), "10.40.0.10".into())
    );
    assert_eq!((network.node_mask_ipv4, network.node_mask_ipv6), (Some(24), Some(72)));
    let ipv6 = resolve(&format!(
        "{HEAD}network: {{ pods: [fd00:244::/56], services: [fd00:96::/112] }}
nodes: [{{ name: a, roles: [control-plane], addresses: [fd00::1] }}]
"
    ));
    assert_eq!(ipv6.network.cluster_dns.to_string(), "fd00:96::a");
}

/// A spec with 5,000 machines, each with an entry of its own.
fn large(machines: usize) -> String {
    let mut text =
        format!("{HEAD}network: {{ pods: [172.16.0.0/12], services: [192.168.0.0/16], nodeMaskIpv4: 25 }}\nnodes:\n");
    text.push_str("  - { name: cp1, roles: [control-plane], addresses: [10.255.0.1] }\n");
    for machine in 0..machines {
        let (high, low) = (machine / 250, machine % 250 + 1);
        write!(
            text,
            "  - name: worker-{machine}\n    roles: [worker]\n    addresses:\n      - 10.1.{high}.{low}\n    mac: \"52:54:00:00:{high:02x}:{low:02x}\"\n    \
             labels:\n      tier: app\n      rack: r{high}\n      example.com/position: p{low}\n    taints:\n      - key: dedicated\n        value: app\n        \
             effect: NoSchedule\n    kubelet:\n      config:\n        maxPods: 100\n"
        )
        .unwrap();
    }
    text
}

/// A spec of one control plane on bare metal with this endpoint.
fn endpoint(endpoint: &str, extra: &str) -> Plan {
    let head = HEAD.replace("platform: aws", "platform: metal");
    let head = head.replace(
        "{ host: api.example.com }",
        &format!("{{ host: api.example.com, {endpoint} }}"),
    );
    resolve(&format!(
        "{head}{extra}nodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}\n"
    ))
}

#[test]
fn a_provider_brings_its_addresses_into_the_certificates() {
    let plan = endpoint(
        "provider: kubeVip, address: 10.0.0.10, port: 6443",
        "pki: { extraSans: [other.example.com, 10.0.0.10] }\n",
    );
    let ProviderPlan::KubeVip { address, interface, .. } = &plan.endpoint.provider else {
        panic!("{:?}", plan.endpoint)
    };
    assert_eq!((address.to_string().as_str(), interface.as_ref()), ("10.0.0.10", None));
    assert_eq!(plan.pki.extra_sans, ["10.0.0.10", "other.example.com"]);

    let plan = endpoint("provider: local", "");
    assert!(matches!(plan.endpoint.provider, ProviderPlan::Local { .. }));
    assert_eq!(
        (plan.endpoint.port, plan.pki.extra_sans),
        (6443, vec!["127.0.0.1".to_owned()])
    );

    let plan = endpoint("provider: external, port: 8443", "");
    assert_eq!(plan.endpoint.provider, ProviderPlan::External);
    assert!(plan.pki.extra_sans.is_empty());
}

#[test]
fn five_thousand_machines_are_no_matter_of_patience() {
    let text = large(5_000);
    let start = std::time::Instant::now();
    let plan = resolve(&text);
    let spent = start.elapsed();
    assert_eq!(plan.nodes.len(), 5_001);
    eprintln!("{} bytes: {spent:?}", text.len());
    // Far above the time without optimisation; a quadratic check would exceed it.
    assert!(spent.as_secs() < 20, "{spent:?}");
}

#[test]
fn what_is_set_on_machines_is_the_nearest_or_adds_up() {
    let plan = every_key();
    let (far, near) = (&node(&plan, "cp1").host, &node(&plan, "both").host);
    assert!(far.proxy.is_some() && near.proxy.is_none());
    assert!(far.dns.is_some() && near.dns.is_none());
    let servers = |host: &HostPlan| host.ntp.as_ref().map(|ntp| ntp.servers.join(" ")).unwrap();
    assert_eq!(
        (servers(far).as_str(), servers(near).as_str()),
        ("ntp.example.com 10.0.9.1", "10.0.9.3")
    );
    assert!(near.ntp.as_ref().unwrap().pools.is_empty(), "taken whole");
    let disks = |host: &HostPlan| -> Vec<_> {
        let all = host.disks.iter();
        all.map(|disk| format!("{} {:?} {} {}", disk.device, disk.filesystem, disk.label, disk.mount))
            .collect()
    };
    let images = "/dev/disk/by-id/nvme-1 Xfs images /var/lib/containerd";
    assert_eq!(disks(far), ["/dev/disk/by-id/nvme-2 Ext4 data /data", images]);
    let own = "/dev/disk/by-id/nvme-3 Ext4 containerd /var/lib/containerd";
    assert_eq!(disks(near), ["/dev/disk/by-id/nvme-2 Ext4 data /data", own]);
    let files = |host: &HostPlan| -> Vec<_> {
        let all = host.files.iter();
        all.map(|file| format!("{} {:o} {}", file.path, file.mode, file.content.trim()))
            .collect()
    };
    let chained = ["/etc/own/c.bin 644 AP8=", "/etc/services 644 own 4711/tcp"];
    assert_eq!(files(far)[0], "/etc/own/a.conf 600 a = 1");
    assert_eq!(files(far)[1..], chained);
    assert_eq!(files(near)[..2], chained);
    assert_eq!(
        files(near)[2..],
        ["/etc/own/a.conf 644 a = 2", "/etc/own/b.conf 644 b = 1"]
    );
    let mounts = |host: &HostPlan| -> Vec<_> {
        let all = host.mounts.iter();
        all.map(|mount| format!("{} {} {} {}", mount.source, mount.mount, mount.kind, mount.options))
            .collect()
    };
    let bind = "/data/pods /srv/pods none bind";
    assert_eq!(
        mounts(far),
        ["nas.example.com:/data /srv/data nfs ro,nfsvers=4.2", bind]
    );
    assert_eq!(mounts(near), [bind, "tmpfs /srv/data tmpfs size=64m"]);
    let sysctl = |host: &HostPlan, name| host.sysctls.get(name).cloned().unwrap_or_default();
    assert_eq!(
        (sysctl(far, "vm.max_map_count"), sysctl(far, "vm.swappiness")),
        ("262144".into(), String::new())
    );
    assert_eq!(
        (sysctl(near, "vm.max_map_count"), sysctl(near, "vm.swappiness")),
        ("65530".into(), "10".into())
    );
    assert_eq!(
        (far.kernel_modules.join(" "), near.kernel_modules.join(" ")),
        ("nbd".into(), "nbd dummy".into())
    );
    assert_eq!(
        (far.packages.join(" "), near.packages.join(" ")),
        ("jq nfs-common".into(), "jq nfs-common strace".into())
    );
    assert_eq!((far.hosts.len(), near.hosts.len()), (2, 1), "an empty list is no line");
    assert_eq!(
        (far.timezone.as_deref(), near.timezone.as_deref()),
        (Some("Europe/Berlin"), Some("UTC"))
    );
    assert!(far.swap && !near.swap);
    assert_eq!((far.trusted_cas.len(), near.trusted_cas.len()), (1, 1));
    assert_eq!(far.first, ["update-ca-certificates", "echo role"]);
    assert_eq!(near.first, ["update-ca-certificates", "echo role", "echo node"]);
    assert_eq!(
        (near.before.len(), near.after.join(" ").as_str()),
        (1, "echo joined echo node")
    );
}

#[test]
fn no_proxy_is_worked_out_in_few_words() {
    let list = |plan: &Plan| node(plan, "cp1").host.proxy.as_ref().unwrap().no_proxy.clone();
    assert_eq!(
        list(&every_key()),
        "localhost,127.0.0.1,::1,.svc,.k8s.example.com,api.prod.example.com,.example.com,10.0.0.0/24,10.32.0.0/14,\
         10.40.0.0/16,169.254.169.254,192.168.7.0/24,fd00:1::/64,fd00:10:32::/56,fd00:10:40::/112,fd00:ec2::254"
    );
    let many = |proxy: &str| {
        resolve(&format!(
            "{HEAD}{proxy}\nnetwork: {{ pods: [10.128.0.0/11] }}\nnodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}\n  \
             - {{ name: \"w{{1..5000}}\", roles: [worker], addresses: [10.1.0.1-10.1.19.136] }}\n"
        ))
    };
    let proxy = "proxy: { https: 'http://p:1', noProxy: [10.1.7.7, 10.0.0.0/24] }";
    let always = "localhost,127.0.0.1,::1,.svc,.cluster.local,api.example.com";
    let metadata = "169.254.169.254,fd00:ec2::254";
    assert_eq!(
        list(&many(proxy)),
        format!("{always},10.0.0.0/24,10.1.0.0/20,10.1.16.0/22,10.96.0.0/12,10.128.0.0/11,{metadata}")
    );
    let wide = many("proxy: { https: 'http://p:1', noProxy: [10.0.0.0/8] }");
    assert_eq!(
        list(&wide),
        format!("{always},10.0.0.0/8,{metadata}"),
        "a wide range holds the others"
    );
}

#[test]
fn what_no_proxy_leads_to_is_the_platforms() {
    let list = |platform: &str| {
        let proxy = "proxy: { https: 'http://p:1' }\nnetwork: { pods: [10.128.0.0/11] }";
        let head = HEAD.replace("platform: aws", &format!("platform: {platform}"));
        let node = "nodes:\n  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }\n";
        let plan = resolve(&format!("{head}{proxy}\n{node}"));
        plan.nodes[0].host.proxy.as_ref().unwrap().no_proxy.clone()
    };
    assert!(list("azure").contains(",168.63.129.16,169.254.169.254"));
    assert!(list("gce").contains(",metadata.google.internal,"));
    assert!(list("oci").ends_with(",169.254.169.254,fd00:c1::a9fe:a9fe"));
    assert!(list("cloudstack").contains(",data-server,"));
    assert!(!list("metal").contains("169.254"), "there is no such service");
}

#[test]
fn without_settings_a_machine_is_as_its_image() {
    let plan = with("");
    let host = &node(&plan, "cp1").host;
    assert!(host.proxy.is_none() && host.ntp.is_none() && host.dns.is_none());
    assert!(host.disks.is_empty() && host.files.is_empty());
    assert!(host.first.is_empty() && host.before.is_empty() && host.after.is_empty());
}
