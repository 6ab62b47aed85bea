//! The endpoint's name.

use super::support::machine::{Machine, failed, mode, serve, succeeded};
use super::support::said;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// An API server that answers on every path; returns its port.
fn any_api() -> String {
    let host = serve(Box::new(|_, _, _| (200, b"ok".to_vec())));
    host.rsplit(':').next().unwrap().to_owned()
}

/// The addresses of a name in a node's /etc/hosts.
fn leads(machine: &Machine, host: &str) -> Vec<String> {
    let hosts = machine.read("/etc/hosts");
    let lines = hosts.lines().filter(|line| line.contains(host));
    lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

const LOCAL: &str = "api.local.example.com";
const VIP: &str = "api.vip.example.com";

#[test]
fn a_joiner_is_led_to_a_control_plane_that_answers() {
    for node in ["w1", "cp2"] {
        let machine = Machine::of("local-endpoint", node);
        machine.set("PEERS", &format!("http://127.0.0.9:1 http://127.0.0.1:{}", any_api()));
        let founded = r#"wait_for 60 "the API" founded"#;
        succeeded(&machine.run_with("50-join", founded));
        assert_eq!(leads(&machine, LOCAL), ["127.0.0.1"], "{node}");
        assert!(
            !machine.exists("/slept") || !machine.read("/slept").contains('5'),
            "{node} waited"
        );
        // Then it stops, and another one answers.
        let answers = r"ready() { [[ $1 == *fd00* ]]; }
                         api() { [[ $* == *//\[fd00::11\]:6443/api/*/cluster-info ]]; }";
        machine.set("PEERS", "http://127.0.0.1:6443 http://[fd00::11]:6443");
        succeeded(&machine.run_with("50-join", &format!("{answers}\n{founded}")));
        assert_eq!(leads(&machine, LOCAL), ["fd00::11"], "{node}");
    }
}

#[test]
fn a_worker_prefers_the_address_of_kube_vip_and_a_control_plane_its_peers() {
    let asked = |node| {
        let machine = Machine::of("kube-vip", node);
        succeeded(&machine.run_with("50-join", "ready() { echo \"$1\" >&2; return 1; }\nfounded || :"))
    };
    let [cp1, cp3, vip] = ["11", "13", "10"].map(|last| format!("http://10.5.0.{last}:6443\n"));
    assert_eq!(asked("cp2"), format!("{cp1}{cp3}{vip}"));
    assert!(asked("w1").starts_with(&format!("{vip}{cp1}")));
}

#[test]
fn a_control_plane_that_waits_its_turn_changes_to_one_that_answers() {
    let machine = Machine::of("local-endpoint", "cp2");
    let said = succeeded(
        &machine.run_with(
            "50-join",
            r#"ready() { [[ $1 == *10.6.0.13* ]]; }
           api() { :; }
           take_lease() { [[ $(</etc/hosts) == *"10.6.0.13 api.local"* ]] && echo taken >&3; }
           hosts endpoint 10.6.0.11 "$FL_ENDPOINT_HOST"
           wait_for 60 "the turn" led take_lease"#
                .replace("/etc/hosts", machine.at("/etc/hosts").to_str().unwrap())
                .as_str(),
        ),
    );
    assert_eq!(said, "taken\n");
}

/// The name resolves to the founder itself. The API server there may belong to no cluster yet.
#[test]
fn a_founder_asks_others_and_not_the_name_that_leads_to_itself() {
    for (example, host) in [("kube-vip", VIP), ("local-endpoint", LOCAL)] {
        let machine = Machine::of(example, "cp1");
        machine.set("ENDPOINT", &format!("127.0.0.1:{}", any_api()));
        let peers = machine.read("/etc/firelay/node.env");
        assert_eq!(
            peers.contains("http://10.5.0.10:6443"),
            example == "kube-vip",
            "{peers}"
        );
        // No machine has kube-vip's address yet, so no answer there is no evidence.
        machine.set("PEERS", "http://127.0.0.1:1 http://255.255.255.255:6443");
        machine.set("LEAD", "255.255.255.255");
        let said = succeeded(&machine.run_with("50-join", "cluster_answers || echo founds"));
        assert_eq!(said, "founds\n", "{example}");
        let init = "lay() { :; }; registered() { :; }; run_kubeadm() { cat ROOT/etc/hosts; }; found";
        let init = init.replace("ROOT", machine.root().to_str().unwrap());
        let during = succeeded(&machine.run_with("50-join", &init));
        let own = machine.read("/etc/firelay/node.env");
        let own = own.lines().find_map(|line| line.strip_prefix("FL_PIN=")).unwrap();
        assert!(
            during.contains(&format!("{} {host} #", own.trim_matches('\''))),
            "{during}"
        );
        assert_eq!(leads(&machine, host), [own.trim_matches('\'')], "and after it");
    }
}

/// A kubelet that has started two pods with host networking and one with its own network.
fn pods(machine: &Machine, host: &str) -> PathBuf {
    let copy = format!(
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n10.6.0.12 {host} # firelay-endpoint\n"
    );
    let aliases = "\n# Entries added by HostAliases.\n127.0.0.1\tkubernetes\n";
    machine.write("/var/lib/kubelet/pods/a/etc-hosts", 0o644, &copy);
    machine.write("/var/lib/kubelet/pods/b/etc-hosts", 0o644, &format!("{copy}{aliases}"));
    machine.write("/var/lib/kubelet/pods/c/etc-hosts", 0o644, "10.244.1.2 c\n");
    fs::create_dir_all(machine.at("/var/lib/kubelet/pods/d")).unwrap();
    machine.at("/var/lib/kubelet/pods/a/etc-hosts")
}

fn recorder(machine: &Machine, name: &str) {
    let root = machine.root().display();
    machine.program(name, &format!("#!/bin/bash\necho \"$*\" >>{root}/{name}.calls\n"));
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn a_worker_turns_to_its_proxy_and_so_do_its_pods() {
    let machine = Machine::of("local-endpoint", "w1");
    recorder(&machine, "systemctl");
    machine.write(
        "/etc/hosts",
        0o644,
        &format!("127.0.0.1 localhost\n10.6.0.12 {LOCAL} # firelay-endpoint\n"),
    );
    let pod = pods(&machine, LOCAL);
    let before = inode(&pod);
    assert!(!machine.exists("/etc/kubernetes/manifests"));
    machine.set("ENDPOINT", &format!("{LOCAL}:{}", any_api()));
    succeeded(&machine.step("60-endpoint"));

    let manifest = "/etc/kubernetes/manifests/haproxy.yaml";
    assert_eq!(
        machine.read(manifest),
        machine.read("/etc/firelay/endpoint/haproxy.yaml")
    );
    assert_eq!(mode(&machine.at(manifest)), 0o600);
    let laid: Vec<_> = fs::read_dir(machine.at("/etc/kubernetes/manifests")).unwrap().collect();
    assert_eq!(laid.len(), 1, "{laid:?}");
    assert_eq!(leads(&machine, LOCAL), ["127.0.0.1"]);
    let turned = format!("127.0.0.1 localhost\n127.0.0.1 {LOCAL} # firelay-endpoint\n");
    assert!(machine.read("/var/lib/kubelet/pods/a/etc-hosts").ends_with(&turned));
    assert_eq!(inode(&pod), before, "the file is mounted");
    let aliased = machine.read("/var/lib/kubelet/pods/b/etc-hosts");
    assert!(
        aliased.ends_with("\n127.0.0.1\tkubernetes\n") && !aliased.contains("10.6.0.12"),
        "{aliased}"
    );
    assert_eq!(machine.read("/var/lib/kubelet/pods/c/etc-hosts"), "10.244.1.2 c\n");
    assert_eq!(machine.read("/systemctl.calls"), "restart kubelet\n");
}

#[test]
fn the_name_stays_while_the_proxy_does_not_answer() {
    let machine = Machine::of("local-endpoint", "w1");
    recorder(&machine, "systemctl");
    machine.write("/etc/hosts", 0o644, &format!("10.6.0.12 {LOCAL} # firelay-endpoint\n"));
    machine.set("ENDPOINT", &format!("{LOCAL}:1"));
    machine.set("WAIT", "12");
    let said = failed(&machine.step("60-endpoint"));
    assert!(
        said.contains(&format!("on=\"http://{LOCAL}:1 at 127.0.0.1\"")),
        "{said}"
    );
    assert_eq!(leads(&machine, LOCAL), ["10.6.0.12"]);
    assert!(
        machine.exists("/etc/kubernetes/manifests/haproxy.yaml"),
        "the kubelet has to start it"
    );
    assert!(!machine.exists("/systemctl.calls"));
}

#[test]
fn a_control_plane_lays_kube_vip_and_turns_when_its_address_answers() {
    for (answers, lead) in [(false, "10.5.0.11"), (true, "127.0.0.1")] {
        let machine = Machine::of("kube-vip", "cp1");
        machine.write("/etc/hosts", 0o644, &format!("10.5.0.11 {VIP} # firelay-endpoint\n"));
        let port = if answers { any_api() } else { "1".to_owned() };
        machine.set("ENDPOINT", &format!("{VIP}:{port}"));
        machine.set("LEAD", "127.0.0.1");
        machine.set("WAIT", "12");
        let output = machine.step("60-endpoint");
        assert_eq!(output.status.success(), answers, "{}", said(&output));
        let manifest = machine.read("/etc/kubernetes/manifests/kube-vip.yaml");
        assert!(
            manifest.contains(
                "path: /etc/kubernetes/admin.conf"
                    .replace("/etc/kubernetes", machine.at("/etc/kubernetes").to_str().unwrap())
                    .as_str()
            )
        );
        assert_eq!(leads(&machine, VIP), [lead]);
    }
}

#[test]
fn a_control_plane_of_local_leads_to_itself_and_asks_nobody() {
    let machine = Machine::of("local-endpoint", "cp2");
    machine.write("/etc/hosts", 0o644, &format!("10.6.0.11 {LOCAL} # firelay-endpoint\n"));
    pods(&machine, LOCAL);
    succeeded(&machine.step("60-endpoint"));
    assert_eq!(leads(&machine, LOCAL), ["10.6.0.12"]);
    assert!(!machine.exists("/etc/kubernetes/manifests"));
}

#[test]
fn a_worker_of_kube_vip_runs_nothing_of_its_own() {
    let machine = Machine::of("kube-vip", "w1");
    recorder(&machine, "systemctl");
    machine.set("ENDPOINT", &format!("{VIP}:{}", any_api()));
    machine.set("LEAD", "127.0.0.1");
    succeeded(&machine.step("60-endpoint"));
    assert_eq!(leads(&machine, VIP), ["127.0.0.1"]);
    assert!(!machine.exists("/etc/kubernetes/manifests") && !machine.exists("/etc/firelay/endpoint"));
}

/// kube-vip gives its address back when it ends, which takes a moment.
#[test]
fn a_reset_waits_until_kube_vip_has_given_its_address_back() {
    let trie = |address: &str| format!("Local:\n  |-- {address}\n     /32 host LOCAL\n");
    let machine = Machine::of("kube-vip", "cp1");
    let root = machine.root().display().to_string();
    machine.write("/proc/net/fib_trie", 0o444, &trie("10.5.0.10"));
    machine.write("/etc/kubernetes/manifests/kube-vip.yaml", 0o600, "");
    machine.write("/etc/hosts", 0o644, &format!("10.5.0.10 {VIP} # firelay-endpoint\n"));
    recorder(&machine, "systemctl");
    machine.program(
        "kubeadm",
        &format!("#!/bin/bash\ncp {root}/proc/net/fib_trie {root}/then\n"),
    );
    let sleep = format!(
        "#!/bin/bash\n[ -e {root}/etc/kubernetes/manifests/kube-vip.yaml ] || rm -f {root}/proc/net/fib_trie\n\
         [ -e {root}/proc/net/fib_trie ] || echo \"{}\" >{root}/proc/net/fib_trie\n",
        trie("10.5.0.11")
    );
    machine.program("sleep", &sleep);
    let reset = machine.at("/usr/local/bin/firelay-reset");
    let said = succeeded(&super::support::output(
        Command::new(reset).arg("--yes").env_clear(),
        "bash",
    ));
    assert!(said.contains("on=\"kube-vip to give back 10.5.0.10\""), "{said}");
    assert!(machine.read("/then").contains("10.5.0.11"));
    assert_eq!(leads(&machine, VIP), [""; 0]);
}

/// The EndpointSlice of the API servers, as one of them writes it (pkg/controlplane/reconcilers).
fn slice(addresses: &str) -> String {
    format!(
        "{{\n  \"kind\": \"EndpointSlice\",\n  \"apiVersion\": \"discovery.k8s.io/v1\",\n  \"metadata\": {{\n    \"name\": \"kubernetes\"\n  }},\n  \
         \"addressType\": \"IPv4\",\n  \"endpoints\": [\n    {{\n      \"addresses\": [\n        {addresses}\n      ],\n      \
         \"conditions\": {{\n        \"ready\": true\n      }}\n    }}\n  ],\n  \"ports\": [\n    {{\n      \"name\": \"https\",\n      \
         \"protocol\": \"TCP\",\n      \"port\": 6443\n    }}\n  ]\n}}\n"
    )
}

/// Makes the API server name these addresses of its servers, and runs the service at this time.
fn refresh(machine: &Machine, addresses: &str, now: u64) {
    answer(machine, &slice(addresses), 0, now);
}

/// Makes the API server answer this, and runs the service at this time. `status` is curl's.
fn answer(machine: &Machine, text: &str, status: u8, now: u64) {
    machine.write("/answer", 0o644, text);
    let root = machine.root().to_str().unwrap();
    machine.program("curl", &format!("#!/bin/bash\ncat {root}/answer\nexit {status}\n"));
    machine.program(
        "date",
        &format!("#!/bin/bash\n[[ $* != +%s ]] && exec /bin/date \"$@\"\necho {now}\n"),
    );
    let script = machine.at(&format!("{}/servers", machine.lib()));
    succeeded(&super::support::output(Command::new(script).env_clear(), "bash"));
}

/// The servers behind the proxy.
fn servers(machine: &Machine) -> Vec<String> {
    let text = machine.read("/etc/firelay/endpoint/haproxy.cfg");
    let lines = text.lines().filter_map(|line| line.strip_prefix("  server "));
    lines.map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn a_proxy_learns_new_servers_keeps_those_of_the_spec_and_forgets_old_ones_after_a_day() {
    let machine = Machine::of("local-endpoint", "w1");
    machine.stand_in("crictl", "[[ $* != *\" ps \"* ]] || echo c0ffee");
    let path = "/etc/firelay/endpoint/haproxy.cfg";
    let (seed, own) = (machine.read(path), servers(&machine));
    assert_eq!(own.len(), 3);
    let (day, new) = (86_400, "10.6.0.99:6443".to_owned());
    refresh(&machine, "\"10.6.0.11\", \"10.6.0.99\"", day);
    assert_eq!(servers(&machine), [own.clone(), vec![new.clone()]].concat());
    assert!(machine.calls().last().unwrap().ends_with("stop --timeout 30 c0ffee"));
    let calls = machine.calls().len();
    // One that is away for less than a day stays, and nothing is restarted for the same list.
    refresh(&machine, "\"10.6.0.11\"", day + day / 2);
    assert!(servers(&machine).contains(&new));
    assert_eq!(machine.calls().len(), calls);
    refresh(&machine, "\"10.6.0.11\"", 3 * day);
    assert_eq!(machine.read(path), seed);
    // Without an answer nothing changes.
    machine.program("curl", "#!/bin/bash\nexit 7\n");
    let script = machine.at(&format!("{}/servers", machine.lib()));
    succeeded(&super::support::output(Command::new(script).env_clear(), "bash"));
    assert_eq!(machine.read(path), seed);
}

/// One control plane becomes three and one again. What is no whole answer changes nothing, for however long.
#[test]
fn a_list_grows_and_shrinks_with_whole_answers_alone() {
    let machine = Machine::of("local-endpoint", "w1");
    machine.stand_in("crictl", "");
    let path = "/etc/firelay/endpoint/haproxy.cfg";
    let [first, second, third] = ["10.6.0.11", "10.6.0.12", "10.6.0.13"];
    // A document of the time when there was one.
    let config = machine.read(path);
    let seed: Vec<_> = config
        .lines()
        .filter(|line| ![second, third].iter().any(|own| line.contains(own)))
        .collect();
    machine.write(path, 0o644, &(seed.join("\n") + "\n"));
    let named = |addresses: &[&str]| {
        addresses
            .iter()
            .map(|own| format!("\"{own}\""))
            .collect::<Vec<_>>()
            .join(",\n        ")
    };
    let server = |address: &str| format!("{address}:6443");
    let (one, three) = (vec![server(first)], [first, second, third].map(server).to_vec());
    let (mut now, day) = (1_000_000, 86_400);
    refresh(&machine, &named(&[first]), now);
    assert_eq!(servers(&machine), one);
    refresh(&machine, &named(&[first, second, third]), now + 600);
    assert_eq!(servers(&machine), three);
    // Two days after the last whole answer.
    now += 2 * day;
    let (whole, calls) = (slice(&named(&[first, second, third])), machine.calls().len());
    let state = |machine: &Machine| (machine.read(path), machine.read("/var/lib/firelay/servers"));
    let before = state(&machine);
    let last = whole.find("\"ports\":").unwrap();
    let cut = (0..last).step_by(23).map(|at| (whole[..at].to_owned(), 0));
    let status = "{\n  \"kind\": \"Status\",\n  \"status\": \"Failure\",\n  \"code\": 503\n}\n";
    let others = ["", "{}\n", "null\n", "<html>\n", status, &slice("")].map(|text| (text.to_owned(), 0));
    // curl says so when a connection ends early (18) and of another status than 200 (22).
    let failed = [
        (whole.clone(), 18),
        (whole[..last - 40].to_owned(), 18),
        (whole.clone(), 22),
    ];
    for (text, code) in cut.chain(others).chain(failed) {
        answer(&machine, &text, code, now);
        assert_eq!(state(&machine), before, "{code}: {text}");
        now += 600;
    }
    assert_eq!(machine.calls().len(), calls, "nothing is restarted");
    // The first has gone, and no spec says so here: those of the API are there.
    refresh(&machine, &named(&[second, third]), now);
    assert_eq!(servers(&machine), three);
    refresh(&machine, &named(&[first]), now + 600);
    assert_eq!(servers(&machine), three);
    refresh(&machine, &named(&[first]), now + day + 1200);
    assert_eq!(servers(&machine), one);
    assert_eq!(machine.read(path), seed.join("\n") + "\n");
}

#[test]
fn addresses_of_ipv6_stand_in_brackets() {
    let machine = Machine::of("local-endpoint", "w1");
    machine.stand_in("crictl", "");
    refresh(&machine, "\"fd00::99\"", 1);
    assert!(
        servers(&machine).contains(&"[fd00::99]:6443".to_owned()),
        "{:?}",
        servers(&machine)
    );
    assert!(
        machine
            .read("/etc/firelay/endpoint/haproxy.cfg")
            .contains("  server firelay_fd00::99 [fd00::99]:6443\n")
    );
}
