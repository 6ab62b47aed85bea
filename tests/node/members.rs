//! External etcd members: three real ones, started by the rendered step with the rendered certificates, and one replaced.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::process::Command;

use support::{example, machine::Machine, read_tree, said};

/// A start of the unit starts etcd in the background, as systemd would; a stop ends it.
const SYSTEMCTL: &str = r"
case $* in
'start --no-block etcd')
  set -a
  . ROOT/etc/etcd/etcd.env
  setsid etcd >>ROOT/log 2>&1 </dev/null &
  echo $! >ROOT/pid ;;
esac
";

/// A second takes a tenth of one.
const SLEEP: &str = r#"#!/bin/bash
read -r now _ <ROOT/proc/uptime
echo "$((${now%%.*} + $1)).00 0" >ROOT/proc/uptime.$$
mv ROOT/proc/uptime.$$ ROOT/proc/uptime
exec /bin/sleep 0.5
"#;

/// `$1` to `$3` are the roots of the machines. Each has a network of its own, on one bridge: etcd wants a client's address to be
/// in its certificate.
const RUN: &str = r#"
set -eu
roots=("$@")
end() {
  for root in "${roots[@]}"; do
    kill -9 "${network[$root]}" "$(cat "$root/pid")" 2>/dev/null || :
    cat "$root/said" >&2 || :
  done
}
trap end EXIT
ip link add bridge type bridge
ip link set bridge up
declare -A network
last=31
for root; do
  unshare --net /bin/sleep 600 &
  network[$root]=$!
  until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do /bin/sleep 0.1; done
  ip link add port$last master bridge type veth peer name eth0 netns $!
  ip link set port$last up
  nsenter --net=/proc/$!/ns/net sh -c "ip link set lo up && ip link set eth0 up && ip address add 10.2.0.$last/24 dev eth0"
  last=$((last + 1))
done
on() { nsenter --net="/proc/${network[$1]}/ns/net" "${@:2}"; }
step() { on "$1" env -i STEP=etcd "$1/usr/local/lib/firelay/steps/40-etcd" >>"$1/said" 2>&1; }
list() {
  on "$1" curl -fsS --cacert "$1/etc/etcd/pki/ca.crt" --cert "$1/etc/etcd/pki/healthcheck-client.crt" \
    --key "$1/etc/etcd/pki/healthcheck-client.key" -d '{}' https://10.2.0.31:2379/v3/cluster/member/list
}
steps=()
for root in "$3" "$1" "$2"; do step "$root" & steps+=($!); done
for step in "${steps[@]}"; do wait "$step"; done
grep -q CLUSTER_STATE=new "$3/etc/etcd/etcd.env"
echo "first $(list "$1")"
kill -9 "$(cat "$3/pid")"
rm -rf "$3/var/lib/etcd/member"
step "$3"
grep -q CLUSTER_STATE=existing "$3/etc/etcd/etcd.env"
echo "then $(list "$1")"
"#;

#[test]
fn a_member_whose_disk_is_new_takes_the_place_of_its_former_self() {
    let directory = tempfile::tempdir().unwrap();
    let mut render = Command::new(env!("CARGO_BIN_EXE_firelay"));
    let spec = example("external-etcd").spec;
    render.arg("render").arg(spec).args(["--new-secrets", "--secrets"]);
    render
        .arg(directory.path().join("bundle.secrets.yaml"))
        .arg("--out")
        .arg(directory.path().join("out"));
    support::succeed(&mut render, "firelay");
    let nodes = read_tree(&directory.path().join("out"));
    let machines = ["etcd1", "etcd2", "etcd3"].map(|node| {
        let machine = Machine::with(&nodes[node], "https://");
        let root = machine.root().to_str().unwrap();
        machine.stand_in("systemctl", &SYSTEMCTL.replace("ROOT", root));
        machine.program("sleep", &SLEEP.replace("ROOT", root));
        machine.set("WAIT", "300");
        machine
    });
    let mut inside = Command::new("unshare");
    inside.args(["--user", "--map-root-user", "--net", "bash", "-c", RUN, "bash"]);
    let output = support::output(inside.args(machines.iter().map(Machine::root)), "util-linux");
    let logs: String = machines
        .iter()
        .filter_map(|machine| std::fs::read_to_string(machine.at("/log")).ok())
        .collect();
    assert!(output.status.success(), "{}\n{logs}", said(&output));
    let text = said(&output).replace(' ', "");
    assert!(
        text.contains("removingtheetcdmemberthathttps://10.2.0.33:2380leftbehind"),
        "{text}"
    );
    let id = |list: &str| {
        let list = text.lines().find_map(|line| line.strip_prefix(list)).unwrap();
        let list: serde_json::Value = serde_json::from_str(list).unwrap();
        let members = list["members"].as_array().unwrap().clone();
        assert_eq!(members.len(), 3);
        let third = members.iter().find(|member| member["name"] == "etcd3").unwrap();
        assert_eq!(third["clientURLs"][0], "https://10.2.0.33:2379");
        third["ID"].clone()
    };
    assert_ne!(id("first"), id("then"));
}
