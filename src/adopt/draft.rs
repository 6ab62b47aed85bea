//! The spec of a cluster that exists, from kubeadm's configuration and its Nodes.

use std::{collections::BTreeSet, net::IpAddr};

use firelay_yaml::diagnostic::{Diagnostic, Span, refuse};
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use super::{
    arguments::{arguments, take_own},
    fields::{DEFAULTS, Fields, not_carried, put},
    machines::{self, Machine},
    objects::{Object, Objects},
};
use crate::{plan::is_cluster_name, spec::Algorithm, template};

/// The port of an API server.
const PORT: u16 = 6443;
/// Forms of kubeadm's configuration.
const VERSIONS: [&str; 2] = ["kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"];
/// kubeadm's directory of certificates, which is also firelay's.
const CERTIFICATES: &str = "/etc/kubernetes/pki";
/// Paths of etcd's client certificate in kubeadm's configuration, as firelay writes them for external etcd.
const ETCD_FILES: [(&str, &str); 3] = [
    ("caFile", "/etc/kubernetes/pki/etcd/ca.crt"),
    ("certFile", "/etc/kubernetes/pki/apiserver-etcd-client.crt"),
    ("keyFile", "/etc/kubernetes/pki/apiserver-etcd-client.key"),
];
/// Arguments of kube-controller-manager for which the spec has keys.
const MASKS: [(&str, &str); 3] = [
    ("node-cidr-mask-size", "nodeMaskIpv4"),
    ("node-cidr-mask-size-ipv4", "nodeMaskIpv4"),
    ("node-cidr-mask-size-ipv6", "nodeMaskIpv6"),
];

/// Values that no object of a cluster has.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// The cluster's name.
    pub name: Option<String>,
    /// OS profile of new machines.
    pub os: Option<String>,
    /// Platform profile of new machines.
    pub platform: Option<String>,
    /// Algorithm of the CA; `None` for an RSA key of an unusual size.
    pub algorithm: Option<Algorithm>,
}

/// A spec that follows from a cluster.
#[derive(Clone, Debug)]
pub struct Draft {
    pub spec: Value,
    /// The cluster's own name; absent where it cannot be that of a spec, or another one was given.
    pub name: Option<String>,
    /// Machines of the cluster.
    pub machines: Vec<Machine>,
    /// Where kubeadm's configuration is.
    pub place: Span,
    /// When the first Node was registered.
    pub founded_at: Option<OffsetDateTime>,
}

/// The spec that says what the objects say, with findings about everything that it cannot say.
pub fn draft(
    objects: &Objects,
    answers: &Answers,
    place: Span,
    now: OffsetDateTime,
) -> (Option<Draft>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let configuration = objects.document_of("kubeadm-config", "ClusterConfiguration", &mut findings);
    if configuration.is_none() && findings.is_empty() {
        findings.push(missing("the ConfigMap kubeadm-config of kube-system", place));
    }
    if objects.nodes.is_empty() {
        findings.push(missing("a Node", place));
    }
    findings.extend(configuration.as_ref().and_then(check_form));
    let sound = configuration.filter(|_| !objects.nodes.is_empty() && !refuse(&findings));
    let Some(configuration) = sound else {
        return (None, findings);
    };
    let founded_at = machines::founded_at(objects, now);
    findings.extend(unknown_day(objects).filter(|_| founded_at.is_none()));
    let mut drafting = Drafting::new(objects, &configuration, findings);
    let spec = drafting.spec(answers);
    let name = spec.get("name").and_then(Value::as_str);
    let name = name.filter(|name| answers.name.is_none() && is_cluster_name(name));
    let draft = Draft {
        name: name.map(str::to_owned),
        spec: Value::Object(spec),
        machines: drafting.machines,
        founded_at,
        place: configuration.place,
    };
    (Some(draft), drafting.findings)
}

/// Another kind or version of kubeadm's configuration has other fields.
fn check_form(configuration: &Object) -> Option<Diagnostic> {
    let field = |key| configuration.value[key].as_str().unwrap_or("none");
    let (kind, version) = (field("kind"), field("apiVersion"));
    if kind == "ClusterConfiguration" && VERSIONS.contains(&version) {
        return None;
    }
    let message = format!("the ConfigMap kubeadm-config holds {kind} of {version}, which is not read");
    let help = match kind {
        "ClusterConfiguration" => {
            "forms v1beta3 and v1beta4 are read: `kubeadm config migrate` writes v1beta4; or describe the cluster in a spec \
             yourself, and adopt only its PKI"
        }
        _ => "its key ClusterConfiguration has to hold a document of that kind: print the ConfigMap again",
    };
    Some(Diagnostic::error("FL1319", message).at(configuration.place).help(help))
}

/// No Node says when it was registered.
fn unknown_day(objects: &Objects) -> Option<Diagnostic> {
    let node = objects.nodes.values().next()?;
    let message = "no Node has a creationTimestamp in the past, so the day of the founding is not known";
    let finding = Diagnostic::warning("FL1314", message).at(node.place);
    Some(finding.help(
        "the record gets the moment of this run: write the day into its foundedAt, and check this machine's clock",
    ))
}

/// The findings about values that no object has, and nobody gave.
pub fn check_answers(objects: &Objects, answers: &Answers, place: Span) -> Vec<Diagnostic> {
    let all = [
        (&answers.os, "--os", machines::systems(objects)),
        (&answers.platform, "--platform", machines::providers(objects)),
    ];
    let finding = |(_, flag, facts): (_, &str, String)| {
        let facts = match facts.is_empty() {
            true => String::new(),
            false => format!("; the Nodes say {facts}"),
        };
        let message = format!("no object names the profile of new machines, and {flag} is missing");
        let help = format!("give {flag} with a name of `firelay profile list`{facts}");
        Diagnostic::error("FL1314", message).at(place).help(help)
    };
    all.into_iter()
        .filter(|(value, ..)| value.is_none())
        .map(finding)
        .collect()
}

fn missing(what: &str, place: Span) -> Diagnostic {
    Diagnostic::error("FL1311", format!("{what} is missing"))
        .at(place)
        .help("print it with kubectl into a file, and name that with --from; docs/adopt.md has the two commands")
}

struct Drafting<'a> {
    objects: &'a Objects,
    fields: Fields,
    place: Span,
    machines: Vec<Machine>,
    /// `certSANs` of the API server.
    names: Option<Value>,
    findings: Vec<Diagnostic>,
}

impl<'a> Drafting<'a> {
    fn new(objects: &'a Objects, configuration: &Object, mut findings: Vec<Diagnostic>) -> Self {
        let place = configuration.place;
        let defaults = &DEFAULTS["clusterConfiguration"];
        let fields = Fields::of("ClusterConfiguration", &configuration.value, defaults, place);
        let machines = machines::of(objects, &mut findings);
        Self {
            objects,
            fields,
            place,
            machines,
            names: None,
            findings,
        }
    }

    fn spec(&mut self, answers: &Answers) -> Map<String, Value> {
        self.fields.skip(&["apiVersion", "kind", "encryptionAlgorithm"]);
        let mut spec = Map::new();
        put(&mut spec, "apiVersion", "firelay.dev/v1alpha1");
        put(&mut spec, "kind", "Cluster");
        put(&mut spec, "name", self.name(answers));
        let mut network = self.network();
        put(&mut spec, "kubernetes", self.kubernetes(&mut network));
        put(&mut spec, "endpoint", self.endpoint());
        put(&mut spec, "network", network);
        put(&mut spec, "etcd", self.etcd());
        put(&mut spec, "os", answers.os.clone());
        put(&mut spec, "platform", answers.platform.clone());
        put(&mut spec, "pki", self.pki(answers));
        put(&mut spec, "commands", self.commands());
        let nodes: Vec<_> = self.machines.iter().map(Machine::spec).collect();
        put(&mut spec, "nodes", nodes);
        self.check_files(&spec);
        let rest = std::mem::replace(&mut self.fields, Fields::of("", &Value::Null, &Value::Null, self.place));
        self.findings.extend(rest.rest());
        spec
    }

    fn name(&mut self, answers: &Answers) -> Option<String> {
        let own = self.fields.text("clusterName");
        if let (Some(own), Some(name)) = (&own, &answers.name)
            && own != name
        {
            let help = format!("it is {own}; clouds tag load balancers with it, and the cluster keeps it");
            self.findings.push(self.fields.finding("clusterName", help));
        }
        answers.name.clone().or(own)
    }

    fn kubernetes(&mut self, network: &mut Map<String, Value>) -> Map<String, Value> {
        let mut kubernetes = Map::new();
        let version = self.fields.text("kubernetesVersion").unwrap_or_default();
        put(&mut kubernetes, "version", version.trim_start_matches('v'));
        put(&mut kubernetes, "imageRepository", self.fields.text("imageRepository"));
        put(&mut kubernetes, "kubeadmFeatureGates", self.fields.take("featureGates"));
        let mut api_server = self.component("apiServer", network);
        self.names = api_server.shift_remove("certSANs");
        put(&mut kubernetes, "apiServer", api_server);
        let mut manager = self.component("controllerManager", network);
        take_masks(&mut manager, network);
        put(&mut kubernetes, "controllerManager", manager);
        put(&mut kubernetes, "scheduler", self.component("scheduler", network));
        put(&mut kubernetes, "kubelet", self.kubelet(network));
        put(&mut kubernetes, "kubeProxy", self.kube_proxy(network));
        put(&mut kubernetes, "dns", self.dns(network));
        kubernetes
    }

    /// The lists of a static pod, and names of the API server.
    fn component(&mut self, key: &str, network: &Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.fields.below(key);
        let mut component = Map::new();
        let mut extra_args = arguments(fields.take("extraArgs"));
        self.findings
            .extend(take_own(key, &mut extra_args, network, self.place));
        put(&mut component, "extraArgs", extra_args);
        put(&mut component, "extraVolumes", fields.take("extraVolumes"));
        put(&mut component, "extraEnvs", fields.take("extraEnvs"));
        put(&mut component, "certSANs", fields.take("certSANs"));
        self.findings.extend(fields.rest());
        component
    }

    /// Files of machines that static pods read: nothing in the cluster has their content.
    fn check_files(&mut self, spec: &Map<String, Value>) {
        let components = ["apiServer", "controllerManager", "scheduler"].map(|key| &spec["kubernetes"][key]);
        let paths: BTreeSet<_> = components.into_iter().flat_map(files).collect();
        if !paths.is_empty() {
            let listed: Vec<_> = paths.into_iter().collect();
            let message = format!(
                "static pods of the control plane use files of their machine: {}",
                listed.join(", ")
            );
            let finding = Diagnostic::warning("FL1317", message).at(self.place);
            self.findings.push(finding.help(
                "before you add a control plane: write what the image does not have by roles.control-plane.files, with the content of the \
                 running ones",
            ));
        }
    }

    fn network(&mut self) -> Map<String, Value> {
        let mut fields = self.fields.below("networking");
        let mut network = Map::new();
        let own = |text: Option<String>, default: &Value| text.or(default.as_str().map(str::to_owned));
        let defaults = &DEFAULTS["clusterConfiguration"]["networking"];
        let pods = fields.text("podSubnet").or_else(|| self.pods_of_kube_proxy());
        if pods.is_none() {
            let finding = Diagnostic::warning("FL1314", "kubeadm's configuration has no podSubnet");
            self.findings.push(finding.at(self.place).help(
                "the network plugin has the pod range: write it as network.pods into the spec, and run the same command again",
            ));
        }
        // An empty list is refused, and the default would be another range.
        network.insert("pods".to_owned(), pods.map_or(json!([]), |text| ranges(&text)));
        let services = own(fields.text("serviceSubnet"), &defaults["serviceSubnet"]);
        put(&mut network, "services", services.map(|text| ranges(&text)));
        put(
            &mut network,
            "domain",
            own(fields.text("dnsDomain"), &defaults["dnsDomain"]),
        );
        put(&mut network, "cni", "none");
        self.findings.extend(fields.rest());
        network
    }

    /// kubeadm writes it there, too, and some tools only there.
    fn pods_of_kube_proxy(&self) -> Option<String> {
        let mut ignored = Vec::new();
        let document = self.objects.document_of("kube-proxy", "config.conf", &mut ignored)?;
        let range = document.value["clusterCIDR"].as_str()?;
        Some(range.to_owned()).filter(|range| !range.is_empty())
    }

    fn endpoint(&mut self) -> Map<String, Value> {
        let own = self.fields.text("controlPlaneEndpoint");
        if own.is_none() {
            let finding = self.fields.finding(
                "controlPlaneEndpoint",
                "kubeadm adds no control plane without it: set it in the ConfigMap kubeadm-config to a name that leads to all of them, \
                 or add only workers",
            );
            let message = "the cluster has no controlPlaneEndpoint: the spec names the first control plane".to_owned();
            self.findings.push(Diagnostic { message, ..finding });
        }
        let first = self.machines.iter().find(|machine| machine.control_plane);
        let first = first.and_then(|machine| machine.addresses.first());
        let (host, port) = host_and_port(&own.or(first.cloned()).unwrap_or_default());
        let mut endpoint = Map::new();
        put(&mut endpoint, "host", host);
        put(&mut endpoint, "port", port);
        put(&mut endpoint, "provider", "external");
        endpoint
    }

    fn etcd(&mut self) -> Map<String, Value> {
        let mut fields = self.fields.below("etcd");
        let external = fields.below("external");
        let mut local = fields.below("local");
        let mut etcd = Map::new();
        put(&mut etcd, "dataDir", local.text("dataDir"));
        put(&mut etcd, "extraArgs", arguments(local.take("extraArgs")));
        put(&mut etcd, "extraEnvs", local.take("extraEnvs"));
        put(&mut etcd, "imageRepository", local.text("imageRepository"));
        put(&mut etcd, "imageTag", local.text("imageTag"));
        put(&mut etcd, "serverCertSans", local.take("serverCertSANs"));
        put(&mut etcd, "peerCertSans", local.take("peerCertSANs"));
        self.findings.extend(local.rest());
        self.findings.extend(fields.rest());
        self.external_etcd(external);
        etcd
    }

    /// Members that run outside Kubernetes get the role, or a machine of their own.
    fn external_etcd(&mut self, mut fields: Fields) {
        let Some(Value::Array(endpoints)) = fields.take("endpoints") else {
            return self.findings.extend(fields.rest());
        };
        for (key, known) in ETCD_FILES {
            if let Some(path) = fields.text(key).filter(|path| path != known) {
                self.findings.push(fields.finding(
                    key,
                    format!(
                        "it is {path}, and machines of firelay have {known}: copy it there with roles.control-plane.commands.before, \
                         or add only workers"
                    ),
                ));
            }
        }
        let message = "the version of etcd on its own machines is not known";
        let finding = Diagnostic::warning("FL1314", message).at(self.place);
        self.findings
            .push(finding.help("write etcd.version, and etcd.dataDir if it is not /var/lib/etcd"));
        for (number, endpoint) in endpoints.iter().filter_map(Value::as_str).enumerate() {
            let unnamed = self.etcd_member(&host_and_port(endpoint).0, number + 1);
            self.findings.extend(unnamed);
        }
        self.findings.extend(fields.rest());
    }

    fn etcd_member(&mut self, host: &str, number: usize) -> Option<Diagnostic> {
        let is_own = |machine: &&mut Machine| machine.name == host || machine.addresses.iter().any(|own| own == host);
        if let Some(machine) = self.machines.iter_mut().find(is_own) {
            machine.etcd = true;
            return None;
        }
        let name = format!("etcd{number}");
        let message = format!("the machine of etcd at {host} is no Node, so its name is not known: {name} is written");
        self.machines.push(Machine::of_etcd(name, host));
        let finding = Diagnostic::warning("FL1314", message).at(self.place);
        Some(finding.help("write the name of the member, as `etcdctl member list` shows it"))
    }

    fn pki(&mut self, answers: &Answers) -> Map<String, Value> {
        let mut pki = Map::new();
        let algorithm = answers.algorithm.filter(|algorithm| *algorithm != Algorithm::EcdsaP256);
        put(&mut pki, "algorithm", algorithm.map(|algorithm| algorithm.to_string()));
        put(&mut pki, "leafValidity", self.fields.text("certificateValidityPeriod"));
        put(&mut pki, "extraSans", self.names.take());
        // It takes effect when a CA is made, and this one exists.
        self.fields.skip(&["caCertificateValidityPeriod"]);
        pki
    }

    /// Where the cluster's files lie elsewhere, machines of firelay get a link.
    fn commands(&mut self) -> Map<String, Value> {
        let mut commands = Map::new();
        let directory = self.fields.text("certificatesDir");
        let word = directory.map(|directory| template::sh(directory.trim_end_matches('/')));
        if let Some(Ok(directory)) = word {
            let link = format!("mkdir -p \"$(dirname {directory})\"; ln -sfn {CERTIFICATES} {directory}");
            put(&mut commands, "before", json!([link]));
        }
        commands
    }

    fn kubelet(&mut self, network: &Map<String, Value>) -> Map<String, Value> {
        let own = self
            .objects
            .document_of("kubelet-config", "kubelet", &mut self.findings);
        let Some(own) = own else { return Map::new() };
        let mut fields = Fields::of("KubeletConfiguration", &own.value, &DEFAULTS["kubelet"], own.place);
        fields.skip(&["apiVersion", "kind"]);
        let domain = fields
            .take("clusterDomain")
            .filter(|domain| Some(domain) != network.get("domain"));
        let dns = fields.take("clusterDNS").filter(|dns| *dns != json!(tenth(network)));
        self.findings.extend(cgroup_driver(&mut fields, own.place));
        let mut config = fields.into_map();
        config.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
        put(&mut config, "clusterDomain", domain);
        put(&mut config, "clusterDNS", dns);
        let mut kubelet = Map::new();
        put(&mut kubelet, "config", config);
        kubelet
    }

    fn kube_proxy(&mut self, network: &Map<String, Value>) -> Map<String, Value> {
        let mut kube_proxy = Map::new();
        let mut proxy = self.fields.below("proxy");
        let own = self
            .objects
            .document_of("kube-proxy", "config.conf", &mut self.findings);
        if own.is_none() || proxy.take("disabled") == Some(json!(true)) {
            put(&mut kube_proxy, "disabled", json!(true));
            return kube_proxy;
        }
        self.findings.extend(proxy.rest());
        let Some(own) = own else { return kube_proxy };
        let own_values = without_false(&own.value);
        let mut fields = Fields::of("KubeProxyConfiguration", &own_values, &DEFAULTS["kubeProxy"], own.place);
        fields.skip(&["apiVersion", "kind"]);
        put(&mut kube_proxy, "mode", fields.text("mode"));
        let pods = fields
            .text("clusterCIDR")
            .filter(|text| Some(&ranges(text)) != network.get("pods"));
        let mut config = fields.into_map();
        put(&mut config, "clusterCIDR", pods);
        put(&mut kube_proxy, "config", config);
        kube_proxy
    }

    fn dns(&mut self, network: &mut Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.fields.below("dns");
        let mut dns = Map::new();
        let domain = network.shift_remove("domain");
        let default = &DEFAULTS["clusterConfiguration"]["networking"]["dnsDomain"];
        put(&mut dns, "domain", domain.filter(|domain| domain != default));
        put(&mut dns, "imageRepository", fields.text("imageRepository"));
        put(&mut dns, "imageTag", fields.text("imageTag"));
        put(&mut dns, "disabled", fields.take("disabled"));
        self.findings.extend(fields.rest());
        dns
    }
}

/// kubelets follow containerd's driver from containerd 2.0 on (`KubeletCgroupDriverFromCRI`).
fn cgroup_driver(fields: &mut Fields, place: Span) -> Option<Diagnostic> {
    fields.text("cgroupDriver")?;
    let finding = not_carried("kubernetes.kubelet.config.cgroupDriver", place);
    let finding = finding.label("containerd of new machines is told systemd, and their kubelets read another driver");
    Some(finding.help(
        "new machines with a containerd before 2.0 start no pod: set it to systemd in the ConfigMap kubelet-config before you add \
         one, as kubeadm's guide \"Configuring a cgroup driver\" describes",
    ))
}

/// Paths in the volumes and arguments of a component.
fn files(component: &Value) -> Vec<String> {
    let values = |list: &str, key: &str| -> Vec<String> {
        let items = component[list].as_array().into_iter().flatten();
        items.filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
    };
    let mut paths = [values("extraVolumes", "hostPath"), values("extraArgs", "value")].concat();
    paths.retain(|path| path.starts_with('/'));
    paths
}

/// The masks of nodes have fields of their own in the spec.
fn take_masks(manager: &mut Map<String, Value>, network: &mut Map<String, Value>) {
    let Some(Value::Array(arguments)) = manager.get_mut("extraArgs") else {
        return;
    };
    arguments.retain(|argument| {
        let mask = MASKS.into_iter().find(|(name, _)| argument["name"] == *name);
        let size = argument["value"].as_str().and_then(|text| text.parse::<u8>().ok());
        let Some(((_, key), size)) = mask.zip(size) else {
            return true;
        };
        put(network, key, size);
        false
    });
    if arguments.is_empty() {
        manager.shift_remove("extraArgs");
    }
}

/// kube-proxy's fields that are `false` are those that nobody set.
fn without_false(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().filter(|(_, value)| **value != Value::Bool(false));
            Value::Object(fields.map(|(key, value)| (key.clone(), without_false(value))).collect())
        }
        other => other.clone(),
    }
}

/// One range per family, as kubeadm joins them.
fn ranges(text: &str) -> Value {
    text.split(',').map(|range| json!(range.trim())).collect()
}

/// CoreDNS' address in each range of Services, as kubeadm chooses it.
fn tenth(network: &Map<String, Value>) -> Vec<String> {
    let ranges = network.get("services").and_then(Value::as_array);
    let first = ranges.into_iter().flatten().filter_map(Value::as_str).take(1);
    let address = |range: &str| range.parse::<IpNet>().ok()?.hosts().nth(9);
    first
        .filter_map(address)
        .map(|address: IpAddr| address.to_string())
        .collect()
}

/// `https://HOST:PORT`, with or without the scheme and the port.
fn host_and_port(text: &str) -> (String, Option<u16>) {
    let text = text
        .split_once("://")
        .map_or(text, |(_, rest)| rest)
        .trim_end_matches('/');
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()),
        _ => (text, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    (host, port.filter(|port| *port != PORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_has_a_host_and_maybe_another_port() {
        for (text, host, port) in [
            ("api.example.com:6443", "api.example.com", None),
            ("api.example.com", "api.example.com", None),
            ("https://10.0.0.11:2379", "10.0.0.11", Some(2379)),
            ("[fd00::1]:8443", "fd00::1", Some(8443)),
            ("fd00::1", "fd00::1", None),
        ] {
            assert_eq!(host_and_port(text), (host.to_owned(), port), "{text}");
        }
    }

    #[test]
    fn the_address_of_dns_is_the_tenth() {
        let mut network = Map::new();
        put(&mut network, "services", json!(["10.233.0.0/18"]));
        assert_eq!(tenth(&network), ["10.233.0.10"]);
    }
}
