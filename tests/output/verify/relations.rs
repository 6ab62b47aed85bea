//! Tampered trees whose values are valid alone but contradict each other. All are found from the tree alone, and by
//! comparing the tree with its spec.

use std::collections::BTreeSet;

use firelay_verify::Finding;
use rcgen::ExtendedKeyUsagePurpose::ClientAuth;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime, macros::datetime};

use super::{
    pair::{Wanted, issue},
    tampered,
    tampering::{NOW, Tampered},
};

type Tamper = fn(&mut Tampered);

/// An expected code, a description, the example, and the change.
pub struct Case(pub &'static str, &'static str, &'static str, Tamper);

const ENV: &str = "/etc/firelay/node.env";
const INIT: &str = "/etc/firelay/kubeadm/init.yaml";
const JOIN: &str = "/etc/firelay/kubeadm/join.yaml";
const LIST: &str = "/etc/firelay/artifacts";
const CRIO: &str = "/etc/crio/crio.conf.d/90-firelay.conf";
const CONTAINERD: &str = "/etc/containerd/config.toml";
const FLANNEL: &str = "/etc/firelay/addons/20-cni/flannel.yaml";
const BINDING: &str = "/etc/firelay/addons/30-core/apiserver-kubelet-client.yaml";
const ETCD: &str = "/etc/etcd/etcd.env";
const VIP: &str = "/etc/firelay/endpoint/kube-vip.yaml";
const PROXY: &str = "/etc/firelay/endpoint/haproxy.cfg";
const SYSCTL: &str = "/etc/sysctl.d/90-firelay.conf";
const MODULES: &str = "/etc/modules-load.d/firelay.conf";
const KUBELET: &str = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf";
const LIB: &str = "/usr/local/lib/firelay";

/// A key service in the configuration of encryption at rest.
fn ask_key_service(tree: &mut Tampered, socket: &str) {
    let provider = format!("  - kms: {{ apiVersion: v2, name: x, endpoint: 'unix://{socket}' }}\n  - identity: {{}}");
    tree.replace(
        "cp1",
        "/etc/kubernetes/apiserver/encryption.yaml",
        "  - identity: {}",
        &provider,
    );
}

pub const CASES: &[Case] = &[
    // The kubelet's DNS.
    Case("FL1043", "another address of the Services", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "10.96.0.10", "10.96.0.11");
    }),
    Case("FL1043", "address outside of the Services", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "10.96.0.10", "10.0.0.53");
    }),
    Case("FL1043", "Services elsewhere", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "10.96.0.0/12", "10.112.0.0/12");
    }),
    Case("FL1043", "domain of the kubelet", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            INIT,
            "cgroupDriver: systemd",
            "cgroupDriver: systemd\nclusterDomain: other.local",
        );
    }),
    // The container runtime.
    Case("FL1044", "cgroup driver of the kubelet", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "cgroupDriver: systemd", "cgroupDriver: cgroupfs");
    }),
    Case("FL1044", "cgroup driver of containerd 2", "ha-ubuntu", |tree| {
        tree.replace("worker-1", CONTAINERD, "SystemdCgroup = true", "SystemdCgroup = false");
    }),
    Case("FL1044", "cgroup driver of containerd 1", "air-gapped", |tree| {
        tree.replace("w1", CONTAINERD, "SystemdCgroup = true", "SystemdCgroup = false");
    }),
    Case("FL1044", "cgroup driver that is left out", "air-gapped", |tree| {
        tree.replace("w1", CONTAINERD, "SystemdCgroup = true\n", "");
    }),
    Case("FL1044", "socket of a joining node", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            JOIN,
            "/run/containerd/containerd.sock",
            "/run/crio/crio.sock",
        );
    }),
    Case("FL1044", "socket of the founder", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "/run/containerd/containerd.sock", "/run/crio/crio.sock");
    }),
    Case("FL1044", "socket of the kubelet", "ha-ubuntu", |tree| {
        let own = "cgroupDriver: systemd\ncontainerRuntimeEndpoint: unix:///run/crio/crio.sock";
        tree.replace("cp1", INIT, "cgroupDriver: systemd", own);
    }),
    Case("FL1044", "socket of crictl", "ha-ubuntu", |tree| {
        tree.replace("worker-1", "/etc/crictl.yaml", "/run/containerd/", "/run/other/");
    }),
    Case("FL1044", "socket of containerd", "ha-ubuntu", |tree| {
        tree.edit_file("worker-1", CONTAINERD, |text| {
            format!("{text}[grpc]\naddress = \"/run/own.sock\"\n")
        });
    }),
    Case("FL1044", "directory of registries", "air-gapped", |tree| {
        tree.replace("w1", CONTAINERD, "/etc/containerd/certs.d", "/etc/containerd/hosts.d");
    }),
    Case("FL1044", "directory of CNI plugins", "ha-ubuntu", |tree| {
        tree.replace("worker-1", CONTAINERD, "/opt/cni/bin", "/usr/lib/cni");
    }),
    Case("FL1044", "directory into which CNI plugins go", "ha-ubuntu", |tree| {
        tree.replace("worker-1", LIST, "/opt/cni/bin", "/opt/cni/plugins");
    }),
    Case("FL1044", "socket of CRI-O", "crio", |tree| {
        tree.edit_file("w1", CRIO, |text| {
            format!("{text}[crio.api]\nlisten = \"/run/own.sock\"\n")
        });
    }),
    Case("FL1044", "socket of a node with CRI-O", "crio", |tree| {
        tree.replace("w1", JOIN, "/var/run/crio/crio.sock", "/run/containerd/containerd.sock");
    }),
    Case("FL1044", "cgroup driver of CRI-O", "crio", |tree| {
        tree.replace(
            "w1",
            CRIO,
            "cgroup_manager = \"systemd\"",
            "cgroup_manager = \"cgroupfs\"",
        );
    }),
    Case("FL1044", "directory of CNI plugins of CRI-O", "crio", |tree| {
        tree.replace("w1", CRIO, "/opt/cni/bin", "/usr/lib/cni");
    }),
    // Ranges and addresses.
    Case("FL1045", "pods of kubeadm", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "10.244.0.0/16", "10.245.0.0/16");
    }),
    Case("FL1045", "pods of flannel", "ha-ubuntu", |tree| {
        tree.replace("cp1", FLANNEL, "10.244.0.0/16", "10.245.0.0/16");
    }),
    Case("FL1045", "pods of flannel in IPv6", "local-endpoint", |tree| {
        tree.replace("cp1", FLANNEL, "fd00:10:244::/56", "fd00:10:245::/56");
    }),
    Case("FL1045", "pods among the Services", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "10.244.0.0/16", "10.100.0.0/16");
        tree.replace("cp1", FLANNEL, "10.244.0.0/16", "10.100.0.0/16");
    }),
    Case("FL1045", "pods of kube-proxy", "ha-ubuntu", |tree| {
        let proxy = "---\napiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nclusterCIDR: 10.1.0.0/16\n";
        tree.edit_file("cp1", INIT, |text| format!("{text}{proxy}"));
    }),
    Case("FL1045", "machine among the pods", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "10.0.0.21", "10.244.0.21");
    }),
    Case("FL1045", "machine among the Services", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "10.0.0.21", "10.96.0.21");
    }),
    Case("FL1045", "address of another machine", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "10.0.0.21", "10.0.0.22");
    }),
    Case("FL1045", "address of the kubelet", "ha-ubuntu", |tree| {
        tree.replace("worker-1", JOIN, "10.0.0.21", "10.0.0.99");
    }),
    Case("FL1061", "no network plugin", "ha-ubuntu", |tree| {
        tree.remove("cp1", FLANNEL);
    }),
    // etcd.
    Case("FL1046", "clients without a certificate", "external-etcd", |tree| {
        tree.replace(
            "etcd1",
            ETCD,
            "ETCD_CLIENT_CERT_AUTH=true",
            "ETCD_CLIENT_CERT_AUTH=false",
        );
    }),
    Case("FL1046", "clients of whom nothing is said", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, "\nETCD_CLIENT_CERT_AUTH=true", "");
    }),
    Case("FL1046", "peers without a certificate", "external-etcd", |tree| {
        tree.replace(
            "etcd2",
            ETCD,
            "ETCD_PEER_CLIENT_CERT_AUTH=true",
            "ETCD_PEER_CLIENT_CERT_AUTH=false",
        );
    }),
    Case("FL1046", "clients of no authority", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, "\nETCD_TRUSTED_CA_FILE=/etc/etcd/pki/ca.crt", "");
    }),
    Case("FL1046", "peers of no authority", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, "\nETCD_PEER_TRUSTED_CA_FILE=/etc/etcd/pki/ca.crt", "");
    }),
    Case("FL1046", "name of another member", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, "ETCD_NAME=etcd1", "ETCD_NAME=etcd2");
    }),
    Case("FL1046", "peer that is left out", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, ",etcd3=https://10.2.0.33:2380", "");
    }),
    Case("FL1046", "peer that is nobody's", "external-etcd", |tree| {
        tree.replace(
            "etcd1",
            ETCD,
            "etcd3=https://10.2.0.33:2380",
            "etcd3=https://10.2.0.39:2380",
        );
    }),
    Case("FL1046", "peer more on all members", "external-etcd", |tree| {
        for node in ["etcd1", "etcd2", "etcd3"] {
            tree.replace(
                node,
                ETCD,
                "ETCD_INITIAL_CLUSTER=",
                "ETCD_INITIAL_CLUSTER=etcd9=https://10.9.0.9:2380,",
            );
        }
    }),
    Case("FL1046", "port without encryption", "external-etcd", |tree| {
        let listens = "ETCD_LISTEN_CLIENT_URLS=https://10.2.0.31:2379";
        tree.replace("etcd1", ETCD, listens, "ETCD_LISTEN_CLIENT_URLS=http://10.2.0.31:2379");
    }),
    Case(
        "FL1046",
        "address of another machine told to clients",
        "external-etcd",
        |tree| {
            let told = "ETCD_ADVERTISE_CLIENT_URLS=https://10.2.0.31:2379";
            tree.replace("etcd1", ETCD, told, "ETCD_ADVERTISE_CLIENT_URLS=https://10.2.0.32:2379");
        },
    ),
    Case(
        "FL1046",
        "address at which a member does not listen",
        "external-etcd",
        |tree| {
            let listens = "ETCD_LISTEN_PEER_URLS=https://10.2.0.31:2380";
            tree.replace("etcd1", ETCD, listens, "ETCD_LISTEN_PEER_URLS=https://127.0.0.1:2380");
        },
    ),
    Case("FL1046", "token of another cluster", "external-etcd", |tree| {
        tree.replace("etcd1", ETCD, "CLUSTER_TOKEN=stage", "CLUSTER_TOKEN=prod");
    }),
    Case("FL1046", "directory that nobody prepares", "external-etcd", |tree| {
        tree.replace(
            "etcd1",
            ETCD,
            "ETCD_DATA_DIR=/var/lib/etcd",
            "ETCD_DATA_DIR=/var/lib/other",
        );
    }),
    Case("FL1046", "directory of a stacked member", "ha-ubuntu", |tree| {
        tree.replace("cp1", INIT, "dataDir: /var/lib/etcd", "dataDir: /var/lib/other");
    }),
    Case(
        "FL1046",
        "member that kubeadm is not told of",
        "external-etcd",
        |tree| {
            tree.replace("cp1", INIT, "    - https://10.2.0.33:2379\n", "");
        },
    ),
    Case("FL1046", "member that is none", "external-etcd", |tree| {
        tree.replace("cp1", INIT, "https://10.2.0.33:2379", "https://10.2.0.39:2379");
    }),
    Case(
        "FL1046",
        "member for which the chain does not wait",
        "external-etcd",
        |tree| {
            tree.replace("cp1", ENV, "https://10.2.0.33:2379", "https://10.2.0.39:2379");
        },
    ),
    // The endpoint.
    Case("FL1047", "kube-vip elsewhere on one machine", "kube-vip", |tree| {
        tree.replace("cp2", VIP, "10.5.0.10", "10.5.0.99");
    }),
    Case("FL1047", "kube-vip elsewhere on all machines", "kube-vip", |tree| {
        for node in ["cp1", "cp2", "cp3"] {
            tree.replace(node, VIP, "10.5.0.10", "10.5.0.99");
        }
    }),
    Case("FL1047", "kube-vip at a machine's address", "kube-vip", |tree| {
        for node in ["cp1", "cp2", "cp3"] {
            tree.replace(node, VIP, "\"10.5.0.10\"", "\"10.5.0.11\"");
        }
    }),
    Case("FL1047", "kube-vip at another port", "kube-vip", |tree| {
        tree.replace("cp1", VIP, "\"6443\"", "\"7443\"");
    }),
    Case("FL1047", "kube-vip of another node", "kube-vip", |tree| {
        tree.replace("cp1", VIP, "value: \"cp1\"", "value: \"cp2\"");
    }),
    Case("FL1047", "kube-vip that asks another API server", "kube-vip", |tree| {
        tree.replace("cp1", VIP, "https://10.5.0.11:6443", "https://10.5.0.12:6443");
    }),
    Case("FL1047", "kube-vip that is left out", "kube-vip", |tree| {
        tree.remove("cp3", VIP);
    }),
    Case("FL1047", "proxy to another machine", "local-endpoint", |tree| {
        tree.replace("w1", PROXY, "10.6.0.13:6443", "10.6.0.99:6443");
    }),
    Case(
        "FL1047",
        "proxy that misses a control plane",
        "local-endpoint",
        |tree| {
            tree.replace("w1", PROXY, "  server cp3 10.6.0.13:6443\n", "");
        },
    ),
    Case("FL1047", "proxy at another port", "local-endpoint", |tree| {
        tree.replace("w1", PROXY, "bind 127.0.0.1:6443", "bind 127.0.0.1:7443");
    }),
    Case("FL1047", "proxy for everybody", "local-endpoint", |tree| {
        tree.replace("w1", PROXY, "bind 127.0.0.1:6443", "bind 0.0.0.0:6443");
    }),
    Case("FL1047", "founder that misses a peer", "ha-ubuntu", |tree| {
        tree.replace("cp1", ENV, " https://10.0.0.13:6443", "");
    }),
    Case("FL1047", "founder without peers", "ha-ubuntu", |tree| {
        tree.replace("cp1", ENV, "https://10.0.0.12:6443 https://10.0.0.13:6443", "");
    }),
    Case("FL1047", "peer that is no control plane", "ha-ubuntu", |tree| {
        tree.replace("cp1", ENV, "https://10.0.0.13:6443", "https://10.0.0.21:6443");
    }),
    // Programs started by units.
    Case("FL1027", "chain that does nothing", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/firelay.service";
        tree.replace(
            "worker-1",
            unit,
            "ExecStart=/usr/local/lib/firelay/driver",
            "ExecStart=/usr/bin/true",
        );
    }),
    Case(
        "FL1027",
        "chain that does nothing with Ignition",
        "ha-flatcar",
        |tree| {
            let unit = "/etc/systemd/system/firelay.service";
            tree.replace(
                "w1",
                unit,
                "ExecStart=/usr/bin/env bash /opt/firelay/driver",
                "ExecStart=/usr/bin/true",
            );
        },
    ),
    Case("FL1027", "chain that never tries again", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/firelay.service";
        tree.replace("worker-1", unit, "Restart=on-failure", "Restart=no");
    }),
    Case("FL1020", "chain without ExecStart", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/firelay.service";
        tree.replace("worker-1", unit, "ExecStart=/usr/local/lib/firelay/driver\n", "");
    }),
    Case("FL1027", "another container runtime", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/containerd.service";
        tree.replace(
            "worker-1",
            unit,
            "ExecStart=\"/usr/local/bin/containerd\"",
            "ExecStart=/usr/bin/true",
        );
    }),
    Case(
        "FL1020",
        "container runtime that a drop-in takes back",
        "ha-ubuntu",
        |tree| {
            let path = "/etc/systemd/system/containerd.service.d/50-own.conf";
            tree.add("worker-1", path, "[Service]\nExecStart=\n");
        },
    ),
    Case("FL1027", "container runtime that stops its pods", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            "/etc/systemd/system/containerd.service",
            "KillMode=process\n",
            "",
        );
    }),
    Case("FL1027", "kubelet without its settings", "ha-ubuntu", |tree| {
        tree.replace("worker-1", KUBELET, " --config=/var/lib/kubelet/config.yaml", "");
    }),
    Case("FL1027", "kubelet without its kubeconfig", "ha-ubuntu", |tree| {
        tree.replace("worker-1", KUBELET, " --kubeconfig=/etc/kubernetes/kubelet.conf", "");
    }),
    Case("FL1027", "kubelet without kubeadm's arguments", "ha-ubuntu", |tree| {
        tree.replace("worker-1", KUBELET, " $KUBELET_KUBEADM_ARGS", "");
    }),
    Case("FL1027", "kubelet without kubeadm's file", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            KUBELET,
            "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n",
            "",
        );
    }),
    Case("FL1020", "kubelet without ExecStart", "ha-ubuntu", |tree| {
        tree.edit_file("worker-1", KUBELET, |_| {
            "[Service]\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n".to_owned()
        });
    }),
    Case("FL1027", "etcd without its settings", "external-etcd", |tree| {
        let unit = "/etc/systemd/system/etcd.service";
        tree.replace("etcd1", unit, "EnvironmentFile=/etc/etcd/etcd.env\n", "");
    }),
    // Owners.
    Case("FL1048", "key of another account", "ha-ubuntu", |tree| {
        own(tree, "cp2", "/etc/firelay/pki/apiserver.key", "nobody:nogroup");
    }),
    Case("FL1048", "kubelet's key of another account", "ha-ubuntu", |tree| {
        own(tree, "worker-1", "/etc/firelay/kubelet/client.pem", "ubuntu:ubuntu");
    }),
    Case("FL1048", "key of another group", "ha-ubuntu", |tree| {
        own(tree, "cp2", "/etc/firelay/pki/sa.key", "root:ubuntu");
    }),
    Case("FL1048", "step of another account", "ha-ubuntu", |tree| {
        own(tree, "worker-1", &format!("{LIB}/steps/50-join"), "ubuntu:ubuntu");
    }),
    Case("FL1048", "driver that everybody can write", "ha-ubuntu", |tree| {
        tree.permit("worker-1", &format!("{LIB}/driver"), "0777");
    }),
    Case("FL1048", "variables that everybody can write", "ha-ubuntu", |tree| {
        tree.permit("worker-1", ENV, "0666");
    }),
    Case("FL1048", "key of another account with Ignition", "ha-flatcar", |tree| {
        tree.edit("w1", |config| {
            let mut files = config["storage"]["files"].as_array_mut().unwrap().iter_mut();
            let file = files
                .find(|file| file["path"] == "/etc/firelay/kubelet/client.pem")
                .unwrap();
            file["user"] = json!({"name": "core"});
        });
    }),
    // Certificates.
    Case("FL1035", "client of etcd in a group", "ha-ubuntu", |tree| {
        reissue(
            tree,
            "pki/apiserver-etcd-client",
            "pki/etcd/ca",
            "kube-apiserver-etcd-client",
            Some("system:masters"),
        );
    }),
    Case("FL1035", "scheduler in a group", "ha-ubuntu", |tree| {
        reissue(
            tree,
            "kubeconfig/scheduler",
            "pki/ca",
            "system:kube-scheduler",
            Some("system:masters"),
        );
    }),
    Case("FL1035", "controller manager in a group", "ha-ubuntu", |tree| {
        let name = "system:kube-controller-manager";
        reissue(
            tree,
            "kubeconfig/controller-manager",
            "pki/ca",
            name,
            Some("system:masters"),
        );
    }),
    Case("FL1035", "front proxy in a group", "ha-ubuntu", |tree| {
        let name = "front-proxy-client";
        reissue(
            tree,
            "pki/front-proxy-client",
            "pki/front-proxy-ca",
            name,
            Some("system:masters"),
        );
    }),
    Case("FL1035", "client of kubelets in a group", "ha-ubuntu", |tree| {
        let name = "kube-apiserver-kubelet-client";
        reissue(
            tree,
            "pki/apiserver-kubelet-client",
            "pki/ca",
            name,
            Some("system:masters"),
        );
    }),
    Case("FL1035", "administrator without a group", "ha-ubuntu", |tree| {
        reissue(tree, "kubeconfig/admin", "pki/ca", "kubernetes-admin", None);
    }),
    Case("FL1063", "certificate behind its authority", "ha-ubuntu", |tree| {
        let from = NOW - Duration::hours(1);
        lasting(tree, from, Duration::days(20_000));
    }),
    Case("FL1063", "certificate before its authority", "ha-ubuntu", |tree| {
        lasting(tree, datetime!(2020-01-01 0:00 UTC), Duration::days(3000));
    }),
    // Key services.
    Case("FL1064", "key service without a plugin", "hardened", |tree| {
        ask_key_service(tree, "/etc/kubernetes/apiserver/kms/x.sock");
    }),
    Case(
        "FL1064",
        "socket that the API server does not mount",
        "hardened",
        |tree| {
            ask_key_service(tree, "/run/kms/x.sock");
            let pod = "{ apiVersion: v1, kind: Pod, spec: { containers: [{ args: [--listen=/run/kms/x.sock] }], volumes: [{ hostPath: { path: /run/kms } }] } }\n";
            tree.add("cp1", "/etc/kubernetes/manifests/kms-x.yaml", pod);
        },
    ),
    // The kernel.
    Case("FL1049", "no forwarding", "ha-ubuntu", |tree| {
        tree.replace("worker-1", SYSCTL, "net.ipv4.ip_forward = 1", "net.ipv4.ip_forward = 0");
    }),
    Case("FL1049", "no filter on bridges", "ha-ubuntu", |tree| {
        tree.replace("worker-1", SYSCTL, "net.bridge.bridge-nf-call-iptables = 1\n", "");
    }),
    Case("FL1049", "parameter that a later file sets", "ha-ubuntu", |tree| {
        tree.add("worker-1", "/etc/sysctl.d/99-own.conf", "net/ipv4/ip_forward=0\n");
    }),
    Case("FL1049", "parameter of the kubelet", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            SYSCTL,
            "vm.overcommit_memory = 1",
            "vm.overcommit_memory = 0",
        );
    }),
    Case("FL1049", "parameter that a kubelet insists on", "hardened", |tree| {
        tree.replace("cp1", SYSCTL, "kernel.panic = 10", "kernel.panic = 0");
    }),
    Case("FL1049", "too few watches", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            SYSCTL,
            "max_user_watches = 524288",
            "max_user_watches = 8192",
        );
    }),
    Case("FL1049", "no forwarding of IPv6", "local-endpoint", |tree| {
        tree.replace("w1", SYSCTL, "net.ipv6.conf.all.forwarding = 1\n", "");
    }),
    Case("FL1049", "no file of parameters", "ha-ubuntu", |tree| {
        tree.remove("worker-1", SYSCTL);
    }),
    Case("FL1049", "no overlay", "ha-ubuntu", |tree| {
        tree.replace("worker-1", MODULES, "overlay\n", "");
    }),
    Case("FL1049", "no filter on bridges as a module", "ha-ubuntu", |tree| {
        tree.replace("worker-1", MODULES, "br_netfilter\n", "");
    }),
    Case("FL1049", "module of kube-proxy", "ha-ubuntu", |tree| {
        tree.replace("worker-1", MODULES, "nf_conntrack\n", "");
    }),
    Case(
        "FL1049",
        "module of kube-proxy's mode",
        "rocky-like-kubespray",
        |tree| {
            tree.replace("k8s-ctr1", MODULES, "nf_tables\n", "");
        },
    ),
    // Manifests.
    Case("FL1060", "account of a pod", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "serviceAccountName: flannel",
            "serviceAccountName: flanel",
        );
    }),
    Case("FL1060", "account of a binding", "ha-ubuntu", |tree| {
        let subject = "{kind: ServiceAccount, name: flannel, namespace: kube-flannel}";
        tree.replace(
            "cp1",
            FLANNEL,
            subject,
            "{kind: ServiceAccount, name: flannel, namespace: kube-system}",
        );
    }),
    Case("FL1060", "role of a binding", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "kind: ClusterRole, name: flannel}",
            "kind: ClusterRole, name: flanel}",
        );
    }),
    Case("FL1060", "role of the API server", "ha-ubuntu", |tree| {
        tree.replace("cp1", BINDING, "system:kubelet-api-admin", "kubelet-api-admin");
    }),
    Case("FL1060", "ConfigMap of a volume", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "configMap: {name: kube-flannel-cfg}",
            "configMap: {name: flannel-cfg}",
        );
    }),
    Case("FL1060", "Secret of a variable", "ha-ubuntu", |tree| {
        let variable = "{name: KEY, valueFrom: {secretKeyRef: {name: flannel-key, key: psk}}}";
        let name = "- {name: POD_NAME,";
        tree.replace("cp1", FLANNEL, name, &format!("- {variable}\n        {name}"));
    }),
    Case("FL1060", "Namespace", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "name: flannel, namespace: kube-flannel",
            "name: flannel, namespace: flannel",
        );
    }),
    Case("FL1060", "class of a pod", "ha-ubuntu", |tree| {
        tree.replace("cp1", FLANNEL, "system-node-critical", "node-critical");
    }),
    Case("FL1060", "label that is selected", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "metadata: {labels: {app: flannel}}",
            "metadata: {labels: {app: flanel}}",
        );
    }),
    Case("FL1060", "volume that is mounted", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            FLANNEL,
            "      - {name: lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate}}\n",
            "",
        );
    }),
    Case("FL1060", "Service of an API", "rocky-like-kubespray", |tree| {
        let path = "/etc/firelay/addons/50-resources/metrics-server-metrics-api.yaml";
        tree.replace("k8s-ctr1", path, "name: metrics-server", "name: metrics");
    }),
    // Downloads.
    Case("FL1062", "digest of a program", "ha-ubuntu", |tree| {
        digest(tree, "kubelet ", |digest| digest.chars().rev().collect());
    }),
    Case("FL1062", "digest of another program", "ha-ubuntu", |tree| {
        digest(tree, "runc ", |_| {
            "10d054585907f2c8bb823c84f6a66b3bd2a474c3d795475f04e9a44f78650fe6".to_owned()
        });
    }),
    Case("FL1062", "digest that is none", "ha-ubuntu", |tree| {
        digest(tree, "kubelet ", |_| "-".to_owned());
    }),
    Case("FL1062", "release of the kubelet", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            LIST,
            "v1.36.4/bin/linux/amd64/kubelet",
            "v1.36.3/bin/linux/amd64/kubelet",
        );
    }),
    Case("FL1062", "program for another machine", "ha-ubuntu", |tree| {
        tree.replace("worker-1", LIST, "runc.amd64", "runc.arm64");
    }),
    Case("FL1062", "sandbox of one machine", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            CONTAINERD,
            "registry.k8s.io/pause",
            "registry.example.com/pause",
        );
    }),
    Case("FL1062", "sandbox of all machines", "single-node", |tree| {
        tree.replace("home1", CONTAINERD, "pause:3.10.2", "pause:3.1");
    }),
    // The machine's own variables.
    Case("FL1041", "variables of another cluster", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "FL_CLUSTER=prod", "FL_CLUSTER=stage");
    }),
    Case("FL1041", "node without a kubelet", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "FL_KUBERNETES=1", "FL_KUBERNETES=''");
    }),
    Case("FL1041", "member that is none", "external-etcd", |tree| {
        tree.replace("etcd1", ENV, "FL_ETCD_MEMBER=1", "FL_ETCD_MEMBER=''");
    }),
    Case("FL1041", "address as the kernel has it", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "FL_LOCAL=10.0.0.21", "FL_LOCAL=10.0.0.99");
    }),
    Case("FL1041", "address in URLs", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "FL_URL_ADDRESS=10.0.0.21", "FL_URL_ADDRESS=10.0.0.99");
    }),
    Case("FL1041", "founder that pins another", "ha-ubuntu", |tree| {
        tree.replace("cp1", ENV, "FL_PIN=10.0.0.11", "FL_PIN=10.0.0.12");
    }),
    // Relations between machines.
    Case("FL1038", "token that nobody makes known", "local-endpoint", |tree| {
        tree.edit_file("burst", JOIN, |text| {
            let (start, rest) = text.split_once("token: ").unwrap();
            format!("{start}token: aaaaaa{}", &rest[6..])
        });
    }),
    Case("FL1040", "key of encryption at rest", "ha-ubuntu", |tree| {
        let path = "/etc/kubernetes/apiserver/encryption.yaml";
        let config = |key: &str| {
            let provider = format!("{{secretbox: {{keys: [{{name: a, secret: {key}}}]}}}}");
            format!(
                "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n\
                 resources: [{{resources: [secrets], providers: [{provider}]}}]\n"
            )
        };
        for (node, key) in [("cp1", "QUFB"), ("cp2", "QUJB"), ("cp3", "QUFB")] {
            tree.add(node, path, &config(key));
        }
    }),
];

/// The codes of the cases.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|Case(code, ..)| *code)
}

fn own(tree: &mut Tampered, node: &str, path: &str, owner: &str) {
    tree.edit(node, |config| {
        let mut files = config["write_files"].as_array_mut().unwrap().iter_mut();
        files.find(|file| file["path"] == path).unwrap()["owner"] = owner.into();
    });
}

/// Changes a digest in a line of worker-1's downloads.
fn digest(tree: &mut Tampered, start: &str, change: fn(&str) -> String) {
    tree.edit_file("worker-1", LIST, |text| {
        let line = |line: &str| match line.strip_prefix(start) {
            Some(rest) => {
                let (digest, rest) = rest.split_once(' ').unwrap();
                format!("{start}{} {rest}\n", change(digest))
            }
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    });
}

/// Replaces a certificate and its key on cp2, signed by the CA whose files are at `by`.
fn reissue(tree: &mut Tampered, path: &str, by: &str, name: &str, organization: Option<&str>) {
    let wanted = Wanted {
        name,
        organization,
        usage: &[ClientAuth],
        authority: false,
        dns: &[],
        from: NOW - Duration::hours(1),
        length: Duration::days(300),
    };
    put(tree, path, by, &wanted);
}

fn lasting(tree: &mut Tampered, from: OffsetDateTime, length: Duration) {
    let wanted = Wanted {
        name: "front-proxy-client",
        organization: None,
        usage: &[ClientAuth],
        authority: false,
        dns: &[],
        from,
        length,
    };
    put(tree, "pki/front-proxy-client", "pki/front-proxy-ca", &wanted);
}

fn put(tree: &mut Tampered, path: &str, by: &str, wanted: &Wanted<'_>) {
    let at = |name: &str, ending: &str| format!("/etc/firelay/{name}.{ending}");
    let authority = (tree.text("cp2", &at(by, "crt")), tree.text("cp2", &at(by, "key")));
    let (certificate, key) = issue(wanted, Some((&authority.0, &authority.1)));
    tree.edit_file("cp2", &at(path, "crt"), |_| certificate);
    tree.edit_file("cp2", &at(path, "key"), |_| key);
}

/// The tree alone is enough, and so is a comparison with its spec.
#[test]
fn every_relation_is_found() {
    assert!(CASES.len() >= 60, "{}", CASES.len());
    let mut unseen = Vec::new();
    for Case(code, name, example, tamper) in CASES {
        let mut tree = Tampered::of(example);
        tamper(&mut tree);
        let findings = tree.findings(NOW);
        if !findings.iter().any(|finding| finding.code == *code) {
            unseen.push(format!("{code} {name}: {findings:#?}"));
        }
        unseen.extend(told(&tree, example).err().map(|why| format!("{name}: {why}")));
    }
    assert!(unseen.is_empty(), "{} unseen\n{}", unseen.len(), unseen.join("\n\n"));
}

/// The comparison names each file that was changed, removed or added.
fn told(tree: &Tampered, example: &str) -> Result<Vec<Finding>, String> {
    let original = Tampered::of(example);
    let findings = tree.against(&original);
    let documents: BTreeSet<_> = findings.iter().map(|finding| finding.document.as_str()).collect();
    let paths: BTreeSet<_> = original.files.keys().chain(tree.files.keys()).collect();
    let mut changed = paths
        .into_iter()
        .filter(|path| original.files.get(*path) != tree.files.get(*path));
    let manifest = (original.manifest != tree.manifest).then_some("manifest.json");
    let unnamed = changed
        .find(|path| !documents.contains(path.as_str()))
        .map(String::as_str);
    match unnamed.or(manifest.filter(|manifest| !documents.contains(manifest))) {
        Some(path) => Err(format!("{path} is not named: {findings:#?}")),
        None if original.manifest == tree.manifest && original.files == tree.files => Ok(findings),
        None if findings.is_empty() => Err("nothing is found".to_owned()),
        None => Ok(findings),
    }
}

/// A comparison also finds trees that are invalid by themselves.
#[test]
fn every_tampered_tree_is_found_by_a_comparison() {
    let mut unseen = Vec::new();
    for (name, example, tamper) in tampered::all() {
        let mut tree = Tampered::of(example);
        tamper(&mut tree);
        unseen.extend(told(&tree, example).err().map(|why| format!("{name}: {why}")));
    }
    assert!(unseen.is_empty(), "{} unseen\n{}", unseen.len(), unseen.join("\n\n"));
}

#[test]
fn the_same_tree_has_no_difference() {
    for example in ["ha-ubuntu", "ha-flatcar", "pointer-s3"] {
        let tree = Tampered::of(example);
        assert_eq!(told(&tree, example), Ok(Vec::new()));
    }
}

/// A difference is reported with its path, without its content.
#[test]
fn a_comparison_shows_no_secret() {
    let mut tree = Tampered::of("local-endpoint");
    let original = tree.text("burst", JOIN);
    let token = |text: &str| text.split("token: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let own = "bbbbbb.cccccccccccccccc";
    tree.replace("burst", JOIN, &token(&original), own);
    let key = tree.text("cp1", "/etc/firelay/pki/sa.key");
    tree.edit_file("cp1", "/etc/firelay/pki/apiserver.key", |_| key.clone());
    let findings = told(&tree, "local-endpoint").unwrap();
    let at = |path: &str| {
        let found = findings.iter().find(|finding| finding.path.as_deref() == Some(path));
        found.unwrap_or_else(|| panic!("{path}: {findings:#?}")).message.clone()
    };
    assert!(
        at(JOIN).ends_with("the first field that differs is discovery.bootstrapToken.token"),
        "{}",
        at(JOIN)
    );
    assert!(at("/etc/firelay/pki/apiserver.key").contains("in line 2"));
    let said = format!("{findings:#?}");
    let secrets = key.lines().map(str::to_owned).filter(|line| !line.starts_with("-----"));
    for secret in secrets.chain([token(&original), own.to_owned()]) {
        assert!(!said.contains(&secret), "{said}");
    }
}

/// The comparison also reports files that belong to no document.
#[test]
fn files_that_nobody_makes_are_told() {
    let mut tree = Tampered::of("ha-ubuntu");
    tree.files.insert("nodes/cp1/notes".to_owned(), Vec::new());
    tree.files.insert("seed/cp1.iso".to_owned(), Vec::new());
    let described = json!({"path": "nodes/cp9/user-data", "node": "cp9", "bytes": 0, "sha256": ""});
    tree.manifest["files"].as_array_mut().unwrap().push(described);
    let findings = told(&tree, "ha-ubuntu").unwrap();
    let levels: Vec<_> = findings
        .iter()
        .map(|finding| (finding.document.as_str(), finding.code, finding.level.name()))
        .collect();
    let wanted = [
        ("manifest.json", "FL1091", "error"),
        ("nodes/cp1/notes", "FL1093", "warning"),
        ("nodes/cp9/user-data", "FL1093", "error"),
        ("seed/cp1.iso", "FL1093", "note"),
    ];
    assert_eq!(levels, wanted);
}

/// A setting of the document itself is reported by its key.
#[test]
fn a_setting_of_the_document_is_told_by_its_key() {
    let mut tree = Tampered::of("ha-ubuntu");
    tree.edit("worker-1", |config| config["hostname"] = Value::from("worker-9"));
    let findings = told(&tree, "ha-ubuntu").unwrap();
    let said = findings
        .iter()
        .map(|finding| finding.message.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    assert!(said.contains("the first difference is in hostname"), "{said}");
}
