//! Peers, route reflectors and advertised ranges.

use serde_json::json;

use super::{FAMILIES, ipv4, named, objects, support::plan::resolve};

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
    let unit = |name: &str| plan.requirements.units.iter().find(|unit| unit.name == name).unwrap();
    let service = unit("calico-route-reflectors.service");
    let annotation = "-l example.com/reflector projectcalico.org/RouteReflectorClusterID=244.0.0.1\n";
    assert!(service.content.contains(annotation), "{}", service.content);
    assert!(unit("calico-route-reflectors.timer").enable && !service.enable);
}
