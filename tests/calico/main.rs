//! Calico and canal: what follows from their parameters, as the API server and the programs will read it.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod definitions;

use std::collections::BTreeSet;

use firelay::{addons, pki::AddonCertificates, plan::Plan};
use serde_json::{Value, json};
use support::{
    plan::{resolve, try_resolve},
    pyyaml,
};

const FAMILIES: [Family; 3] = [
    Family {
        pods: "10.244.0.0/16",
        services: "10.96.0.0/12",
        address: "10.77.0.11",
    },
    Family {
        pods: "'10.244.0.0/16', 'fd00:10:244::/56'",
        services: "'10.96.0.0/12', 'fd00:10:96::/112'",
        address: "10.77.0.11, 'fd00:77::11'",
    },
    Family {
        pods: "'fd00:10:244::/56'",
        services: "'fd00:10:96::/112'",
        address: "'fd00:77::11'",
    },
];

struct Family {
    pods: &'static str,
    services: &'static str,
    address: &'static str,
}

impl Family {
    fn ipv4(&self) -> bool {
        self.pods.contains("10.244.")
    }

    fn ipv6(&self) -> bool {
        self.pods.contains("fd00")
    }

    fn spec(&self, cni: &str, proxy: &str) -> String {
        format!(
            "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {{ version: 1.36.4, kubeProxy: {{ mode: {proxy} }} }}
endpoint: {{ host: api.example.com }}
os: ubuntu-24.04
platform: metal
network:
  pods: [{}]
  services: [{}]
  cni: {cni}
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [{}] }}
",
            self.pods, self.services, self.address
        )
    }
}

/// Every object of a plan.
fn objects(plan: &Plan) -> Vec<Value> {
    let phases = addons::phases(plan, &AddonCertificates::new()).unwrap();
    let files = phases.into_iter().flat_map(|phase| phase.files);
    files.flat_map(|(_, text)| pyyaml(&text)).collect()
}

fn ipv4(cni: &str) -> Vec<Value> {
    objects(&resolve(&FAMILIES[0].spec(cni, "iptables")))
}

fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects
        .iter()
        .find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

/// A container of a DaemonSet or Deployment.
fn container<'a>(workload: &'a Value, name: &str) -> &'a Value {
    let pod = &workload["spec"]["template"]["spec"];
    let lists = ["initContainers", "containers"].map(|list| pod[list].as_array().into_iter().flatten());
    lists.into_iter().flatten().find(|it| it["name"] == name).unwrap()
}

fn setting<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let mut values = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["name"] == name);
    let value = values.next().map(|it| it["value"].as_str().unwrap());
    assert!(values.next().is_none(), "{name} is set twice");
    value
}

fn network_config(install: &Value) -> Value {
    serde_json::from_str(setting(install, "CNI_NETWORK_CONFIG").unwrap()).unwrap()
}

/// What is printed of a spec that is refused.
fn refused(family: &Family, cni: &str) -> String {
    match try_resolve(&family.spec(cni, "iptables")) {
        Ok((_, warnings)) => panic!("taken with {warnings:?}: {cni}"),
        Err(text) => text,
    }
}

#[test]
fn bird_is_asked_for_where_it_runs_and_only_there() {
    for family in &FAMILIES {
        for mode in ["vxlan", "ipip", "bgp"] {
            if mode == "ipip" && !family.ipv4() {
                continue;
            }
            let objects = objects(&resolve(
                &family.spec(&format!("{{ calico: {{ mode: {mode} }} }}"), "iptables"),
            ));
            let node = container(named(&objects, "DaemonSet", "calico-node"), "calico-node");
            let bird = mode != "vxlan";
            let backend = if bird { "bird" } else { "vxlan" };
            assert_eq!(setting(node, "CALICO_NETWORKING_BACKEND"), Some(backend));
            let asked: BTreeSet<_> = ["livenessProbe", "readinessProbe"]
                .iter()
                .flat_map(|probe| node[probe]["exec"]["command"].as_array().unwrap())
                .filter_map(|word| word.as_str().unwrap().strip_prefix("-bird"))
                .collect();
            let mut wanted = BTreeSet::new();
            if bird {
                wanted.insert(if family.ipv4() { "-live" } else { "6-live" });
                wanted.extend(family.ipv4().then_some("-ready"));
                wanted.extend(family.ipv6().then_some("6-ready"));
            }
            assert_eq!(asked, wanted, "{mode} {}", family.pods);
        }
    }
}

#[test]
fn pools_and_addresses_are_those_of_the_families() {
    for family in &FAMILIES {
        let objects = objects(&resolve(&family.spec("{ calico: { crossSubnet: true } }", "nftables")));
        let pods = named(&objects, "DaemonSet", "calico-node");
        let node = container(pods, "calico-node");
        let pool = if family.ipv4() { "10.244.0.0/16" } else { "none" };
        assert_eq!(setting(node, "CALICO_IPV4POOL_CIDR"), Some(pool));
        assert_eq!(
            setting(node, "IP"),
            Some(if family.ipv4() { "autodetect" } else { "none" })
        );
        let (pool, vxlan) = match family.ipv6() {
            true => (Some("fd00:10:244::/56"), Some("CrossSubnet")),
            false => (None, None),
        };
        assert_eq!(setting(node, "CALICO_IPV6POOL_CIDR"), pool);
        assert_eq!(setting(node, "CALICO_IPV6POOL_VXLAN"), vxlan);
        assert_eq!(
            setting(node, "FELIX_IPV6SUPPORT"),
            Some(if family.ipv6() { "true" } else { "false" })
        );
        assert_eq!(setting(node, "FELIX_NFTABLESMODE"), Some("Enabled"));
        let ipam = &network_config(container(pods, "install-cni"))["plugins"][0]["ipam"];
        // Without a word, calico-ipam hands out IPv4 and no IPv6.
        let wanted = match (family.ipv4(), family.ipv6()) {
            (_, false) => json!({ "type": "calico-ipam" }),
            (false, _) => json!({ "type": "calico-ipam", "assign_ipv4": "false", "assign_ipv6": "true" }),
            _ => json!({ "type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true" }),
        };
        assert_eq!(*ipam, wanted);
    }
}

#[test]
fn canal_gives_flannel_and_calico_the_same_network() {
    for family in &FAMILIES {
        let plan = resolve(&family.spec("{ canal: { mtu: 1400, vni: 7 } }", "nftables"));
        let objects = objects(&plan);
        let config = &named(&objects, "ConfigMap", "canal-config")["data"]["net-conf.json"];
        let config: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
        let mut wanted = json!({ "Backend": { "Type": "vxlan", "VNI": 7, "MTU": 1400 }, "EnableNFTables": true });
        let mut ranges = Vec::new();
        if family.ipv4() {
            wanted["Network"] = json!("10.244.0.0/16");
            ranges.push(json!([{ "subnet": "usePodCidr" }]));
        } else {
            wanted["EnableIPv4"] = json!(false);
        }
        if family.ipv6() {
            wanted["EnableIPv6"] = json!(true);
            wanted["IPv6Network"] = json!("fd00:10:244::/56");
            ranges.push(json!([{ "subnet": "usePodCidrIPv6" }]));
        }
        assert_eq!(config, wanted);
        let pods = named(&objects, "DaemonSet", "canal");
        let own = network_config(container(pods, "install-cni"));
        assert_eq!(own["plugins"][0]["mtu"], 1400);
        assert_eq!(
            own["plugins"][0]["ipam"],
            json!({ "type": "host-local", "ranges": ranges })
        );
        assert!(!plan.implied.without_node_cidrs);
    }
}

#[test]
fn flanneld_is_up_before_felix_looks_for_its_device() {
    let objects = ipv4("canal");
    let pods = &named(&objects, "DaemonSet", "canal")["spec"]["template"]["spec"];
    let flannel = &pods["initContainers"][0];
    assert_eq!(
        (&flannel["name"], &flannel["restartPolicy"]),
        (&json!("flannel"), &json!("Always"))
    );
    assert_eq!(flannel["startupProbe"]["httpGet"]["path"], "/readyz");
    let felix = container(named(&objects, "DaemonSet", "canal"), "calico-node");
    assert_eq!(setting(felix, "FELIX_MTUIFACEPATTERN"), Some("^flannel"));
}

#[test]
fn release_3_32_is_told_where_its_data_is() {
    for plugin in ["calico", "canal"] {
        for (version, group) in [("3.31.7", None), ("3.32.1", Some("crd.projectcalico.org/v1"))] {
            let objects = ipv4(&format!("{{ {plugin}: {{ version: {version} }} }}"));
            let daemon = if plugin == "calico" { "calico-node" } else { "canal" };
            let pods = named(&objects, "DaemonSet", daemon);
            let controllers = named(&objects, "Deployment", "calico-kube-controllers");
            for container in [
                container(pods, "install-cni"),
                container(pods, "calico-node"),
                container(controllers, "calico-kube-controllers"),
            ] {
                assert_eq!(setting(container, "CALICO_API_GROUP"), group, "{plugin} {version}");
            }
        }
    }
}

const PEERS: &str = "{ calico: { mode: bgp, bgp: { asNumber: 64600, peers: [
    { name: rack-1, address: 192.0.2.1, asNumber: 64601, nodeSelector: \"rack == '1'\", password: swordfish },
    { name: rack-2, address: '2001:db8::1', asNumber: 64602 }], advertise: { clusterIPs: true } } } }";

#[test]
fn a_password_of_a_peer_stands_in_a_secret_that_calico_node_may_read() {
    let objects = ipv4(PEERS);
    let holders: Vec<_> = objects
        .iter()
        .filter(|it| it.to_string().contains("swordfish"))
        .collect();
    assert_eq!(holders, [named(&objects, "Secret", "calico-bgp-passwords")]);
    let reference = &named(&objects, "BGPPeer", "rack-1")["spec"]["password"]["secretKeyRef"];
    assert_eq!(*reference, json!({ "name": "calico-bgp-passwords", "key": "rack-1" }));
    assert_eq!(holders[0]["stringData"], json!({ "rack-1": "swordfish" }));
    assert!(named(&objects, "BGPPeer", "rack-2")["spec"]["password"].is_null());
    let rules = &named(&objects, "Role", "calico-bgp-passwords")["rules"];
    assert_eq!(rules.as_array().unwrap().len(), 1);
    assert_eq!(rules[0]["resourceNames"], json!(["calico-bgp-passwords"]));
    let configuration = &named(&objects, "BGPConfiguration", "default")["spec"];
    let wanted = json!({
        "asNumber": 64600,
        "listenPort": 179,
        "nodeToNodeMeshEnabled": true,
        "serviceClusterIPs": [{ "cidr": "10.96.0.0/12" }],
    });
    assert_eq!(*configuration, wanted);
}

#[test]
fn route_reflectors_end_the_mesh_and_are_annotated_by_control_planes() {
    let cni =
        "{ calico: { mode: bgp, bgp: { routeReflectors: { clusterID: 244.0.0.1, label: example.com/reflector } } } }";
    let plan = resolve(&FAMILIES[0].spec(cni, "iptables"));
    let objects = objects(&plan);
    assert_eq!(
        named(&objects, "BGPConfiguration", "default")["spec"]["nodeToNodeMeshEnabled"],
        false
    );
    let peering = &named(&objects, "BGPPeer", "route-reflectors")["spec"];
    let wanted = json!({ "nodeSelector": "all()", "peerSelector": "has(example.com/reflector)" });
    assert_eq!(*peering, wanted);
    let unit = |name: &str| plan.implied.units.iter().find(|unit| unit.name == name).unwrap();
    let service = unit("calico-route-reflectors.service");
    let annotation = "-l example.com/reflector projectcalico.org/RouteReflectorClusterID=244.0.0.1\n";
    assert!(service.content.contains(annotation), "{}", service.content);
    assert!(unit("calico-route-reflectors.timer").enable && !service.enable);
}

#[test]
fn what_calico_implies_follows_from_its_mode() {
    for (parameters, modules, ports) in [
        ("{}", &["ip_set", "vxlan", "xt_set"][..], &["udp 4789"][..]),
        (
            "{ vxlan: { port: 8472 } }",
            &["ip_set", "vxlan", "xt_set"],
            &["udp 8472"],
        ),
        ("{ mode: ipip }", &["ip_set", "ipip", "xt_set"], &["4", "tcp 179"]),
        (
            "{ mode: bgp, bgp: { listenPort: 1790 } }",
            &["ip_set", "xt_set"],
            &["tcp 1790"],
        ),
        (
            "{ wireguard: true, typha: {} }",
            &["ip_set", "vxlan", "wireguard", "xt_set"],
            &["tcp 5473", "udp 4789", "udp 51820"],
        ),
    ] {
        let plan = resolve(&FAMILIES[0].spec(&format!("{{ calico: {parameters} }}"), "iptables"));
        let implied = &plan.implied;
        let mut found = implied.modules.clone();
        found.sort();
        assert_eq!(found, modules, "{parameters}");
        let described = implied.ports.iter().map(|port| match port.port {
            Some(number) => format!("{} {number}", port.protocol),
            None => port.protocol.clone(),
        });
        let mut described: Vec<_> = described.collect();
        described.sort();
        assert_eq!(described, ports, "{parameters}");
        assert!(implied.without_node_cidrs, "{parameters}");
    }
}

#[test]
fn what_cannot_hold_is_refused_with_what_to_write_instead() {
    let [ipv4, dual, ipv6] = &FAMILIES;
    for (family, parameters, words) in [
        (ipv6, "calico: { mode: ipip }", "IP in IP carries IPv4 only"),
        (
            ipv4,
            "calico: { mode: bgp, crossSubnet: true }",
            "no tunnel that could be left out",
        ),
        (
            ipv4,
            "calico: { mode: bgp, vxlan: { port: 8472 } }",
            "this mode has no VXLAN",
        ),
        (
            ipv4,
            "calico: { bgp: { asNumber: 64600 } }",
            "no BGP runs in mode `vxlan`",
        ),
        (dual, "calico: { mtu: 1200 }", "IPv6 needs an MTU of 1280"),
        (
            ipv4,
            "calico: { mode: bgp, bgp: { nodeToNodeMesh: false } }",
            "nobody passes routes on",
        ),
        (
            ipv4,
            "calico: { mode: bgp, bgp: { peers: [{ name: a, address: 192.0.2.1, asNumber: 1 }, { name: a, address: 192.0.2.2, asNumber: 1 }] } }",
            "two peers have the same name",
        ),
        (
            ipv4,
            "calico: { mode: bgp, bgp: { peers: [{ name: route-reflectors, address: 192.0.2.1, asNumber: 1 }] } }",
            "is taken by the peering",
        ),
        (ipv4, "calico: { felix: { bpfEnabled: true } }", "eBPF is not offered"),
        (
            ipv4,
            "canal: { backend: wireguard, vni: 7 }",
            "this backend has no VXLAN",
        ),
        (ipv4, "canal: { backend: host-gw, port: 8472 }", "it has no port"),
        (
            ipv4,
            "canal: { backend: host-gw, directRouting: true }",
            "no `directRouting`",
        ),
        (dual, "canal: { mtu: 1200 }", "IPv6 needs an MTU of 1280"),
        (ipv4, "canal: { felix: { mtuIfacePattern: eth } }", "would be ignored"),
    ] {
        let text = refused(family, &format!("{{ {parameters} }}"));
        assert!(text.contains("FL0803") && text.contains(words), "{parameters}\n{text}");
    }
    let mut small = ipv4.spec("{ calico: { blockSize: 24 } }", "iptables");
    small = small.replace("10.244.0.0/16", "10.244.0.0/25");
    let text = try_resolve(&small).unwrap_err();
    assert!(text.contains("a block is larger than the pod range"), "{text}");
}
