//! `diff`: differences of trees and specs, and no secret in them.

use std::process::Command;

use super::desk::Desk;

/// Values that no output may show.
const SECRETS: [&str; 4] = ["swordfish", "opensesame", "xyzzy", "plugh"];

const HEAD: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: home
endpoint: { host: api.home.example.net }
os: debian-13
platform: nocloud
";

/// A spec with a secret in every kind of place.
fn spec(secret: &str, rest: &str) -> String {
    format!(
        "{HEAD}
kubernetes:
  version: 1.36.4
  apiServer: {{ extraEnvs: [{{ name: WORD, value: {secret} }}] }}
proxy: {{ http: 'http://me:{secret}@proxy.lan:3128' }}
files:
  - {{ path: /etc/motd, content: 'the word is {secret}' }}
  - {{ path: /etc/word.yaml, content: 'word: {secret}' }}
commands: {{ after: ['echo {secret}'] }}
manifests: [{{ name: word, content: '{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {secret} }} }}' }}]
{rest}"
    )
}

const OLD: &str = "
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: w1, roles: [worker], addresses: [10.0.0.21] }
";

const NEW: &str = "
network: { pods: [10.250.0.0/16] }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: w2, roles: [worker], addresses: [10.0.0.22], labels: { tier: app } }
";

/// A directory with two specs and their trees.
fn desk() -> Desk {
    let desk = Desk::empty();
    for (name, secret, nodes) in [("old", SECRETS[0], OLD), ("new", SECRETS[1], NEW)] {
        let file = format!("{name}.yaml");
        desk.write(&file, &spec(secret, nodes));
        let state = format!("{name}.state.yaml");
        let ran = desk.run(&["render", &file, "--new-secrets", "--out", name, "--state", &state]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    desk
}

const TREES: [&str; 3] = ["diff", "old", "new"];
const SPECS: [&str; 3] = ["diff", "old.yaml", "new.yaml"];

#[test]
fn trees_and_specs_differ_by_machine_file_and_field() {
    let desk = desk();
    for arguments in [TREES, SPECS] {
        let with = |flags: &[&str]| desk.run(&[&arguments[..], flags].concat());
        let ran = with(&[]);
        assert_eq!(ran.code, 0, "{ran:?}");
        for text in [
            "  ~ cp1\n",
            "  + w2\n",
            "  - w1\n",
            "/etc/firelay/kubeadm/init.yaml\n",
            "ClusterConfiguration/networking/podSubnet: \"10.244.0.0/16\" → \"10.250.0.0/16\"",
            "/etc/motd\n          line 1: (not shown)\n",
            "3 of 3 machines differ.\n",
        ] {
            assert!(ran.stdout.contains(text), "{text}\n{}", ran.stdout);
        }
        let json = with(&["--output", "json"]);
        for word in SECRETS {
            assert!(!format!("{ran:?}{json:?}").contains(word), "{word}\n{ran:?}");
        }
        let machines = json.json()["machines"].clone();
        let machines = machines.as_array().unwrap().iter();
        let kinds: Vec<_> = machines
            .map(|own| (own["kind"].as_str(), own["name"].as_str()))
            .map(|(kind, name)| (kind.unwrap().to_owned(), name.unwrap().to_owned()))
            .collect();
        let expected = [("changed", "cp1"), ("added", "w2"), ("removed", "w1")];
        assert_eq!(kinds, expected.map(|(kind, name)| (kind.to_owned(), name.to_owned())));
        assert_eq!(with(&["--detailed-exitcode"]).code, 6);
    }
}

#[test]
fn fields_of_specs_have_their_paths() {
    let fields = desk().run(&SPECS).stdout;
    for text in [
        "  network.pods[0]: (none) → \"10.250.0.0/16\"\n",
        "  nodes[w2].labels.tier: (none) → \"app\"\n",
        "  proxy.http: (not shown)\n",
        "  files[/etc/motd].content: (not shown)\n",
    ] {
        assert!(fields.contains(text), "{text}\n{fields}");
    }
}

#[test]
fn the_same_has_no_differences() {
    let desk = desk();
    for arguments in [["diff", "old", "old"], ["diff", "old.yaml", "old.yaml"]] {
        let ran = desk.run(&[&arguments[..], &["--detailed-exitcode"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "No differences.\n"));
    }
    let text = desk.read("old.yaml");
    let piped = desk.pipe(&["diff", "-", "old.yaml"], text.as_bytes());
    assert_eq!(piped.stdout, "No differences.\n");
}

#[test]
fn a_variable_is_not_shown() {
    let desk = Desk::empty();
    for (name, variable) in [("old.yaml", "WORD"), ("new.yaml", "OTHER")] {
        let labels = format!("roles: {{ worker: {{ labels: {{ tier: '${{{variable}}}' }} }} }}\n");
        desk.write(name, &format!("{HEAD}kubernetes: {{ version: 1.36.4 }}\n{OLD}{labels}"));
    }
    let mut command = desk.command(&["diff", "old.yaml", "new.yaml", "--env"]);
    let output = command
        .env("WORD", SECRETS[2])
        .env("OTHER", SECRETS[3])
        .output()
        .unwrap();
    let said = format!("{output:?}");
    assert!(said.contains("roles.worker.labels.tier: (not shown)"), "{said}");
    assert!(!said.contains(SECRETS[2]) && !said.contains(SECRETS[3]), "{said}");
}

#[test]
fn a_tree_that_is_not_as_rendered_is_refused() {
    let desk = desk();
    for (command, file) in [
        ("rm other/nodes/w1/user-data", "nodes/w1/user-data"),
        (
            "sed -i s/10.0.0.11/10.0.0.66/ other/nodes/cp1/user-data",
            "nodes/cp1/user-data",
        ),
        ("rm other/admin.kubeconfig", "admin.kubeconfig"),
    ] {
        let make = format!("rm -rf other; cp -r old other; {command}");
        let ran = Command::new("bash")
            .args(["-euc", &make])
            .current_dir(desk.directory.path())
            .status();
        assert!(ran.unwrap().success());
        for trees in [["old", "other"], ["other", "old"]] {
            let ran = desk.run(&["diff", trees[0], trees[1]]);
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(
                ran.stderr
                    .contains(&format!("other: a file is not as the manifest says: {file}")),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn queries_of_urls_and_kernel_arguments_are_not_shown() {
    let desk = Desk::empty();
    let spec = |word: &str| {
        format!("{HEAD}
kubernetes: {{ version: 1.36.4 }}
artifacts: {{ imageArchives: [{{ url: 'https://files.example.com/i.tar?signature={word}', sha256: {} }}] }}
delivery: {{ pxe: {{ url: 'http://10.0.0.5:8080', systems: {{ debian-13: {{ kernel: 'http://h/k', initrd: ['http://h/i?token={word}'], arguments: ['pw={word}'] }} }} }} }}
{OLD}", "ab".repeat(32))
    };
    desk.write("old.yaml", &spec("swordfish"));
    desk.write("new.yaml", &spec("plugh"));
    for further in [&[][..], &["--output", "json"]] {
        let ran = desk.run(&[&["diff", "old.yaml", "new.yaml", "--detailed-exitcode"], further].concat());
        assert_eq!(ran.code, 6, "{ran:?}");
        assert!(SECRETS.iter().all(|secret| !ran.stdout.contains(secret)), "{ran:?}");
    }
}

/// `plan` hides them, too: there they are in a ConfigMap and in environments.
#[test]
fn texts_of_an_add_on_are_not_shown() {
    let desk = Desk::empty();
    for (name, secret) in [("old.yaml", SECRETS[0]), ("new.yaml", SECRETS[1])] {
        let variables = format!("{{ ARGOCD_SETTING: {secret} }}");
        let config = format!("{{ dex.config: 'clientSecret: {secret}' }}");
        let addons = format!("addons: {{ argoCd: {{ variables: {variables}, config: {config} }} }}");
        desk.write(
            name,
            &format!("{HEAD}kubernetes: {{ version: 1.36.4 }}\n{addons}\n{OLD}"),
        );
    }
    for further in [&[][..], &["--output", "json"]] {
        let ran = desk.run(&[&["diff", "old.yaml", "new.yaml", "--detailed-exitcode"], further].concat());
        assert_eq!(ran.code, 6, "{ran:?}");
        assert!(SECRETS.iter().all(|secret| !ran.stdout.contains(secret)), "{ran:?}");
    }
}

/// YAML's forms of a text, of which some have their place at the key or at an anchor.
#[test]
fn secrets_in_every_form_of_yaml_are_not_shown() {
    let spec = |secret: &str, value: &str| {
        let registry = "{ host: registry.example.com, mirrors: [{ url: 'https://mirror.example.com', auth: { username: u, password: *word } }] }";
        format!(
            "{HEAD}
kubernetes: {{ version: 1.36.4 }}
runtime: {{ registries: [{registry}] }}
files:
  - path: /etc/a
    content: {value}
manifests:
  - name: word
    content: |
      {{ apiVersion: v1, kind: Secret, metadata: {{ name: a }}, stringData: {{ a: {secret} }} }}
{OLD}"
        )
        .replace("*word", if value.starts_with('&') { "*word" } else { secret })
    };
    let forms: [fn(&str) -> String; 5] = [
        |secret| secret.to_owned(),
        |secret| format!("'{secret}'"),
        |secret| format!("|\n      pw {secret}\n      more"),
        |secret| format!(">-\n      pw {secret}"),
        |secret| format!("&word {secret}"),
    ];
    for form in forms {
        let desk = Desk::empty();
        for (name, secret) in [("old.yaml", SECRETS[0]), ("new.yaml", SECRETS[1])] {
            let text = spec(secret, &form(secret));
            // An anchor stands before its alias.
            let (before, after) = text.split_once("runtime:").unwrap();
            let (runtime, files) = after.split_once('\n').unwrap();
            desk.write(name, &format!("{before}{files}\nruntime:{runtime}\n"));
        }
        for further in [&[][..], &["--output", "json"]] {
            let ran = desk.run(&[&["diff", "old.yaml", "new.yaml", "--detailed-exitcode"], further].concat());
            assert_eq!(ran.code, 6, "{ran:?}");
            assert!(SECRETS.iter().all(|secret| !ran.stdout.contains(secret)), "{ran:?}");
        }
    }
}

/// A line in base64 has its padding where a setting has its value.
#[test]
fn base64_is_not_the_name_of_a_setting() {
    let desk = Desk::empty();
    for (name, content) in [("old", "aHVudGVyMg=="), ("new", "aHVudGVyMw==")] {
        let file = format!("{name}.yaml");
        let files = format!("files: [{{ path: /etc/a, content: '{content}' }}]");
        desk.write(
            &file,
            &format!("{HEAD}\nkubernetes: {{ version: 1.36.4 }}\n{files}\n{OLD}"),
        );
        let state = format!("{name}.state.yaml");
        let ran = desk.run(&["render", &file, "--new-secrets", "--out", name, "--state", &state]);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let ran = desk.run(&["diff", "old", "new"]);
    assert!(
        ran.stdout.contains("line 1: (not shown)") && !ran.stdout.contains("aHVudGVy"),
        "{ran:?}"
    );
}
