//! The README's commands for a new user work as printed.

use std::{collections::BTreeSet, fs, process::Command};

use super::{
    desk::Desk,
    support::{examples, root, succeed, tree},
};

/// The README, split at its headings.
fn parts() -> Vec<String> {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    text.split("\n## ").map(str::to_owned).collect()
}

fn part(heading: &str) -> String {
    let mut parts = parts().into_iter();
    parts.find(|part| part.starts_with(heading)).unwrap()
}

/// The code blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let rest = text.split(&begin).skip(1);
    rest.map(|block| block.split("```").next().unwrap().to_owned())
        .collect()
}

/// The commands of a text's shell blocks.
fn commands(text: &str) -> Vec<String> {
    let blocks = blocks(text, "sh").concat();
    let typed = blocks
        .lines()
        .map(|line| line.split(" #").next().unwrap().trim().to_owned());
    typed.filter(|line| !line.is_empty()).collect()
}

impl Desk {
    /// Runs commands in a shell with firelay in its PATH and a network namespace of its own.
    fn type_in(&self, script: &str) -> String {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_firelay"));
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let mut shell = Command::new("unshare");
        shell.args(["--net", "bash", "-euc", script]).env("PATH", path);
        shell.env_remove("FIRELAY_SECRETS").stdin(std::process::Stdio::null());
        succeed(shell.current_dir(self.directory.path()), "util-linux")
    }
}

/// CI runs both commands, and `cargo install` in the profile of the first.
#[test]
fn the_first_command_leaves_a_usable_tree_and_nothing_among_the_sources() {
    let commands = commands(&part("Two commands"));
    assert_eq!(commands.len(), 2, "{commands:?}");
    let arguments = commands[0].strip_prefix("cargo run -- ").unwrap();
    let desk = Desk::empty();
    succeed(
        Command::new("cp")
            .arg("-r")
            .arg(root().join("examples"))
            .arg(desk.at("examples")),
        "coreutils",
    );
    let before = tree(&desk.at("examples"));
    desk.type_in(&format!("firelay {arguments}"));
    assert_eq!(tree(&desk.at("examples")), before);
    let again = desk.type_in(&format!("firelay {arguments}"));
    assert!(
        again.contains(": 0 files new or changed, ") && again.contains(" 0 removed"),
        "{again}"
    );
    // The files are those that the README lists, and git ignores them.
    let listed = blocks(&part("Two commands"), "").remove(1);
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    for line in listed.lines().filter(|line| !line.starts_with(' ')) {
        let path = line.split_whitespace().next().unwrap().trim_end_matches('…');
        assert!(desk.at(path).exists(), "{path}");
        let mut rules = ignored.lines();
        assert!(
            rules.any(|rule| path.starts_with(rule.trim_start_matches('/'))
                || rule == "*.secrets.yaml" && path.ends_with(&rule[1..])),
            "{path}"
        );
    }
    desk.type_in("firelay verify out && firelay audit out --secrets out.secrets.yaml");
}

#[test]
fn a_first_cluster_on_aws_is_typed_as_it_stands_there() {
    // Who reads from the top has another cluster in the checkout.
    let desk = Desk::empty();
    std::os::unix::fs::symlink(root().join("examples"), desk.at("examples")).unwrap();
    let first = commands(&part("Two commands")).remove(0);
    let first = first.strip_prefix("cargo run -- ").unwrap().to_owned();
    let commands = commands(&part("A first cluster on AWS"));
    let [install, typed @ .., kubectl] = &commands[..] else {
        panic!("{commands:?}")
    };
    assert_eq!(typed.len(), 5, "{typed:?}");
    for plugin in ["", " --cni calico"] {
        // Without a terminal `init` needs a flag for each answer.
        let typed = typed
            .join("\n")
            .replace("firelay init", &format!("firelay init{plugin}"));
        desk.type_in(&format!(
            "firelay {first}\nrm -rf home; mkdir home; HOME=$PWD/home\n{typed}"
        ));
        assert!(
            desk.at("home/my-cluster/out/terraform/nodes.auto.tfvars.json").exists(),
            "the module reads it"
        );
    }
    assert!(desk.at("home/my-cluster/aws/main.tf").exists() && part("A first cluster on AWS").contains("\"./aws\""));
    // kubectl would need a cluster; the test checks that its argument is a kubeconfig.
    assert!(install.starts_with("cargo install "), "{install}");
    let given = kubectl
        .strip_prefix("kubectl --kubeconfig ")
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert!(desk.read(&format!("home/my-cluster/{given}")).contains("kind: Config"));
}

#[test]
fn a_first_cluster_on_bare_metal_is_typed_as_it_stands_there() {
    let part = part("A first cluster on bare metal");
    let [spec] = &blocks(&part, "yaml")[..] else {
        panic!("{part}")
    };
    let (system, delivery) = spec.split_at(spec.find("delivery:").unwrap());
    let value = |key: &str| {
        let line = system.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    let desk = Desk::empty();
    let (os, platform) = (value("os: "), value("platform: "));
    desk.type_in(&format!("firelay init cluster.yaml --os {os} --platform {platform}"));
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + delivery));
    let [serve, seed] = &commands(&part)[..] else {
        panic!("{part}")
    };
    let asked = part.split("iPXE: ").nth(1).unwrap().split_whitespace().next().unwrap();
    let address = asked.split("://").nth(1).unwrap().split(':').next().unwrap();
    let said = desk.type_in(&format!(
        "ip link set lo up && ip address add {address}/32 dev lo\n\
         {{ {serve}; }} & trap 'pkill -TERM --parent $! || true; wait' EXIT\n\
         curl --silent --fail --retry 20 --retry-delay 1 --retry-connrefused {asked}\n{seed}"
    ));
    assert!(said.contains("#!ipxe"), "{said}");
    assert!(fs::read_dir(desk.at("out/seed")).unwrap().count() > 0);
}

/// The README lists every tested example. Files that are in neither list are a user's experiments.
#[test]
fn every_example_is_in_the_readme_and_tested() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let links = text
        .split("](examples/")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap());
    let specs = links
        .filter_map(|link| link.strip_suffix(".yaml"))
        .map(|link| link.trim_end_matches("/cluster").to_owned());
    let listed: BTreeSet<_> = specs.collect();
    let tested: BTreeSet<_> = examples().into_iter().map(|example| example.name).collect();
    assert_eq!(listed, tested);
}

/// The README's figures are those of the last `just bench --write`.
#[test]
fn the_figures_of_the_readme_are_measured() {
    let text = fs::read_to_string(root().join("docs/performance.json")).unwrap();
    let bench: serde_json::Value = serde_json::from_str(&text).unwrap();
    let calls = bench["calls"].as_array().unwrap();
    let render = calls.iter().find(|call| call["what"] == "render").unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, sentence) = readme.split_once("A render of ").unwrap();
    let number = |after: &str| -> f64 {
        let rest = sentence.split_once(after).unwrap().1;
        let end = rest.find(' ').unwrap();
        rest[..end].replace(',', "").parse().unwrap()
    };
    let machines = bench["machines"].as_f64().unwrap();
    assert!(
        (number("") - machines).abs() < 0.5,
        "README.md: {} machines",
        number("")
    );
    for (figure, measured) in [
        (number(" takes "), &render["cpu"]),
        (number(" and "), &render["memory"]),
    ] {
        let ratio = figure / measured.as_f64().unwrap();
        assert!(
            (0.5..=2.0).contains(&ratio),
            "README.md: {figure}; docs/performance.json: {measured}"
        );
    }
}
