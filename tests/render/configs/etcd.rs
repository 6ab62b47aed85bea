//! A real etcd, started with the environment file of a member, in its own network namespace.

use std::{fs, path::Path, process::Command};

use firelay::{node::etcd, plan::Plan};

use super::super::support::plan::resolve;
use super::{
    cluster::{ETCD, node, pairs, plan},
    tool,
};

fn one_member() -> Plan {
    let mut plan = plan();
    plan.etcd.external = true;
    plan.etcd.extra_args = pairs(&[
        ("heartbeat-interval", "200"),
        ("election-timeout", "2000"),
        ("quota-backend-bytes", "4294967296"),
        ("initial-cluster-token", "a \"token\" of $HOME"),
    ]);
    plan.nodes.push(node("etcd1", ETCD, "127.0.0.2"));
    plan
}

const OPENSSL: &str = r#"
set -eu
cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=etcd-ca
for name in server peer; do
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr -subj /CN=etcd1
  printf 'subjectAltName=DNS:etcd1,DNS:localhost,IP:127.0.0.2,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' >$name.ext
  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.crt
done
"#;

/// Reads the file as a shell does; for these values systemd does the same.
const ETCD_RUN: &str = r#"
set -eu
ip link set lo up
set -a; . "$1/etcd.env"; set +a
test "$ETCD_INITIAL_CLUSTER_TOKEN" = 'a "token" of $HOME'
etcd >"$1/log" 2>&1 &
trap 'kill $!; wait' EXIT
tls="--max-time 2 --cacert $1/ca.crt"
own="--cert $1/server.crt --key $1/server.key"
for try in $(seq 50); do
  if curl -fsS $tls $own https://127.0.0.1:2379/health; then
    curl -fsS $tls $own -X POST -d '{}' https://127.0.0.2:2379/v3/cluster/member/list
    if curl -sS $tls https://127.0.0.1:2379/health; then echo 'no client certificate asked for' >&2; exit 1; fi
    curl -fsS http://127.0.0.1:2381/health
    exit 0
  fi
  sleep 0.2
done
cat "$1/log"
exit 1
"#;

fn sh(script: &str, dir: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(dir);
    command
}

#[test]
fn etcd_starts_with_its_environment() {
    for (program, package) in [("etcd", "etcd-server"), ("curl", "curl")] {
        tool::run(Command::new(program).arg("--version"), package);
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let mut plan = one_member();
    plan.etcd.data_dir = format!("{place}/data");
    let environment = etcd::environment(&plan, plan.etcd_members().next().unwrap()).content;
    fs::write(
        dir.path().join("etcd.env"),
        environment.replace(etcd::PKI_DIRECTORY, place),
    )
    .unwrap();
    tool::run(&mut sh(OPENSSL, dir.path()), "openssl");
    let mut inside = Command::new("unshare");
    inside
        .args(["--user", "--map-root-user", "--net", "sh", "-c", ETCD_RUN, "sh"])
        .arg(dir.path());
    // 3.5 and 3.4 format their JSON differently.
    let said = tool::run(&mut inside, "util-linux").replace(' ', "");
    assert!(
        said.contains(r#""peerURLs":["https://127.0.0.2:2380"],"clientURLs":["https://127.0.0.2:2379"]"#),
        "{said}"
    );
}

#[test]
fn every_member_names_all_members() {
    let mut plan = one_member();
    plan.nodes.push(node("etcd2", ETCD, "fd00::2"));
    let file = etcd::environment(&plan, plan.nodes.last().unwrap());
    assert_eq!((file.path.as_str(), file.mode), ("/etc/etcd/etcd.env", 0o644));
    for line in [
        "ETCD_NAME=etcd2\n",
        "ETCD_INITIAL_CLUSTER=etcd1=https://127.0.0.2:2380,etcd2=https://[fd00::2]:2380\n",
        "ETCD_LISTEN_CLIENT_URLS=https://[fd00::2]:2379,https://[::1]:2379\n",
        "ETCD_HEARTBEAT_INTERVAL=200\n",
        "ETCD_CLIENT_CERT_AUTH=true\n",
        "ETCD_PEER_CLIENT_CERT_AUTH=true\n",
    ] {
        assert!(file.content.contains(line), "{line}{}", file.content);
    }
}

/// kubeadm's members have both flags; 3.6 renamed them.
#[test]
fn members_check_their_data_and_tell_watchers_of_progress_in_the_words_of_their_version() {
    for (etcd, there, gone) in [
        (
            "version: 3.5.33",
            &[
                "EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true",
                "EXPERIMENTAL_WATCH_PROGRESS_NOTIFY_INTERVAL=5s",
            ][..],
            &["ETCD_FEATURE_GATES", "ETCD_WATCH_PROGRESS"][..],
        ),
        (
            "version: 3.6.14",
            &[
                "FEATURE_GATES=InitialCorruptCheck=true",
                "WATCH_PROGRESS_NOTIFY_INTERVAL=5s",
            ],
            &["EXPERIMENTAL"],
        ),
        // etcd 3.6 does not start with both flags.
        (
            "version: 3.6.14, extraArgs: [{ name: experimental-initial-corrupt-check, value: 'false' }]",
            &["EXPERIMENTAL_INITIAL_CORRUPT_CHECK=false"],
            &["ETCD_FEATURE_GATES"],
        ),
        (
            "version: 3.6.14, extraArgs: [{ name: watch-progress-notify-interval, value: 10s }]",
            &["WATCH_PROGRESS_NOTIFY_INTERVAL=10s"],
            &["NOTIFY_INTERVAL=5s"],
        ),
    ] {
        let plan = resolve(&format!(
            "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: test\nkubernetes: {{ version: 1.36.4 }}\n\
             endpoint: {{ host: api.example.com }}\nos: ubuntu-24.04\nplatform: metal\netcd: {{ {etcd} }}\nnodes:\n\
             - {{ name: e1, roles: [etcd], addresses: [10.0.0.1] }}\n- {{ name: cp1, roles: [control-plane], addresses: [10.0.0.2] }}\n"
        ));
        let file = etcd::environment(&plan, plan.etcd_members().next().unwrap());
        for line in there {
            assert!(
                file.content.contains(&format!("ETCD_{line}\n")),
                "{etcd}: {line}\n{}",
                file.content
            );
        }
        for part in gone {
            assert!(!file.content.contains(part), "{etcd}: {part}\n{}", file.content);
        }
    }
}
