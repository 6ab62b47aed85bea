//! Every key of the spec reaches an output: setting it alone changes a file of a node, the manifest or the bundle.
//! Setting a default explicitly changes nothing.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{LazyLock, Mutex},
};

use firelay::{
    commands::{
        assembly::{Assembly, for_each_node},
        input,
        project::{Project, Refused},
    },
    declaration::{self, Declaration, Kind},
    profile::Profiles,
    redact::redact_spec,
    schema::{self, Field},
    secrets::Bundle,
    spec::Input,
};
use firelay_yaml::diagnostic::{Source, render};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().unwrap());
static ROOT: LazyLock<Field> = LazyLock::new(|| Field::root(&schema::json(&PROFILES)));

/// Two named machines and a pool.
const BASE: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: home
kubernetes: { version: 1.36.4 }
endpoint: { host: api.home.example.net }
os: debian-13
platform: openstack
nodes:
  - { name: w1, roles: [worker], addresses: [10.0.0.21] }
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
pools:
  - { name: burst, roles: [worker] }
";

/// Settings that a key requires elsewhere, by the prefix of its path; merged over the base, with lists replaced.
const AROUND: &[(&str, &str)] = &[
    ("addons.awsCloudController", "platform: aws"),
    ("addons.gcpCloudController", "platform: gce"),
    (
        "addons.azureCloudController",
        "
platform: azure
addons: { azureCloudController: { tenantId: t, subscriptionId: s, resourceGroup: g, location: l, vnetName: v, subnetName: n, securityGroupName: q } }",
    ),
    (
        "addons.openstackCloudController",
        "addons: { openstackCloudController: { authUrl: 'https://keystone.lan', region: r, applicationCredentialId: i, applicationCredentialSecret: s } }",
    ),
    (
        "addons.vsphereCloudController",
        "
platform: vsphere
addons: { vsphereCloudController: { server: v, username: u, password: p, datacenters: [d] } }",
    ),
    (
        "addons.hcloudCloudController",
        "addons: { hcloudCloudController: { token: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa } }",
    ),
    (
        "addons.ociCloudController",
        "
platform: oci
addons: { ociCloudController: { vcn: ocid1.vcn.oc1..a } }",
    ),
    (
        "addons.huaweiCloudController",
        "addons: { huaweiCloudController: { region: r, accessKey: k, secretKey: s } }",
    ),
    ("delivery.pxe", PXE),
    (
        "kubernetes.apiServer.audit",
        "kubernetes: { apiServer: { audit: { policy: { rules: [{ level: Metadata }] } } } }",
    ),
    (
        "kubernetes.apiServer.encryption.bundleKey",
        "kubernetes: { apiServer: { encryption: { kms: [{ vault: { address: 'https://vault.example.com', key: k, role: r } }] } } }",
    ),
    ("security.selinux", "os: rocky-9"),
    // Without it the root file system is the second RAM disk.
    (
        "delivery.pxe.systems.*.rootfs",
        "delivery: { pxe: { systems: { fedora-coreos: { initrd: [coreos/initrd, coreos/root] } } } }",
    ),
    ("endpoint.bgp", VIP),
    ("endpoint.services", VIP),
    ("etcd.version", EXTERNAL),
    // Etcd has none of the flags that Kubernetes components share.
    ("etcd.extraArgs", "etcd: { extraArgs: [{ name: max-txn-ops, value: '256' }] }"),
    ("etcd.backup", "etcd: { backup: {} }"),
    (
        "etcd.backup.s3",
        "etcd: { backup: { to: 's3://backups/x', s3: { region: eu-west-1, accessKey: { id: x, secret: y } } } }",
    ),
    ("roles.etcd", EXTERNAL),
    ("network.cni.calico.bgp", "network: { cni: { calico: { mode: bgp } } }"),
    (
        "network.cni.calico.bgp.nodeToNodeMesh",
        "network: { cni: { calico: { bgp: { peers: [{ name: tor, address: 192.0.2.1, asNumber: 64601 }] } } } }",
    ),
    ("network.cni.calico.blockSizeIPv6", DUAL_STACK),
    ("network.cni.calico.ipv6Autodetection", DUAL_STACK),
    ("network.nodeMaskIpv6", DUAL_STACK),
    ("delivery.pointer", POINTED),
    ("delivery.form", HELD),
    ("roles.control-plane.delivery.pointer", POINTED),
    ("roles.control-plane.delivery.form", HELD),
    ("roles.worker.delivery.pointer", POINTED),
    ("roles.worker.delivery.form", HELD),
    ("roles.etcd.delivery.pointer", POINTED),
    ("roles.etcd.delivery.form", HELD),
    ("nodes[].delivery.pointer", POINTED),
    ("nodes[].delivery.form", HELD),
    ("pools[].delivery.pointer", POINTED),
    ("pools[].delivery.form", HELD),
];

/// Documents may be pointers.
const HELD: &str = "delivery: { pointer: { base: 'https://files.example.com' } }";

/// Every document is a pointer, on a platform whose machines have an identity for buckets.
const POINTED: &str = "platform: aws\ndelivery: { form: pointer, pointer: { base: 'https://files.example.com' } }";

/// Settings that keys of an interface require: a platform without a network of its own, and no second machine with the
/// same address. They are applied before [`AROUND`].
const METAL: &str = "
platform: metal
nodes: [{ name: cp1, roles: [control-plane, worker], addresses: [10.0.0.11] }]";

/// Interfaces of another level, with the machine's address, and as parents of VLANs.
const CARRIERS: &str = "{ interfaces: [{ name: bond0, dhcp4: true }, { name: bond1 }] }";

/// Sibling keys that a key requires, by the suffix of its path.
const BESIDE: &[(&str, &str)] = &[
    ("bond.primary", "{ mode: active-backup }"),
    ("files[].content", "{ content: YSA9IDEK }"),
    ("files[].source", "{ source: files/a.conf }"),
    ("manifests[].content", "{ content: 'a: 1' }"),
    ("manifests[].source", "{ source: manifests/quotas.yaml }"),
    ("files[].path", "{ content: x }"),
    ("files[].encoding", "{ content: YSA9IDEK }"),
    ("files[].mode", "{ content: x }"),
    ("files[].owner", "{ content: x }"),
    ("files[].append", "{ content: x }"),
    ("manifests[].name", "{ content: 'a: 1' }"),
    ("azureCloudController.clientId", "{ clientId: i, clientSecret: s }"),
    ("azureCloudController.clientSecret", "{ clientId: i, clientSecret: s }"),
    ("vsphereCloudController.regionTag", "{ regionTag: r, zoneTag: z }"),
    ("vsphereCloudController.zoneTag", "{ regionTag: r, zoneTag: z }"),
    ("hcloudCloudController.routes", "{ network: n }"),
    ("hcloudCloudController.privateIp", "{ network: n }"),
    ("endpoint.address", "{ provider: kubeVip, address: 10.0.0.99 }"),
    ("manifests[].phase", CONTENT),
    ("endpoint.interface", "{ provider: kubeVip, address: 10.0.0.99 }"),
    ("etcd.heartbeatIntervalMs", "{ electionTimeoutMs: 3000 }"),
    ("packageSources[].name", SUITES),
    ("packageSources[].url", SUITES),
    ("packageSources[].suites", SUITES),
    ("packageSources[].components", SUITES),
    ("packageSources[].key", SUITES),
    ("proxy.noProxy", "{ http: 'http://proxy.example.com:3128' }"),
    ("dns.search", "{ servers: [10.0.9.2] }"),
    ("pointer.region", "{ base: 's3://bucket' }"),
];

/// The suites that apt requires for a source.
const SUITES: &str = "{ suites: [bookworm] }";

/// The inline content of a manifest.
const CONTENT: &str = "{ content: 'kind: Namespace' }";

/// Keys that the base has, or that others require: they are changed, never removed.
const KEPT: &[&str] = &[
    "os",
    "platform",
    "endpoint.address",
    "etcd.backup",
    "etcd.backup.s3",
    "etcd.backup.s3.region",
    "etcd.backup.s3.accessKey",
    "etcd.backup.s3.accessKey.id",
    "etcd.backup.s3.accessKey.secret",
    "kubernetes.apiServer.audit.policy",
    "delivery.pxe.systems.*.kernel",
    "addons.azureCloudController.clientId",
    "addons.azureCloudController.clientSecret",
    "addons.azureCloudController.location",
    "addons.azureCloudController.resourceGroup",
    "addons.azureCloudController.securityGroupName",
    "addons.azureCloudController.subnetName",
    "addons.azureCloudController.subscriptionId",
    "addons.azureCloudController.tenantId",
    "addons.azureCloudController.vnetName",
    "addons.hcloudCloudController.token",
    "addons.openstackCloudController.applicationCredentialId",
    "addons.openstackCloudController.applicationCredentialSecret",
    "addons.openstackCloudController.authUrl",
    "addons.openstackCloudController.region",
    "addons.vsphereCloudController.datacenters",
    "addons.vsphereCloudController.password",
    "addons.vsphereCloudController.regionTag",
    "addons.vsphereCloudController.server",
    "addons.vsphereCloudController.username",
    "addons.vsphereCloudController.zoneTag",
];

/// kube-vip.
const VIP: &str = "endpoint: { provider: kubeVip, address: 10.0.0.99 }";

/// Keys of which one must be set, or without which a system does nothing, by the suffix of their paths.
const EITHER: [&str; 5] = [
    "files[].content",
    "files[].source",
    "manifests[].content",
    "manifests[].source",
    "packageSources[].suites",
];

/// A machine that boots from the network, with a system whose profile names no files.
const PXE: &str = "
platform: metal
os: fedora-coreos
nodes:
  - { name: w1, roles: [worker], addresses: [10.0.0.21], mac: '52:54:00:12:34:56' }
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11], os: debian-13, platform: nocloud }
delivery: { pxe: { url: 'http://10.0.0.5:8080', systems: { fedora-coreos: { kernel: coreos/vmlinuz, rootfs: coreos/root.img } } } }";

/// Pods with an address of each family.
const DUAL_STACK: &str = "
network: { pods: [10.244.0.0/16, 'fd00:10:244::/56'], services: [10.96.0.0/12, 'fd00:10:96::/112'] }
nodes: [{ name: cp1, roles: [control-plane, worker], addresses: [10.0.0.11, 'fd00:1::11'] }]";

/// Etcd on a machine of its own.
const EXTERNAL: &str = "
nodes:
  - { name: w1, roles: [worker], addresses: [10.0.0.21] }
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: e1, roles: [etcd], addresses: [10.0.0.31] }";

/// Values for keys whose examples do not fit the base, by the suffix of their paths.
const VALUES: &[(&str, &str)] = &[
    ("nodes[].name", "w9"),
    ("nodes[].roles", "[etcd]"),
    ("nodes[].addresses", "[10.0.0.29]"),
    ("nodes[].macs", "[52-54-00-AB-CD-EF]"),
    ("etcd.extraArgs[].name", "max-request-bytes"),
];

/// Keys without an effect, and the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("apiVersion", "there is one value"),
    ("kind", "there is one value"),
    ("include", "it names files; tests/spec/compose.rs has some"),
    ("nodesFrom", "it names a file; tests/spec/sources.rs has one"),
    ("pools[].roles", "there is one value"),
    ("addons", "it holds the add-ons, each of which is set"),
    ("manifests[].url", ONE_OF),
    ("manifests[].sha256", ONE_OF),
    (
        "delivery.pxe.systems.*.image",
        "the installer of another system takes it; tests/output/serve/installation.rs has one",
    ),
    ("pools[].interfaces[].mac", POOL),
    ("pools[].interfaces[].subnets", POOL),
    ("pools[].interfaces[].addresses", POOL),
    ("roles.etcd.swap", IDLE),
    (
        "roles.etcd.patches",
        "the example patches a kubelet; each key of a patch is set below",
    ),
    ("roles.etcd.imageArchives[].url", IDLE),
    ("roles.etcd.imageArchives[].sha256", IDLE),
    ("roles.etcd.imageArchives[].arch", IDLE),
    ("roles.etcd.labels", IDLE),
    ("roles.etcd.taints[].key", IDLE),
    ("roles.etcd.taints[].value", IDLE),
    ("roles.etcd.taints[].effect", IDLE),
    ("roles.etcd.kubelet.config", IDLE),
    ("roles.etcd.kubelet.extraArgs[].name", IDLE),
    ("roles.etcd.kubelet.extraArgs[].value", IDLE),
];

/// A manifest has one of the two.
const ONE_OF: &str = "manifests_come_from_the_spec_or_from_a_url sets them";
/// A pool has the settings of every machine.
const POOL: &str = "its machines have no addresses of their own, and FL0623 or FL0217 says so";

/// A role has the settings of every machine.
const IDLE: &str = "members of an external etcd run no kubelet, and FL0511 says so";

/// Defaults that cannot be set explicitly in the base, and the reason.
const IMPLICIT: &[(&str, &str)] = &[
    ("kubernetes.kubeProxy.mode", THEIRS),
    ("kubernetes.tls.minVersion", THEIRS),
    ("kubernetes.imagePull.policy", THEIRS),
    ("kubernetes.imagePull.serial", THEIRS),
    ("etcd.heartbeatIntervalMs", THEIRS),
    ("etcd.electionTimeoutMs", THEIRS),
];

/// An unset key is not written, and the program uses its own default.
const THEIRS: &str = "the program's own default, which is told to it if it is spelled out";

/// A name in place of one that the user chooses.
fn any(path: &str) -> &'static str {
    match path {
        "artifacts.overrides.*" => "crictl",
        "delivery.pxe.systems.*" => "fedora-coreos",
        _ => "any",
    }
}

fn yaml(text: &str) -> Value {
    firelay_yaml::parse("test", text).unwrap_or_else(|error| panic!("{error}"))
}

/// How much of the output is compared; the first takes a tenth of the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// The files of the nodes, the bundle, and the machines in the manifest.
    Files,
    /// The delivered documents as well.
    Artifacts,
}

/// Cached results.
type Seen = BTreeMap<(String, Depth), Result<String, String>>;

/// A digest of everything that a spec renders to, or the findings of a refused spec.
fn output(spec: &Value, depth: Depth) -> Result<String, String> {
    static SEEN: LazyLock<Mutex<Seen>> = LazyLock::new(Mutex::default);
    let asked = (spec.to_string(), depth);
    if let Some(known) = SEEN.lock().unwrap().get(&asked) {
        return known.clone();
    }
    let rendered = rendered(&asked.0, depth);
    SEEN.lock().unwrap().insert(asked, rendered.clone());
    rendered
}

fn rendered(text: &str, depth: Depth) -> Result<String, String> {
    let input = Input::from(Source::new("cluster.yaml", text));
    // Every file contains its own path.
    let read = &mut |path: &Path| Ok(path.to_str().unwrap().as_bytes().to_vec());
    let spec = input::compose(input, None, read).unwrap();
    let refused = |refused: Box<Refused>| render(&redact_spec(&refused.spec), &refused.findings, false);
    let project = Project::resolve(spec, PROFILES.clone()).map_err(refused)?;
    // A warning about a key without effect does not count as an effect.
    let idle = project.warnings.iter().filter(|finding| finding.code == "FL0511");
    let idle: Vec<_> = idle.cloned().collect();
    if !idle.is_empty() {
        return Err(render(&redact_spec(&project.spec), &idle, false));
    }
    let plan = &project.plan;
    let assembly = Assembly::new(&project, &BUNDLE, false).map_err(|failure| format!("{failure:?}"))?;
    let nodes = for_each_node(&plan.nodes, |node| {
        let files = assembly.files(node, &assembly.pki(node)?)?;
        let sent = match depth {
            Depth::Files => String::new(),
            Depth::Artifacts => {
                let artifact = assembly.artifact(node, &files)?;
                let beside: Vec<_> = artifact.files.iter().map(|file| (&file.name, &file.content)).collect();
                let boot = assembly.pxe_files(node, &artifact)?;
                let boot: Vec<_> = boot.iter().map(|file| (&file.name, &file.content)).collect();
                format!("{:?} {beside:?} {boot:?}", artifact.handover)
            }
        };
        let most = node.delivery.max_exposure;
        Ok(format!(
            "{} {:?} {:?} {most:?} {files:?} {sent}",
            node.name, node.mac, node.uuid
        ))
    })
    .map_err(|failure| format!("{failure:?}"))?;
    // Inputs of the bundle, and of the order of steps in `plan`.
    let (pki, update) = (&plan.pki, plan.max_unavailable);
    let made = format!("{} {} {:?} {update:?}", plan.name, pki.algorithm, pki.ca_validity);
    Ok(format!("{:x?}", Sha256::digest(format!("{made} {nodes:?}"))))
}

/// The bundle of every spec here, read once.
static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
    let text = fs::read_to_string(support::example("single-node").bundle).unwrap();
    Bundle::parse("bundle", &text).unwrap()
});

/// The base with the settings that a key requires.
fn base(path: &str) -> Value {
    let mut spec = yaml(BASE);
    if let Some((level, _)) = path.split_once("interfaces") {
        merge(&mut spec, yaml(METAL));
        let carriers = yaml(CARRIERS);
        match level {
            "" => merge(
                &mut spec,
                json!({ "pools": [], "roles": { "control-plane": carriers } }),
            ),
            level if level.starts_with("pools") => merge(&mut spec, carriers),
            _ => merge(&mut spec, json!({ "pools": [], "interfaces": carriers["interfaces"] })),
        }
    }
    for (_, around) in AROUND.iter().filter(|(start, _)| path.starts_with(start)) {
        merge(&mut spec, yaml(around));
    }
    spec
}

fn merge(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            from.into_iter()
                .for_each(|(key, value)| merge(to.entry(key).or_insert(Value::Null), value));
        }
        (to, from) => *to = from,
    }
}

/// The fields from the top level down to this one.
fn chain(field: &Field) -> Vec<&'static Field> {
    let mut chain = vec![&*ROOT];
    while let Some(next) = chain.last().unwrap().children.iter().find(|child| {
        let rest = field.path.strip_prefix(&child.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }) {
        chain.push(next);
    }
    chain.remove(0);
    chain
}

/// The mapping that holds a key, created with its required keys; lists get one element.
fn parent<'a>(spec: &'a mut Value, chain: &[&Field]) -> &'a mut Value {
    let mut at = spec;
    for field in &chain[..chain.len() - 1] {
        let name = if field.name == "*" {
            any(&field.path)
        } else {
            &field.name
        };
        at = at.as_object_mut().unwrap().entry(name).or_insert_with(|| needed(field));
        if let Value::Array(elements) = at {
            at = &mut elements[0];
        }
    }
    at
}

/// A mapping, or a list of one mapping, with its required keys.
fn needed(field: &Field) -> Value {
    let required = field.children.iter().filter(|child| child.required);
    let entries = required
        .map(|child| (child.name.clone(), value(child, 0).unwrap()))
        .collect();
    let entries = Value::Object(entries);
    if field.is_list() { json!([entries]) } else { entries }
}

/// A value of a key: its examples, or its choices, by index.
fn value(field: &Field, index: usize) -> Option<Value> {
    let given = VALUES
        .iter()
        .filter(|(end, _)| field.path.ends_with(end))
        .map(|(_, text)| yaml(text));
    let choices = field.choices.iter().map(|choice| choice.value.clone().into());
    let mut all: Vec<Value> = given.chain(field.examples.iter().cloned()).collect();
    if all.is_empty() && field.children.is_empty() {
        all.extend(choices);
    }
    if all.is_empty() && field.required {
        all.extend(field.example());
    }
    all.into_iter().nth(index)
}

/// A spec without the key, or with its first value if it is required, and a spec with it.
fn pair(field: &Field) -> Option<(Value, Value)> {
    let chain = chain(field);
    let mut without = base(&field.path);
    merge_interface(&mut without, &chain);
    let beside = BESIDE.iter().filter(|(end, _)| field.path.ends_with(end));
    let at = parent(&mut without, &chain);
    beside.for_each(|(_, text)| merge(at, yaml(text)));
    let at = at.as_object_mut().unwrap();
    let present = at.get(&field.name).cloned().filter(|_| {
        field.required || KEPT.contains(&field.path.as_str()) || EITHER.iter().any(|end| field.path.ends_with(end))
    });
    if present.is_none() {
        at.remove(&field.name);
    }
    let other = (0..)
        .map_while(|index| value(field, index))
        .find(|value| Some(value) != present.as_ref())?;
    let mut with = without.clone();
    parent(&mut with, &chain)
        .as_object_mut()
        .unwrap()
        .insert(field.name.clone(), other);
    Some((without, with))
}

/// Adds the settings of an interface that a key below it requires.
fn merge_interface(spec: &mut Value, chain: &[&Field]) {
    let path = &chain.last().unwrap().path;
    let is_list = |field: &&Field| field.name == "interfaces" && !field.children.is_empty();
    let Some(at) = chain.iter().position(is_list) else {
        return;
    };
    let address = if path.starts_with("pools") {
        json!({ "dhcp4": true })
    } else {
        json!({ "addresses": ["10.9.0.11/24"] })
    };
    let needed = match path.split_once("interfaces[].").map(|(_, key)| key) {
        Some(key) if key == "gateways" || key.starts_with("routes") => address,
        Some(key) if key.starts_with("bond") => json!({ "name": "bond9" }),
        _ => return,
    };
    merge(parent(spec, &chain[..at + 2]), needed);
}

fn leaves() -> Vec<&'static Field> {
    let all = ROOT.all().into_iter().skip(1);
    all.filter(|field| field.children.is_empty() || !field.examples.is_empty())
        .collect()
}

/// A patch must be complete and change something, so its keys are set together, below.
fn is_of_a_patch(field: &Field) -> bool {
    field.path.contains("patches[].")
}

#[test]
fn every_key_reaches_an_output() {
    let argued = |field: &&&Field| {
        !WITHOUT.iter().any(|(path, _)| *path == field.path) && !is_of_a_patch(field) && declared(field).is_none()
    };
    let wrong: Vec<_> = leaves()
        .par_iter()
        .filter(argued)
        .filter_map(|field| why_not(field))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        leaves().len(),
        wrong.join("\n")
    );
}

/// Covers the inline content of a manifest, and its URL.
#[test]
fn manifests_come_from_the_spec_or_from_a_url() {
    let of = |manifest: &str| {
        let mut spec = base("");
        merge(&mut spec, json!({ "manifests": [yaml(manifest)] }));
        output(&spec, Depth::Files).unwrap_or_else(|why| panic!("{manifest}: {why}"))
    };
    let url = |url: &str, digit: &str| {
        of(&format!(
            "{{ name: own, url: 'https://example.com/{url}', sha256: '{}' }}",
            digit.repeat(64)
        ))
    };
    let all = [
        of("{ name: own, content: 'kind: A' }"),
        of("{ name: own, content: 'kind: B' }"),
        url("a", "1"),
        url("b", "1"),
        url("a", "2"),
    ];
    assert_eq!(BTreeSet::from(all.clone()).len(), all.len());
}

/// The plugin or add-on of a parameter key, and the parameter's path.
fn declared(field: &Field) -> Option<(&'static Declaration, Vec<&str>)> {
    let (kind, rest) = [
        (Kind::Cni, "network.cni."),
        (Kind::Addon, "addons."),
        (Kind::Kms, "kubernetes.apiServer.encryption.kms[]."),
    ]
    .into_iter()
    .find_map(|(kind, prefix)| Some((kind, field.path.strip_prefix(prefix)?)))?;
    let mut keys = rest.split('.');
    let key = keys.next()?;
    let declaration = declaration::of(kind).find(|it| it.key == key)?;
    Some((declaration, keys.collect()))
}

/// Clusters in which a parameter may have an effect.
const PLACES: &[&str] = &[
    "{}",
    "
network: { pods: [10.244.0.0/16, 'fd00:10:244::/56'], services: [10.96.0.0/12, 'fd00:10:96::/112'] }
nodes: [{ name: cp1, roles: [control-plane, worker], addresses: [10.0.0.11, 'fd00:1::11'] }]
pools: []",
    "
nodes: [{ name: cp1, roles: [control-plane, worker], addresses: [10.0.0.11] }, { name: etcd1, roles: [etcd], addresses: [10.0.0.31] }]
pools: []",
    "{ platform: aws }",
    "{ platform: azure }",
    "{ platform: gce }",
    "{ platform: vsphere }",
    "{ platform: oci }",
    // Some have no release for the newest minors yet.
    "{ kubernetes: { version: 1.35.8 } }",
];

/// Each parameter is removed from an example that has it, or added to one: some cluster has to change.
#[test]
fn every_parameter_reaches_an_output() {
    let parameters: Vec<_> = leaves()
        .into_iter()
        .filter_map(|field| Some((field, declared(field)?)))
        .collect();
    let wrong: Vec<_> = parameters
        .par_iter()
        .filter(|(_, (declaration, path))| !path.is_empty() && !is_only_version(declaration, path))
        .filter(|(field, (declaration, path))| !PLACES.iter().any(|place| reaches(field, declaration, path, place)))
        .map(|(field, _)| field.path.as_str())
        .collect();
    assert!(wrong.is_empty(), "without effect:\n{}", wrong.join("\n"));
}

/// Whether no other release fits the base's version of Kubernetes.
fn is_only_version(declaration: &Declaration, path: &[&str]) -> bool {
    let version = base("")["kubernetes"]["version"].as_str().unwrap().parse().unwrap();
    let fitting = declaration
        .releases
        .values()
        .filter(|it| it.kubernetes.matches(&version));
    path == [declaration::VERSION] && fitting.count() < 2
}

fn reaches(field: &Field, declaration: &Declaration, path: &[&str], place: &str) -> bool {
    let rendered = |parameters: &Value| {
        let mut spec = base("");
        merge(&mut spec, yaml(place));
        let chosen = json!({ &declaration.key: parameters });
        merge(
            &mut spec,
            match declaration.kind {
                Kind::Cni => json!({ "network": { "cni": chosen } }),
                Kind::Addon => json!({ "addons": chosen }),
                Kind::Kms => json!({ "kubernetes": { "apiServer": { "encryption": { "kms": [chosen] } } } }),
            },
        );
        output(&spec, Depth::Files).ok()
    };
    let none = Map::new();
    let mut examples = declaration.examples.iter().chain([&none]);
    examples.any(|example| {
        let example = Value::Object(example.clone());
        let Some(before) = rendered(&example) else { return false };
        let words = field.choices.iter().map(|choice| choice.value.clone().into());
        let others = [json!(true), json!(false)]
            .into_iter()
            .filter(|_| field.kind == "true or false");
        // The base example may already contain the parameter's examples, so longer values are tried too.
        let longer = field
            .examples
            .iter()
            .filter_map(|it| Some(format!("{}0", it.as_str()?).into()));
        let values = field.examples.iter().cloned().chain(words).chain(others).chain(longer);
        let mut varied = values.map(Some).chain([None]);
        varied.any(|value| {
            let mut other = example.clone();
            set(&mut other, path, value);
            other != example && rendered(&other).is_some_and(|after| after != before)
        })
    })
}

/// Sets or removes a key, in the first element of lists, under any name that the user chooses.
fn set(at: &mut Value, path: &[&str], value: Option<Value>) {
    let key = path[0].trim_end_matches("[]");
    let Some(fields) = at.as_object_mut() else { return };
    let key = match key {
        "*" => fields.keys().next().cloned().unwrap_or_else(|| "any".to_owned()),
        key => key.to_owned(),
    };
    if path.len() > 1 {
        let below = fields.entry(key).or_insert_with(|| match path[0].ends_with("[]") {
            true => json!([{}]),
            false => json!({}),
        });
        let below = match below {
            Value::Array(items) => items.first_mut(),
            other => Some(other),
        };
        below
            .into_iter()
            .for_each(|below| set(below, &path[1..], value.clone()));
        return;
    }
    match value {
        Some(value) => drop(fields.insert(key, value)),
        None => drop(fields.shift_remove(&key)),
    }
}

fn why_not(field: &Field) -> Option<String> {
    let Some((without, with)) = pair(field) else {
        return Some(format!("{}: there is no value for it", field.path));
    };
    let both = |depth| (output(&without, depth), output(&with, depth));
    let outcome = match both(Depth::Files) {
        (Ok(one), Ok(other)) if one == other => both(Depth::Artifacts),
        outcome => outcome,
    };
    match outcome {
        (Ok(one), Ok(other)) if one == other => Some(format!("{}: changes nothing\n  {with}", field.path)),
        (Ok(_), Ok(_)) => None,
        (Err(why), _) => Some(format!("{}: refused without it\n  {without}\n{why}", field.path)),
        (_, Err(why)) => Some(format!("{}: refused\n  {with}\n{why}", field.path)),
    }
}

/// Each key of a patch with two patches that differ in it, and whether only the founder's files change.
const PATCHES: &[(&str, &str, &str, bool)] = &[
    (
        "merge",
        "{ target: { unit: kubelet.service }, merge: { Service: { Nice: '5' } } }",
        "{ target: { unit: kubelet.service }, merge: { Service: { Nice: '6' } } }",
        false,
    ),
    (
        "target.unit",
        "{ target: { unit: kubelet.service }, merge: { Service: { Nice: '5' } } }",
        "{ target: { unit: containerd.service }, merge: { Service: { Nice: '5' } } }",
        false,
    ),
    (
        "target.dropin",
        "{ target: { unit: kubelet.service, dropin: 10-kubeadm.conf }, merge: { Service: { Nice: '5' } } }",
        "{ target: { unit: kubelet.service }, merge: { Service: { Nice: '5' } } }",
        false,
    ),
    (
        "target.path",
        "{ target: { path: /etc/firelay/kubeadm/join.yaml }, merge: { dryRun: true } }",
        "{ target: { path: /etc/firelay/kubeadm/none.yaml }, merge: { dryRun: true } }",
        false,
    ),
    (
        "target.kind",
        "{ target: { kind: JoinConfiguration }, merge: { dryRun: true } }",
        "{ target: { kind: NoConfiguration }, merge: { dryRun: true } }",
        false,
    ),
    (
        "target.apiVersion",
        "{ target: { kind: JoinConfiguration, apiVersion: kubeadm.k8s.io/v1beta4 }, merge: { dryRun: true } }",
        "{ target: { kind: JoinConfiguration, apiVersion: kubeadm.k8s.io/v1beta9 }, merge: { dryRun: true } }",
        false,
    ),
    (
        "target.name",
        "{ target: { kind: ConfigMap, name: kube-flannel-cfg }, merge: { data: { x: y } } }",
        "{ target: { kind: ConfigMap, name: kube-flannel-none }, merge: { data: { x: y } } }",
        true,
    ),
    (
        "target.namespace",
        "{ target: { kind: ConfigMap, name: kube-flannel-cfg, namespace: kube-flannel }, merge: { data: { x: y } } }",
        "{ target: { kind: ConfigMap, name: kube-flannel-cfg, namespace: kube-system }, merge: { data: { x: y } } }",
        true,
    ),
    (
        "json[].op",
        "{ target: { kind: JoinConfiguration }, json: [{ op: add, path: /timeouts/discovery, value: 9m0s }] }",
        "{ target: { kind: JoinConfiguration }, json: [{ op: test, path: /timeouts/discovery, value: 9m0s }] }",
        false,
    ),
    (
        "json[].path",
        "{ target: { kind: JoinConfiguration }, json: [{ op: add, path: /timeouts/discovery, value: 9m0s }] }",
        "{ target: { kind: JoinConfiguration }, json: [{ op: add, path: /timeouts/tlsBootstrap, value: 9m0s }] }",
        false,
    ),
    (
        "json[].value",
        "{ target: { kind: JoinConfiguration }, json: [{ op: add, path: /timeouts/discovery, value: 9m0s }] }",
        "{ target: { kind: JoinConfiguration }, json: [{ op: add, path: /timeouts/discovery, value: 8m0s }] }",
        false,
    ),
    (
        "json[].from",
        "{ target: { kind: JoinConfiguration }, json: [{ op: copy, path: /timeouts/discovery, from: /timeouts/kubernetesAPICall }] }",
        "{ target: { kind: JoinConfiguration }, json: [{ op: copy, path: /timeouts/discovery, from: /timeouts/kubeletHealthCheck }] }",
        false,
    ),
];

/// The base with a patch at a level.
fn patched(level: &str, patch: &str) -> Value {
    let mut spec = base(level);
    let mut at = &mut spec;
    for key in level.split('.').filter(|key| !key.is_empty()) {
        at = match key.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[key],
        };
    }
    merge(at, json!({ "patches": [yaml(patch)] }));
    spec
}

#[test]
fn every_key_of_a_patch_reaches_an_output_at_every_level() {
    for (key, one, other, founder) in PATCHES {
        for level in ["", "roles.control-plane", "roles.worker", "nodes.1", "pools.0"] {
            if *founder && !["", "roles.control-plane", "nodes.1"].contains(&level) {
                continue;
            }
            let plain = output(&base(level), Depth::Files);
            let one = output(&patched(level, one), Depth::Files);
            assert!(one.is_ok() && one != plain, "{key} at {level:?}: {one:?}");
            assert_ne!(one, output(&patched(level, other), Depth::Files), "{key} at {level:?}");
        }
    }
    let unit = "{ target: { unit: etcd.service }, merge: { Service: { Nice: '5' } } }";
    let patched = output(&patched("roles.etcd", unit), Depth::Files);
    assert!(
        patched.is_ok() && patched != output(&base("roles.etcd"), Depth::Files),
        "{patched:?}"
    );
    let keys = leaves()
        .into_iter()
        .filter_map(|field| field.path.strip_prefix("patches[]."));
    assert!(keys.clone().count() > 10);
    for key in keys {
        assert!(PATCHES.iter().any(|(known, ..)| *known == key), "{key} is not set");
    }
}

#[test]
fn a_default_that_is_spelled_out_changes_nothing() {
    let with_default = leaves().into_iter().filter(|field| field.default.is_some());
    let spelled: Vec<_> = with_default
        .filter(|field| !IMPLICIT.iter().chain(WITHOUT).any(|(path, _)| *path == field.path))
        // The default of a parameter comes from the schema itself.
        .filter(|field| declared(field).is_none())
        .collect();
    assert!(spelled.len() > 40, "{}", spelled.len());
    let wrong: Vec<_> = spelled
        .par_iter()
        .filter_map(|field| unlike_its_default(field))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        spelled.len(),
        wrong.join("\n")
    );
}

fn unlike_its_default(field: &Field) -> Option<String> {
    let (without, _) = pair(field)?;
    let mut with = without.clone();
    let at = parent(&mut with, &chain(field)).as_object_mut().unwrap();
    at.insert(field.name.clone(), field.default.clone().unwrap());
    match (output(&without, Depth::Files), output(&with, Depth::Files)) {
        (Ok(one), Ok(other)) if one == other => None,
        (_, Err(why)) => Some(format!("{}: the default is refused\n{why}", field.path)),
        _ => Some(format!("{}: the default is another one\n  {with}", field.path)),
    }
}

/// Every reason above is still needed.
#[test]
fn every_argument_belongs_to_a_key() {
    let paths: Vec<_> = ROOT.all().into_iter().map(|field| field.path.as_str()).collect();
    let starts = AROUND.iter().map(|(start, _)| start);
    let ends = BESIDE.iter().chain(VALUES);
    for path in WITHOUT.iter().chain(IMPLICIT).map(|(path, _)| path).chain(KEPT) {
        assert!(paths.contains(path), "{path}");
    }
    for start in starts {
        assert!(paths.iter().any(|path| path.starts_with(start)), "{start}");
    }
    for (end, _) in ends {
        assert!(paths.iter().any(|path| path.ends_with(end)), "{end}");
    }
}
