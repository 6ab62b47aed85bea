//! flannel and Felix side by side.

use serde_json::{Value, json};

use super::{FAMILIES, container, ipv4, named, network_config, objects, setting, support::plan::resolve};

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
        assert!(!plan.requirements.without_node_cidrs);
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
