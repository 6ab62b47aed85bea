//! The scripts of `firelay update`, run on machines that are directories: killed at every sync, started again as systemd does,
//! and compared with machines that were born from the new document.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::artifacts::sha256;
use super::support::machine::{Machine, succeeded};
use super::support::{self, Files, example, firelay, output, read_tree, said};

const STATE: &str = "/var/lib/firelay";
const OLD: &str = "kubernetes.version=1.36.3";

/// A cluster of ha-ubuntu that was founded with one patch release and is updated to the next.
struct Cluster {
    old: BTreeMap<String, Files>,
    new: BTreeMap<String, Files>,
    directory: tempfile::TempDir,
}

impl Cluster {
    fn updated(before: &[&str], after: &[&str]) -> Self {
        Self::of("ha-ubuntu", before, after)
    }

    fn of(name: &str, before: &[&str], after: &[&str]) -> Self {
        let render = [&["render", "--founded"], before].concat();
        Self::by(name, &[&render], &[&[&["update"], after].concat()])
    }

    /// A cluster before and after the last of the steps of a rotation.
    fn rotated(name: &str, set: &[&str], keys: &str, steps: usize) -> Self {
        let rotate = [&["secrets", "rotate", keys], set].concat();
        let step = |number| match (keys, number) {
            (_, 3) => [&rotate[..], &["--old-key-unused"]].concat(),
            ("ca", 2) => [&rotate[..], &["--new-key-trusted"]].concat(),
            _ => rotate.clone(),
        };
        let taken: Vec<_> = (1..=steps).map(step).collect();
        let (render, update) = ([&["render", "--founded"], set].concat(), [&["update"], set].concat());
        let mut before = vec![&render[..]];
        for step in &taken[..steps - 1] {
            before.extend([&step[..], &update, &["update", "--done"]]);
        }
        Self::by(name, &before, &[&taken[steps - 1], &update])
    }

    fn by(name: &str, before: &[&[&str]], after: &[&[&str]]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let own = example(name);
        fs::copy(&own.spec, at("cluster.yaml")).unwrap();
        fs::copy(&own.bundle, at("firelay.secrets.yaml")).unwrap();
        fs::set_permissions(at("firelay.secrets.yaml"), PermissionsExt::from_mode(0o600)).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = firelay(arguments);
            succeeded(&output(command.current_dir(directory.path()), "firelay"));
        };
        before.iter().for_each(|arguments| run(arguments));
        let old = read_tree(&at("out"));
        after.iter().for_each(|arguments| run(arguments));
        let new = read_tree(&at("out"));
        Self { old, new, directory }
    }

    fn script(&self, node: &str) -> String {
        self.script_file(&format!("{node}.sh"))
    }

    fn script_file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join("out/update/1").join(name)).unwrap()
    }
}

/// One machine of the cluster, and what translates texts for it.
struct Updated<'c> {
    machine: Machine,
    node: &'c str,
    cluster: &'c Cluster,
}

/// The programs that machines fetch: they write their calls down. kubeadm renews a key, then its certificate, and writes a manifest; it stops
/// where these two differ, as no API server would start. kubectl tells of control planes that are ready.
fn program(root: &str, name: &str, url: &str) -> String {
    let rest = match name {
        "kubeadm" => {
            format!(
                "case $* in\n*upload-config*) cp \"${{*: -1}}\" {root}/uploaded ;;\n\
                 *'etcd local'*) cp \"${{*: -1}}\" {root}/local; echo new >>{root}/etc/kubernetes/manifests/etcd.yaml ;;\nesac\n\
                 [ \"$1\" = upgrade ] && cd {root}/etc/kubernetes || exit 0\n\
                 [ ! -e {root}/var/lib/kubelet/config.yaml ] || echo '# new' >>{root}/var/lib/kubelet/config.yaml\n\
                 [ -e manifests/kube-apiserver.yaml ] || exit 0\n\
                 cmp pki/etcd/healthcheck-client.key pki/etcd/healthcheck-client.crt || exit 1\n\
                 echo '# {url}' >pki/etcd/healthcheck-client.key\nsync\necho '# {url}' >pki/etcd/healthcheck-client.crt\n\
                 echo '# {url}' >manifests/kube-apiserver.yaml"
            )
        }
        "etcdctl" => format!(
            "case $* in\nlock*) exec flock {root}/etcd-turn \"${{@:4}}\" ;;\n'snapshot save'*) echo snapshot >\"${{*: -1}}\" ;;\nesac"
        ),
        "kubectl" => format!(
            "case $* in *'get configmap kubeadm-config'*) printf 'kind: ClusterConfiguration\\nkubernetesVersion: v1.36.4\\n' ;; *'get configmap cluster-info'*) cat {root}/cluster-info ;; *'patch configmap'*) cp \"${{*: -1}}\" {root}/patched ;; *annotate*) echo \"${{*: -1}}\" >{root}/annotation ;; *) printf 'cp1 True\\ncp2 True\\ncp3 True\\n' ;; esac"
        ),
        _ => String::new(),
    };
    format!("#!/bin/bash\n# {url}\necho \"{name} $*\" >>{root}/calls\n{rest}\n")
}

/// etcd's archive, with its programs.
fn archive(root: &str, url: &str, members: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    for member in members {
        let path = directory.path().join(member);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, program(root, path.file_name().unwrap().to_str().unwrap(), url)).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut tar = Command::new("tar");
    let fixed = [
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "-I",
        "gzip -n",
        "-c",
        "-C",
    ];
    output(tar.args(fixed).arg(directory.path()).arg("."), "tar").stdout
}

/// An API server as `curl` sees it, and the place of downloads.
const CURL: &str = r#"#!/bin/bash
url=${*: -1} file= method=GET body= certificate=
while (($#)); do
  case $1 in
  -E) certificate=$2 ;;
  -o) file=$2 ;;
  -X) method=$2 ;;
  -d) [ "$2" = pretty=true ] || { body=$2; [ "$method" != GET ] || method=POST; } ;;
  esac
  shift
done
tell() { if [ -n "$file" ]; then cat >"$file"; else cat; fi; }
case $url in
*/nodes/*)
  if [ "$method" = PATCH ]; then
    echo "node $body" >>ROOT/calls
    case $body in
    *'"unschedulable":true'*) : >ROOT/cordoned ;;
    *'"unschedulable":null'*) rm -f ROOT/cordoned ;;
    esac
  else
    echo '{"spec": {'
    [ ! -e ROOT/cordoned ] || echo '"unschedulable": true'
    echo '}, "status": {"conditions": [{"type": "Ready", "status": "True", "message": "x"}],'
    echo '"nodeInfo": {"kubeletVersion": "v1.36.4"}}}'
  fi ;;
*/eviction) echo "evict ${url#*/api/v1/}" >>ROOT/calls; : >ROOT/evicted; printf 201 ;;
*/api/v1/pods) [ -e ROOT/evicted ] && cat ROOT/pods-after || cat ROOT/pods ;;
*/configmaps/kubeadm-config)
  printf '%s\n' '"data": {"ClusterConfiguration": "a: b\nkubernetesVersion: v1.36.4\n"}'
  [ ! -e ROOT/annotation ] || echo "\"annotations\": {\"$(sed 's/=/": "/' ROOT/annotation)\"}" ;;
*/configmaps/cluster-info | */readyz) : | tell ;;
*/version) echo '"gitVersion": "v1.36.4"' ;;
*/leases*) openssl x509 -noout -checkend 0 -in "$certificate" >/dev/null || { printf '{"reason": "Unauthorized"}\n401' && exit; } ;;&
*/leases) echo "lease $method" >>ROOT/calls; printf '{}\n201' ;;
*/leases/*) printf '{"resourceVersion": "1", "holderIdentity": "NODE", "renewTime": "x"}\n200' ;;
https://192.0.2.1:*) echo "a member that is gone" >&2; exit 7 ;;
*/v3/cluster/member/list)
  echo '{"members": [{"ID": "1", "name": "NODE", "peerURLs": ["https://10.2.0.31:2380"], "clientURLs": ["https://10.2.0.31:2379"]}]}' ;;
*/health) echo "health $url" >>ROOT/calls; echo '{"health": "true"}' ;;
*/bin/* | */download/*) cat "ROOT/served/${url//\//_}" | tell ;;
*) echo "no such URL: $url" >&2; exit 22 ;;
esac
"#;

/// systemd as scripts see it, with its codes: 5 for a unit that is not there, 3 for one that is not active. Units are those of the document
/// and those of the system, of which some are active. `/enabled/` has those that start at each boot.
const SYSTEMCTL: &str = r#"
unit=${*: -1}
[[ $unit == *.* ]] || unit+=.service
there() { [ -e "ROOT/etc/systemd/system/$unit" ] || grep -qxF "$unit" ROOT/system-units; }
active() { grep -qxF "$unit" ROOT/active-units || { [ -e "ROOT/etc/systemd/system/$unit" ] && [[ $unit != *.timer || -e ROOT/active/$unit ]]; }; }
mkdir -p ROOT/enabled ROOT/active
case $* in
'start --no-block firelay-update.service')
  PATH=ROOT/usr/local/bin:/usr/bin:/bin setsid --wait bash ROOTSTATE/update/driver >>ROOT/journal 2>&1 ;;
*is-active*) active || exit 3 ;;
cat*) there || { echo "No files found for $unit." >&2; exit 1; } ;;
enable*) there || { echo "Failed to enable unit: Unit file $unit does not exist." >&2; exit 1; }; : >"ROOT/enabled/$unit" ;;
disable*)
  rm -f "ROOT/enabled/$unit" "ROOT/active/$unit"
  there || { echo "Failed to disable unit: Unit file $unit does not exist." >&2; exit 1; } ;;
*restart* | start* | reload*)
  there || { echo "Failed to restart $unit: Unit $unit not found." >&2; exit 5; }
  [[ $* == try-* ]] || : >"ROOT/active/$unit" ;;
esac
exit 0
"#;
/// Units of Ubuntu; all of them run.
const SYSTEM_UNITS: &str = "systemd-modules-load.service\nsystemd-networkd.service\nsystemd-resolved.service\nsystemd-sysctl.service\n\
                            systemd-timesyncd.service\n";

/// Pods of a machine as the API server lists them: one of a Deployment, one of a DaemonSet, a mirror, and one that has ended.
fn pods(with_deployment: bool) -> String {
    let pod = |name: &str, owner: &str, annotation: &str, phase: &str| {
        let owners = match owner {
            "" => String::new(),
            kind => format!(
                "        \"ownerReferences\": [\n          {{\n            \"kind\": \"{kind}\",\n            \"name\": \"own\"\n          }}\n        ],\n"
            ),
        };
        let annotations = match annotation {
            "" => String::new(),
            name => format!("        \"annotations\": {{\n          \"{name}\": \"x\"\n        }},\n"),
        };
        format!(
            "    {{\n      \"metadata\": {{\n        \"name\": \"{name}\",\n        \"namespace\": \"apps\",\n{annotations}{owners}        \
             \"uid\": \"1\"\n      }},\n      \"spec\": {{\n        \"volumes\": [\n          {{\n            \"name\": \"data\"\n          }}\n        ]\n      }},\n      \
             \"status\": {{\n        \"phase\": \"{phase}\"\n      }}\n    }}"
        )
    };
    let mut all = vec![
        pod("ds", "DaemonSet", "", "Running"),
        pod("static", "Node", "kubernetes.io/config.mirror", "Running"),
        pod("over", "Job", "", "Succeeded"),
    ];
    if with_deployment {
        all.push(pod("web", "ReplicaSet", "", "Running"));
    }
    format!(
        "{{\n  \"kind\": \"PodList\",\n  \"items\": [\n{}\n  ]\n}}\n",
        all.join(",\n")
    )
}

impl<'c> Updated<'c> {
    /// A machine that has finished its first boot with this document.
    fn born(cluster: &'c Cluster, node: &'c str, files: &Files) -> Self {
        let machine = Machine::with(&BTreeMap::new(), "http://");
        let own = Self { machine, node, cluster };
        for (path, (mode, content)) in files {
            own.machine.write(path, *mode, &own.translated(content));
        }
        own.finish_first_boot(files);
        own.lay(files);
        own
    }

    /// Keys and certificates where the first boot puts them.
    fn lay(&self, files: &Files) {
        let machine = &self.machine;
        let places = [
            ("/etc/firelay/pki/", "/etc/kubernetes/pki/"),
            ("/etc/firelay/kubelet/kubelet.", "/var/lib/kubelet/pki/kubelet."),
            (
                "/etc/firelay/kubelet/client.pem",
                "/var/lib/kubelet/pki/kubelet-client-firelay.pem",
            ),
            ("/etc/firelay/etcd/", "/etc/etcd/pki/"),
        ];
        for (path, (mode, content)) in files {
            let place = places
                .iter()
                .find_map(|(from, to)| Some(format!("{to}{}", path.strip_prefix(from)?)));
            if let Some(place) = place {
                machine.write(&place, *mode, content);
            }
        }
        let client = machine.at("/var/lib/kubelet/pki/kubelet-client-firelay.pem");
        if client.exists() {
            let current = client.with_file_name("kubelet-client-current.pem");
            std::os::unix::fs::symlink(client, current).unwrap();
        }
        if files.contains_key("/etc/firelay/kubeconfig/admin.crt") {
            let step = files.keys().find(|path| path.ends_with("/steps/50-join")).unwrap();
            let (step, lib) = (machine.at(step), machine.at(&step.replace("steps/50-join", "lib.sh")));
            let text = format!(
                ". {}\neval \"$(sed -n '/^K=/p;/^kubeconfig() {{/,/^}}/p' {})\"\n\
                 kubeconfig admin kubernetes-admin \"$FL_ENDPOINT\"\n\
                 kubeconfig controller-manager system:kube-controller-manager \"$FL_URL_ADDRESS:6443\"\n\
                 kubeconfig scheduler system:kube-scheduler \"$FL_URL_ADDRESS:6443\"\n\
                 cp $K/admin.conf {}\n",
                lib.display(),
                step.display(),
                machine.at("/etc/firelay/kubeconfig/").display()
            );
            let mut bash = Command::new("bash");
            bash.args(["-c", &text])
                .env_clear()
                .env("PATH", self.path())
                .env("STEP", "lay");
            succeeded(&output(&mut bash, "bash"));
        }
    }

    fn finish_first_boot(&self, files: &Files) {
        let (machine, root) = (&self.machine, self.root());
        machine.write(&format!("{STATE}/complete"), 0o644, "");
        machine.write(&format!("{STATE}/laid"), 0o644, "");
        for path in files.keys().filter(|path| path.contains("/steps/")) {
            let name = path.rsplit('/').next().unwrap();
            machine.write(&format!("{STATE}/{name}.done"), 0o644, "");
        }
        for line in files["/etc/firelay/artifacts"].1.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let (name, url) = (words[0], words[3].replace("https://", "http://"));
            machine.write(&format!("{STATE}/{name}-{}", self.sum(&words)), 0o644, "");
            if words[2] == "binary" || name == "etcd" {
                for member in &words[5..] {
                    let member = member.rsplit('/').next().unwrap();
                    machine.write(&format!("{}/{member}", words[4]), 0o755, &program(&root, member, &url));
                }
            }
        }
        if !files.contains_key("/etc/firelay/kubeadm/join.yaml") {
            return;
        }
        let kubeadm = files["/etc/firelay/artifacts"]
            .1
            .lines()
            .find(|line| line.starts_with("kubeadm "))
            .unwrap();
        let url = kubeadm.split(' ').nth(3).unwrap().replace("https://", "http://");
        if files["/etc/firelay/kubeadm/join.yaml"].1.contains("controlPlane:") {
            for path in [
                "manifests/kube-apiserver.yaml",
                "pki/etcd/healthcheck-client.key",
                "pki/etcd/healthcheck-client.crt",
            ] {
                machine.write(&format!("/etc/kubernetes/{path}"), 0o600, &format!("# {url}\n"));
            }
        }
        let flags = flags(&files["/etc/firelay/kubeadm/join.yaml"].1);
        machine.write(
            "/var/lib/kubelet/kubeadm-flags.env",
            0o644,
            &format!("KUBELET_KUBEADM_ARGS=\"--a=b{flags}\"\n"),
        );
    }

    /// With the programs that an update calls; those of the document would be found before any other.
    fn ready_for_update(self) -> Self {
        let (machine, root) = (&self.machine, self.root());
        for line in self.cluster.new[self.node]["/etc/firelay/artifacts"].1.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let url = words[3].replace("https://", "http://");
            let served = machine.at("/served");
            fs::create_dir_all(&served).unwrap();
            let bytes = match words[2] {
                "binary" => program(&root, words[0], &url).into_bytes(),
                _ => archive(&root, &url, &words[5..]),
            };
            fs::write(served.join(url.replace('/', "_")), bytes).unwrap();
        }
        machine.program("uname", "#!/bin/bash\necho x86_64\n");
        machine.program("curl", &CURL.replace("ROOT", &root).replace("NODE", self.node));
        machine.write("/pods", 0o644, &pods(true));
        machine.write("/pods-after", 0o644, &pods(false));
        machine.write("/system-units", 0o644, SYSTEM_UNITS);
        machine.write("/active-units", 0o644, SYSTEM_UNITS);
        let systemctl = SYSTEMCTL.replace("ROOTSTATE", &format!("{root}{STATE}"));
        machine.stand_in("systemctl", &systemctl.replace("ROOT", &root));
        for program in ["dpkg", "apt-get", "nft"] {
            machine.stand_in(program, "");
        }
        // It tells of a container by its name.
        machine.stand_in("crictl", "[[ $* != *' ps '* ]] || echo \"${*: -1}\"");
        // The power goes at the sync that a test names. No process must see another stop or end, so parents stop before their
        // children. The order of process numbers does not give that: they wrap around. ps pads a number with spaces and takes none.
        machine.program(
            "sync",
            &format!(
                "#!/bin/bash\n[ -e {root}/cut ] || exit 0\nexec 9<>{root}/lock\nflock 9\nread -r left <{root}/cut\n\
                 others() {{ ps --forest -o pid= --sid $(ps -o sid= -p $$) | grep -vxE \" *$$\"; }}\n\
                 if ((left == 0)); then : >{root}/killed; kill -STOP $(others); kill -9 $(others); kill -9 $$; fi\n\
                 echo $((left - 1)) >{root}/cut\n"
            ),
        );
        self
    }

    fn root(&self) -> String {
        self.machine.root().to_str().unwrap().to_owned()
    }

    /// The digest of a program of these tests in the place of the real one's. Other archives than etcd's are never fetched.
    fn sum(&self, words: &[&str]) -> String {
        let url = words[3].replace("https://", "http://");
        match (words[0], words[2]) {
            (name, "binary") => sha256(program(&self.root(), name, &url).as_bytes()),
            ("etcd", _) => sha256(&archive(&self.root(), &url, &words[5..])),
            _ => words[1].to_owned(),
        }
    }

    /// A text as it is on this machine: paths within its directory, no TLS, and the digests of its own programs.
    fn translated(&self, text: &str) -> String {
        self.machine
            .moved(&self.with_own_sums(text))
            .replace("https://", "http://")
    }

    fn with_own_sums(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for files in [&self.cluster.old[self.node], &self.cluster.new[self.node]] {
            for line in files["/etc/firelay/artifacts"].1.lines() {
                let words: Vec<_> = line.split(' ').collect();
                text = text.replace(words[1], &self.sum(&words));
            }
        }
        text
    }

    /// A list whose lines end with a path.
    fn moved_list(&self, list: &str) -> String {
        let line = |line: &str| {
            let at = line.find('/').unwrap();
            format!("{}{}{}\n", &line[..at], self.root(), &line[at..])
        };
        list.lines().map(line).collect()
    }

    /// The script, whose payload is translated like the files of the machine, and whose digests are those of the translated files.
    fn script(&self) -> String {
        self.script_of(self.node)
    }

    fn script_of(&self, name: &str) -> String {
        let script = self.cluster.script(name);
        let (head, rest) = script.split_once("<<'PAYLOAD'").unwrap();
        let (command, rest) = rest.split_once('\n').unwrap();
        let (payload, tail) = rest.split_once("\nPAYLOAD\n").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let archive = directory.path().join("payload");
        fs::write(&archive, STANDARD.decode(payload.replace('\n', "")).unwrap()).unwrap();
        let files = directory.path().join("files");
        fs::create_dir(&files).unwrap();
        succeeded(&output(
            Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&files),
            "tar",
        ));
        let mut digests = Vec::new();
        for files in [&self.cluster.old[self.node], &self.cluster.new[self.node]] {
            for (_, content) in files.values() {
                digests.push((sha256(content.as_bytes()), sha256(self.translated(content).as_bytes())));
            }
        }
        for path in below(&files) {
            let text = fs::read_to_string(&path).unwrap();
            let is_list = ["list", "laid", "remove", "remove-last", "shortened"]
                .iter()
                .any(|name| path.file_name().unwrap() == *name);
            let mut text = if is_list {
                self.moved_list(&self.with_own_sums(&text))
            } else {
                self.translated(&text)
            };
            for (old, new) in &digests {
                text = text.replace(old, new);
            }
            fs::write(&path, text).unwrap();
        }
        let packed = output(Command::new("tar").args(["-cz", "-C"]).arg(&files).arg("."), "tar");
        let payload = STANDARD.encode(packed.stdout);
        let (head, tail) = (self.translated(head), self.translated(tail));
        format!("{head}<<'PAYLOAD'{command}\n{payload}\nPAYLOAD\n{tail}")
            .replace(" | tar -xz", " | tar -xz --overwrite")
    }

    /// Runs the script as an operator does.
    fn run(&self, script: &str) -> Output {
        self.machine.write("/update.sh", 0o600, script);
        let mut bash = Command::new("bash");
        bash.arg(self.machine.at("/update.sh"))
            .env_clear()
            .env("PATH", self.path());
        output(&mut bash, "bash")
    }

    fn path(&self) -> String {
        format!("{}/usr/local/bin:/usr/bin:/bin", self.root())
    }

    /// systemd starts the unit after a reboot, as often as needed.
    fn reboot(&self) {
        self.machine.boot("later");
        let unit = fs::read_to_string(self.machine.at("/etc/systemd/system/firelay-update.service"));
        // Before the script has laid it, the update has not begun: the operator runs the script again.
        let Ok(unit) = unit else {
            return drop(succeeded(&self.run(&self.script())));
        };
        let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let mut bash = Command::new("bash");
        succeeded(&output(
            bash.args(["-c", command]).env_clear().env("PATH", self.path()),
            "bash",
        ));
        assert!(
            !self.machine.exists(&format!("{STATE}/update")),
            "the update does not end"
        );
    }

    /// Everything on the disk that a document or the chain has written.
    fn disk(&self) -> Disk {
        let mut disk = BTreeMap::new();
        let not = [
            "/var/lib/firelay/previous",
            "/var/lib/firelay/rolled-back",
            "/var/lib/firelay/status.json",
            "/usr/local/bin/firelay-rollback",
            "/usr/local/bin/.firelay-rollback.firelay",
        ];
        let stand_ins = ["curl", "systemctl", "crictl", "sync", "uname", "dpkg", "apt-get", "nft"];
        let stand_ins = stand_ins.map(|name| format!("/usr/local/bin/{name}"));
        for folder in ["/etc", "/opt", "/usr", "/var"] {
            for path in below(&self.machine.at(folder)) {
                let name = path.to_str().unwrap()[self.root().len()..].to_owned();
                if not.iter().any(|own| name.starts_with(own)) || stand_ins.contains(&name) {
                    continue;
                }
                let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o7777;
                let text = fs::read_to_string(&path).unwrap().replace(&self.root(), "");
                // Digests of texts with the directory's name in them.
                let is_mark = name
                    .strip_prefix(&format!("{STATE}/"))
                    .is_some_and(|name| name.len() > 64);
                let name = if is_mark {
                    name[..name.len() - 64].to_owned()
                } else {
                    name
                };
                let text = if name == "/etc/firelay/artifacts" {
                    String::new()
                } else {
                    text
                };
                disk.insert(name, (mode, text));
            }
        }
        disk
    }
}

type Disk = BTreeMap<String, (u32, String)>;

fn same(left: &Disk, right: &Disk, title: &str) {
    let names = left.keys().chain(right.keys());
    let differ: BTreeMap<_, _> = names
        .filter(|name| left.get(*name) != right.get(*name))
        .map(|name| (name, (left.get(name), right.get(name))))
        .collect();
    assert!(differ.is_empty(), "{title}: {differ:#?}");
}

/// The flags that kubeadm writes of a JoinConfiguration.
fn flags(join: &str) -> String {
    let value: serde_json::Value = support::pyyaml(join).remove(0);
    let list = value["nodeRegistration"]["kubeletExtraArgs"]
        .as_array()
        .unwrap()
        .clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    list.iter()
        .map(|flag| format!(" --{}={}", text(&flag["name"]), text(&flag["value"])))
        .collect()
}

fn below(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(below(&path)),
            false => found.push(path),
        }
    }
    found
}

fn calls(machine: &Machine) -> Vec<String> {
    let wanted = ["kubeadm ", "node ", "evict ", "lease POST"];
    let calls = machine.calls().into_iter();
    calls
        .filter(|call| {
            wanted.iter().any(|name| call.starts_with(name))
                || call.starts_with("systemctl restart")
                || call.starts_with("crictl") && call.contains(" stop ")
        })
        .collect()
}

#[test]
fn an_updated_machine_is_one_that_was_born_from_the_new_document() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    for (node, expected) in [
        (
            "cp1",
            vec![
                "lease POST",
                "kubeadm upgrade apply v1.36.4 --yes",
                r#"node {"spec":{"unschedulable":true}}"#,
                "evict namespaces/apps/pods/web/eviction",
                "systemctl restart kubelet.service",
                r#"node {"spec":{"unschedulable":null}}"#,
            ],
        ),
        (
            "cp2",
            vec![
                "lease POST",
                "kubeadm upgrade node",
                r#"node {"spec":{"unschedulable":true}}"#,
                "evict namespaces/apps/pods/web/eviction",
                "systemctl restart kubelet.service",
                r#"node {"spec":{"unschedulable":null}}"#,
            ],
        ),
        (
            "worker-1",
            vec![
                "kubeadm upgrade node",
                r#"node {"spec":{"unschedulable":true}}"#,
                "evict namespaces/apps/pods/web/eviction",
                "systemctl restart kubelet.service",
                r#"node {"spec":{"unschedulable":null}}"#,
            ],
        ),
    ] {
        let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
        let script = updated.script();
        let ran = updated.run(&script);
        let journal = fs::read_to_string(updated.machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{node}: {}\n{journal}", said(&ran));
        assert!(
            said(&ran).contains(&format!("{node} is of generation 2")),
            "{}",
            said(&ran)
        );
        assert_eq!(calls(&updated.machine), expected, "{node}: {journal}");
        assert_eq!(updated.machine.status()["state"], "ready");
        let born = Updated::born(&cluster, node, &cluster.new[node]);
        same(&updated.disk(), &born.disk(), node);
        // Once more it changes nothing.
        let again = updated.run(&script);
        assert!(said(&again).contains("is of generation 2 already"), "{}", said(&again));
        same(&updated.disk(), &born.disk(), node);
    }
}

#[test]
fn a_power_cut_at_any_sync_is_made_good_by_the_next_boot() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    // Each machine has cuts at every second sync, and both together at all kinds of them.
    for (node, first) in [("cp1", 0), ("worker-1", 1)] {
        bears_power_cuts(&cluster, node, (first..).step_by(2));
    }
}

#[test]
fn a_power_cut_while_keys_rotate_is_made_good_by_the_next_boot() {
    let cluster = Cluster::rotated("ha-ubuntu", &[], "leaves", 1);
    for (node, first) in [("cp2", 0), ("worker-1", 2)] {
        bears_power_cuts(&cluster, node, (first..).step_by(6));
    }
}

fn bears_power_cuts(cluster: &Cluster, node: &str, cuts: impl Iterator<Item = u32>) {
    let born = Updated::born(cluster, node, &cluster.new[node]).disk();
    for cut in cuts {
        let updated = Updated::born(cluster, node, &cluster.old[node]).ready_for_update();
        let script = updated.script();
        // The script itself syncs three times before the unit starts.
        updated.machine.write("/cut", 0o644, &format!("{}\n", cut + 3));
        let mut bash = Command::new("timeout");
        updated.machine.write("/update.sh", 0o600, &script);
        bash.args(["60", "bash"])
            .arg(updated.machine.at("/update.sh"))
            .arg("--detach");
        succeeded(&output(bash.env_clear().env("PATH", updated.path()), "bash"));
        let through = !updated.machine.exists("/killed");
        fs::remove_file(updated.machine.at("/cut")).unwrap();
        if !through {
            updated.reboot();
        }
        let mut disk = updated.disk();
        disk.remove(&format!("{STATE}/configuration"));
        same(&disk, &born, &format!("{node}: power cut at sync {cut}"));
        assert!(!updated.machine.exists("/cordoned"), "{node}: power cut at sync {cut}");
        if through {
            assert!(cut > 20, "{cut}");
            break;
        }
    }
}

/// Names of the static pods that were restarted, in their order.
fn restarted(machine: &Machine) -> Vec<String> {
    let calls = machine
        .calls()
        .into_iter()
        .filter(|call| call.starts_with("crictl ") && call.contains(" stop "));
    calls
        .map(|call| call.rsplit(' ').next().unwrap().trim_matches(['^', '$']).to_owned())
        .collect()
}

fn units(machine: &Machine) -> Vec<String> {
    let calls = machine.calls().into_iter();
    calls.filter(|call| call.starts_with("systemctl restart")).collect()
}

#[test]
fn rotated_keys_and_certificates_come_where_components_read_them() {
    const ENCRYPTED: &[&str] = &["--set", "kubernetes.apiServer.encryption={ resources: [secrets] }"];
    let all = [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-vip",
    ];
    let signers = &all[1..3];
    for (example, set, keys, steps, node, pods, restarts) in [
        (
            "ha-ubuntu",
            &[][..],
            "leaves",
            1,
            "cp2",
            &all[..],
            &["systemctl restart kubelet.service"][..],
        ),
        (
            "ha-ubuntu",
            &[],
            "leaves",
            1,
            "worker-1",
            &[],
            &["systemctl restart kubelet.service"],
        ),
        (
            "external-etcd",
            &[],
            "leaves",
            1,
            "etcd1",
            &[],
            &["systemctl restart --no-block etcd.service"],
        ),
        ("ha-ubuntu", &[], "service-account", 1, "cp1", signers, &[]),
        ("ha-ubuntu", &[], "service-account", 2, "cp1", signers, &[]),
        ("ha-ubuntu", &[], "service-account", 3, "cp1", signers, &[]),
        ("ha-ubuntu", ENCRYPTED, "encryption", 2, "cp1", &all[1..2], &[]),
    ] {
        let title = format!("{node}: {keys}, step {steps}");
        let cluster = Cluster::rotated(example, set, keys, steps);
        let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
        let script = updated.script();
        let ran = updated.run(&script);
        let journal = fs::read_to_string(updated.machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{title}: {}\n{journal}", said(&ran));
        assert_eq!(restarted(&updated.machine), pods, "{title}: {journal}");
        assert_eq!(units(&updated.machine), restarts, "{title}: {journal}");
        for pod in pods {
            let own = format!(
                "--label io.kubernetes.pod.namespace=kube-system --label io.kubernetes.pod.name={pod}-{node} --name ^{pod}$"
            );
            let calls = updated.machine.calls();
            assert!(calls.iter().any(|call| call.ends_with(&own)), "{title}: {calls:?}");
        }
        if pods.contains(&"etcd") {
            let calls = updated.machine.calls();
            let at = |part: &str| calls.iter().position(|call| call.contains(part));
            let asked = at("--output custom-columns=:.metadata.name,:.status.addresses");
            assert!(
                asked.is_some() && asked < at(" stop --timeout 30 ^etcd$"),
                "{title}: {calls:?}"
            );
        }
        let kills =
            |call: &String| call.starts_with("crictl ") && call.contains(" stop ") && !call.contains("--timeout 30 ");
        assert!(!updated.machine.calls().iter().any(kills), "{title}");
        let born = Updated::born(&cluster, node, &cluster.new[node]).disk();
        same(&updated.disk(), &born, &title);
        let again = updated.run(&script);
        assert!(said(&again).contains(" already"), "{title}: {}", said(&again));
        same(&updated.disk(), &born, &title);
    }
}

/// Kubeconfigs keep the machine's own certificates, and have the CAs of `ca.crt` after each step. kubeadm's own certificates are
/// renewed when another CA signs.
#[test]
fn the_cas_of_each_step_come_to_all_that_read_them() {
    let all = [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kube-vip",
    ];
    for (example, node, pods, confs) in [
        ("ha-ubuntu", "cp1", &all[..], &["kubelet", "super-admin"][..]),
        ("local-endpoint", "w1", &["haproxy"], &["kubelet"]),
        ("external-etcd", "etcd1", &[], &[]),
    ] {
        for step in 1..=3 {
            let title = format!("{node}, step {step}");
            let cluster = Cluster::rotated(example, &[], "ca", step);
            let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
            let machine = &updated.machine;
            let config = |authority: &str| {
                let data = STANDARD.encode(machine.read(authority));
                format!(
                    "clusters:\n- cluster:\n    certificate-authority-data: {data}\nusers: {{client-key-data: bXkgb3du}}\n"
                )
            };
            // kubeadm has renewed one of them, and left the first CA in it.
            for conf in confs {
                machine.write(
                    &format!("/etc/kubernetes/{conf}.conf"),
                    0o600,
                    &config("/etc/kubernetes/pki/ca.crt"),
                );
            }
            if node == "w1" {
                machine.write("/etc/kubernetes/manifests/haproxy.yaml", 0o600, "");
            }
            // The cluster has signed it, and the comparison below misses it: with another CA the kubelet requests it anew.
            if node != "etcd1" {
                machine.write("/var/lib/kubelet/pki/kubelet-server-current.pem", 0o600, "");
            }
            if node == "cp1" {
                machine.write("/cluster-info", 0o644, &config("/etc/kubernetes/pki/ca.crt"));
            }
            let script = updated.script();
            let ran = updated.run(&script);
            let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
            assert!(ran.status.success(), "{title}: {}\n{journal}", said(&ran));
            assert_eq!(restarted(machine), pods, "{title}: {journal}");
            for conf in confs {
                let expected = config("/etc/firelay/pki/ca.crt");
                assert_eq!(
                    machine.read(&format!("/etc/kubernetes/{conf}.conf")),
                    expected,
                    "{title}: {conf}"
                );
                let mode = fs::metadata(machine.at(&format!("/etc/kubernetes/{conf}.conf")))
                    .unwrap()
                    .permissions()
                    .mode();
                assert_eq!(mode & 0o7777, 0o600, "{title}: {conf}");
            }
            let calls = calls(machine);
            let renewed: Vec<_> = calls
                .iter()
                .filter_map(|call| call.strip_prefix("kubeadm certs renew "))
                .collect();
            let born = Updated::born(&cluster, node, &cluster.new[node]);
            let own = |disk: Disk| -> Disk {
                let is_own = |path: &str| {
                    path.starts_with("/etc/firelay/") && !path.starts_with("/etc/firelay/kubeadm")
                        || path.starts_with("/etc/etcd/pki")
                        || path.starts_with("/var/lib/kubelet/pki")
                        || path.starts_with("/etc/kubernetes/pki") && !path.contains("healthcheck")
                        || path.ends_with("/controller-manager.conf")
                };
                disk.into_iter().filter(|(path, _)| is_own(path)).collect()
            };
            same(&own(updated.disk()), &own(born.disk()), &title);
            if node == "cp1" {
                let made: &[&str] = match step {
                    2 => &["etcd-healthcheck-client", "super-admin.conf"],
                    _ => &[],
                };
                assert_eq!(renewed, made, "{title}: {calls:?}");
                let patch = support::pyyaml(&machine.read("/patched")).remove(0);
                assert_eq!(
                    patch["data"]["kubeconfig"],
                    config("/etc/firelay/pki/ca.crt"),
                    "{title}"
                );
                let signing = calls
                    .iter()
                    .any(|call| call.starts_with("kubeadm init phase upload-config"));
                assert_eq!(signing, step == 1, "{title}: {calls:?}");
            }
            let again = updated.run(&script);
            assert!(said(&again).contains(" already"), "{title}: {}", said(&again));
        }
    }
}

/// The controller manager stops if its arguments name a file that is not there.
#[test]
fn the_signing_certificate_is_there_before_kubeadm_names_it() {
    let cluster = Cluster::rotated("ha-ubuntu", &[], "ca", 1);
    let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
    let script = updated.script();
    let machine = &updated.machine;
    machine.write("/cluster-info", 0o644, "");
    let kubeadm = fs::read_to_string(machine.at("/usr/local/bin/kubeadm")).unwrap();
    let root = updated.root();
    let checks = format!(
        "ls {root}/etc/kubernetes/pki/ca-signing.crt >/dev/null || exit 1\ngrep -c BEGIN {root}/etc/kubernetes/pki/ca.crt >>{root}/seen\n"
    );
    machine.program("kubeadm", &kubeadm.replacen('\n', &format!("\n{checks}"), 1));
    let ran = updated.run(&script);
    let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
    assert!(ran.status.success(), "{}\n{journal}", said(&ran));
    assert!(machine.read("/seen").lines().all(|count| count == "1"));
    let signing = machine.read("/etc/kubernetes/pki/ca-signing.crt");
    assert_eq!(signing.matches("BEGIN CERTIFICATE").count(), 1);
    assert_eq!(
        machine
            .read("/etc/kubernetes/pki/ca.crt")
            .matches("BEGIN CERTIFICATE")
            .count(),
        2
    );
}

#[test]
fn a_certificate_that_the_machine_renewed_stays_while_other_keys_rotate() {
    let cluster = Cluster::rotated("ha-ubuntu", &[], "service-account", 1);
    let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
    let renewed = [
        "/etc/kubernetes/pki/etcd/healthcheck-client.crt",
        "/etc/kubernetes/admin.conf",
    ];
    let renewed = renewed.map(|path| (path, updated.machine.read(path) + "# renewed\n"));
    for (path, text) in &renewed {
        updated.machine.write(path, 0o600, text);
    }
    let ran = updated.run(&updated.script());
    assert!(ran.status.success(), "{}", said(&ran));
    for (path, text) in &renewed {
        assert_eq!(&updated.machine.read(path), text, "{path}");
    }
    let publics = updated.machine.read("/etc/kubernetes/pki/sa.pub");
    assert_eq!(publics.matches("BEGIN PUBLIC KEY").count(), 2);
}

/// kubeadm renews the certificate in admin.conf. That of the document ends after `pki.leafValidity`, and the API server refuses it.
#[test]
fn a_control_plane_that_is_older_than_its_document_takes_its_turn() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
    let path = updated.machine.at("/etc/firelay/kubeconfig/admin.crt");
    let (path, key) = (path.to_str().unwrap(), path.with_extension("key"));
    let request = [
        "-f",
        "-400d",
        "openssl",
        "req",
        "-x509",
        "-subj",
        "/CN=ended",
        "-days",
        "365",
        "-out",
        path,
        "-key",
    ];
    let mut ended = Command::new("faketime");
    succeeded(&output(ended.args(request).arg(&key), "faketime"));
    let ran = updated.run(&updated.script());
    let journal = fs::read_to_string(updated.machine.at("/journal")).unwrap_or_default();
    assert!(ran.status.success(), "{}\n{journal}", said(&ran));
    assert!(calls(&updated.machine).contains(&"lease POST".to_owned()), "{journal}");
    assert!(!updated.machine.exists("/run/firelay/admin.key"));
}

/// A step of a rotation that is left out would leave a machine behind.
#[test]
fn the_script_of_a_step_refuses_a_machine_without_the_step_before() {
    let first = Cluster::rotated("ha-ubuntu", &[], "service-account", 1);
    let second = Cluster::rotated("ha-ubuntu", &[], "service-account", 2);
    let mut old = second.old["cp1"].clone();
    old.insert(
        "/etc/firelay/pki/sa.pub".to_owned(),
        first.old["cp1"]["/etc/firelay/pki/sa.pub"].clone(),
    );
    let updated = Updated::born(&second, "cp1", &old).ready_for_update();
    let ran = updated.run(&updated.script());
    assert!(
        ran.status.code() == Some(1) && said(&ran).contains("/etc/firelay/pki/sa.pub is not that of generation"),
        "{}",
        said(&ran)
    );
}

#[test]
fn a_rollback_brings_certificates_back_that_the_machine_had_renewed() {
    for (example, node, keys, step) in [
        ("ha-ubuntu", "cp2", "leaves", 1),
        ("external-etcd", "etcd1", "leaves", 1),
        ("ha-ubuntu", "worker-1", "ca", 3),
    ] {
        let cluster = Cluster::rotated(example, &[], keys, step);
        let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
        if node == "cp2" {
            updated
                .machine
                .write("/etc/kubernetes/pki/etcd/healthcheck-client.crt", 0o644, "renewed\n");
        }
        let before = updated.disk();
        let ran = updated.run(&updated.script());
        assert!(ran.status.success(), "{}", said(&ran));
        assert_ne!(updated.disk(), before);
        let mut rollback = Command::new("bash");
        rollback
            .arg(updated.machine.at("/usr/local/bin/firelay-rollback"))
            .arg("--yes");
        succeeded(&output(rollback.env_clear().env("PATH", updated.path()), "bash"));
        same(&updated.disk(), &before, node);
        let restarts = units(&updated.machine);
        assert!(restarts.len() >= 2, "{restarts:?}");
    }
}

#[test]
fn a_machine_of_another_document_is_refused_and_nothing_changes() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    let script = updated.script();
    updated.machine.write("/etc/containerd/config.toml", 0o644, "edited\n");
    let before = updated.disk();
    let ran = updated.run(&script);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        said(&ran).contains("/etc/containerd/config.toml is not that of generation 1"),
        "{}",
        said(&ran)
    );
    same(&updated.disk(), &before, "the disk");
    // The script of another machine.
    let other = Updated::born(&cluster, "worker-2", &cluster.old["worker-2"]).ready_for_update();
    let ran = other.run(&other.translated(&cluster.script("worker-1")));
    assert!(
        said(&ran).contains("it is for worker-1 of prod, and this machine is worker-2 of prod"),
        "{}",
        said(&ran)
    );
}

/// A seed that was exchanged makes cloud-init lay the new files at a reboot; the binaries come with the update.
#[test]
fn new_files_without_their_binaries_are_no_updated_machine() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    for (path, (mode, content)) in &cluster.new["worker-1"] {
        updated.machine.write(path, *mode, &updated.translated(content));
    }
    let ran = updated.run(&updated.script());
    assert!(ran.status.success(), "{}", said(&ran));
    let born = Updated::born(&cluster, "worker-1", &cluster.new["worker-1"]);
    same(&updated.disk(), &born.disk(), "the disk");
}

#[test]
fn flags_and_labels_of_the_kubelet_are_changed_in_place() {
    let set = [
        "--set",
        "nodes[worker-{1..3}].labels.tier=app",
        "--set",
        "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]",
    ];
    let cluster = Cluster::updated(&[], &set);
    let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    let ran = updated.run(&updated.script());
    assert!(ran.status.success(), "{}", said(&ran));
    let labels = r#"node {"metadata":{"labels":{"tier":"app"}}}"#;
    assert_eq!(calls(&updated.machine), ["systemctl restart kubelet.service", labels]);
    same(
        &updated.disk(),
        &Updated::born(&cluster, "worker-1", &cluster.new["worker-1"]).disk(),
        "flags",
    );
}

impl Updated<'_> {
    fn roll_back(&self) {
        let mut rollback = Command::new("bash");
        rollback
            .arg(self.machine.at("/usr/local/bin/firelay-rollback"))
            .arg("--yes");
        succeeded(&output(rollback.env_clear().env("PATH", self.path()), "bash"));
    }

    fn is_enabled(&self, unit: &str) -> bool {
        self.machine.exists(&format!("/enabled/{unit}"))
    }

    fn is_active(&self, unit: &str) -> bool {
        self.machine.exists(&format!("/active/{unit}"))
    }
}

/// Rocky Linux has neither systemd-resolved nor systemd-networkd, or does not run them.
#[test]
fn units_that_a_system_does_not_run_are_left_alone() {
    const ROCKY: [&str; 2] = ["--set", "os=rocky-9"];
    let before = ["--set", "dns={ servers: [10.0.0.2] }"];
    let after = [
        "--set",
        "dns={ servers: [10.0.0.9] }",
        "--set",
        "network.cni={ flannel: { backend: host-gw } }",
    ];
    let cluster = Cluster::updated(&[ROCKY, before].concat(), &[&ROCKY[..], &after].concat());
    for node in ["cp2", "worker-1"] {
        let runs = "NetworkManager.service\nsystemd-modules-load.service\nsystemd-sysctl.service\n";
        for idle in ["", "systemd-networkd.service\n"] {
            let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
            let machine = &updated.machine;
            machine.write("/system-units", 0o644, &format!("{runs}{idle}"));
            machine.write("/active-units", 0o644, runs);
            let before = updated.disk();
            let ran = updated.run(&updated.script());
            let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
            assert!(ran.status.success(), "{node}: {}\n{journal}", said(&ran));
            assert!(updated.is_active("NetworkManager.service"), "{:?}", machine.calls());
            assert_ne!(updated.disk(), before);
            updated.roll_back();
            assert!(!updated.is_active("systemd-networkd.service"), "{:?}", machine.calls());
            same(&updated.disk(), &before, node);
        }
    }
}

/// chrony reads a copy of the document's file. The way back brings the one that the machine had.
#[test]
fn time_servers_reach_the_service_of_the_machine() {
    let ntp = |server: &str| format!("ntp={{ servers: [{server}] }}");
    let (one, other) = (ntp("time1.example.com"), ntp("time2.example.com"));
    for (before, had) in [(&["--set", &one][..], "time1"), (&[], "pool of the image")] {
        let cluster = Cluster::updated(before, &["--set", &other]);
        let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
        let machine = &updated.machine;
        let units = machine.read("/system-units").replace("systemd-timesyncd", "chrony");
        machine.write("/system-units", 0o644, &units);
        machine.write("/etc/chrony/chrony.conf", 0o644, &format!("{had}\n"));
        let disk = updated.disk();
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{had}: {}\n{journal}", said(&ran));
        let config = machine.read("/etc/chrony/chrony.conf");
        assert!(
            config.contains("time2.example.com") && updated.is_active("chrony.service"),
            "{config}"
        );
        updated.roll_back();
        same(&updated.disk(), &disk, had);
        assert!(
            machine
                .calls()
                .contains(&"systemctl try-restart --no-block chrony.service".to_owned())
        );
    }
}

/// A unit of firelay that a document loses ends, and the way back begins it again; one that a document brings, the other way round.
#[test]
fn a_unit_that_comes_or_goes_is_enabled_and_ended() {
    const TIMER: &str = "firelay-etcd-backup.timer";
    const BACKUP: [&str; 2] = ["--set", "etcd.backup={}"];
    for (before, after) in [(&BACKUP[..], &[][..]), (&[], &BACKUP[..])] {
        let cluster = Cluster::of("external-etcd", before, after);
        let updated = Updated::born(&cluster, "etcd1", &cluster.old["etcd1"]).ready_for_update();
        let machine = &updated.machine;
        if !before.is_empty() {
            machine.write(&format!("/enabled/{TIMER}"), 0o644, "");
            machine.write(&format!("/active/{TIMER}"), 0o644, "");
        }
        let disk = updated.disk();
        let is_on = || (updated.is_enabled(TIMER), updated.is_active(TIMER));
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{before:?}: {}\n{journal}", said(&ran));
        assert_eq!(is_on(), (before.is_empty(), before.is_empty()), "{:?}", machine.calls());
        same(
            &updated.disk(),
            &Updated::born(&cluster, "etcd1", &cluster.new["etcd1"]).disk(),
            "etcd1",
        );
        updated.roll_back();
        assert_eq!(
            is_on(),
            (!before.is_empty(), !before.is_empty()),
            "{:?}",
            machine.calls()
        );
        same(&updated.disk(), &disk, "etcd1 after the rollback");
        assert!(!machine.exists(&format!("{STATE}/update.off")));
    }
}

/// Systems and platforms where something is switched on and off again: each machine ends like one that was born so, and the way back brings all
/// of it as it was.
#[test]
fn what_comes_in_place_goes_in_place() {
    const RENEWAL: &str = "addons.certificateRenewal={ etcd: true }";
    const LASTING: &str = "pki.leafValidity=87600h";
    const FIREWALL: &str = "security.metadataFirewall=true";
    for (example, base, set, nodes) in [
        ("external-etcd", &[][..], RENEWAL, &["etcd1", "cp1"][..]),
        ("external-etcd", &["--set", LASTING], RENEWAL, &["etcd1", "cp1"]),
        (
            "ha-ubuntu",
            &["--set", "platform=openstack"],
            FIREWALL,
            &["cp2", "worker-1"],
        ),
        ("ha-ubuntu", &[], "dns={ servers: [10.0.0.2] }", &["worker-1"]),
        ("ha-ubuntu", &[], "ntp={ servers: [time.example.com] }", &["worker-1"]),
        ("ha-ubuntu", &[], "etcd.backup={}", &["cp2"]),
    ] {
        let on = [base, &["--set", set]].concat();
        for (before, after) in [(base, &on[..]), (&on[..], base)] {
            let cluster = Cluster::of(example, before, after);
            for node in nodes {
                let title = format!("{node}: {before:?} to {after:?}");
                let updated = Updated::born(&cluster, node, &cluster.old[*node]).ready_for_update();
                let machine = &updated.machine;
                let disk = updated.disk();
                let ran = updated.run(&updated.script());
                let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
                assert!(ran.status.success(), "{title}: {}\n{journal}", said(&ran));
                let born = Updated::born(&cluster, node, &cluster.new[*node]).disk();
                same(&updated.disk(), &born, &title);
                let calls = machine.calls();
                let deletes = calls
                    .iter()
                    .any(|call| call.starts_with("nft add table inet firelay; delete"));
                assert_eq!(deletes, set == FIREWALL && after == base, "{title}: {calls:?}");
                updated.roll_back();
                same(&updated.disk(), &disk, &title);
                let calls = machine.calls();
                let count = calls
                    .iter()
                    .filter(|call| call.starts_with("nft add table inet firelay; delete"))
                    .count();
                assert_eq!(count, usize::from(set == FIREWALL), "{title}: {calls:?}");
            }
        }
    }
}

#[test]
fn a_power_cut_while_the_renewal_of_etcd_comes_or_goes_is_made_good_by_the_next_boot() {
    let on = ["--set", "addons.certificateRenewal={ etcd: true }"];
    for (before, after, first) in [(&[][..], &on[..], 0), (&on, &[], 3)] {
        let cluster = Cluster::of("external-etcd", before, after);
        bears_power_cuts(&cluster, "etcd1", (first..).step_by(5));
    }
}

/// The image's own file of chrony comes back. A machine that has not kept it is refused before anything changes.
#[test]
fn the_time_service_gets_its_own_file_back() {
    const CONFIG: &str = "/etc/chrony/chrony.conf";
    const IMAGE: &str = "/etc/chrony/chrony.conf.image";
    let cluster = Cluster::updated(&["--set", "ntp={ servers: [time1.example.com] }"], &[]);
    let chrony = || {
        let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
        let units = updated
            .machine
            .read("/system-units")
            .replace("systemd-timesyncd", "chrony");
        updated.machine.write("/system-units", 0o644, &units);
        let laid = updated.machine.read("/etc/firelay/chrony.conf");
        updated.machine.write(CONFIG, 0o644, &laid);
        updated
    };
    let updated = chrony();
    let before = updated.disk();
    let ran = updated.run(&updated.script());
    assert!(
        ran.status.code() == Some(1) && said(&ran).contains("the image's own was not kept; nothing was changed"),
        "{}",
        said(&ran)
    );
    same(&updated.disk(), &before, "a machine without the image's file");

    let updated = chrony();
    let machine = &updated.machine;
    machine.write(IMAGE, 0o644, "pool of the image\n");
    let before = updated.disk();
    let ran = updated.run(&updated.script());
    let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
    assert!(ran.status.success(), "{}\n{journal}", said(&ran));
    assert_eq!(machine.read(CONFIG), "pool of the image\n");
    assert!(
        !machine.exists(IMAGE) && !machine.exists("/etc/firelay/chrony.conf") && updated.is_active("chrony.service")
    );
    updated.roll_back();
    same(&updated.disk(), &before, "after the rollback");
}

/// A certificate of the document that has nearly ended is not laid in the place of one that lasts.
#[test]
fn a_certificate_that_ends_soon_does_not_replace_one_that_lasts() {
    let cluster = Cluster::of(
        "external-etcd",
        &[],
        &["--set", "addons.certificateRenewal={ etcd: true }"],
    );
    for (years, kept) in [(0, false), (1, true)] {
        let updated = Updated::born(&cluster, "etcd1", &cluster.old["etcd1"]).ready_for_update();
        let machine = &updated.machine;
        let crt = &cluster.new["etcd1"]["/etc/firelay/etcd/server.crt"].1;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.crt");
        fs::write(&file, crt).unwrap();
        let mut openssl = Command::new("openssl");
        openssl.args(["x509", "-noout", "-startdate", "-in"]).arg(file);
        let begin = output(&mut openssl, "openssl");
        let begin = String::from_utf8(begin.stdout)
            .unwrap()
            .trim()
            .replace("notBefore=", "");
        machine.program("date", &format!("#!/bin/bash\n[ \"$*\" != +%s ] || exec /usr/bin/date -d '{begin} + {} days' +%s\nexec /usr/bin/date \"$@\"\n", years * 365 + 10));
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{}\n{journal}", said(&ran));
        let document = if kept { &cluster.old } else { &cluster.new };
        assert_eq!(
            machine.read("/etc/etcd/pki/server.crt"),
            document["etcd1"]["/etc/firelay/etcd/server.crt"].1,
            "{years}"
        );
        assert_eq!(machine.exists("/etc/etcd/pki/renewed"), kept, "{years}");
        assert_eq!(
            machine.read("/etc/etcd/pki/ca.key"),
            cluster.new["etcd1"]["/etc/firelay/etcd/ca.key"].1
        );
        updated.roll_back();
        assert!(!machine.exists("/etc/etcd/pki/renewed") && !machine.exists("/etc/etcd/pki/ca.key"));
    }
}

/// An API server does not start without a file that its arguments name, and is not ready without the plugin of a key service.
#[test]
fn files_of_static_pods_go_after_what_reads_them() {
    const READS: &str = "kubernetes.apiServer.encryption={ bundleKey: reads }";
    const KMS: &str = "kubernetes.apiServer.encryption={ bundleKey: writes, kms: [{ azure: { vault: prod, key: etcd, \
                       keyVersion: 5cdf48ea6bb9456ebf637e1130b7751a, tenantId: 11111111-2222-3333-4444-555555555555 } }] }";
    const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
    const PLUGIN: &str = "/etc/kubernetes/manifests/kms-azure.yaml";
    let end = ["--accept", "FL1224"];
    let bundle = [
        &end[..],
        &["--set", "kubernetes.apiServer.encryption={}"],
        &[
            "--set",
            "kubernetes.apiServer.extraArgs=[{ name: event-ttl, value: 2h }]",
        ],
    ]
    .concat();
    for (before, after, gone) in [(READS, &end[..], FILE), (KMS, &bundle, PLUGIN)] {
        let cluster = Cluster::updated(&["--set", before], after);
        let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
        let (machine, root) = (&updated.machine, updated.root());
        let manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml";
        let named = machine.read(manifest) + &format!("--encryption-provider-config={root}{FILE}\n");
        machine.write(manifest, 0o600, &named);
        let kubeadm = machine.read("/usr/local/bin/kubeadm");
        let checks = format!("\n[ -e {root}{gone} ] || exit 1\n");
        machine.program("kubeadm", &kubeadm.replacen('\n', &checks, 1));
        machine.stand_in(
            "crictl",
            &format!("[[ $* != *' ps '* ]] || echo \"${{*: -1}}\"\n[[ $* != *' stop '* ]] || [ -e {root}{gone} ] || : >{root}/early"),
        );
        let before = updated.disk();
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{gone}: {}\n{journal}", said(&ran));
        assert!(!machine.exists("/early") && !machine.exists(gone), "{gone}: {journal}");
        assert_eq!(
            restarted(machine).contains(&"kube-apiserver".to_owned()),
            gone == PLUGIN
        );
        updated.roll_back();
        let own = |disk: Disk| -> Disk {
            let is_own = |name: &String| !name.starts_with("/etc/kubernetes/pki/");
            disk.into_iter().filter(|(name, _)| is_own(name)).collect()
        };
        same(&own(updated.disk()), &own(before), gone);
    }
    // The documents of a later render, without kubeadm's configuration: a manifest still names the file.
    let render: &[&str] = &["render", "--accept", "FL1224"];
    let first: &[&str] = &["render", "--founded", "--set", READS];
    let copy: &[&str] = &["render", "--founded", "--set", READS, "--out", "before"];
    let cluster = Cluster::by("ha-ubuntu", &[copy, first], &[render, &["update", "--from", "before"]]);
    let updated = Updated::born(&cluster, "cp2", &cluster.old["cp2"]).ready_for_update();
    let machine = &updated.machine;
    let kubeadm = machine.read("/usr/local/bin/kubeadm");
    let keeps = format!(
        "\n[ \"$1\" != upgrade ] || exec echo '{}{FILE}' >>{}/etc/kubernetes/manifests/kube-apiserver.yaml\n",
        updated.root(),
        updated.root()
    );
    machine.program("kubeadm", &kubeadm.replacen('\n', &keeps, 1));
    let ran = updated.run(&updated.script());
    let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
    assert!(ran.status.success(), "{}\n{journal}", said(&ran));
    assert!(
        machine.exists(FILE) && journal.contains("stays: a static pod reads it"),
        "{journal}"
    );
}

#[test]
fn a_power_cut_while_encryption_ends_is_made_good_by_the_next_boot() {
    let before = ["--set", "kubernetes.apiServer.encryption={ bundleKey: reads }"];
    let cluster = Cluster::updated(&before, &["--accept", "FL1224"]);
    bears_power_cuts(&cluster, "cp1", (1..).step_by(4));
}

#[test]
fn a_rollback_brings_files_and_binaries_back() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    let updated = Updated::born(&cluster, "cp2", &cluster.old["cp2"]).ready_for_update();
    // What kubeadm has renewed stays: the old certificates may have ended.
    let disk = || -> Disk {
        let disk = updated.disk().into_iter();
        disk.filter(|(name, _)| !name.starts_with("/etc/kubernetes/pki/"))
            .collect()
    };
    let before = disk();
    let ran = updated.run(&updated.script());
    assert!(ran.status.success(), "{}", said(&ran));
    assert_ne!(disk(), before);
    let mut rollback = Command::new("bash");
    rollback
        .arg(updated.machine.at("/usr/local/bin/firelay-rollback"))
        .arg("--yes");
    succeeded(&output(rollback.env_clear().env("PATH", updated.path()), "bash"));
    same(&disk(), &before, "the disk");
    assert!(!updated.machine.exists("/var/lib/firelay/previous"));
    let mark = updated.machine.read(&format!("{STATE}/rolled-back"));
    assert!(updated.script().contains(&format!(" = {} ]", mark.trim())), "{mark}");
}

/// Kata is a directory of its own, which an update replaces as a whole.
#[test]
fn a_rollback_brings_a_directory_back() {
    let cluster = Cluster::updated(&["--set", OLD], &[]);
    for (had, format) in [(true, "tar-zst"), (true, "tar-bz2"), (false, "tar-zst")] {
        let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
        let (machine, root) = (&updated.machine, updated.root());
        let systemctl = machine.read("/usr/local/bin/systemctl");
        machine.stand_in("systemctl", "exit 0");
        machine.write("/update.sh", 0o600, &updated.script());
        let mut bash = Command::new("bash");
        bash.arg(machine.at("/update.sh")).arg("--detach");
        succeeded(&output(bash.env_clear().env("PATH", updated.path()), "bash"));
        machine.program("systemctl", &systemctl);
        let list = format!("{STATE}/update/all.list");
        let line = format!(
            "kata {} {format} http://example.com/kata {root}/opt/kata opt/kata\n",
            "b".repeat(64)
        );
        machine.write(&list, 0o600, &(machine.read(&list) + &line));
        let mark = |digit: &str| format!("{STATE}/kata-{}", digit.repeat(64));
        if had {
            machine.write(&mark("a"), 0o644, "");
            machine.write("/opt/kata/bin/old", 0o755, "old\n");
            std::os::unix::fs::symlink("old", machine.at("/opt/kata/bin/link")).unwrap();
        }
        let mut backup = Command::new("bash");
        backup.arg(machine.at(&format!("{STATE}/update/steps/20-backup")));
        succeeded(&output(
            backup.env_clear().env("PATH", updated.path()).env("STEP", "test"),
            "bash",
        ));
        // As the step 20-artifacts replaces it.
        let _ = fs::remove_dir_all(machine.at("/opt/kata"));
        machine.write("/opt/kata/bin/new", 0o755, "new\n");
        let _ = fs::remove_file(machine.at(&mark("a")));
        machine.write(&mark("b"), 0o644, "");
        updated.roll_back();
        assert_eq!(
            (machine.exists("/opt/kata/bin/new"), machine.exists(&mark("b"))),
            (false, false)
        );
        assert_eq!(
            (machine.exists("/opt/kata/bin/link"), machine.exists(&mark("a"))),
            (had, had)
        );
        assert!(!had || machine.read("/opt/kata/bin/link") == "old\n");
    }
}

/// A member of external etcd: a snapshot comes before its new program.
#[test]
fn a_member_of_etcd_is_updated_with_a_snapshot_first() {
    let cluster = Cluster::of("external-etcd", &["--set", "etcd.version=3.6.13"], &[]);
    let updated = Updated::born(&cluster, "etcd1", &cluster.old["etcd1"]).ready_for_update();
    // A member that was replaced since the first boot.
    let environment = updated.machine.read("/etc/etcd/etcd.env");
    let stale = environment.replace(
        "ETCD_INITIAL_CLUSTER=",
        "ETCD_INITIAL_CLUSTER=gone=https://192.0.2.1:2380,",
    );
    assert_ne!(environment, stale);
    updated.machine.write("/etc/etcd/etcd.env", 0o644, &stale);
    let ran = updated.run(&updated.script());
    let journal = fs::read_to_string(updated.machine.at("/journal")).unwrap_or_default();
    assert!(ran.status.success(), "{}{journal}", said(&ran));
    assert_eq!(
        updated.machine.read("/var/lib/firelay/previous/etcd-snapshot.db"),
        "snapshot\n"
    );
    let calls = updated.machine.calls();
    let at = |text: &str| {
        calls
            .iter()
            .position(|call| call.contains(text))
            .unwrap_or_else(|| panic!("{text}: {calls:?}"))
    };
    assert!(at("health https://10.2.0.31:2379") < at("snapshot save"));
    assert!(at("snapshot save") < at("systemctl restart --no-block etcd.service"));
    same(
        &updated.disk(),
        &Updated::born(&cluster, "etcd1", &cluster.new["etcd1"]).disk(),
        "etcd1",
    );
}

#[test]
fn a_script_of_another_architecture_changes_nothing() {
    let cluster = Cluster::of("external-etcd", &["--set", "etcd.version=3.6.13"], &[]);
    let updated = Updated::born(&cluster, "etcd1", &cluster.old["etcd1"]).ready_for_update();
    updated.machine.program("uname", "#!/bin/bash\necho aarch64\n");
    let before = updated.disk();
    let ran = updated.run(&updated.script());
    assert!(
        said(&ran).contains("it is for x86_64, and this machine is aarch64"),
        "{}",
        said(&ran)
    );
    assert!(!ran.status.success());
    same(&updated.disk(), &before, "etcd1");
}

/// The first control plane uploads the configuration, all others wait for its digest; no document changes.
#[test]
fn the_configuration_of_the_cluster_is_uploaded_once_and_applied_by_all() {
    const SET: [&str; 4] = [
        "--set",
        "kubernetes.kubelet.config.maxPods=80",
        "--set",
        "kubernetes.kubeProxy.config.conntrack.maxPerCore=1024",
    ];
    let cluster = Cluster::updated(&[], &SET);
    let mut digest = String::new();
    for (node, phases) in [
        ("cp1", &["upload-config all", "addon kube-proxy"][..]),
        ("cp2", &[]),
        ("worker-1", &[]),
    ] {
        let updated = Updated::born(&cluster, node, &cluster.old[node]).ready_for_update();
        let machine = &updated.machine;
        if node != "cp1" {
            machine.write("/annotation", 0o644, &digest);
        }
        let before = updated.disk();
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{node}: {}\n{journal}", said(&ran));
        let calls = calls(machine);
        let file = "--config /var/lib/firelay/update/cluster.yaml";
        let wanted: Vec<_> = phases
            .iter()
            .map(|phase| format!("kubeadm init phase {phase} {file}"))
            .collect();
        let own: Vec<_> = calls
            .iter()
            .filter(|call| call.contains("init phase"))
            .cloned()
            .collect();
        assert_eq!(own, wanted, "{node}: {calls:?}");
        assert!(calls.iter().any(|call| call == "kubeadm upgrade node"), "{calls:?}");
        assert!(
            calls.iter().any(|call| call == "systemctl restart kubelet.service"),
            "{calls:?}"
        );
        assert!(!calls.iter().any(|call| call.starts_with("evict")), "{calls:?}");
        if node == "cp1" {
            let uploaded = machine.read("/uploaded");
            let kinds: Vec<_> = uploaded
                .lines()
                .filter_map(|line| line.strip_prefix("kind: "))
                .collect();
            let all = [
                "InitConfiguration",
                "ClusterConfiguration",
                "KubeletConfiguration",
                "KubeProxyConfiguration",
            ];
            assert_eq!(kinds, all, "{uploaded}");
            assert!(
                uploaded.contains("maxPods: 80")
                    && uploaded.contains("  name: cp1\n")
                    && !uploaded.contains("bootstrapTokens"),
                "{uploaded}"
            );
            assert!(
                machine
                    .calls()
                    .iter()
                    .any(|call| call.ends_with("rollout restart daemonset kube-proxy"))
            );
            digest = machine.read("/annotation");
            assert!(digest.starts_with("firelay.dev/configuration="), "{digest}");
        }
        let mut after = updated.disk();
        let own = after.remove("/var/lib/firelay/configuration");
        assert!(own.is_some(), "{node} does not know what it applied");
        same(&after, &before, node);
        let again = updated.run(&updated.script());
        assert!(
            said(&again).contains("already; nothing was changed"),
            "{}",
            said(&again)
        );
    }
}

/// A control plane that waits for the first one has no Lease, which that one needs.
#[test]
fn other_control_planes_wait_for_the_first_without_the_lease() {
    let cluster = Cluster::updated(
        &[],
        &[
            "--set",
            "kubernetes.apiServer.extraArgs=[{ name: event-ttl, value: 2h }]",
        ],
    );
    let updated = Updated::born(&cluster, "cp2", &cluster.old["cp2"]).ready_for_update();
    updated
        .machine
        .write("/annotation", 0o644, "firelay.dev/configuration=that-of-before\n");
    let script = updated.script().replace("follow \"$said\"", ":");
    let journal = updated.machine.at("/journal");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| updated.run(&script));
        let waits =
            || fs::read_to_string(&journal).is_ok_and(|text| text.contains("does not have the new configuration yet"));
        let begun = std::time::Instant::now();
        while !waits() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(waits(), "{:?}", fs::read_to_string(&journal));
        assert!(
            !updated.machine.calls().iter().any(|call| call.starts_with("lease")),
            "it has the Lease"
        );
        let script = fs::read_to_string(updated.machine.at("/var/lib/firelay/update/configuration")).unwrap();
        updated
            .machine
            .write("/annotation", 0o644, &format!("firelay.dev/configuration={script}"));
        assert!(run.join().unwrap().status.success());
    });
    let calls = calls(&updated.machine);
    assert_eq!(calls[..2], ["lease POST", "kubeadm upgrade node"], "{calls:?}");
}

/// The kubelet refuses to start with the checkpoint of another static policy.
#[test]
fn a_machine_with_pinned_processors_is_drained_and_loses_its_checkpoint() {
    let cluster = Cluster::updated(&[], &["--set", "kubernetes.kubelet.config.maxPods=80"]);
    for (policy, drains) in [("static", true), ("none", false)] {
        let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
        let machine = &updated.machine;
        machine.write(
            "/var/lib/kubelet/config.yaml",
            0o644,
            &format!("cpuManagerPolicy: {policy}\n"),
        );
        machine.write("/var/lib/kubelet/cpu_manager_state", 0o600, "{}\n");
        succeeded(&updated.run(&updated.script()));
        let calls = calls(machine);
        assert_eq!(
            calls.iter().any(|call| call.starts_with("evict")),
            drains,
            "{policy}: {calls:?}"
        );
        assert_eq!(
            machine.exists("/var/lib/kubelet/cpu_manager_state"),
            !drains,
            "{policy}"
        );
    }
}

/// kubeadm upgrade leaves etcd of the same version alone.
#[test]
fn settings_of_stacked_etcd_are_changed_by_their_own_phase() {
    let cluster = Cluster::updated(
        &[],
        &[
            "--set",
            "etcd.extraArgs=[{ name: max-snapshots, value: \"3\" }]",
            "--set",
            "kubernetes.kubelet.config.maxPods=80",
        ],
    );
    let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
    let (machine, root) = (&updated.machine, updated.root());
    machine.write("/etc/kubernetes/manifests/etcd.yaml", 0o600, "old\n");
    // A container of etcd that is another one as soon as the manifest is.
    machine.stand_in(
        "crictl",
        &format!("[[ $* != *' ps '* ]] || sha256sum <{root}/etc/kubernetes/manifests/etcd.yaml"),
    );
    let ran = updated.run(&updated.script());
    assert!(said(&ran).contains("etcd has no data in"), "{}", said(&ran));
    assert!(!machine.exists("/uploaded"), "the configuration was uploaded");
    machine.write("/var/lib/etcd/member/snap/db", 0o600, "");
    updated.reboot();
    assert_eq!(machine.read("/etc/kubernetes/manifests/etcd.yaml"), "old\nnew\n");
    let calls = calls(machine);
    let phases: Vec<_> = calls
        .iter()
        .filter_map(|call| call.strip_prefix("kubeadm ")?.split(" --").next())
        .collect();
    assert_eq!(
        phases,
        ["init phase upload-config all", "upgrade node", "init phase etcd local"]
    );
    // A worker has no etcd, and gets the kubelet's setting of the same change.
    let worker = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    worker.machine.write("/annotation", 0o644, &machine.read("/annotation"));
    let ran = worker.run(&worker.script());
    assert!(ran.status.success(), "{}", said(&ran));
}

/// kubeadm upgrade takes the patches of all other static pods.
#[test]
fn a_patch_of_stacked_etcd_is_applied_by_its_own_phase() {
    const PATCH: &str =
        "kubernetes.patches=[{ target: etcd, type: merge, content: '{\"spec\": {\"hostname\": \"a\"}}' }]";
    for (before, after) in [(&[][..], &["--set", PATCH][..]), (&["--set", PATCH], &[])] {
        let cluster = Cluster::updated(before, after);
        let updated = Updated::born(&cluster, "cp2", &cluster.old["cp2"]).ready_for_update();
        let (machine, root) = (&updated.machine, updated.root());
        machine.write("/etc/kubernetes/manifests/etcd.yaml", 0o600, "old\n");
        machine.write("/var/lib/etcd/member/snap/db", 0o600, "");
        machine.stand_in(
            "crictl",
            &format!("[[ $* != *' ps '* ]] || sha256sum <{root}/etc/kubernetes/manifests/etcd.yaml"),
        );
        let ran = updated.run(&updated.script());
        let journal = fs::read_to_string(machine.at("/journal")).unwrap_or_default();
        assert!(ran.status.success(), "{}\n{journal}", said(&ran));
        assert_eq!(machine.read("/etc/kubernetes/manifests/etcd.yaml"), "old\nnew\n");
        let documents = support::pyyaml(&machine.read("/local"));
        let kinds: Vec<_> = documents.iter().map(|own| own["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["InitConfiguration", "ClusterConfiguration"]);
        assert_eq!(documents[0]["patches"].is_null(), after.is_empty());
        assert_eq!(documents[1]["kubernetesVersion"], "v1.36.4");
    }
}

/// The script runs on a machine of which no document tells of the change, as often as one likes.
#[test]
fn changed_manifests_are_applied_by_a_control_plane() {
    const EXTRA: &str = "apiVersion: v1\nkind: Namespace\nmetadata: { name: extra }\n";
    let sum = sha256(EXTRA.as_bytes());
    let set = format!("manifests=[{{ name: extra, url: \"https://example.org/download/extra.yaml\", sha256: {sum} }}]");
    let cluster = Cluster::updated(&[], &["--set", &set]);
    let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
    let (machine, root) = (&updated.machine, updated.root());
    machine.write("/served/http:__example.org_download_extra.yaml", 0o644, EXTRA);
    let before = updated.disk();
    let server = |version: &str| {
        let own = format!(
            "#!/bin/bash\ncase $* in\n*'--raw /version') echo '{{\"gitVersion\": \"v{version}\"}}' ;;\n\
             *) echo \"kubectl ${{*: -2}}\" >>{root}/calls; cat \"${{*: -1}}\"/* >>{root}/applied ;;\nesac\n"
        );
        machine.program("kubectl", &own);
    };
    server("1.36.3");
    let ran = updated.run(&updated.script_of("MANIFESTS"));
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let own = said(&ran);
    assert!(
        own.contains("the API server of cp1 is not of version 1.36.4: update the control planes first"),
        "{own}"
    );
    server("1.36.4");
    for round in 1..=2 {
        let told = succeeded(&updated.run(&updated.script_of("MANIFESTS")));
        assert!(told.contains("the manifests of prod are applied"), "{told}");
        let calls: Vec<_> = machine
            .calls()
            .into_iter()
            .filter(|call| call.starts_with("kubectl"))
            .collect();
        let phases: Vec<_> = calls.iter().filter_map(|call| call.rsplit('/').next()).collect();
        assert_eq!(phases, ["20-cni", "30-core", "60-manifests"].repeat(round), "{calls:?}");
    }
    let applied = machine.read("/applied");
    assert!(
        applied.contains("kube-flannel") && applied.ends_with(EXTRA),
        "{applied}"
    );
    machine.program("kubectl", "");
    let mut after = updated.disk();
    after.retain(|path, _| !path.ends_with("/kubectl"));
    let mut before = before;
    before.retain(|path, _| !path.ends_with("/kubectl"));
    same(&after, &before, "a machine that has applied manifests");
}

/// A StorageClass never changes: the API server refuses it, and takes it when the old one is gone.
#[test]
fn a_class_that_cannot_change_is_created_anew() {
    let class = |policy: &str| format!("addons.localPath.reclaimPolicy={policy}");
    let cluster = Cluster::updated(&["--set", &class("Delete")], &["--set", &class("Retain")]);
    for (is_valid, refusal, deletes) in [
        (
            true,
            "The StorageClass \"local-path\" is invalid: reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
            true,
        ),
        (
            false,
            "The StorageClass \"local-path\" is invalid: metadata.annotations: Too long",
            false,
        ),
        (true, "Error from server (InternalError): failed calling webhook", false),
    ] {
        let updated = Updated::born(&cluster, "cp1", &cluster.old["cp1"]).ready_for_update();
        let (machine, root) = (&updated.machine, updated.root());
        let create = match is_valid {
            true => "storageclasses.storage.k8s.io \"local-path\" already exists",
            false => "The StorageClass \"local-path\" is invalid: metadata.annotations: Too long",
        };
        let own = format!(
            "#!/bin/bash\ncase $* in\n*'--raw /version') echo '{{\"gitVersion\": \"v1.36.4\"}}'; exit ;;\nesac\n\
             echo \"kubectl $*\" >>{root}/calls\ncase $* in\n\
             *' delete '*) cp \"${{*: -1}}\" {root}/deleted ;;\n\
             *create*dry-run=server*) echo '{create}' >&2; exit 1 ;;\n\
             *dry-run=server*) [ -e {root}/deleted ] || {{ echo '{refusal}' >&2; exit 1; }} ;;\n\
             *apply*40-addons*) [ -e {root}/deleted ] || {{ echo '{refusal}' >&2; exit 1; }} ;;\nesac\n"
        );
        machine.program("kubectl", &own);
        let ran = updated.run(&updated.script_of("MANIFESTS"));
        assert_eq!(ran.status.success(), deletes, "{refusal}: {}", said(&ran));
        assert_eq!(machine.exists("/deleted"), deletes, "{refusal}");
        if deletes {
            let object: serde_json::Value = serde_json::from_str(&machine.read("/deleted")).unwrap();
            assert_eq!(
                (&object["kind"], &object["reclaimPolicy"]),
                (&"StorageClass".into(), &"Retain".into())
            );
            let told = said(&ran);
            assert!(
                told.contains("creating an object anew") && !told.contains("state=failed"),
                "{told}"
            );
        }
    }
}

const ADDON: [&str; 2] = ["--set", "addons.systemUpgradeController={}"];

impl Updated<'_> {
    /// The containers of the machine's Plan as the kubelet starts them, `prepare` first. The programs of the image are those of this machine;
    /// nsenter(1) takes its options and stays in the test's namespace.
    fn containers(&self) -> Vec<Vec<String>> {
        let nsenter = "#!/bin/bash\n[ \"$1 $2 $3 $4\" = '-t 1 -m --' ] || exit 64\nshift 4\nexec \"$@\"\n";
        self.machine.program("nsenter", nsenter);
        self.machine.write("/firelay/script", 0o400, &self.script());
        let text = self.cluster.script_file(&format!("{}.yaml", self.node));
        let plan = support::pyyaml(&text).remove(1);
        let own = ["prepare", "upgrade"].map(|name| plan["spec"][name].clone());
        let words = |container: serde_json::Value| -> Vec<String> {
            let lists = [&container["command"], &container["args"]];
            let all = lists.into_iter().filter_map(|list| list.as_array()).flatten();
            all.map(|word| {
                self.translated(word.as_str().unwrap())
                    .replace("</firelay", &format!("<{}/firelay", self.root()))
            })
            .collect()
        };
        own.into_iter().filter(|own| !own.is_null()).map(words).collect()
    }

    fn start(&self, container: &[String]) -> Command {
        let mut command = Command::new("/usr/bin/env");
        command.env_clear().env("PATH", self.path()).args(container);
        command
    }
}

/// A pod that is killed while it follows the update is replaced by one that goes on following; a third one finds the machine updated.
#[test]
fn a_pod_of_a_plan_starts_the_update_or_follows_the_one_that_runs() {
    let cluster = Cluster::updated(&[&["--set", OLD][..], &ADDON].concat(), &ADDON);
    let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    let machine = &updated.machine;
    let [prepare, upgrade] = updated.containers().try_into().unwrap();
    // It waits while a Plan of an earlier step is of an earlier update, runs, or has failed. The last one decides here.
    let wait = prepare.last().unwrap().split_once("for plan in ").unwrap().1;
    let waits = wait.split_once(';').unwrap().0.split(' ');
    let waits: Vec<_> = waits.map(|plan| plan.split_once('=').unwrap()).collect();
    let ((name, version), others) = waits.split_last().unwrap();
    assert_eq!(
        others.iter().map(|other| other.0).collect::<Vec<_>>(),
        ["firelay-node-cp1", "firelay-node-cp2"]
    );
    let plan = |status: &str, version: &str| {
        format!(
            "{{\n  \"status\": {{\n    \"conditions\": [\n      {{\n        \"message\": \"its reason\",\n        \"status\": \"{status}\",\n        \"type\": \"Complete\"\n      }},\n      \
             {{\n        \"status\": \"True\",\n        \"type\": \"LatestResolved\"\n      }}\n    ],\n    \"latestVersion\": \"{version}\"\n  }}\n}}\n"
        )
    };
    assert_eq!(*name, "firelay-node-cp3");
    for (other, version) in others {
        machine.write(&format!("/{other}"), 0o644, &plan("True", version));
    }
    for (at, answer) in [
        "{}\n".to_owned(),
        plan("True", "0123456789abcdef"),
        plan("False", version),
        plan("True", version),
    ]
    .iter()
    .enumerate()
    {
        machine.write(&format!("/plan-{}", at + 1), 0o644, answer);
    }
    machine.write("/plan", 0o644, "{}\n");
    let root = updated.root();
    machine.program(
        "sleep",
        &format!("#!/bin/bash\n[ \"$1\" = 20 ] || exec /usr/bin/sleep \"$@\"\nread -r at <{root}/at\necho $((at + 1)) >{root}/at\ncp {root}/plan-$at {root}/plan\n"),
    );
    machine.write("/at", 0o644, "1\n");
    let curl = machine.read("/usr/local/bin/curl");
    machine.program(
        "curl",
        &curl.replace(
            "case $url in\n",
            &format!("case $url in\n*/plans/{name}) cat {root}/plan ;;\n*/plans/*) cat {root}/${{url##*/}} ;;\n"),
        ),
    );
    let told = succeeded(&output(&mut updated.start(&prepare), "bash"));
    let waiting = format!("waiting for Plan {name}\n");
    let reason = "\"message\": \"its reason\"\n";
    assert_eq!(told, [&waiting, &waiting, &waiting, reason, &waiting, reason].concat());
    machine.program("sleep", "#!/bin/bash\nexec /usr/bin/sleep \"$@\"\n");

    // The unit is started and the pod ends before the work begins.
    let systemctl = machine.read("/usr/local/bin/systemctl");
    machine.stand_in("systemctl", "exit 0");
    let mut pod = updated
        .start(&upgrade)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let unit = "systemctl start --no-block firelay-update.service";
    let starts = || machine.calls().iter().filter(|call| *call == unit).count();
    while starts() == 0 {
        assert!(pod.try_wait().unwrap().is_none(), "it ends before the update does");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    pod.kill().unwrap();
    pod.wait().unwrap();
    assert!(machine.exists(&format!("{STATE}/update/id")));
    machine.program("systemctl", &systemctl);
    let told = succeeded(&output(&mut updated.start(&upgrade), "bash"));
    assert!(told.contains("worker-1 is of generation 2"), "{told}");
    assert_eq!(starts(), 2);
    let own = calls(machine);
    assert_eq!(
        own.iter().filter(|call| call.starts_with("kubeadm")).count(),
        1,
        "{own:?}"
    );
    let told = succeeded(&output(&mut updated.start(&upgrade), "bash"));
    assert!(told.contains("already; nothing was changed") && starts() == 2, "{told}");
    // A machine that the script refuses fails the pod.
    machine.write("/etc/firelay/kubeadm/join.yaml", 0o600, "another\n");
    assert_eq!(output(&mut updated.start(&upgrade), "bash").status.code(), Some(1));
}

/// The pods that follow a failed one do not begin again an update that somebody rolled back.
#[test]
fn a_pod_of_a_plan_leaves_a_machine_that_was_rolled_back() {
    let cluster = Cluster::updated(&[&["--set", OLD][..], &ADDON].concat(), &ADDON);
    let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
    let machine = &updated.machine;
    let [_, upgrade] = updated.containers().try_into().unwrap();
    let script = updated.script();
    let id = script
        .split_once("\"$STATE/update/id\")\" = ")
        .unwrap()
        .1
        .split(' ')
        .next()
        .unwrap();
    for (mark, text, reason) in [
        ("rolled-back", id, "firelay-rollback ended this update"),
        ("update.off", "", "firelay-rollback has not ended"),
    ] {
        machine.write(&format!("{STATE}/{mark}"), 0o600, text);
        let refused = output(&mut updated.start(&upgrade), "bash");
        assert!(
            refused.status.code() == Some(1) && said(&refused).contains(reason),
            "{refused:?}"
        );
        assert!(!machine.exists(&format!("{STATE}/update")));
        std::fs::remove_file(machine.at(&format!("{STATE}/{mark}"))).unwrap();
    }
}

/// The pod of a Plan tolerates the cordon: an evicted one would come back, and the drain would never end.
#[test]
fn a_drain_leaves_the_pods_that_run_scripts() {
    for (set, evicted) in [(&ADDON[..], &["web"][..]), (&[], &["job", "web"])] {
        let cluster = Cluster::updated(&[&["--set", OLD][..], set].concat(), set);
        let updated = Updated::born(&cluster, "worker-1", &cluster.old["worker-1"]).ready_for_update();
        let job = "    {\n      \"metadata\": {\n        \"name\": \"job\",\n        \"namespace\": \"system-upgrade\",\n        \"labels\": {\n          \
                   \"upgrade.cattle.io/controller\": \"system-upgrade-controller\"\n        },\n        \"ownerReferences\": [\n          {\n            \
                   \"kind\": \"Job\"\n          }\n        ]\n      },\n      \"status\": {\n        \"phase\": \"Running\"\n      }\n    },\n";
        let list = pods(true).replace("\"items\": [\n", &format!("\"items\": [\n{job}"));
        updated.machine.write("/pods", 0o644, &list);
        succeeded(&updated.run(&updated.script()));
        let own = calls(&updated.machine);
        let own: Vec<_> = own
            .iter()
            .filter_map(|call| call.strip_prefix("evict ")?.split('/').nth(3))
            .collect();
        assert_eq!(own, evicted);
    }
}

/// Scripts of all kinds of machines: with a led endpoint, restricted files, static pods, and etcd.
#[test]
fn shellcheck_has_nothing_against_the_scripts() {
    for (name, set, nodes) in [
        ("ha-ubuntu", &["--set", OLD][..], &["cp1", "cp2", "worker-1"][..]),
        ("local-endpoint", &["--set", OLD], &["cp1"]),
        ("hardened", &["--set", OLD], &["cp1", "w1"]),
        ("external-etcd", &["--set", "etcd.version=3.6.13"], &["etcd1"]),
    ] {
        let cluster = Cluster::of(name, set, &[]);
        for node in nodes {
            shellcheck(&cluster.script(node), node);
        }
    }
    let cluster = Cluster::updated(&[], &["--set", "addons.metricsServer={}"]);
    shellcheck(&cluster.script("MANIFESTS"), "MANIFESTS");
    let configured = [
        "--set",
        "kubernetes.kubelet.config.maxPods=80",
        "--set",
        "etcd.extraArgs=[{ name: max-snapshots, value: \"3\" }]",
        "--set",
        "kubernetes.kubeProxy.config.conntrack.maxPerCore=1024",
    ];
    let cluster = Cluster::updated(&["--set", OLD], &configured);
    for node in ["cp1", "cp2", "worker-1"] {
        shellcheck(&cluster.script(node), node);
    }
    let own = ["--set", "platform=openstack"];
    let goes = [
        &own[..],
        &[
            "--set",
            "ntp={ servers: [time.example.com] }",
            "--set",
            "security.metadataFirewall=true",
        ],
    ]
    .concat();
    let comes = ["--set", "addons.certificateRenewal={ etcd: true }"];
    for (name, before, after, node) in [
        ("ha-ubuntu", &goes[..], &own[..], "worker-1"),
        ("ha-ubuntu", &own, &goes, "worker-1"),
        ("external-etcd", &[], &comes, "etcd1"),
    ] {
        shellcheck(&Cluster::of(name, before, after).script(node), node);
    }
    for (name, nodes) in [
        ("local-endpoint", &["cp1"][..]),
        ("hardened", &["cp1", "w1"]),
        ("external-etcd", &["etcd1"]),
    ] {
        let cluster = Cluster::rotated(name, &[], "leaves", 1);
        for node in nodes {
            shellcheck(&cluster.script(node), node);
        }
    }
}

/// The wait for the steps before, and the drain that leaves the pods of Plans.
#[test]
fn shellcheck_has_nothing_against_plans() {
    let cluster = Cluster::updated(&[&["--set", OLD][..], &ADDON].concat(), &ADDON);
    shellcheck(&cluster.script("worker-1"), "worker-1");
    for node in ["cp2", "worker-1"] {
        let plan = support::pyyaml(&cluster.script_file(&format!("{node}.yaml"))).remove(1);
        let text = plan["spec"]["prepare"]["args"][0].as_str().unwrap();
        let mut shellcheck = Command::new("shellcheck");
        // A step may have one machine.
        shellcheck.args(["--shell", "bash", "--exclude", "SC1091,SC2043", "-"]);
        let checked = support::pipe(&mut shellcheck, "shellcheck", text.as_bytes());
        assert_eq!(succeeded(&checked), "", "{node}");
    }
}

fn shellcheck(script: &str, node: &str) {
    let directory = tempfile::tempdir().unwrap();
    let (_, rest) = script.split_once("<<'PAYLOAD'").unwrap();
    let (payload, _) = rest.split_once('\n').unwrap().1.split_once("\nPAYLOAD\n").unwrap();
    let archive = directory.path().join("payload");
    fs::write(&archive, STANDARD.decode(payload.replace('\n', "")).unwrap()).unwrap();
    succeeded(&output(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(directory.path()),
        "tar",
    ));
    fs::write(directory.path().join("script"), script).unwrap();
    let mut shellcheck = Command::new("shellcheck");
    shellcheck.args(["--shell", "bash", "--severity", "warning", "--exclude", "SC1091"]);
    for path in below(directory.path()) {
        let text = fs::read(&path).unwrap();
        if text.starts_with(b"#!/bin/bash") && !path.starts_with(directory.path().join("files")) {
            shellcheck.arg(path);
        }
    }
    assert_eq!(succeeded(&output(&mut shellcheck, "shellcheck")), "", "{node}");
}
