//! Calico and canal: the effects of their parameters, as the API server and the programs parse them.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

mod bgp;
mod canal;
mod consequences;
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

/// The printed findings of a refused spec.
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
        let pool = family.ipv4().then_some("10.244.0.0/16");
        assert_eq!(setting(node, "CALICO_IPV4POOL_CIDR"), pool);
        assert_eq!(
            setting(node, "IP"),
            Some(if family.ipv4() { "autodetect" } else { "none" })
        );
        let (pool, vxlan) = match family.ipv4() && family.ipv6() {
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
        // By default calico-ipam assigns IPv4 addresses and no IPv6.
        let wanted = match (family.ipv4(), family.ipv6()) {
            (_, false) => json!({ "type": "calico-ipam" }),
            (false, _) => json!({ "type": "calico-ipam", "assign_ipv4": "false", "assign_ipv6": "true" }),
            _ => json!({ "type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true" }),
        };
        assert_eq!(*ipam, wanted);
    }
}

/// calico-node reads CALICO_IPV6POOL_VXLAN only if it also creates an IPv4 pool. Otherwise its pool has no tunnel.
#[test]
fn the_pool_of_ipv6_alone_has_its_tunnel() {
    for (parameters, vxlan) in [("{}", "Always"), ("{ crossSubnet: true }", "CrossSubnet")] {
        for version in ["3.31.7", "3.32.1"] {
            let cni = format!("{{ calico: {{ version: {version}, {} }}", &parameters[1..]);
            let objects = objects(&resolve(&FAMILIES[2].spec(&cni, "iptables")));
            let pool = named(&objects, "IPPool", "default-ipv6-ippool");
            let expected = json!({
                "cidr": "fd00:10:244::/56", "blockSize": 122, "ipipMode": "Never", "vxlanMode": vxlan, "natOutgoing": true,
                "nodeSelector": "all()", "allowedUses": ["Workload", "Tunnel"],
            });
            assert_eq!(pool["spec"], expected, "{cni}");
            let node = container(named(&objects, "DaemonSet", "calico-node"), "calico-node");
            assert_eq!(setting(node, "NO_DEFAULT_POOLS"), Some("true"), "{cni}");
            // calico-node refuses NO_DEFAULT_POOLS beside a range of either family.
            for name in ["CALICO_IPV4POOL_CIDR", "CALICO_IPV6POOL_CIDR"] {
                assert_eq!(setting(node, name), None, "{cni}");
            }
        }
    }
    for (family, mode) in [(0, "vxlan"), (1, "vxlan"), (2, "bgp")] {
        let objects = objects(&resolve(
            &FAMILIES[family].spec(&format!("{{ calico: {{ mode: {mode} }} }}"), "iptables"),
        ));
        assert!(objects.iter().all(|it| it["kind"] != "IPPool"), "{family} {mode}");
        let node = container(named(&objects, "DaemonSet", "calico-node"), "calico-node");
        assert_eq!(setting(node, "NO_DEFAULT_POOLS"), None, "{family} {mode}");
    }
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
