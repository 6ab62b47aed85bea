//! No check refuses legal input of users: a false error would prevent every render.

use firelay_verify::{Finding, Level};

use super::{
    support::{self, firelay, said},
    tampering::{NOW, Tampered},
};

/// User files that neither firelay nor Kubernetes reads, and fields of kinds whose lists must be complete.
const FILES: &[(&str, &str)] = &[
    (
        "/etc/kubernetes/credential-providers.yaml",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n  - { name: ecr-credential-provider, \
         matchImages: [\"*.dkr.ecr.*.amazonaws.com\"], defaultCacheDuration: 12h, apiVersion: credentialprovider.kubelet.k8s.io/v1 }\n",
    ),
    (
        "/etc/kubernetes/own/webhook.yaml",
        "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: /etc/kubernetes/own/users.yaml\n",
    ),
    (
        "/etc/kubernetes/own/users.yaml",
        "apiVersion: v1\nkind: Config\nusers: [{ name: hook.default.svc, user: { token: a } }]\n",
    ),
    (
        "/etc/kubernetes/own/later.yaml",
        "apiVersion: apiserver.config.k8s.io/v3\nkind: LaterConfiguration\n",
    ),
    (
        "/etc/kubernetes/own/reset.yaml",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\nforce: true\ntimeouts: { etcdAPICall: 2m }\n",
    ),
    (
        "/etc/own/old.yaml",
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n",
    ),
    (
        "/etc/own/fields.yaml",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nown: 1\nmaxPods: many\n",
    ),
    (
        "/etc/own/kubeconfig.yaml",
        "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: []\n",
    ),
    ("/etc/own/a.conf", "# apiVersion of the exporter\n[section]\na: b: c\n"),
    (
        "/srv/chart/templates/d.yaml",
        "apiVersion: apps/v1\n{{- if .Values.on }}\nkind: Deployment\n{{- end }}\n",
    ),
    (
        "/usr/local/sbin/clean",
        "#!/bin/bash\nshopt -s extglob\nrm -rf /srv/!(keep)\n",
    ),
    ("/etc/profile.d/z.sh", "for f (/etc/own/*(N)) { source $f }\n"),
    ("/opt/own/module.py", "#!/usr/bin/python3\nprint(1)\n"),
    (
        "/opt/firelay-own/app.yaml",
        "apiVersion: example.com/v1\nconfig: /var/spool/x\n",
    ),
    (
        "/etc/kubernetes/own.yaml",
        "apiVersion: example.com/v1\nconfig: /var/spool/x\n",
    ),
    (
        "/etc/systemd/system/kubelet.service.d/20-own.conf",
        "[Service]\nEnvironmentFile=/etc/environment\nEnvironmentFile=/etc/sysconfig/own\n",
    ),
    (
        "/usr/local/bin/certificate",
        "#!/bin/bash\nsed -n '/-----BEGIN CERTIFICATE-----/p' \"$1\"\n",
    ),
    (
        "/etc/own/notes",
        "A pair looks so:\n-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
    ),
];

fn errors(tree: &Tampered) -> Vec<Finding> {
    let mut findings = tree.findings(NOW);
    findings.retain(|finding| finding.level == Level::Error);
    findings
}

#[test]
fn files_of_the_users_own_are_no_errors() {
    let mut tree = Tampered::of("ha-ubuntu");
    for (path, text) in FILES {
        tree.add("worker-1", path, text);
        tree.add("cp2", path, text);
    }
    let errors = errors(&tree);
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The same mistakes in a file that Kubernetes is configured to read prevent a machine from starting.
#[test]
fn files_that_kubernetes_reads_have_to_be_right() {
    for (path, text, code) in [
        (
            "/srv/providers.yaml",
            "apiVersion: kubelet.config.k8s.io/v1\n{{ a }}\n: [",
            "FL1024",
        ),
        (
            "/srv/providers.yaml",
            "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nprovider: []\n",
            "FL1025",
        ),
        (
            "/srv/providers.yaml",
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n",
            "FL1038",
        ),
        (
            "/srv/kubelet.d/10-own.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: many\n",
            "FL1026",
        ),
    ] {
        let mut tree = Tampered::of("ha-ubuntu");
        let join = "/etc/firelay/kubeadm/join.yaml";
        tree.edit_file("worker-1", join, |text| {
            let own = "  - {name: image-credential-provider-config, value: /srv/providers.yaml}\n  \
                       - {name: config-dir, value: /srv/kubelet.d}";
            let named = text.replace("kubeletExtraArgs:", &format!("kubeletExtraArgs:\n{own}"));
            assert_ne!(named, text, "{text}");
            named
        });
        tree.add("worker-1", path, text);
        let found = errors(&tree);
        let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [code], "{found:#?}");
    }
}

/// Complete renders, for input that no example has.
#[test]
fn specs_that_bring_more_are_rendered() {
    for more in [
        "patches:\n  - target: { unit: kubelet.service }\n    merge: { Unit: { Requires: iscsid.service } }\n",
        "packages: [open-iscsi]\npatches:\n  - target: { unit: kubelet.service }\n    merge: { Unit: { Requires: iscsid.service } }\n",
        "patches:\n  - target: { unit: containerd.service }\n    merge: { Service: { EnvironmentFile: /etc/environment } }\n",
        "commands:\n  before:\n    - |\n      shopt -s extglob\n      rm -rf /srv/!(keep)\n",
        "patches:\n  - target: { kind: KubeletConfiguration }\n    merge: { clusterDNS: [10.0.0.53] }\n",
        "commands: { before: [install-runtime] }\npatches:\n  - target: { kind: InitConfiguration }\n    \
         merge: { nodeRegistration: { criSocket: \"unix:///run/crio/crio.sock\" } }\n",
        "patches:\n  - target: { unit: containerd.service }\n    merge: { Service: { ExecStart: /usr/bin/nice /usr/local/bin/containerd } }\n",
        "files: [{ path: /etc/sysctl.d/99-own.conf, content: \"vm.overcommit_memory = 0\\n\" }]\n",
        "manifests:\n  - name: own\n    content: \"{ apiVersion: v1, kind: Pod, metadata: { name: own }, spec: { serviceAccountName: own, \
         containers: [{ name: own, image: own, envFrom: [{ secretRef: { name: own } }] }] } }\"\n",
    ] {
        let example = support::example("single-node");
        let directory = tempfile::tempdir().unwrap();
        let spec = std::fs::read_to_string(&example.spec).unwrap();
        std::fs::write(directory.path().join("cluster.yaml"), format!("{spec}\n{more}")).unwrap();
        example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
        let output = firelay(&["render"]).current_dir(directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{more}{}", said(&output));
    }
}
