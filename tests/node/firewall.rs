//! The metadata firewall, with real packets: a pod, its node and a metadata service in network namespaces of their own.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{fs, path::Path, process::Command};

use firelay::template;
use support::{Example, example, firelay, read_tree, said, succeed};

/// The pod reaches the node and, through it, the service; the service reaches the pod. The node forwards, as every node
/// does.
const NETWORK: &str = r#"
set -euo pipefail
id=fl$$
cleanup() { kill $(jobs -p) 2>/dev/null || :; for at in pod node service; do ip netns del $id$at 2>/dev/null || :; done; }
trap cleanup EXIT
for at in pod node service; do ip netns add $id$at; ip -n $id$at link set lo up; done
ip link add ${id}a netns ${id}pod type veth peer name ${id}b netns ${id}node
ip link add ${id}c netns ${id}service type veth peer name ${id}d netns ${id}node
addr() { ip -n $id$1 addr add $3 dev $id$2 ${4-}; ip -n $id$1 link set $id$2 up; }
addr pod a 10.9.0.2/24; addr pod a fd09::2/64 nodad; addr node b 10.9.0.1/24; addr node b fd09::1/64 nodad
addr service c 169.254.169.254/16; addr service c fd00:ec2::254/64 nodad; addr node d 169.254.0.1/16; addr node d fd00:ec2::1/64 nodad
ip -n ${id}pod route add default via 10.9.0.1; ip -n ${id}pod route add default via fd09::1
ip -n ${id}service route add default via 169.254.0.1; ip -n ${id}service route add default via fd00:ec2::1
ip netns exec ${id}node sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
cd "$1"
for port in 53 80 443; do ip netns exec ${id}service python3 -m http.server --bind :: $port >/dev/null 2>&1 & done
ip netns exec ${id}pod python3 -m http.server --bind :: 8080 >/dev/null 2>&1 &
get() { ip netns exec $id$1 curl --noproxy '*' -sS -g -o /dev/null -m 5 "$2" 2>/dev/null && echo "$1 $2 yes" || echo "$1 $2 no"; }
all() { for at in pod node; do for host in 169.254.169.254 '[fd00:ec2::254]'; do for port in 53 80 443; do get $at "http://$host:$port"; done; done; done
  for host in 10.9.0.2 '[fd09::2]'; do get service "http://$host:8080"; done; }
# Until all of them listen.
for try in {1..50}; do [[ $(all) == *" no"* ]] || break; sleep 0.1; done
all
echo ---
ip netns exec ${id}node nft -f "$2"
ip netns exec ${id}node nft -f "$2"
SECONDS=0
all
echo "--- $((SECONDS < 20))"
ip netns exec ${id}node bash -e "$3"
ip netns exec ${id}node bash -e "$3"
[ -z "$(ip netns exec ${id}node nft list tables)" ]
all
"#;

fn render(example: &Example, set: &[&str], more: &[&str], out: &Path) {
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("bundle.secrets.yaml");
    example.lay_bundle(&bundle);
    let mut command = firelay(&["render"]);
    command
        .arg(&example.spec)
        .arg("--secrets")
        .arg(bundle)
        .arg("--out")
        .arg(out)
        .args(more);
    set.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    succeed(&mut command, "firelay");
}

/// The files that the firewall adds to a node.
fn files(set: &[&str]) -> Vec<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    render(&example("ha-ubuntu"), set, &["--node", "worker-1"], &out);
    let tree = read_tree(&out);
    let mut found: Vec<_> = tree["worker-1"]
        .iter()
        .filter(|(path, _)| {
            path.contains("metadata.nft") || path.contains("firelay-firewall") || path.ends_with("25-firewall")
        })
        .map(|(path, (_, content))| (path.clone(), content.clone()))
        .collect();
    found.sort();
    found
}

const ON: &str = "security.metadataFirewall=true";

#[test]
fn pods_reach_the_metadata_service_for_dns_and_time_alone() {
    let files = files(&[ON]);
    let (_, rules) = files
        .iter()
        .find(|(path, _)| path == "/etc/firelay/metadata.nft")
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("metadata.nft");
    fs::write(&path, rules).unwrap();
    succeed(Command::new("nft").arg("-c").arg("-f").arg(&path), "nftables");
    let empty = directory.path().join("served");
    fs::create_dir(&empty).unwrap();
    let undo = directory.path().join("undo");
    let text = template::render("update/undo/metadata-firewall.j2", &serde_json::json!({})).unwrap();
    fs::write(&undo, text).unwrap();
    let output = Command::new("bash")
        .args(["-c", NETWORK, "bash"])
        .args([&empty, &path, &undo])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let (before, after) = text.split_once("---\n").unwrap();
    assert_eq!(
        (before.lines().count(), before.matches(" yes\n").count()),
        (14, 14),
        "{text}"
    );
    let (after, undone) = after.split_once("--- ").unwrap();
    let (quickly, undone) = undone.split_once('\n').unwrap();
    assert_eq!(
        undone.matches(" yes\n").count(),
        14,
        "an update takes the rules away: {text}"
    );
    for line in after.lines() {
        // Load balancers probe pods from the service's own address; the answers pass.
        let open = ["node ", "service "].iter().any(|who| line.starts_with(who)) || line.contains(":53 ");
        assert!(line.ends_with(if open { " yes" } else { " no" }), "{text}");
    }
    assert_eq!(after.lines().count(), 14);
    assert_eq!(quickly, "1", "a pod is told at once, and does not wait: {text}");
}

#[test]
fn only_who_asks_for_it_has_it_and_only_where_there_is_something_to_keep() {
    assert!(files(&[]).is_empty());
    assert!(files(&[ON, "platform=nocloud"]).is_empty());
    let paths: Vec<_> = files(&[ON]).into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "/etc/firelay/metadata.nft",
            "/etc/systemd/system/firelay-firewall.service",
            "/usr/local/lib/firelay/steps/25-firewall",
        ]
    );
}

/// Link-local addresses are never forwarded; those of IPv6 are left out.
#[test]
fn rules_name_what_the_platform_has() {
    let of = |platform: &str| files(&[ON, &format!("platform={platform}")])[0].1.clone();
    let aws = of("aws");
    assert!(
        aws.contains("ip daddr { 169.254.169.254 }") && aws.contains("ip6 daddr { fd00:ec2::254 }"),
        "{aws}"
    );
    assert!(of("azure").contains("ip daddr { 168.63.129.16, 169.254.169.254 }"));
    assert!(!of("openstack").contains("ip6"));
}

/// In eBPF mode cilium would route packets around the hook.
#[test]
fn cilium_leaves_packets_to_the_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let cilium = "network.cni={ cilium: { kubeProxyReplacement: true } }";
    for (set, expected) in [(&[cilium][..], false), (&[cilium, ON], true)] {
        let out = directory.path().join(format!("{expected}"));
        render(
            &example("single-node"),
            &[&["platform=openstack"], set].concat(),
            &[],
            &out,
        );
        let founder = &read_tree(&out)["home1"];
        let said = founder
            .values()
            .any(|(_, content)| content.contains("enable-host-legacy-routing"));
        assert_eq!(said, expected);
    }
}
