//! External etcd members: three real ones, started by the rendered step with the rendered certificates. One is replaced, snapshots are
//! taken by the rendered script, and two are lost.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::{path::Path, process::Command};

use support::{example, machine::Machine, read_tree, said};

/// A start of the unit starts etcd in the background, as systemd would; a stop ends it. A start of the chain runs the step of etcd.
const SYSTEMCTL: &str = r"
case $* in
'start --no-block etcd')
  set -a
  . ROOT/etc/etcd/etcd.env
  setsid etcd >>ROOT/log 2>&1 </dev/null &
  echo $! >ROOT/pid ;;
'stop etcd' | 'stop firelay etcd')
  [ ! -s ROOT/pid ] || kill -9 $(<ROOT/pid) 2>/dev/null || : ;;
'start --no-block firelay')
  [ -e ROOT/var/lib/firelay/40-etcd.done ] || STEP=etcd setsid ROOT/usr/local/lib/firelay/steps/40-etcd >>ROOT/said 2>&1 </dev/null & ;;
esac
";

/// One second takes a tenth of a second.
const SLEEP: &str = r#"#!/bin/bash
read -r now _ <ROOT/proc/uptime
echo "$((${now%%.*} + $1)).00 0" >ROOT/proc/uptime.$$
mv ROOT/proc/uptime.$$ ROOT/proc/uptime
exec /bin/sleep 0.5
"#;

/// Debian 12 has etcd 3.4, whose etcdctl does what etcdutl does since 3.5.
const ETCDUTL: &str = "#!/bin/bash\nexec /usr/bin/etcdctl \"$@\"\n";

/// Writes down when a snapshot begins and ends. `ROOT/fault` says what goes wrong in the middle.
const ETCDCTL: &str = r#"#!/bin/bash
case "$*" in
'snapshot save'*)
  fault=$(cat ROOT/fault 2>/dev/null)
  rm -f ROOT/fault
  echo begin >>ROOT/../snapshots
  if [ "$fault" = power ]; then
    head -c 5000 /dev/zero >"$3.part"
    kill -9 -- "-$(ps -o pgid= $$ | tr -d ' ')"
  fi
  /bin/sleep 0.5
  /usr/bin/etcdctl "$@"
  status=$?
  [ "$fault" != byte ] || printf x | dd of="$3" bs=1 seek=9000 conv=notrunc status=none
  [ "$fault" != short ] || truncate -s -512 "$3"
  echo end >>ROOT/../snapshots
  exit $status ;;
esac
exec /usr/bin/etcdctl "$@"
"#;

/// `$1` to `$3` are the roots of the machines. Each has a network of its own, on one bridge: etcd wants a client's address to be
/// in its certificate.
const NETWORK: &str = r#"
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
call() {
  on "$1" curl -fsS --cacert "$1/etc/etcd/pki/ca.crt" --cert "$1/etc/etcd/pki/healthcheck-client.crt" \
    --key "$1/etc/etcd/pki/healthcheck-client.key" -d "$3" "https://10.2.0.3$2"
}
list() { call "$1" 1:2379/v3/cluster/member/list '{}'; }
steps=()
for root in "$3" "$1" "$2"; do step "$root" & steps+=($!); done
for step in "${steps[@]}"; do wait "$step"; done
"#;

const REPLACE: &str = r#"
grep -q CLUSTER_STATE=new "$3/etc/etcd/etcd.env"
echo "first $(list "$1")"
kill -9 "$(cat "$3/pid")"
rm -rf "$3/var/lib/etcd/member"
step "$3"
grep -q CLUSTER_STATE=existing "$3/etc/etcd/etcd.env"
echo "then $(list "$1")"
"#;

/// What the machines of an operator do, in words of the tests below.
const SNAPSHOTS: &str = r#"
for root; do
  : >"$root/var/lib/firelay/90-ready.done"
  echo '{"state":"ready"}' >"$root/var/lib/firelay/status.json"
done
backup() { on "$1" setsid --wait env -i "$1/usr/local/lib/firelay/etcd-backup" 2>&1; }
recover() { on "$1" env -i "$1/usr/local/bin/firelay-recover" "${@:2}" 2>&1; }
kept() { (cd "$1/var/lib/backups/etcd" && ls -A); }
put() { call "$1" "$2:2379/v3/kv/put" "{\"key\":\"$(printf %s "$3" | base64)\",\"value\":\"$(printf %s "$4" | base64)\"}" >/dev/null; }
get() { call "$1" "$2:2379/v3/kv/range" "{\"key\":\"$(printf %s "$3" | base64)\"}" | sed -n 's/.*"value":"\([^"]*\)".*/\1/p' | base64 -d; }
refuses() { local want=$1 said; shift; ! said=$("$@") || { echo "not refused: $*: $said"; exit 9; }; case $said in *"$want"*) ;; *) echo "refused with: $said"; exit 9 ;; esac; }
"#;

/// Machines of an example, with real etcd programs behind stand-ins.
fn machines(example_name: &str, names: &[&str], settings: &[&str], shared: &Path) -> Vec<Machine> {
    let mut render = Command::new(env!("CARGO_BIN_EXE_firelay"));
    let spec = example(example_name).spec;
    render.arg("render").arg(spec).args(["--new-secrets", "--secrets"]);
    render
        .arg(shared.join("bundle.secrets.yaml"))
        .args(settings)
        .arg("--out")
        .arg(shared.join("out"));
    support::succeed(&mut render, "firelay");
    let nodes = read_tree(&shared.join("out"));
    let equipped = |name: &&str| {
        let machine = Machine::with(&nodes[*name], "https://");
        let root = machine.root().to_str().unwrap();
        let etcdctl = ETCDCTL.replace("ROOT/..", shared.to_str().unwrap());
        machine.stand_in("systemctl", &SYSTEMCTL.replace("ROOT", root));
        machine.program("sleep", &SLEEP.replace("ROOT", root));
        machine.program("etcdctl", &etcdctl.replace("ROOT", root));
        machine.program("etcdutl", ETCDUTL);
        machine.set("WAIT", "300");
        machine
    };
    names.iter().map(equipped).collect()
}

/// Runs a text for machines in namespaces of its own.
fn inside(machines: &[Machine], shared: &Path, text: &str) -> String {
    let mut inside = Command::new("unshare");
    inside.args([
        "--user",
        "--map-root-user",
        "--net",
        "--mount",
        "bash",
        "-c",
        text,
        "bash",
    ]);
    inside.args(machines.iter().map(Machine::root)).env("SHARED", shared);
    let output = support::output(&mut inside, "util-linux");
    let logs: String = machines
        .iter()
        .filter_map(|machine| std::fs::read_to_string(machine.at("/log")).ok())
        .collect();
    assert!(output.status.success(), "{}\n{logs}", said(&output));
    said(&output)
}

/// Runs a text with three external members of etcd.
fn members(settings: &[&str], text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let machines = machines(
        "external-etcd",
        &["etcd1", "etcd2", "etcd3"],
        settings,
        directory.path(),
    );
    inside(&machines, directory.path(), &format!("{NETWORK}{SNAPSHOTS}{text}"))
}

/// The members that a line of the output lists after a word.
fn listed(text: &str, word: &str) -> Vec<serde_json::Value> {
    let list = text.lines().find_map(|line| line.strip_prefix(word)).unwrap();
    let list: serde_json::Value = serde_json::from_str(list).unwrap();
    list["members"].as_array().unwrap().clone()
}

#[test]
fn a_member_whose_disk_is_new_takes_the_place_of_its_former_self() {
    let text = members(&[], REPLACE);
    assert!(
        text.replace(' ', "")
            .contains("removingtheetcdmemberthathttps://10.2.0.33:2380leftbehind"),
        "{text}"
    );
    let id = |word: &str| {
        let members = listed(&text, word);
        assert_eq!(members.len(), 3);
        let third = members.iter().find(|member| member["name"] == "etcd3").unwrap();
        assert_eq!(third["clientURLs"][0], "https://10.2.0.33:2379");
        assert!(third["isLearner"].is_null(), "it votes: {third}");
        third["ID"].clone()
    };
    assert_ne!(id("first "), id("then "));
}

/// etcd takes no new member while it has a dead one under another address.
#[test]
fn a_member_that_returns_at_another_address_takes_the_place_of_its_former_self() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["etcd1", "etcd2", "etcd3"];
    let mut all = machines("external-etcd", &names, &[], directory.path());
    // Of the second render only etcd3's document is used; one living member of its list is enough.
    let moved = ["--set", "nodes[etcd{1..3}].addresses=[10.2.0.32-10.2.0.34]"];
    all.extend(machines("external-etcd", &["etcd3"], &moved, directory.path()));
    let text = r#"
kill -9 "$(cat "$3/pid")"
step "$4"
echo "then $(list "$1")"
"#;
    let text = inside(&all, directory.path(), &format!("{NETWORK}{text}"));
    let members = listed(&text, "then ");
    assert_eq!(members.len(), 3, "{text}");
    let third = members.iter().find(|member| member["name"] == "etcd3").unwrap();
    assert_eq!(third["clientURLs"][0], "https://10.2.0.34:2379");
    assert!(third["isLearner"].is_null(), "it votes: {third}");
}

const BACKUP: [&str; 2] = ["--set", "etcd.backup={ every: 1h, keep: 2, to: /var/lib/backups/etcd }"];

#[test]
fn members_take_snapshots_one_after_the_other_and_keep_the_newest() {
    let text = members(
        &BACKUP,
        r#"
put "$1" 1 animal fox
jobs=()
for root in "$1" "$2" "$3"; do backup "$root" & jobs+=($!); done
for job in "${jobs[@]}"; do wait "$job"; done
# Never two at a time.
[ "$(tr '\n' ' ' <"$SHARED/snapshots")" = "begin end begin end begin end " ] || { cat "$SHARED/snapshots"; exit 8; }
first=$(kept "$1")
# A name has the second: two snapshots within one are one file.
for _ in 1 2; do
  /bin/sleep 1.1
  backup "$1"
done
newest=$(kept "$1")
echo "kept $(kept "$1" | wc -l) of the first, $(kept "$2" | wc -l) of the second"
[[ $newest != *$first* ]]
stat -c 'mode %a' "$1/var/lib/backups/etcd"/*.db
on "$1" env -i "$1/usr/local/bin/firelay-status" || :
etcdctl snapshot status "$2/var/lib/backups/etcd/$(kept "$2")" --write-out=json
# A machine that has not come up takes none, and says nothing.
rm "$3/var/lib/firelay/90-ready.done"
[ -z "$(backup "$3")" ]
# A clock that was set back does not cost the newest.
: >"$2/var/lib/backups/etcd/etcd-etcd2-29990101T000000Z.db"
: >"$2/var/lib/backups/etcd/etcd-etcd2-29990102T000000Z.db"
: >"$2/var/lib/backups/etcd/etcd-etcd2-x-29990102T000000Z.db"
backup "$2" >/dev/null
echo "after the clock: $(kept "$2" | tr '\n' ' ')"
"#,
    );
    assert!(text.contains("kept 2 of the first, 1 of the second"), "{text}");
    assert_eq!(text.matches("mode 600").count(), 2, "{text}");
    assert!(text.contains("etcd     20") && text.contains(": revision "), "{text}");
    assert!(text.contains("\"totalKey\":"), "{text}");
    let after = text.lines().find(|line| line.starts_with("after the clock: ")).unwrap();
    assert!(
        after.contains("etcd-etcd2-20") && after.contains("etcd-etcd2-x-29990102T000000Z.db"),
        "{after}"
    );
    assert!(after.contains("etcd-etcd2-29990102T000000Z.db"), "{after}");
}

#[test]
fn a_snapshot_that_fails_leaves_nothing_and_says_why() {
    let text = members(
        &BACKUP,
        r#"
backup "$1"
good=$(kept "$1")
for fault in byte short; do
  echo $fault >"$1/fault"
  refuses "the snapshot " backup "$1"
  [ "$(kept "$1")" = "$good" ] || { kept "$1"; exit 8; }
done
on "$1" env -i "$1/usr/local/bin/firelay-status" | grep '^etcd .*FAILED: the snapshot .*; newest: .*/etcd-etcd1-' || exit 8
# The power fails in the middle, and the lock ends by itself.
sed -i s/--ttl=60/--ttl=2/ "$1/usr/local/lib/firelay/etcd-backup"
echo power >"$1/fault"
! backup "$1" >/dev/null
kept "$1" | grep -q '^\.etcd-etcd1-.*\.part$' || { kept "$1"; exit 8; }
/bin/sleep 1.1
backup "$1"
[ "$(kept "$1" | wc -l)" = 2 ] || { kept "$1"; exit 8; }
[ -z "$(kept "$1" | grep '^\.')" ]
# A full disk.
mkdir -p "$2/var/lib/backups/etcd"
mount -t tmpfs -o size=16k none "$2/var/lib/backups/etcd"
refuses "no space left on device" backup "$2"
[ -z "$(kept "$2")" ] || { kept "$2"; exit 8; }
umount "$2/var/lib/backups/etcd"
# No quorum.
kill -9 "$(cat "$2/pid")" "$(cat "$3/pid")"
before=$(kept "$1")
sed -i s/command-timeout=30s/command-timeout=3s/ "$1/usr/local/lib/firelay/etcd-backup"
refuses "FAILED: " backup "$1"
[ "$(kept "$1")" = "$before" ]
cat "$1/var/lib/firelay/etcd-backup"
"#,
    );
    assert!(text.contains("FAILED: "), "{text}");
}

#[test]
fn two_of_three_members_are_lost_and_a_snapshot_brings_the_cluster_back() {
    let text = members(
        &BACKUP,
        r#"
put "$1" 1 animal fox
backup "$1"
snapshot=$1/var/lib/backups/etcd/$(kept "$1")
put "$1" 1 animal wolf
refuses "etcd answers with a quorum" recover "$1" "$snapshot" --yes
# Two are lost: one with its disk, one keeps its data.
kill -9 "$(cat "$2/pid")" "$(cat "$3/pid")"
rm -rf "$3/var/lib/etcd/member"
sed -i s/command-timeout=10s/command-timeout=3s/ "$1/usr/local/bin/firelay-recover" "$2/usr/local/bin/firelay-recover"
refuses "no other member has a quorum" recover "$2" --join --yes
refuses "founds etcd from the snapshot" recover "$1" "$snapshot"
refuses "is not a snapshot of etcd" recover "$1" /etc/passwd --yes
[ -d "$1/var/lib/etcd/member" ]
recover "$1" "$snapshot" --yes
echo "one $(list "$1")"
echo "animal $(get "$1" 1 animal)"
ls -d "$1"/var/lib/etcd/member.*
put "$1" 1 animal otter
refuses "let this member join it" recover "$2" "$snapshot" --yes
for root in "$2" "$3"; do
  touch "$root/var/lib/firelay/40-etcd.done"
  recover "$root" --join --yes
done
tries=0
until [ "$(list "$1" | grep -o clientURLs | wc -l)" = 3 ] && ! list "$1" | grep -q isLearner; do
  /bin/sleep 1
  ((++tries < 60)) || { list "$1"; cat "$2/said" "$3/said"; exit 8; }
done
echo "three $(list "$1")"
echo "and $(get "$3" 3 animal) on the third"
"#,
    );
    let members = listed(&text, "one ");
    assert!(members.len() == 1 && members[0]["name"] == "etcd1", "{members:?}");
    assert!(text.contains("animal fox\n"), "{text}");
    assert!(text.contains("/var/lib/etcd/member.20"), "{text}");
    assert_eq!(listed(&text, "three ").len(), 3);
    assert!(text.contains("and otter on the third"), "{text}");
}

/// A bucket at the bridge's address, and the metadata service of the first machine, which has a role.
const BUCKET: &str = r#"
ip link set lo up
ip address add 10.2.0.1/24 dev bridge
mkdir "$SHARED/bucket"
/usr/bin/python3 "$SERVER" 9000 "$SHARED/bucket" &
servers=($!)
on "$1" ip address add 169.254.169.254/32 dev lo
nsenter --net="/proc/${network[$1]}/ns/net" /usr/bin/python3 "$SERVER" 80 "$SHARED/bucket" &
servers+=($!)
trap 'kill "${servers[@]}"; end' EXIT
until curl -s -m 2 http://10.2.0.1:9000 >/dev/null; do /bin/sleep 0.2; done
"#;

/// Settings for that bucket.
fn bucket(more: &str) -> String {
    format!(
        "etcd.backup={{ keep: 2, to: 's3://backups/far', s3: {{ region: eu-test-1, endpoint: 'http://10.2.0.1:9000'{more} }} }}"
    )
}

/// Runs a text with three members that upload to a bucket.
fn uploading(settings: &[&str], text: &str) -> String {
    let server = support::root().join("tests/fixtures/s3.py");
    members(settings, &format!("SERVER={}{BUCKET}{text}", server.display()))
}

#[test]
fn members_upload_their_snapshots_to_a_bucket_and_recover_from_it() {
    let key = bucket(r#", accessKey: { id: AKIDUSER, secret: "user/secret+key='x" }"#);
    let text = uploading(
        &["--set", &key],
        r#"
put "$1" 1 animal fox
backup "$1"
name=$(ls "$SHARED/bucket")
cmp "$SHARED/bucket/$name" "$1/var/backups/etcd/$name"
stat -c 'mode %a' "$1/etc/firelay/etcd-backup.env"
put "$1" 1 animal wolf
# What the service says, and a snapshot that stays here.
sed -i s,/backups/far,/backups/near, "$2/usr/local/lib/firelay/s3"
refuses "404 NoSuchBucket" backup "$2"
[ "$(ls "$2/var/backups/etcd" | wc -l)" -ge 1 ]
sed -i s/secret/sacret/ "$3/etc/firelay/etcd-backup.env"
refuses "403 SignatureDoesNotMatch; newest: $3/var/backups/etcd/etcd-etcd3-" backup "$3"
# Two are lost with their disks, and so are the snapshots of the first.
kill -9 "$(cat "$2/pid")" "$(cat "$3/pid")"
rm -r "$1/var/backups/etcd"
sed -i s/command-timeout=10s/command-timeout=3s/ "$1/usr/local/bin/firelay-recover"
refuses "is not in s3://backups/far" recover "$1" "s3://backups/near/$name" --yes
refuses "404 NoSuchKey" recover "$1" s3://backups/far/etcd-etcd9-20260101T000000Z.db --yes
[ -z "$(ls "$1/var/backups/etcd")" ]
[ -d "$1/var/lib/etcd/member" ]
recover "$1" "s3://backups/far/$name" --yes
echo "animal $(get "$1" 1 animal)"
"#,
    );
    assert!(
        text.contains("s3://backups/far/etcd-etcd1-20") && text.contains("mode 600\n"),
        "{text}"
    );
    assert!(text.contains("animal fox\n"), "{text}");
}

#[test]
fn a_member_without_an_access_key_signs_as_its_role() {
    let text = uploading(
        &["--set", "platform=aws", "--set", &bucket("")],
        r#"
backup "$1"
ls "$SHARED/bucket"
# Secrets are no arguments of programs.
on "$1" strace -f -e trace=execve -s 4000 -o "$SHARED/trace" env -i "$1/usr/local/lib/firelay/s3" put "$1/var/backups/etcd"/*.db
grep -c execve "$SHARED/trace"
! grep -e rolerole -e session/token "$SHARED/trace"
"#,
    );
    assert!(text.contains("etcd-etcd1-20"), "{text}");
}

/// Certificates of each step of a rotation, by step and machine, and the programs that move three members from one to the next.
const ROTATE: &str = r#"
health() {
  local judge
  for judge; do
    for last in 1 2 3; do
      on "$judge" curl -fsS --cacert "$judge/etc/etcd/pki/ca.crt" --cert "$judge/etc/etcd/pki/healthcheck-client.crt" \
        --key "$judge/etc/etcd/pki/healthcheck-client.key" "https://10.2.0.3$last:2379/health" | grep -q '"health":"true"' || { echo "member $last is not well"; return 1; }
    done
  done
}
restart() {
  kill "$(cat "$1/pid")"
  while kill -0 "$(cat "$1/pid")" 2>/dev/null; do /bin/sleep 0.1; done
  mv "$1/pid" "$1/last"
  on "$1" env -i PATH="$PATH" bash -c "set -a; . $1/etc/etcd/etcd.env; echo \$\$ >$1/pid; exec etcd" >>"$1/log" 2>&1 </dev/null &
  until [ -s "$1/pid" ]; do /bin/sleep 0.1; done
}
# As the API servers of two steps: each reads what the other has written.
as_server() {
  on "$1" curl -fsS --cacert "$SHARED/$2/cp1/ca.crt" --cert "$SHARED/$2/cp1/client.crt" --key "$SHARED/$2/cp1/client.key" -d "$4" "https://10.2.0.3$3"
}
writes=0
quorum() {
  local last step value
  for step in "$1" "$2"; do
    for last in 1 2 3; do
      value=$(printf %s "$((++writes))" | base64)
      as_server "$3" "$step" "$last:2379/v3/kv/put" "{\"key\":\"Zm9v\",\"value\":\"$value\"}" >/dev/null
      as_server "$4" "$step" "$last:2379/v3/kv/range" '{"key":"Zm9v"}' | grep -q "\"$value\""
    done
  done
}
health "$@"
for step in 1 2 3; do
  number=0
  for root; do
    cp "$SHARED/$step/etcd$((++number))"/* "$root/etc/etcd/pki/"
    # Two of three are a quorum while one is away, when they have elected a leader.
    kill -STOP "$(cat "$root/pid")"
    others=("$@")
    unset "others[number - 1]"
    others=("${others[@]}")
    tries=0
    until put "${others[0]}" "$((number % 3 + 1))" step "$step" 2>/dev/null; do
      /bin/sleep 0.2
      ((++tries < 100)) || exit 7
    done
    kill -CONT "$(cat "$root/pid")"
    restart "$root"
    tries=0
    until health "$@" >/dev/null 2>&1; do
      /bin/sleep 0.2
      ((++tries < 150)) || { health "$@"; exit 8; }
    done
    kill -0 "$(cat "$root/pid")"
    quorum "$((step - 1))" "$step" "$root" "${others[0]}"
    echo "step $step etcd$number: all are well"
  done
done
# The trust ended: the first certificates are refused.
! as_server "$1" 0 1:2379/v3/kv/range '{"key":"Zm9v"}' 2>/dev/null
"#;

/// Members change one at a time, and both they and API servers of neighbouring steps talk to each other.
#[test]
fn members_stay_a_quorum_while_their_ca_rotates() {
    let directory = tempfile::tempdir().unwrap();
    let shared = directory.path();
    let machines = machines("external-etcd", &["etcd1", "etcd2", "etcd3"], &[], shared);
    let run = |arguments: &[&str]| {
        let mut firelay = Command::new(env!("CARGO_BIN_EXE_firelay"));
        firelay.args(arguments).arg(example("external-etcd").spec);
        firelay.arg("--secrets").arg(shared.join("bundle.secrets.yaml"));
        firelay.arg("--out").arg(shared.join("out"));
        support::succeed(&mut firelay, "firelay");
    };
    for step in 0..=3_usize {
        let flag = [&[][..], &["--new-key-trusted"], &["--old-key-unused"]][step.saturating_sub(1)];
        if step == 0 {
            run(&["render", "--founded"]);
        } else {
            run(&[&["secrets", "rotate", "ca"], flag].concat());
            run(&["update"]);
            run(&["update", "--done"]);
        }
        let nodes = read_tree(&shared.join("out"));
        let server = [
            ("etcd/ca.crt", "ca.crt"),
            ("apiserver-etcd-client.crt", "client.crt"),
            ("apiserver-etcd-client.key", "client.key"),
        ];
        for (node, files) in &nodes {
            let folder = shared.join(step.to_string()).join(node);
            std::fs::create_dir_all(&folder).unwrap();
            for (path, (_, text)) in files {
                let member = path.strip_prefix("/etc/firelay/etcd/");
                let own = server
                    .iter()
                    .find(|(from, _)| path.strip_prefix("/etc/firelay/pki/") == Some(from));
                if let Some(name) = member.or(own.map(|(_, to)| *to)) {
                    std::fs::write(folder.join(name), text).unwrap();
                }
            }
        }
    }
    let text = inside(&machines, shared, &format!("{NETWORK}{SNAPSHOTS}{ROTATE}"));
    assert_eq!(text.matches(": all are well").count(), 9, "{text}");
}

/// A restart takes three seconds, in which the member is away.
const RESTART: &str = r#"
[ "$*" = 'restart --no-block etcd.service' ] || exit 0
{
  echo "away ROOT" >>SHARED/restarts
  kill "$(cat ROOT/pid)"
  /bin/sleep 3
  set -a
  . ROOT/etc/firelay/node.env
  . ROOT/etc/etcd/etcd.env
  setsid etcd >>ROOT/log 2>&1 </dev/null &
  echo $! >ROOT/pid
  until curl -fsS --cacert ROOT/etc/etcd/pki/ca.crt --cert ROOT/etc/etcd/pki/healthcheck-client.crt \
    --key ROOT/etc/etcd/pki/healthcheck-client.key "https://$FL_URL_ADDRESS:2379/health" >/dev/null 2>&1; do
    /bin/sleep 0.1
  done
  echo "back ROOT" >>SHARED/restarts
} >/dev/null 2>&1 &
"#;

/// Members that get their updates at the same moment.
const UPDATES: &str = r#"
for root; do mv "$root/usr/local/bin/systemctl-restart" "$root/usr/local/bin/systemctl"; done
put "$1" 1 animal fox
update() { on "$1" env -i STEP=update-etcd bash "$1/var/lib/firelay/update/steps/60-etcd" 2>&1; }
jobs=()
for root in "$2" "$1" "$3"; do update "$root" & jobs+=($!); done
for job in "${jobs[@]}"; do wait "$job"; done
# Never two away.
[ "$(cut -d ' ' -f 1 <"$SHARED/restarts" | tr '\n' ' ')" = "away back away back away back " ] || { cat "$SHARED/restarts"; exit 8; }
[ "$(cut -d ' ' -f 2 <"$SHARED/restarts" | sort -u | wc -l)" = 3 ]
for root; do etcdctl snapshot status "$root/var/lib/firelay/previous/etcd-snapshot.db" >/dev/null; done
echo "value $(get "$3" 3 animal)"
# After a power cut in the middle, a member that is away needs no lock of a cluster that it does not reach.
rm "$1/var/lib/firelay/update/60-etcd.done"
kill -9 "$(cat "$1/pid")"
update "$1"
echo "again $(get "$1" 1 animal)"
# Without etcdctl nothing begins.
rm "$2/var/lib/firelay/update/60-etcd.done"
sed -i 's/^command -v etcdctl/command -v absent/; s/^  command -v etcdctl/  command -v absent/' "$2/var/lib/firelay/update/steps/60-etcd"
refuses "etcdctl is not on this machine" update "$2"
"#;

/// Two members that begin at the same moment both find all others well: a lock in the cluster lets one go first.
#[test]
fn members_that_are_updated_at_once_take_turns() {
    let directory = tempfile::tempdir().unwrap();
    let shared = directory.path();
    let old = ["--set", "etcd.version=3.6.13"];
    let names = ["etcd1", "etcd2", "etcd3"];
    let machines = machines("external-etcd", &names, &old, shared);
    let run = |arguments: &[&str]| {
        let mut firelay = Command::new(env!("CARGO_BIN_EXE_firelay"));
        firelay.args(arguments).arg(example("external-etcd").spec);
        firelay.arg("--secrets").arg(shared.join("bundle.secrets.yaml"));
        firelay.arg("--out").arg(shared.join("out"));
        support::succeed(&mut firelay, "firelay");
    };
    run(&[&["render", "--founded"], &old[..]].concat());
    run(&["update"]);
    for (name, machine) in names.iter().zip(&machines) {
        let payload = shared.join(name);
        std::fs::create_dir(&payload).unwrap();
        let script = shared.join(format!("out/update/1/{name}.sh"));
        let mut unpack = Command::new("bash");
        let text = "sed -n \"/<<'PAYLOAD'/,/^PAYLOAD\\$/p\" \"$0\" | sed '1d;$d' | base64 -d | tar -xz -C \"$1\"";
        support::succeed(unpack.args(["-c", text]).arg(&script).arg(&payload), "bash");
        for file in ["lib.sh", "steps/60-etcd"] {
            let text = std::fs::read_to_string(payload.join(file)).unwrap();
            machine.write(&format!("/var/lib/firelay/update/{file}"), 0o755, &machine.moved(&text));
        }
        for file in ["files/list", "shortened", "etcd.list", "artifacts"] {
            machine.write(&format!("/var/lib/firelay/update/{file}"), 0o644, "");
        }
        machine.write("/var/lib/firelay/previous/id", 0o644, "");
        let root = machine.root().to_str().unwrap();
        let restart = RESTART.replace("SHARED", shared.to_str().unwrap());
        machine.stand_in("systemctl-restart", &restart.replace("ROOT", root));
    }
    let text = inside(&machines, shared, &format!("{NETWORK}{SNAPSHOTS}{UPDATES}"));
    assert!(text.contains("value fox") && text.contains("again fox"), "{text}");
    let waited = "state=waiting on=\"the updates of other members of etcd\"";
    assert_eq!(text.matches(waited).count(), 3, "{text}");
}

/// The renewal of a member, and the state of its certificates. `cut` holds the number of programs before the power fails.
const RENEW: &str = r#"
pki() { echo "$1/etc/etcd/pki"; }
renewal() { on "$1" setsid --wait env -i "$1/etc/firelay/etcd-renewal.sh" 2>&1; }
serial() { openssl x509 -in "$(pki "$1")/$2.crt" -noout -serial; }
identity() { openssl x509 -in "$(pki "$1")/$2.crt" -noout -pubkey -subject -issuer -ext subjectAltName,keyUsage,extendedKeyUsage,basicConstraints,authorityKeyIdentifier 2>/dev/null; }
shown() {
  on "$1" openssl s_client -connect "10.2.0.3$2:2379" -cert "$(pki "$1")/healthcheck-client.crt" -key "$(pki "$1")/healthcheck-client.key" \
    </dev/null 2>/dev/null | openssl x509 -noout -serial
}
# Each certificate is whole, of its CA, and of the key beside it.
whole() {
  local name
  for name in server peer healthcheck-client; do
    openssl verify -CAfile "$(pki "$1")/ca.crt" "$(pki "$1")/$name.crt" >/dev/null
    cmp <(openssl x509 -in "$(pki "$1")/$name.crt" -noout -pubkey) <(openssl pkey -in "$(pki "$1")/$name.key" -pubout)
    [ "$(stat -c %a "$(pki "$1")/$name.crt")" = 644 ]
  done
  # The boot chain takes an empty one for a broken one.
  for name in "$(pki "$1")"/*; do [ -s "$name" ]; done
}
well() {
  local last
  for last in 1 2 3; do
    on "$1" curl -fsS --cacert "$(pki "$1")/ca.crt" --cert "$(pki "$1")/healthcheck-client.crt" --key "$(pki "$1")/healthcheck-client.key" \
      "https://10.2.0.3$last:2379/health" | grep -q '"health":"true"'
  done
}
for name in openssl cp sync mv; do
  printf '#!/bin/bash\n[ ! -e ROOT/cut ] || { n=$(($(<ROOT/cut) - 1)); echo $n >ROOT/cut; ((n > 0)) || kill -9 -- "-$(ps -o pgid= $$ | tr -d " ")"; }\nexec /usr/bin/%s "$@"\n' \
    "$name" | sed "s|ROOT|$1|g" >"$1/usr/local/bin/$name"
  chmod 0755 "$1/usr/local/bin/$name"
done
put "$1" 1 animal fox
# A power cut before every program of the first certificate, and of the beginning of the next.
cuts=0
for ((n = 1; n <= 16; n++)); do
  before=$(for name in server peer healthcheck-client; do serial "$1" $name; done)
  echo "$n" >"$1/cut"
  renewal "$1" >/dev/null && exit 6
  rm "$1/cut"
  whole "$1"
  [ "$before" = "$(for name in server peer healthcheck-client; do serial "$1" $name; done)" ] || cuts=$((cuts + 1))
done
well "$1"
echo "changed by $cuts runs that were cut"
number=0
for root; do
  number=$((number + 1))
  pid=$(cat "$root/pid")
  for name in server peer healthcheck-client; do
    identity "$root" $name >"$root/$name.before"
    serial "$root" $name >"$root/$name.serial"
  done
  /bin/sleep 1.1
  renewal "$root"
  for name in server peer healthcheck-client; do
    identity "$root" $name | cmp - "$root/$name.before"
    ! serial "$root" $name | cmp -s - "$root/$name.serial"
  done
  whole "$root"
  # The running process shows the new one, and stays the same.
  [ "$(shown "$root" $number)" = "$(serial "$root" server)" ]
  [ "$(cat "$root/pid")" = "$pid" ] && kill -0 "$pid"
  for judge; do well "$judge"; done
done
# New connections between members are of the new certificates: one that starts again takes its place.
kill -9 "$(cat "$2/pid")"
new=$(serial "$2" server)
step "$2"
[ "$(serial "$2" server)" = "$new" ]
well "$2"
echo "value $(get "$2" 2 animal)"
# What the CA did not sign, or a key that is another, is not put in place.
cp "$(pki "$3")/server.key" "$3/kept.key"
cp "$(pki "$3")/peer.key" "$(pki "$3")/server.key"
before=$(serial "$3" server)
/bin/sleep 1.1
refuses "server.crt stays as it is" renewal "$3"
cp "$3/kept.key" "$(pki "$3")/server.key"
cp "$(pki "$3")/ca.key" "$3/ca.kept"
openssl ecparam -name secp384r1 -genkey -noout -out "$(pki "$3")/ca.key"
refuses "server.crt stays as it is" renewal "$3"
cp "$3/ca.kept" "$(pki "$3")/ca.key"
[ "$(serial "$3" server)" = "$before" ]
renewal "$3"
[ "$(serial "$3" server)" != "$before" ]
# What holds to the next look and longer stays.
sed -i 's/^days=.*/days=0/; s/^calendar=.*/calendar=minutely/' "$3/etc/firelay/etcd-renewal.sh"
before=$(serial "$3" server)
renewal "$3"
[ "$(serial "$3" server)" = "$before" ]
"#;

/// Members of etcd renew their certificates with the key of their CA. None restarts, and a power cut leaves whole pairs.
#[test]
fn members_renew_their_certificates_while_they_run() {
    let settings = [
        "--set",
        "addons.certificateRenewal={ etcd: true, calendar: daily }",
        "--set",
        "pki.leafValidity=48h",
    ];
    let text = members(&settings, RENEW);
    assert!(text.contains("value fox"), "{text}");
    assert!(!text.contains("changed by 0 runs"), "{text}");
    assert_eq!(text.matches("etcd-renewal: renewed").count(), 12, "{text}");
}

/// A kubelet that knows one static pod, a container runtime that tells of it, and an API server that is ready when its etcd is.
const KUBELET: &str = r#"
set -eu
root=$1 K=$1/etc/kubernetes
ip link set lo up
ip address add 10.0.0.11/24 dev lo
mkdir -p $K/manifests "$root/var/lib/firelay"
cp -r $1/etc/firelay/pki $K/
: >"$1/var/lib/firelay/90-ready.done"
kubelet() {
  local etcd=
  while [ -d "$root" ]; do
    if [ ! -e $K/manifests/etcd.yaml ]; then
      [ -z "$etcd" ] || kill "$etcd" 2>/dev/null || :
      etcd=
      rm -f "$root/pid"
    elif [ -z "$etcd" ]; then
      etcd --name cp1 --data-dir "$root/var/lib/etcd" --initial-cluster cp1=https://10.0.0.11:2380 \
        --listen-client-urls https://127.0.0.1:2379,https://10.0.0.11:2379 --advertise-client-urls https://10.0.0.11:2379 \
        --listen-peer-urls https://10.0.0.11:2380 --initial-advertise-peer-urls https://10.0.0.11:2380 \
        --client-cert-auth --trusted-ca-file $K/pki/etcd/ca.crt --cert-file $K/pki/etcd/server.crt --key-file $K/pki/etcd/server.key \
        --peer-client-cert-auth --peer-trusted-ca-file $K/pki/etcd/ca.crt --peer-cert-file $K/pki/etcd/peer.crt \
        --peer-key-file $K/pki/etcd/peer.key >>"$root/log" 2>&1 &
      etcd=$!
      echo "$etcd" >"$root/pid"
    fi
    /bin/sleep 0.2
  done
}
kubelet &
kubelet=$!
trap 'kill $kubelet; kill -9 "$(cat "$root/pid")" || :' EXIT
etcdctl() {
  ETCDCTL_ENDPOINTS=https://127.0.0.1:2379 ETCDCTL_CACERT=$K/pki/etcd/ca.crt ETCDCTL_CERT=$K/pki/etcd/healthcheck-client.crt \
    ETCDCTL_KEY=$K/pki/etcd/healthcheck-client.key /usr/bin/etcdctl "$@"
}
recover() { env -i "$root/usr/local/bin/firelay-recover" "$@" 2>&1; }
echo pod >$K/manifests/kube-apiserver.yaml
echo pod >$K/manifests/etcd.yaml
until etcdctl endpoint health >/dev/null 2>&1; do /bin/sleep 0.5; done
etcdctl put animal fox
env -i "$root/usr/local/lib/firelay/etcd-backup"
snapshot=$(echo "$root"/var/lib/backups/etcd/*.db)
etcdctl put animal wolf
! said=$(recover "$snapshot" --yes)
[[ $said == *"etcd answers with a quorum"* ]]
# A second member that never starts.
etcdctl member add ghost --peer-urls=https://10.0.0.12:2380
sed -i s/command-timeout=10s/command-timeout=3s/ "$root/usr/local/bin/firelay-recover"
touch "$root/elsewhere"
! said=$(recover "$snapshot" --yes)
[[ $said == *"an API server is ready at "* ]] || { echo "$said"; exit 8; }
rm "$root/elsewhere"
recover "$snapshot" --yes
etcdctl get animal
etcdctl member list
ls $K/manifests
[ ! -e "$root/var/lib/firelay/recover" ]
# Back to the snapshot although etcd is healthy: somebody has to stop it.
etcdctl put animal otter
mkdir -p "$root/var/lib/firelay/recover"
mv $K/manifests/{etcd,kube-apiserver}.yaml "$root/var/lib/firelay/recover/"
recover "$snapshot" --yes
echo "again $(etcdctl get animal --print-value-only)"
# The power fails when etcd is back and the API server is not.
mkdir "$root/var/lib/firelay/recover"
cp $K/manifests/etcd.yaml "$root/var/lib/firelay/recover/"
mv $K/manifests/kube-apiserver.yaml "$root/var/lib/firelay/recover/"
recover "$snapshot" --yes
[ ! -e "$root/var/lib/firelay/recover" ]
[ -e $K/manifests/kube-apiserver.yaml ]
"#;

#[test]
fn a_control_plane_founds_its_stacked_etcd_from_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let settings = [
        &BACKUP[..],
        &["--set", "platform=openstack", "--set", "pki.caKeys=signer"],
    ]
    .concat();
    let machines = machines("ha-ubuntu", &["cp1"], &settings, directory.path());
    let root = machines[0].root().to_str().unwrap();
    machines[0].program("crictl", &format!("#!/bin/bash\n[ ! -e {root}/pid ] || echo etcd\n"));
    let curl = "#!/bin/bash\n[ ! -e ROOT/elsewhere ] || exit 0\n[ -e ROOT/etc/kubernetes/manifests/kube-apiserver.yaml ] || exit 7\n\
        exec /usr/bin/etcdctl endpoint health --command-timeout=2s\n";
    machines[0].program("curl", &curl.replace("ROOT", root));
    let text = inside(&machines, directory.path(), KUBELET);
    let (_, after) = text.split_once("state=ready").unwrap();
    assert!(after.contains("animal\nfox\n"), "{text}");
    assert!(
        after.contains("started, cp1, https://10.0.0.11:2380") && !after.contains("ghost"),
        "{text}"
    );
    assert!(after.contains("etcd.yaml\nkube-apiserver.yaml\n"), "{text}");
    assert!(
        after.contains("firelay-reset --yes") && after.contains("again fox"),
        "{text}"
    );
}

#[test]
fn shellcheck_and_systemd_take_what_snapshots_need() {
    let stacked = [&BACKUP[..], &["--set", "platform=openstack"]].concat();
    let [key, role] = [", accessKey: { id: x, secret: y }", ""].map(bucket);
    let keyed = ["--set", "platform=openstack", "--set", &key];
    let as_role = [
        "--set",
        "platform=aws",
        "--set",
        &role,
        "--set",
        "proxy={ https: 'http://10.2.0.2:3128' }",
    ];
    for (example_name, name, settings) in [
        ("external-etcd", "etcd1", &BACKUP[..]),
        ("ha-ubuntu", "cp2", &stacked),
        ("ha-ubuntu", "cp2", &keyed),
        ("external-etcd", "etcd1", &as_role),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let machine = machines(example_name, &[name], settings, directory.path()).remove(0);
        let mut shellcheck = Command::new("shellcheck");
        shellcheck.args(["--shell", "bash", "--exclude", "SC1091"]);
        let mut scripts = vec!["/usr/local/lib/firelay/etcd-backup", "/usr/local/bin/firelay-recover"];
        scripts.extend(Some("/usr/local/lib/firelay/s3").filter(|path| machine.at(path).exists()));
        assert_eq!(
            support::succeed(
                shellcheck.args(scripts.iter().map(|path| machine.at(path))),
                "shellcheck"
            ),
            ""
        );
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no"]);
        let units = ["firelay-etcd-backup.service", "firelay-etcd-backup.timer"];
        let units = units.map(|unit| machine.at(&format!("/etc/systemd/system/{unit}")));
        let output = support::output(verify.args(units), "systemd");
        assert!(
            output.status.success() && !said(&output).contains("firelay"),
            "{}",
            said(&output)
        );
    }
}
