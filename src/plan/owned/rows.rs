//! The settings that are not free, by component.

use firelay_yaml::diagnostic::Severity;

use super::{Owned, Settings, When, not_false, owned};

const CERTIFICATES: &str = "the documents bring this file, and kubeadm names it";
const ROTATION: Owned = Owned {
    severity: Severity::Warning,
    ..not_false(
        &["rotateCertificates", "rotate-certificates"],
        "the node leaves the cluster when its first certificate ends",
        "remove it, unless something else renews the kubelets' certificates",
    )
};
const UNREGISTERED: Owned = not_false(
    &["registerNode", "register-node"],
    "the boot chain waits until the node is registered",
    REMOVE,
);
const REMOVE: &str = "remove it";
const SWAP: &str = "the boot chain must know whether to turn swap off";

/// kube-apiserver.
pub(in crate::plan) const API_SERVER: Settings = Settings {
    component: "kube-apiserver",
    feature_gates: true,
    rows: &[
        owned(
            &["secure-port"],
            "every node and probe reaches it on 6443",
            "the port that clients use is endpoint.port",
        ),
        owned(
            &["bind-address"],
            "nodes reach it at the machine's address, its probes and the boot chain as well",
            REMOVE,
        ),
        owned(
            &["advertise-address"],
            "each control plane advertises its own",
            "the first of a node's `addresses` is used",
        ),
        not_false(
            &["anonymous-auth"],
            "nodes that wait for the cluster read /readyz and cluster-info anonymously",
            "restrict the paths by kubernetes.apiServer.authentication instead",
        ),
        owned(
            &[
                "client-ca-file",
                "etcd-cafile",
                "etcd-certfile",
                "etcd-keyfile",
                "kubelet-client-certificate",
                "kubelet-client-key",
                "proxy-client-cert-file",
                "proxy-client-key-file",
                "requestheader-client-ca-file",
                "service-account-key-file",
                "service-account-signing-key-file",
                "tls-cert-file",
                "tls-private-key-file",
            ],
            CERTIFICATES,
            "further names of the certificate belong into pki.extraSans",
        ),
        owned(
            &[
                "admission-control",
                "admission-control-config-file",
                "disable-admission-plugins",
                "enable-admission-plugins",
            ],
            "the value would replace kubeadm's, and take NodeRestriction away",
            "use kubernetes.apiServer.admission",
        ),
        owned(
            &["etcd-servers"],
            "it follows from the nodes",
            "give nodes the `etcd` role for etcd on machines of its own",
        ),
        owned(
            &["service-cluster-ip-range"],
            "kubeadm and the certificates must know the same range",
            "use network.services",
        ),
    ],
};

/// Fields of KubeProxyConfiguration.
pub(in crate::plan) const KUBE_PROXY_FIELDS: Settings = Settings {
    component: "kube-proxy",
    feature_gates: true,
    rows: &[
        owned(
            &["mode"],
            "the nodes load the modules of the mode that the spec names",
            "use kubernetes.kubeProxy.mode",
        ),
        owned(
            &["clusterCIDR"],
            "the network plugin and the controller manager must know the same range",
            "use network.pods",
        ),
        owned(&["hostnameOverride"], "it differs from node to node", REMOVE),
    ],
};

/// kube-controller-manager.
pub(in crate::plan) const CONTROLLER_MANAGER: Settings = Settings {
    component: "kube-controller-manager",
    feature_gates: true,
    rows: &[
        KUBECONFIGS,
        owned(
            &[
                "client-ca-file",
                "cluster-signing-cert-file",
                "cluster-signing-key-file",
                "requestheader-client-ca-file",
                "root-ca-file",
                "service-account-private-key-file",
            ],
            CERTIFICATES,
            "pki.caKeys says which nodes hold the CA's key",
        ),
        owned(
            &["cluster-cidr"],
            "kube-proxy and the network plugin must know the same range",
            "use network.pods",
        ),
        owned(
            &["service-cluster-ip-range"],
            "kubeadm and the certificates must know the same range",
            "use network.services",
        ),
        owned(
            &[
                "node-cidr-mask-size",
                "node-cidr-mask-size-ipv4",
                "node-cidr-mask-size-ipv6",
            ],
            "the spec has keys for it, which are checked against the pod ranges",
            "use network.nodeMaskIpv4 and network.nodeMaskIpv6",
        ),
        owned(&["cluster-name"], "it is the spec's `name`", REMOVE),
    ],
};

const KUBECONFIGS: Owned = owned(
    &["authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig"],
    "the documents bring this file, and kubeadm names it",
    REMOVE,
);

/// kube-scheduler.
pub(in crate::plan) const SCHEDULER: Settings = Settings {
    component: "kube-scheduler",
    feature_gates: true,
    rows: &[KUBECONFIGS],
};

/// etcd, stacked and external.
pub(in crate::plan) const ETCD: Settings = Settings {
    component: "etcd",
    feature_gates: false,
    rows: &[
        owned(
            &[
                "advertise-client-urls",
                "initial-advertise-peer-urls",
                "initial-cluster",
                "initial-cluster-state",
                "initial-cluster-token",
                "listen-client-urls",
                "listen-peer-urls",
                "name",
            ],
            "it differs from member to member and follows from the nodes",
            REMOVE,
        ),
        owned(
            &["data-dir"],
            "the boot chain must know the same directory",
            "use etcd.dataDir",
        ),
        owned(
            &[
                "cert-file",
                "client-cert-auth",
                "key-file",
                "peer-cert-file",
                "peer-client-cert-auth",
                "peer-key-file",
                "peer-trusted-ca-file",
                "trusted-ca-file",
            ],
            "members and API servers know each other by the certificates in the documents",
            "further names of the certificates belong into etcd.serverCertSans and etcd.peerCertSans",
        ),
    ],
};

/// Flags of the kubelet.
pub(in crate::plan) const KUBELET_FLAGS: Settings = Settings {
    component: "kubelet",
    feature_gates: true,
    rows: &[
        owned(
            &["hostname-override"],
            "the node's name stands in its certificate",
            "the `name` under `nodes` is the node's name",
        ),
        owned(
            &["node-labels"],
            "it would replace the labels of the spec",
            "use `labels`",
        ),
        owned(
            &["register-with-taints"],
            "it would replace the taints of the spec",
            "use `taints`",
        ),
        owned(
            &["bootstrap-kubeconfig", "cert-dir", "config", "kubeconfig", "root-dir"],
            "kubeadm and the boot chain must know the same files",
            "fields of the configuration belong into kubelet.config",
        ),
        owned(
            &["container-runtime-endpoint"],
            "the documents bring containerd, and kubeadm asks at its socket",
            REMOVE,
        ),
        owned(
            &["pod-manifest-path"],
            "kubeadm lays the control plane's static pods into a directory of its own choice",
            REMOVE,
        ),
        owned(&["fail-swap-on"], SWAP, "use `swap`"),
        owned(
            &["cgroup-driver"],
            "containerd is told systemd, and both must agree",
            REMOVE,
        ),
        Owned {
            when: When::Not(&["external"]),
            ..owned(
                &["cloud-provider"],
                "clouds within the kubelet are gone",
                "write external, and run the cloud's controller manager by `manifests`",
            )
        },
        owned(
            &["healthz-bind-address", "healthz-port"],
            "the boot chain asks the kubelet at 127.0.0.1:10248",
            REMOVE,
        ),
        owned(
            &["cluster-domain"],
            "CoreDNS and the certificates must know the same domain",
            "use kubernetes.dns.domain",
        ),
        UNREGISTERED,
        ROTATION,
    ],
};

/// Fields of KubeletConfiguration.
pub(in crate::plan) const KUBELET_FIELDS: Settings = Settings {
    component: "kubelet",
    feature_gates: true,
    rows: &[
        owned(
            &["staticPodPath"],
            "kubeadm lays the control plane's static pods into a directory of its own choice",
            REMOVE,
        ),
        owned(&["failSwapOn"], SWAP, "use `swap`"),
        owned(
            &["containerRuntimeEndpoint"],
            "the documents bring containerd, and kubeadm asks at its socket",
            REMOVE,
        ),
        Owned {
            when: When::Not(&["systemd"]),
            ..owned(
                &["cgroupDriver"],
                "containerd is told systemd, and both must agree",
                REMOVE,
            )
        },
        Owned {
            when: When::Not(&["10248"]),
            ..owned(
                &["healthzPort"],
                "the boot chain asks the kubelet at 127.0.0.1:10248",
                REMOVE,
            )
        },
        Owned {
            when: When::Not(&["127.0.0.1", "0.0.0.0"]),
            ..owned(
                &["healthzBindAddress"],
                "the boot chain asks the kubelet at 127.0.0.1:10248",
                REMOVE,
            )
        },
        owned(
            &["clusterDomain"],
            "CoreDNS and the certificates must know the same domain",
            "use kubernetes.dns.domain",
        ),
        owned(
            &["registerWithTaints"],
            "it would replace the taints of the spec",
            "use `taints`",
        ),
        UNREGISTERED,
        ROTATION,
    ],
};
