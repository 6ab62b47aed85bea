//! Requirements of parameters on nodes, and excluded combinations.

use super::{
    FAMILIES, refused,
    support::plan::{resolve, try_resolve},
};

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
        let implied = &plan.requirements;
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

/// Node ports use VXLAN between nodes in every mode.
#[test]
fn ebpf_takes_the_place_of_kube_proxy() {
    let spec = |parameters: &str| {
        let spec = FAMILIES[0].spec(&format!("{{ calico: {parameters} }}"), "iptables");
        spec.replace(", kubeProxy: { mode: iptables }", "")
    };
    let plan = resolve(&spec("{ mode: bgp, ebpf: {} }"));
    assert!(plan.kubernetes.kube_proxy.is_none());
    let ports: Vec<_> = plan.requirements.ports.iter().filter_map(|port| port.port).collect();
    assert_eq!(ports, [4789, 179]);
    let with_mode = FAMILIES[0].spec("{ calico: { ebpf: {} } }", "iptables");
    assert!(try_resolve(&with_mode).unwrap_err().contains("FL0804"));
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
        (ipv4, "calico: { felix: { bpfEnabled: true } }", "would be ignored"),
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
