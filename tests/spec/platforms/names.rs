//! Names of pool machines, and findings about names that do not resolve.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::support::{
    self,
    plan::{PROFILES, try_resolve},
};

fn spec(platform: &str, further: &str) -> String {
    format!(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {{ version: 1.36.4 }}
endpoint: {{ host: api.example.com }}
join: {{ tokenTtl: 8760h }}
os: ubuntu-24.04
platform: {platform}
{further}
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [10.77.0.11] }}
pools:
  - {{ name: burst, roles: [worker] }}
"
    )
}

/// The codes of findings about names.
fn codes(text: &str) -> Vec<&'static str> {
    let (_, findings) = try_resolve(text).unwrap_or_else(|text| panic!("{text}"));
    let codes = findings.iter().map(|finding| finding.code);
    codes.filter(|code| ["FL0219", "FL0220"].contains(code)).collect()
}

#[test]
fn a_pool_is_warned_of_where_its_machines_get_no_names_of_their_own() {
    for (name, platform) in &PROFILES.platform {
        let hostname = platform.hostname.as_ref().unwrap();
        let expected: &[&str] = if hostname.distinct { &[] } else { &["FL0219"] };
        assert_eq!(codes(&spec(name, "")), expected, "{name}");
    }
}

#[test]
fn a_name_that_the_cloud_does_not_know_is_warned_of() {
    let external =
        "kubernetes: { version: 1.36.4, kubelet: { extraArgs: [{ name: cloud-provider, value: external }] } }";
    let with = |name: &str, platform: &str| {
        let text = spec(platform, "").replace("kubernetes: { version: 1.36.4 }", external);
        codes(&text.replace("name: cp1", &format!("name: {name}")))
    };
    assert_eq!(with("cp1", "aws"), ["FL0220"]);
    assert_eq!(with("ip-10-77-0-11.eu-central-1.compute.internal", "aws"), [""; 0]);
    assert_eq!(
        with("i-0123456789abcdef0.eu-central-1.compute.internal", "aws"),
        [""; 0]
    );
    assert_eq!(with("cp1", "hetzner"), [""; 0], "a server can have any name");
    assert_eq!(codes(&spec("aws", "")), [""; 0], "no cloud looks after it");
    let addon = "addons: { awsCloudController: {} }";
    assert_eq!(codes(&spec("aws", addon)), ["FL0220"]);
    let told = external.replace("external }", "external }, { name: provider-id, value: 'aws:///a/i-1' }");
    let text = spec("aws", "").replace("kubernetes: { version: 1.36.4 }", &told);
    assert_eq!(codes(&text), [""; 0], "the kubelet says it");
}

/// Runs the function of the first step that waits for a pool machine's name. The platform answers `told`, and the
/// hostname is `has`; returns the output and the name that it sets.
fn named(platform: &str, has: &str, told: &str) -> (bool, String, Option<String>) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("cluster.yaml"), spec(platform, "")).unwrap();
    let tree = at("out");
    let mut render = support::firelay(&["render", "cluster.yaml", "--new-secrets", "-o", tree.to_str().unwrap()]);
    support::succeed(render.current_dir(directory.path()), "firelay");
    let step = step(&tree);
    let function = step[step.find("named() {").unwrap()..].split_once("\n}\n").unwrap().0;
    fs::write(at("hostname"), format!("{has}\n")).unwrap();
    // The test must not read `/proc/sys/kernel/hostname` of its own machine.
    let function = function.replace("/proc/sys/kernel/hostname", at("hostname").to_str().unwrap());
    for (name, script) in [
        (
            "curl",
            format!("#!/bin/sh\ncase \"$*\" in *token) echo T;; *) cat <<'E'\n{told}\nE\n;; esac\n"),
        ),
        ("hostnamectl", format!("#!/bin/sh\necho $2 > {}\n", at("set").display())),
    ] {
        fs::create_dir_all(at("bin")).unwrap();
        fs::write(at("bin").join(name), script).unwrap();
        fs::set_permissions(at("bin").join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = format!("set -Eeuo pipefail\n{function}\n}}\nnamed");
    let mut bash = Command::new("bash");
    let path = format!("{}:/usr/bin:/bin", at("bin").display());
    let output = bash.args(["-c", &script]).env("PATH", path).output().unwrap();
    let set = fs::read_to_string(at("set")).ok().map(|name| name.trim().to_owned());
    (output.status.success(), support::said(&output), set)
}

/// The pool's `10-prepare`, from its readable document.
fn step(tree: &Path) -> String {
    let document = tree.join("nodes/burst/user-data");
    let config = support::read_cloud_init(&fs::read(document).unwrap());
    config.files["/usr/local/lib/firelay/steps/10-prepare"].1.clone()
}

#[test]
fn a_pools_machine_takes_the_name_by_which_its_cloud_looks_for_it() {
    let full = "ip-10-0-1-5.eu-central-1.compute.internal";
    let (done, said, set) = named("aws", "ip-10-0-1-5", &format!("{full} example.com"));
    assert!(done, "{said}");
    assert_eq!(set.as_deref(), Some(full));
    let (done, _, set) = named("aws", full, full);
    assert!(done && set.is_none(), "it has the name already");
    let (done, _, set) = named("openstack", "burst-1.novalocal", "");
    assert!(done && set.as_deref() == Some("burst-1"));
    let (done, _, set) = named("gce", &format!("burst-1.{}.internal", "c".repeat(60)), "");
    assert!(done && set.as_deref() == Some("burst-1"));
    let (done, said, set) = named("linode", "localhost", "id: 1\nlabel: burst-7\nregion: de-fra-2");
    assert!(done, "{said}");
    assert_eq!(set.as_deref(), Some("burst-7"));
}

#[test]
fn a_name_that_no_node_can_have_is_waited_out() {
    for (platform, has) in [("hetzner", "localhost"), ("hetzner", &*"a".repeat(64)), ("azure", "")] {
        let (done, said, set) = named(platform, has, "");
        assert!(
            !done && set.is_none() && said.contains("the host name is"),
            "{platform} {has}: {said}"
        );
    }
    let (done, said, _) = named("aws", "ip-10-0-1-5", "");
    assert!(!done && said.contains("the host name is empty"), "{said}");
}
