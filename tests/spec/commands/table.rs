//! The class of every block that may hold commands, in the order of the pages.

/// How the test treats a block.
#[derive(Clone, Copy)]
pub enum Class {
    /// Run after these preparations, with fakes of foreign programs. Every command must succeed, and documents passed
    /// to them must be those that `manifest.json` names.
    Run(&'static str),
    /// The three commands at the beginning of every platform page. They run once; other pages only copy the tree.
    Tree,
    /// Run like the first, with the text after `$ `; the other lines are output.
    Console(&'static str),
    /// Needs the internet: bash parses it, and the command line parses its calls of firelay.
    Read,
    /// Needs a machine of the cluster, its API or root: bash parses it. It must not call firelay.
    Elsewhere,
    /// No commands: output, or a file.
    Text,
}

/// The files in a page's directory at the start.
#[derive(Clone, Copy)]
pub enum Start {
    /// Nothing.
    Empty,
    /// The page's own spec.
    Own,
    /// The page's own spec with Calico, whose founder's document exceeds most limits.
    Large,
    /// An example and its bundle.
    Example(&'static str),
    /// An example, its bundle and its tree.
    Rendered(&'static str),
}

/// A page with its blocks: how each begins, and its class.
pub struct Page {
    pub path: &'static str,
    pub start: Start,
    pub blocks: &'static [(&'static str, Class)],
}

use Class::{Console, Elsewhere, Read, Run, Text, Tree};
use Start::{Empty, Example, Large, Own, Rendered};

/// The script that replaces machines, and a Terraform that has each one.
macro_rules! replace {
    () => {
        "mkdir -p examples/terraform && cp \"$ROOT/examples/terraform/replace\" examples/terraform/ && \
         printf '#!/bin/bash\\nfor flag; do echo \"# ${flag#*=} will be replaced\"; done\\n' >bin/terraform"
    };
}

const RUN: Class = Run("");
/// Run in a checkout, in which another cluster was rendered.
const CHECKOUT: Class = Run(
    r#"cp -r "$ROOT/examples" . && firelay render examples/ha-ubuntu.yaml --secrets out.secrets.yaml --new-secrets --out out"#,
);

const fn page(path: &'static str, start: Start, blocks: &'static [(&'static str, Class)]) -> Page {
    Page { path, start, blocks }
}

pub const PAGES: &[Page] = &[
    page(
        "README.md",
        Empty,
        &[
            ("cluster.yaml ──┐", Text),
            ("cargo run -- render", Elsewhere),
            ("out/manifest.json", Text),
            ("cargo install", CHECKOUT),
            ("kubectl --kubeconfig out/admin.kubeconfig", Run("cd ~/my-cluster")),
            (
                "firelay render --new-secrets && firelay serve",
                Run("example bare-metal"),
            ),
        ],
    ),
    page(
        "docs/addons/argo-cd.md",
        Empty,
        &[("kubectl --namespace argocd", Elsewhere)],
    ),
    page(
        "docs/addons/cert-manager.md",
        Empty,
        &[("kubectl --namespace cert-manager", Elsewhere)],
    ),
    page(
        "docs/addons/certificate-renewal.md",
        Empty,
        &[("systemctl list-timers", Elsewhere)],
    ),
    page(
        "docs/addons/cloud-controllers.md",
        Empty,
        &[("kubectl get nodes", Elsewhere)],
    ),
    page(
        "docs/addons/csi.md",
        Empty,
        &[("helm template", RUN), ("kubectl get csidrivers", Elsewhere)],
    ),
    page(
        "docs/addons/dns.md",
        Empty,
        &[("kubectl --namespace kube-system", Elsewhere)],
    ),
    page("docs/addons/kube-vip.md", Empty, &[("ip -brief address", Elsewhere)]),
    page(
        "docs/addons/kubelet-csr-approver.md",
        Empty,
        &[("kubectl --namespace", Elsewhere)],
    ),
    page(
        "docs/addons/local-path.md",
        Empty,
        &[("kubectl --namespace", Elsewhere)],
    ),
    page(
        "docs/addons/metrics-server.md",
        Empty,
        &[("kubectl --namespace", Elsewhere)],
    ),
    page(
        "docs/addons/metallb.md",
        Empty,
        &[("kubectl --namespace metallb-system", Elsewhere)],
    ),
    page("docs/addons/multus.md", Empty, &[("kubectl -n kube-system", Elsewhere)]),
    page(
        "docs/addons/node-feature-discovery.md",
        Empty,
        &[("kubectl --namespace", Elsewhere)],
    ),
    page(
        "docs/addons/node-problem-detector.md",
        Empty,
        &[("kubectl --namespace kube-system", Elsewhere)],
    ),
    page(
        "docs/addons/system-upgrade-controller.md",
        Empty,
        &[("kubectl --namespace system-upgrade", Elsewhere)],
    ),
    page("docs/addons/priority-classes.md", Empty, &[("kubectl get", Elsewhere)]),
    page(
        "docs/addons/registry.md",
        Empty,
        &[("kubectl --namespace registry", Elsewhere)],
    ),
    page(
        "docs/addons/scheduler-plugins.md",
        Empty,
        &[("kubectl --namespace scheduler-plugins", Elsewhere)],
    ),
    page(
        "docs/addons/traefik.md",
        Empty,
        &[("kubectl --namespace traefik", Elsewhere)],
    ),
    page(
        "docs/adopt.md",
        Empty,
        &[
            ("ssh cp1 sudo tar", Read),
            ("firelay adopt --pki pki --name", Read),
            ("kubectl --namespace kube-system get configmaps", Read),
            ("cluster prod, founded", Text),
            ("firelay plan --kubeconfig", Read),
            ("firelay render --replace", Read),
        ],
    ),
    page(
        "docs/air-gap.md",
        Example("ha-ubuntu"),
        &[
            ("firelay artifacts list", RUN),
            ("firelay artifacts mirror mirror", Read),
            ("sudo python3 -m http.server", Read),
            ("export REGISTRY_CA", Read),
            (
                "skopeo copy",
                Run("mkdir -p mirror/images; touch mirror/images/cluster-amd64.tar"),
            ),
        ],
    ),
    page(
        "docs/audit.md",
        Rendered("ha-ubuntu"),
        &[("$ firelay audit out", Console(""))],
    ),
    page(
        "docs/bare-metal.md",
        Own,
        &[
            ("firelay render --new-secrets", RUN),
            ("out/pxe/boot.ipxe", Text),
            ("mkdir -p mirror/debian", RUN),
            ("# /etc/dnsmasq.d/firelay.conf", Text),
            ("# stop it first", RUN),
            ("firelay serve out --listen 10.0.0.5:8080 --listen-tls", RUN),
            ("firelay seed", RUN),
            ("rsync -r out/pxe/matchbox/", RUN),
        ],
    ),
    page(
        "docs/boot.md",
        Empty,
        &[
            ("firelay-status", Elsewhere),
            ("firelay: node=worker-1", Text),
            ("94 firelay: node=w2", Text),
            ("254 firelay: node=cp3", Text),
            ("373 firelay: node=cp2", Text),
            ("firelay-status --cluster", Elsewhere),
        ],
    ),
    page(
        "docs/certificates.md",
        Rendered("ha-ubuntu"),
        &[
            ("firelay certs  ", RUN),
            ("cluster prod on", Text),
            ("firelay certs --within 30d --output json", RUN),
        ],
    ),
    page(
        "docs/delivery.md",
        Example("ha-ubuntu"),
        &[
            (
                "$ firelay render",
                Console(
                    "echo 'delivery: { form: pointer, pointer: { base: \"https://files.example.com/firelay\" } }' >>cluster.yaml",
                ),
            ),
            ("$ firelay publish", Console("")),
        ],
    ),
    page(
        "docs/errors/fl00-form.md",
        Example("ha-ubuntu"),
        &[
            (
                "firelay check --set",
                Run("echo 'proxy: { http: \"http://proxy.example.com:3128\" }' >>cluster.yaml"),
            ),
            ("name,role,address", Text),
        ],
    ),
    page(
        "docs/first-cluster.md",
        Empty,
        &[
            ("cargo install", CHECKOUT),
            ("kubectl --kubeconfig out/admin.kubeconfig", Run("cd ~/my-cluster")),
        ],
    ),
    page(
        "docs/network/calico.md",
        Empty,
        &[("kubectl -n kube-system", Elsewhere)],
    ),
    page(
        "docs/network/canal.md",
        Empty,
        &[("kubectl -n kube-system", Elsewhere), ("kubectl -n default", Elsewhere)],
    ),
    page(
        "docs/network/cilium.md",
        Empty,
        &[("kubectl -n kube-system", Elsewhere)],
    ),
    page("docs/network/custom.md", Empty, &[("firelay-status", Elsewhere)]),
    page(
        "docs/network/flannel.md",
        Empty,
        &[("kubectl -n kube-flannel", Elsewhere)],
    ),
    page(
        "docs/network/kube-ovn.md",
        Empty,
        &[("kubectl -n kube-system", Elsewhere)],
    ),
    page(
        "docs/network/kube-router.md",
        Empty,
        &[("kubectl -n kube-system", Elsewhere)],
    ),
    page("docs/network/none.md", Empty, &[("kubectl get nodes", Elsewhere)]),
    page(
        "docs/install.md",
        Empty,
        &[
            ("cargo install", RUN),
            ("sha256sum --check", Elsewhere),
            ("sudo apt install", Elsewhere),
            ("skopeo copy", Elsewhere),
            ("firelay completions bash", RUN),
        ],
    ),
    page(
        "docs/order.md",
        Rendered("external-etcd"),
        &[("firelay graph", RUN), ("stage: 7 machines", Text)],
    ),
    page(
        "docs/patches.md",
        Example("ha-ubuntu"),
        &[("patches/all/*.yaml", Text), ("$ firelay why", Console(""))],
    ),
    page(
        "docs/platforms/aws.md",
        Own,
        &[
            ("firelay check", RUN),
            ("for node in cp1 cp2 cp3", RUN),
            ("aws ec2 create-launch-template", RUN),
        ],
    ),
    page(
        "docs/platforms/azure.md",
        Large,
        &[
            ("firelay check", Tree),
            ("for node in cp1 cp2 cp3", RUN),
            ("az vmss create", RUN),
        ],
    ),
    page(
        "docs/platforms/cloudstack.md",
        Large,
        &[("firelay check", Tree), ("for node in cp1 cp2 cp3", RUN)],
    ),
    page(
        "docs/platforms/digitalocean.md",
        Large,
        &[("firelay check", Tree), ("document()", RUN)],
    ),
    page(
        "docs/platforms/gce.md",
        Large,
        &[
            ("firelay check", Tree),
            ("for node in cp1 cp2 cp3", RUN),
            ("gcloud compute instance-templates", RUN),
        ],
    ),
    page(
        "docs/platforms/hetzner.md",
        Large,
        &[("firelay check", Tree), ("hcloud network create", RUN)],
    ),
    page(
        "docs/platforms/kubevirt.md",
        Large,
        &[("firelay check", Tree), ("for node in cp1 cp2 cp3", RUN)],
    ),
    page(
        "docs/platforms/libvirt.md",
        Large,
        &[
            ("firelay check", Tree),
            ("for node in cp1", RUN),
            ("--qemu-commandline", Text),
        ],
    ),
    page(
        "docs/platforms/linode.md",
        Own,
        &[("firelay check", Tree), ("for node in cp1 cp2 cp3", RUN)],
    ),
    page(
        "docs/platforms/metal.md",
        Large,
        &[
            ("firelay check", Tree),
            ("for node in cp1", RUN),
            ("#!ipxe", Text),
            ("kernel http://10.0.0.2/flatcar", Text),
            ("kernel http://10.0.0.2/fcos", Text),
        ],
    ),
    page(
        "docs/platforms/nocloud.md",
        Large,
        &[("firelay check", Tree), ("for node in cp1", RUN)],
    ),
    page(
        "docs/platforms/nutanix.md",
        Own,
        &[("firelay check", Tree), ("for node in cp1", RUN)],
    ),
    page(
        "docs/platforms/oci.md",
        Large,
        &[("firelay check", Tree), ("for node in cp1 cp2 cp3", RUN)],
    ),
    page(
        "docs/platforms/openstack.md",
        Large,
        &[("firelay check", Tree), ("document()", RUN)],
    ),
    page(
        "docs/platforms/proxmox.md",
        Large,
        &[("firelay check", Tree), ("pvesm set local", RUN)],
    ),
    page(
        "docs/platforms/qemu.md",
        Large,
        &[
            ("firelay check", Tree),
            ("node=cp1", RUN),
            ("-smbios", Text),
            ("-fw_cfg", Text),
        ],
    ),
    page(
        "docs/platforms/vsphere.md",
        Large,
        &[
            ("firelay check", Tree),
            ("for node in cp1", RUN),
            ("govc vm.change -vm cp1 -f guestinfo.ignition", Elsewhere),
        ],
    ),
    page(
        "docs/profiles.md",
        Example("ha-ubuntu"),
        &[("firelay catalog update", Read)],
    ),
    page(
        "docs/recover.md",
        Rendered("ha-ubuntu"),
        &[
            ("etcd     2026-11-23", Text),
            ("ls -l /var/backups/etcd", Elsewhere),
            (
                "firelay recover --snapshot",
                Run(
                    "sed -i '/^etcd:/d; s/^platform: aws/platform: metal/; $ a etcd: { backup: { every: 6h } }' cluster.yaml && firelay render --founded",
                ),
            ),
            ("firelay-recover /var/backups", RUN),
            ("firelay-recover --join", RUN),
            ("firelay-reset --yes", RUN),
            ("firelay-status --cluster", RUN),
            ("systemctl stop etcd", RUN),
            ("mkdir -p /var/lib/firelay/recover", Elsewhere),
        ],
    ),
    page(
        "docs/secrets.md",
        Example("ha-ubuntu"),
        &[
            ("error: others than its owner", Text),
            ("firelay init --gitignore", Run("mkdir new && cd new")),
            ("firelay kubeconfig --user ana", RUN),
            (
                "age-keygen -o ~/firelay.key",
                Run("cp -a firelay.secrets.yaml clear.yaml; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519"),
            ),
            ("age -d -i ~/.ssh/id_ed25519", RUN),
            ("sops -d firelay.secrets.yaml", Run("sops() { cat clear.yaml; }")),
            (
                "firelay secrets token",
                Run("export FIRELAY_IDENTITY_FILE=~/firelay.key"),
            ),
        ],
    ),
    page(
        "docs/spec-files.md",
        Example("ha-ubuntu"),
        &[
            ("error[FL0103]", Text),
            (
                "firelay render base.yaml prod.yaml",
                Run("cp cluster.yaml base.yaml; echo 'timezone: Europe/Berlin' >prod.yaml"),
            ),
            ("name,role,address", Text),
        ],
    ),
    page(
        "docs/terraform.md",
        Example("ha-ubuntu"),
        &[
            (
                "firelay render --new-secrets",
                Run("echo 'delivery: { extraOutputs: [terraform] }' >>cluster.yaml"),
            ),
            ("out/terraform/nodes.auto.tfvars.json", Text),
            (
                "examples/terraform/replace",
                Run(concat!("firelay founded && ", replace!())),
            ),
            ("firelay render --replace cp2", RUN),
            ("firelay render --node cp1 --out - --for terraform", RUN),
        ],
    ),
    page(
        "docs/day-two.md",
        Rendered("ha-ubuntu"),
        &[
            (
                "firelay plan                           # shows",
                Run(
                    "firelay render --set kubernetes.version=1.36.3 && firelay founded && firelay render --set kubernetes.version=1.36.3",
                ),
            ),
            ("firelay plan", RUN),
            ("cluster prod, founded", Text),
            ("firelay plan --kubeconfig", Read),
            ("~ cp1, cp2, cp3: to update in place", Text),
            (
                "firelay diff out.old out",
                Run("cp -r out out.old; echo 'timezone: Europe/Berlin' | cat cluster.yaml - >prod.yaml"),
            ),
            (
                "git checkout HEAD~1 --",
                Run(
                    "git init --quiet . && git add cluster.yaml firelay.state.yaml && for at in 1 2; do \
                     git -c user.name=a -c user.email=a@b.c commit --quiet --allow-empty --message $at; done",
                ),
            ),
            ("git worktree add", Read),
            (
                "firelay update\nkubectl apply",
                Run("echo 'addons: { systemUpgradeController: {} }' >>cluster.yaml; \
                     sed -i 's/^kubernetes: .*/kubernetes: { version: 1.36.4, kubelet: { config: { maxPods: 80 } } }/' cluster.yaml"),
            ),
            (
                "kubectl delete --filename out/update/1/worker-1.yaml",
                Run("sed -i 's/maxPods: 80/maxPods: 90/' cluster.yaml && firelay update"),
            ),
            (
                "kubectl delete --filename out/update/1\n",
                Run("sed -i 's/maxPods: 90/maxPods: 70/' cluster.yaml && firelay update"),
            ),
            ("firelay plan\nfirelay render", RUN),
            ("ssh worker-2 sudo firelay-status", RUN),
            ("firelay update --done", RUN),
            ("kubectl drain worker-1", RUN),
            ("examples/terraform/replace", Run(replace!())),
            ("firelay plan --output json | jq", RUN),
            ("firelay render --founded --replace cp1", RUN),
            ("ssh cp1 sudo firelay-status", RUN),
            ("firelay update --done", RUN),
            ("kubectl drain worker-1", RUN),
            ("firelay plan --accept FL1218", RUN),
            ("kubectl drain cp1", RUN),
            ("firelay plan --accept FL1218", RUN),
            ("ssh cp4 sudo firelay-status", RUN),
            ("kubectl --namespace kube-system exec", RUN),
            // The spec changes between the two.
            ("firelay update --accept FL0209", Read),
            ("This change takes 2 updates", Text),
            ("firelay plan\nfirelay update", RUN),
        ],
    ),
    page(
        "docs/report.md",
        Rendered("ha-ubuntu"),
        &[
            ("firelay report --out", RUN),
            ("firelay report cluster.yaml --serve", Read),
        ],
    ),
    page(
        "docs/rotate.md",
        Rendered("ha-ubuntu"),
        &[
            (
                "firelay secrets rotate leaves  ",
                Run("firelay founded && firelay render"),
            ),
            ("firelay secrets rotate leaves --node", RUN),
            ("kubectl get secrets", Elsewhere),
            // No machine of the example joins with a token.
            ("firelay secrets rotate token", Read),
        ],
    ),
    page(
        "docs/kms.md",
        Empty,
        &[("vault auth enable cert", Elsewhere), ("kubectl get --raw", Elsewhere)],
    ),
    page(
        "docs/verify.md",
        Rendered("ha-ubuntu"),
        &[
            ("$ firelay verify out", Console("")),
            ("error[FL1016]", Text),
            // A tree that was edited by hand.
            ("$ firelay verify out --against", Read),
        ],
    ),
    page(
        "examples/terraform/aws/README.md",
        Example("ha-ubuntu"),
        &[
            (
                "firelay render --new-secrets && terraform",
                Run("echo 'delivery: { extraOutputs: [terraform] }' >>cluster.yaml"),
            ),
            ("terraform apply -target", Read),
            ("terraform output -raw", Elsewhere),
        ],
    ),
    page(
        "examples/terraform/azurerm/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/google/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/hcloud/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/libvirt/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/openstack/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/proxmox/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
    page(
        "examples/terraform/vsphere/README.md",
        Empty,
        &[("firelay render --new-secrets && terraform", Read)],
    ),
];
