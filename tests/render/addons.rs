//! Manifests as the API server parses them, and their requirements on nodes.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use firelay::{
    addons,
    declaration::Place,
    pki::AddonCertificates,
    plan::{Plan, PortPlan, Requirements},
    profile::Profiles,
};
use serde_json::{Value, json};
use support::pyyaml;

const BACKENDS: [&str; 3] = ["vxlan", "host-gw", "wireguard"];
const IPV4: &str = "10.244.0.0/16";
const IPV6: &str = "fd00:10:244::/56";

fn flannel(backend: &str) -> String {
    format!("{{ flannel: {{ backend: {backend} }} }}")
}

fn plan(cni: impl AsRef<str>, pods: &[&str]) -> Plan {
    with(cni, pods, "kubernetes: { version: 1.36.4 }")
}

fn with(cni: impl AsRef<str>, pods: &[&str], further: &str) -> Plan {
    let pick = |ipv4: &str, ipv6: &str| {
        let all = pods.iter().map(|range| if range.contains(':') { ipv6 } else { ipv4 });
        all.map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ")
    };
    support::plan::resolve(&format!(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
endpoint: {{ host: api.example.com }}
network:
  pods: [{}]
  services: [{}]
  cni: {}
os: ubuntu-24.04
platform: metal
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [{}] }}
{further}
",
        pick(IPV4, IPV6),
        pick("10.96.0.0/12", "fd00:10:96::/112"),
        cni.as_ref(),
        pick("10.77.0.11", "fd00:77::11"),
    ))
}

const NO_PROXY: &str = "kubernetes: { version: 1.36.4, kubeProxy: { disabled: true } }";

/// The only file of a phase.
fn file(plan: &Plan, phase: &str) -> String {
    let phases = addons::phases(plan, &AddonCertificates::new()).unwrap();
    let phase = phases.into_iter().find(|it| it.name == phase).unwrap();
    assert_eq!(phase.files.len(), 1);
    phase.files.into_iter().next().unwrap().1
}

fn object<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    documents.iter().find(|it| it["kind"] == kind).unwrap()
}

fn net_conf(plan: &Plan) -> Value {
    let documents = pyyaml(&file(plan, "20-cni"));
    let config = &object(&documents, "ConfigMap")["data"];
    serde_json::from_str::<Value>(config["cni-conf.json"].as_str().unwrap()).unwrap();
    serde_json::from_str(config["net-conf.json"].as_str().unwrap()).unwrap()
}

#[test]
fn flannel_has_its_objects_for_every_backend_and_family() {
    for backend in BACKENDS {
        for pods in [&[IPV4][..], &[IPV4, IPV6], &[IPV6]] {
            let manifest = file(&plan(flannel(backend), pods), "20-cni");
            let documents = pyyaml(&manifest);
            let kinds: Vec<_> = documents.iter().map(|it| it["kind"].as_str().unwrap()).collect();
            let expected = [
                "Namespace",
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "ConfigMap",
                "DaemonSet",
            ];
            assert_eq!(kinds, expected);
            let spec = &object(&documents, "DaemonSet")["spec"];
            assert_eq!(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
            assert_eq!(
                spec["template"]["spec"]["tolerations"],
                json!([{ "operator": "Exists" }])
            );
            let size = support::gzipped(&manifest);
            println!("{backend:?} {pods:?}: {} bytes, {size} gzipped", manifest.len());
            assert!(size <= 1280, "1.25 KiB of the 16 that a founder may have: {size}");
        }
    }
}

#[test]
fn every_volume_that_is_mounted_exists_and_the_other_way_round() {
    let documents = pyyaml(&file(&plan(flannel("vxlan"), &[IPV4]), "20-cni"));
    let pod = &object(&documents, "DaemonSet")["spec"]["template"]["spec"];
    let names = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let containers = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|key| pod[key].as_array().unwrap());
    let mut mounted: Vec<_> = containers.flat_map(|it| names(&it["volumeMounts"])).collect();
    let mut volumes = names(&pod["volumes"]);
    mounted.sort();
    mounted.dedup();
    volumes.sort();
    assert_eq!(mounted, volumes);
}

#[test]
fn the_network_configuration_is_as_flannel_documents_it() {
    let vxlan = plan(flannel("vxlan"), &[IPV4]);
    assert_eq!(
        net_conf(&vxlan),
        json!({ "Network": IPV4, "Backend": { "Type": "vxlan" } })
    );

    let dual = plan(flannel("host-gw"), &[IPV6, IPV4]);
    let expected =
        json!({ "Network": IPV4, "EnableIPv6": true, "IPv6Network": IPV6, "Backend": { "Type": "host-gw" } });
    assert_eq!(net_conf(&dual), expected);

    let single6 = plan(flannel("wireguard"), &[IPV6]);
    let expected = json!({ "EnableIPv4": false, "EnableIPv6": true, "IPv6Network": IPV6,
                           "Backend": { "Type": "wireguard" } });
    assert_eq!(net_conf(&single6), expected);
}

#[test]
fn parameters_reach_the_backend() {
    let backend = |plan: &Plan| net_conf(plan)["Backend"].clone();
    let vxlan = plan(
        "{ flannel: { mtu: 1400, port: 4789, vni: 7, directRouting: true } }",
        &[IPV4],
    );
    let expected = json!({ "Type": "vxlan", "VNI": 7, "Port": 4789, "DirectRouting": true, "MTU": 1400 });
    assert_eq!(backend(&vxlan), expected);
    let wireguard = plan(
        "{ flannel: { backend: wireguard, mtu: 1400, port: 4789 } }",
        &[IPV4, IPV6],
    );
    let expected = json!({ "Type": "wireguard", "ListenPort": 4789, "ListenPortV6": 4790, "MTU": 1400 });
    assert_eq!(backend(&wireguard), expected);
    assert_eq!(ports(&wireguard), [4789, 4790]);
    assert_eq!(ports(&vxlan), [4789]);
}

#[test]
fn nftables_is_used_when_kube_proxy_does() {
    let of = |further: &str| net_conf(&with(flannel("vxlan"), &[IPV4], further))["EnableNFTables"].clone();
    let nftables = "kubernetes: { version: 1.36.4, kubeProxy: { mode: nftables } }";
    assert_eq!(of(nftables), true);
    assert_eq!(of(NO_PROXY), Value::Null);
}

/// The container of flanneld.
fn flanneld(plan: &Plan) -> Value {
    let documents = pyyaml(&file(plan, "20-cni"));
    object(&documents, "DaemonSet")["spec"]["template"]["spec"]["containers"][0].clone()
}

#[test]
fn hosts_whose_first_address_is_ipv6_are_probed_and_found_by_it() {
    let arguments = |pods: &[&str]| flanneld(&plan(flannel("vxlan"), pods))["command"].clone();
    let common = [
        "/opt/bin/flanneld",
        "--ip-masq",
        "--kube-subnet-mgr",
        "--healthz-port=8081",
        "--iface=$(HOST_IP)",
    ];
    assert_eq!(arguments(&[IPV4, IPV6]), json!(common));
    let ipv6 = [&common[..], &["--healthz-ip=::", "--public-ipv6=$(HOST_IP)"]].concat();
    assert_eq!(arguments(&[IPV6, IPV4]), json!(ipv6));
    assert_eq!(arguments(&[IPV6]), json!(ipv6));
}

#[test]
fn without_kube_proxy_flannel_is_told_where_the_api_is() {
    let plan = |further: &str| with(flannel("vxlan"), &[IPV4], further);
    let variable = |plan: &Plan, name: &str| {
        let container = flanneld(plan);
        container["env"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["name"] == name)
            .map(|it| it["value"].clone())
    };
    let proxied = plan("kubernetes: { version: 1.36.4 }");
    assert_eq!(variable(&proxied, "KUBERNETES_SERVICE_HOST"), None);
    let plan = plan(NO_PROXY);
    assert_eq!(
        variable(&plan, "KUBERNETES_SERVICE_HOST"),
        Some(json!("api.example.com"))
    );
    assert_eq!(variable(&plan, "KUBERNETES_SERVICE_PORT"), Some(json!("6443")));
}

#[test]
fn ports_of_kubernetes_follow_the_kubelets_own() {
    let kubelets = |further: &str| -> Vec<_> {
        let plan = with(flannel("vxlan"), &[IPV4], further);
        plan.ports()
            .filter(|port| port.of == "kubelet")
            .map(|port| port.port)
            .collect()
    };
    assert_eq!(kubelets("kubernetes: { version: 1.36.4 }"), [Some(10250)]);
    let other = "kubernetes: { version: 1.36.4, kubelet: { config: { port: 10260 } } }";
    assert_eq!(kubelets(other), [Some(10260)]);
}

fn implied(plan: &Plan) -> Requirements {
    plan.requirements.clone()
}

fn ports(plan: &Plan) -> Vec<u16> {
    let ports = implied(plan).ports;
    assert!(ports.iter().all(|port| port.protocol == "udp"));
    ports.into_iter().filter_map(|port| port.port).collect()
}

#[test]
fn a_backend_implies_its_modules_ports_and_files() {
    let vxlan = implied(&plan(flannel("vxlan"), &[IPV4, IPV6]));
    assert_eq!(vxlan.modules, ["vxlan"]);
    assert_eq!(
        vxlan.ports,
        [PortPlan {
            protocol: "udp".into(),
            port: Some(8472),
            on: Place::All,
            of: "flannel".into(),
        }]
    );
    assert_eq!(
        vxlan.unmanaged_interfaces,
        ["interface-name:flannel*", "interface-name:cni0"]
    );
    assert!(
        vxlan.files[0].path == "/etc/systemd/network/50-flannel.link"
            && vxlan.files[0].content.contains("MACAddressPolicy=none\n")
    );

    let host_gw = implied(&plan(flannel("host-gw"), &[IPV4]));
    assert!(host_gw.modules.is_empty() && host_gw.ports.is_empty() && host_gw.files.is_empty());

    assert_eq!(ports(&plan(flannel("wireguard"), &[IPV4])), [51820]);
    assert_eq!(ports(&plan(flannel("wireguard"), &[IPV6])), [51821]);
    assert_eq!(ports(&plan(flannel("wireguard"), &[IPV4, IPV6])), [51820, 51821]);
    assert_eq!(implied(&plan(flannel("wireguard"), &[IPV4])).modules, ["wireguard"]);
    assert_eq!(implied(&plan("none", &[IPV4])), Requirements::default());
}

#[test]
fn the_hosts_have_the_plugins_where_the_manifest_puts_its_own() {
    let profiles = Profiles::embedded().unwrap();
    let plan = plan(flannel("vxlan"), &[IPV4]);
    // Every executable of the archive is installed; flannel's four are among upstream's.
    assert!(profiles.catalog.artifacts["cni-plugins"].members.is_empty());
    assert_eq!(
        implied(&plan).cni_plugins,
        ["bridge", "host-local", "loopback", "portmap"]
    );
    let documents = pyyaml(&file(&plan, "20-cni"));
    let pod = &object(&documents, "DaemonSet")["spec"]["template"]["spec"];
    let volume = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "bin")
        .unwrap();
    for os in profiles.os.values() {
        assert_eq!(
            volume["hostPath"]["path"], os.paths.cni_bin,
            "{}: one DaemonSet serves every OS",
            os.name
        );
    }
}

#[test]
fn images_go_through_the_rewrites() {
    let rewrites =
        "artifacts: { imageRewrites: { ghcr.io: mirror.example.com/ghcr } }\nkubernetes: { version: 1.36.4 }";
    let plan = with(flannel("vxlan"), &[IPV4], rewrites);
    let manifest = file(&plan, "20-cni");
    assert!(!manifest.contains("ghcr.io/"), "{manifest}");
    for image in plan.addons[0].images.values() {
        assert!(image.starts_with("mirror.example.com/ghcr/flannel-io/"), "{image}");
        assert!(manifest.contains(image));
    }
}

#[test]
fn phases_are_applied_in_order_and_empty_ones_are_left_out() {
    let names = |plan: &Plan| {
        addons::phases(plan, &AddonCertificates::new())
            .unwrap()
            .into_iter()
            .map(|it| it.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&plan("none", &[IPV4])), ["30-core"]);
    let own = "kubernetes: { version: 1.36.4 }
manifests: [{ name: zeta, content: 'kind: A' }, { name: alpha, content: \"kind: B\\n\\n\" }]";
    let plan = with(flannel("vxlan"), &[IPV4], own);
    assert_eq!(names(&plan), ["20-cni", "30-core", "60-manifests"]);
    let own = addons::phases(&plan, &AddonCertificates::new())
        .unwrap()
        .pop()
        .unwrap()
        .files;
    let expected = [("00-zeta.yaml", "kind: A\n"), ("01-alpha.yaml", "kind: B\n")];
    assert_eq!(
        own,
        expected.map(|(name, content)| (name.to_owned(), content.to_owned()))
    );
}

#[test]
fn the_api_server_may_ask_kubelets() {
    let documents = pyyaml(&file(&plan("none", &[IPV4]), "30-core"));
    let expected = json!([{
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "kubeadm:apiserver-kubelet-client" },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:kubelet-api-admin"
        },
        "subjects": [
            { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kube-apiserver-kubelet-client" }
        ],
    }]);
    assert_eq!(Value::from(documents), expected);
}

fn env<'a>(documents: &'a [Value], kind: &str, name: &str) -> Vec<(&'a str, &'a Value)> {
    let workload = documents
        .iter()
        .find(|it| it["kind"] == kind && it["metadata"]["name"] == name)
        .unwrap();
    let variables = workload["spec"]["template"]["spec"]["containers"][0]["env"].as_array();
    let pair = |it: &'a Value| (it["name"].as_str().unwrap(), &it["value"]);
    variables.into_iter().flatten().map(pair).collect()
}

fn with_addon(addon: &str) -> Plan {
    with(
        "flannel",
        &[IPV4],
        &format!("kubernetes: {{ version: 1.36.4 }}\naddons: {{ {addon} }}"),
    )
}

fn all_objects(plan: &Plan) -> Vec<Value> {
    let phases = addons::phases(plan, &AddonCertificates::new()).unwrap();
    let files = phases.into_iter().flat_map(|phase| phase.files);
    files.flat_map(|(_, text)| pyyaml(&text)).collect()
}

/// kube-vip v1.2.3 ignores the file's AS: its flag defaults to 65000, and `mergeBGPConfig` replaces only zero values.
#[test]
fn the_announcer_of_services_speaks_as_the_number_that_the_spec_says() {
    let plan = with_addon("kubeVipServices: { bgp: { as: 64512, peers: [{ address: 10.0.0.1, as: 64513 }] } }");
    let documents = all_objects(&plan);
    let variables = env(&documents, "DaemonSet", "kube-vip-services");
    assert!(variables.contains(&("bgp_as", &json!("64512"))), "{variables:?}");
    let secret = documents.iter().find(|it| it["kind"] == "Secret").unwrap();
    let sessions: Value = serde_json::from_str(secret["stringData"]["bgp.json"].as_str().unwrap()).unwrap();
    assert_eq!(sessions["BGPConfig"]["AS"], Value::Null);
    assert_eq!(sessions["BGPConfig"]["Peers"][0]["AS"], 64513);
}

/// kube-vip-cloud-provider v0.0.12 ignores Services with a class unless both variables are set.
#[test]
fn services_of_a_class_get_addresses() {
    let provider = |parameters: &str| {
        let plan = with_addon(&format!(
            "kubeVipServices: {{ addresses: [192.168.0.192/26]{parameters} }}"
        ));
        all_objects(&plan)
    };
    let documents = provider(", loadBalancerClass: example.com/vip");
    let expected = [
        ("KUBEVIP_ENABLE_LOADBALANCERCLASS", &json!("true")),
        ("KUBEVIP_CUSTOM_LOADBALANCERCLASS_NAME", &json!("example.com/vip")),
    ];
    assert_eq!(env(&documents, "Deployment", "kube-vip-cloud-provider"), expected);
    assert_eq!(env(&provider(""), "Deployment", "kube-vip-cloud-provider"), []);
}

const GATEWAYS: &str = "{ cilium: { kubeProxyReplacement: true, gatewayApi: { enabled: true } } }";

fn channel_of_definitions(cni: &str, addons: &str) -> Option<String> {
    let plan = with(
        cni,
        &[IPV4],
        &format!("kubernetes: {{ version: 1.36.4 }}\naddons: {{ {addons} }}"),
    );
    let mut definitions = plan.addons.iter().filter(|addon| addon.key() == "gatewayApi");
    let channel = definitions.next()?.choice.parameters["channel"].as_str()?.to_owned();
    assert!(definitions.next().is_none());
    assert!(plan.manifests.iter().any(|it| it.name == "gateway-api"));
    Some(channel)
}

#[test]
fn an_add_on_that_another_needs_comes_along_with_the_settings_of_the_spec() {
    assert_eq!(channel_of_definitions("cilium", ""), None);
    assert_eq!(channel_of_definitions(GATEWAYS, "").as_deref(), Some("standard"));
    let experimental = channel_of_definitions(GATEWAYS, "gatewayApi: { channel: experimental }");
    assert_eq!(experimental.as_deref(), Some("experimental"));
}

/// Kinds that a plugin defines with some parameters only.
#[test]
fn objects_of_a_kind_need_the_parameter_that_defines_it() {
    let warnings = |parameters: &str| {
        let resolved = support::plan::try_resolve(&format!(
            "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {{ version: 1.36.4 }}
endpoint: {{ host: api.example.com }}
network: {{ cni: {{ calico: {parameters} }} }}
os: ubuntu-24.04
platform: metal
manifests: [{{ name: tier, content: '{{ apiVersion: projectcalico.org/v3, kind: Tier, metadata: {{ name: a }} }}' }}]
nodes: [{{ name: cp1, roles: [control-plane, worker], addresses: [10.77.0.11] }}]
"
        ));
        resolved.unwrap().1.into_iter().map(|it| it.code).collect::<Vec<_>>()
    };
    assert_eq!(warnings("{}"), ["FL0811"]);
    assert!(warnings("{ apiServer: {} }").is_empty());
}

/// hcloud-cloud-controller-manager v1.35.0 serves metrics on every interface by default.
#[test]
fn ports_of_the_machine_alone_are_known_and_no_firewall_opens_them() {
    let token = "0123456789012345678901234567890123456789012345678901234567890123";
    let plan = with_addon(&format!("hcloudCloudController: {{ token: '{token}' }}"));
    let documents = all_objects(&plan);
    let variables = env(&documents, "DaemonSet", "hcloud-cloud-controller-manager");
    assert!(
        variables.contains(&("HCLOUD_METRICS_ADDRESS", &json!("127.0.0.1:8233"))),
        "{variables:?}"
    );
    let local: Vec<_> = plan.requirements.local_ports.iter().map(|port| port.port).collect();
    assert_eq!(local, [Some(10258), Some(8233)]);
    assert!(plan.ports().all(|port| ![Some(10258), Some(8233)].contains(&port.port)));
}
