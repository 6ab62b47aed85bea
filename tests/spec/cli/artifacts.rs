//! `artifacts`: the images that a mirror has to hold, and the programs that machines fetch.

use std::collections::BTreeSet;

use super::desk::Desk;
use super::support::{examples, firelay, pyyaml, read_tree, rendered};
use firelay::profile::Profiles;
use serde_json::Value;

const FLANNEL: &str = "ghcr.io/flannel-io/flannel:v0.28.9";
const DIGEST: &str = "sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a";

/// Every `image` of a container, at any depth.
fn of_containers(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let image = fields.get("image").filter(|_| fields.contains_key("name"));
            found.extend(image.and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| of_containers(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| of_containers(item, found)),
        _ => {}
    }
}

#[test]
fn every_image_that_a_document_names_is_listed() {
    for example in examples() {
        let listed = firelay(&["artifacts", "images"]).arg(&example.spec).output().unwrap();
        assert!(listed.status.success(), "{}: {listed:?}", example.name);
        let listed: BTreeSet<_> = String::from_utf8(listed.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        let mut named = BTreeSet::new();
        for (path, (_, text)) in read_tree(rendered(&example.name)).into_values().flatten() {
            if path.ends_with(".yaml") && text.contains("containers:") {
                pyyaml(&text)
                    .iter()
                    .for_each(|object| of_containers(object, &mut named));
            }
            let sandbox = text.lines().find_map(|line| line.trim().strip_prefix("sandbox = "));
            named.extend(sandbox.map(|image| image.trim_matches(['"', '\'']).to_owned()));
        }
        assert!(
            named.is_subset(&listed),
            "{}: {:?}",
            example.name,
            named.difference(&listed)
        );
        for part in ["/kube-apiserver:v1.", "/kube-scheduler:v1.", "/pause:3."] {
            assert!(
                listed.iter().any(|image| image.contains(part)),
                "{}: {part}: {listed:?}",
                example.name
            );
        }
    }
}

#[test]
fn a_digest_and_a_rewritten_registry_are_in_the_list_and_in_the_manifest() {
    let desk = Desk::of("ha-ubuntu");
    let artifacts = format!(
        "artifacts:\n  imageRewrites: {{ ghcr.io: r.example.com/ghcr }}\n  imageDigests: {{ \"{FLANNEL}\": \"{DIGEST}\" }}\n"
    );
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + &artifacts));
    let listed = desk.run(&["artifacts", "images", "--output", "json"]).json();
    let pinned = format!("r.example.com/ghcr/flannel-io/flannel:v0.28.9@{DIGEST}");
    let images = listed["images"].as_array().unwrap();
    let own = images.iter().find(|image| image["upstream"] == FLANNEL).unwrap();
    assert_eq!(own["image"], pinned.as_str());
    assert_eq!(
        own["by"],
        serde_json::json!(["/etc/firelay/addons/20-cni/flannel.yaml"])
    );
    assert_eq!(listed["architectures"], serde_json::json!(["amd64"]));
    assert_eq!(desk.run(&["render"]).code, 0);
    let (_, manifest) = &read_tree(&desk.at("out"))["cp1"]["/etc/firelay/addons/20-cni/flannel.yaml"];
    assert_eq!(
        manifest.matches(&pinned).count(),
        manifest.matches("flannel-io/flannel:").count(),
        "{manifest}"
    );
}

#[test]
fn what_is_fetched_comes_through_the_mirror_and_images_of_the_users_own_are_said_to_be_unknown() {
    let desk = Desk::of("single-node");
    let more = format!(
        "addons: {{ gatewayApi: {{ channel: experimental }} }}\nartifacts: {{ mirror: \"http://files.example.com/m/\" }}\n\
         manifests: [{{ name: own, url: \"http://files.example.com/m/own.yaml\", sha256: \"{}\" }}]\n",
        "1".repeat(64)
    );
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + &more));
    let url = "http://files.example.com/m/github.com/kubernetes-sigs/gateway-api/releases/download/v1.5.1/experimental-install.yaml";
    let ran = desk.run(&["artifacts", "images"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains("note: the images of http://files.example.com/m/own.yaml are not known")
            && !ran.stderr.contains(url),
        "{ran:?}"
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    let (_, fetched) = &read_tree(&desk.at("out"))["home1"]["/etc/firelay/artifacts"];
    let line = format!(
        "manifest-gateway-api 64ec76609a6ac885e0405dea79ca509c229fa019d342f0857aa8b6bdc8b8ba92 binary {url} /etc/firelay/addons/10-crds 00-gateway-api.yaml\n"
    );
    assert!(fetched.contains(&line), "{fetched}");
}

/// Image archives at each level of the spec.
const ARCHIVES: &str = "
artifacts:
  mirror: http://files.example.com/m/
  imageArchives:
    - { url: 'http://files.example.com/m/images/all.tar', sha256: SUM1 }
    - { url: 'http://files.example.com/m/images/arm.tar', sha256: SUM2, arch: arm64 }
roles:
  worker:
    imageArchives:
      - { url: 'http://files.example.com/m/images/app.tar', sha256: SUM3 }
      - { url: 'http://files.example.com/m/images/all.tar', sha256: SUM4 }
";

#[test]
fn archives_of_images_add_up_by_level_and_belong_to_the_mirror() {
    let sum = |digit: &str| digit.repeat(64);
    let archives = (1..=4).fold(ARCHIVES.to_owned(), |text, number| {
        text.replace(&format!("SUM{number}"), &format!("\"{}\"", sum(&number.to_string())))
    });
    let desk = Desk::of("ha-ubuntu");
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + &archives));
    assert_eq!(desk.run(&["render"]).code, 0);
    let tree = read_tree(&desk.at("out"));
    let list = |node: &str| tree[node]["/etc/firelay/images"].1.clone();
    let line = |digit: &str, name: &str| format!("{} http://files.example.com/m/images/{name}.tar\n", sum(digit));
    assert_eq!(list("cp1"), line("1", "all"));
    assert_eq!(list("worker-1"), line("3", "app") + &line("4", "all"));
    let listed = desk.run(&["artifacts", "list", "--output", "json"]).json();
    let files = listed["files"].as_array().unwrap();
    let archives: Vec<_> = files.iter().filter(|file| file["kind"] == "image-archive").collect();
    let paths: Vec<_> = archives.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["images/all.tar", "images/all.tar", "images/app.tar"]);
    let kubelet = files.iter().find(|file| file["name"] == "kubelet").unwrap();
    let path = kubelet["path"].as_str().unwrap();
    assert_eq!(kubelet["url"], format!("http://files.example.com/m/{path}"));
    assert_eq!(kubelet["upstream"], format!("https://{path}"));
    let planned = desk.run(&["artifacts", "mirror", "m", "--plan"]);
    assert!(planned.stderr.contains("note: images/app.tar is yours"), "{planned:?}");
    assert!(!planned.stdout.contains("images/app.tar"), "{planned:?}");
}

#[test]
fn a_bill_of_materials_names_everything_with_its_digest_and_is_the_same_each_time() {
    let desk = Desk::with_spec("air-gapped");
    let artifacts = format!("--set=artifacts.imageDigests={{ \"{FLANNEL}\": \"{DIGEST}\" }}");
    // Archives with the same name and content at two URLs.
    let archive = |place: &str| format!("{{ url: 'http://{place}/all.tar', sha256: '{}' }}", "1".repeat(64));
    let archives = format!("--set=artifacts.imageArchives=[{}, {}]", archive("a"), archive("b"));
    let spdx = || {
        let mut command = desk.command(&["artifacts", "list", "--output", "spdx", &artifacts, &archives]);
        super::desk::Ran::of(&command.env("SOURCE_DATE_EPOCH", "1700000000").output().unwrap())
    };
    let first = spdx();
    assert_eq!(first.stdout, spdx().stdout);
    let document = first.json();
    assert_eq!(document["spdxVersion"], "SPDX-2.3");
    assert_eq!(document["creationInfo"]["created"], "2023-11-14T22:13:20Z");
    let packages = document["packages"].as_array().unwrap();
    let listed = desk
        .run(&["artifacts", "list", "--output", "json", &artifacts, &archives])
        .json();
    let count = |key: &str| listed[key].as_array().unwrap().len();
    assert_eq!(packages.len(), count("files") + count("images"));
    let ids: BTreeSet<_> = packages
        .iter()
        .map(|package| package["SPDXID"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), packages.len());
    let plain = |id: &&str| {
        id.chars()
            .all(|sign| sign.is_ascii_alphanumeric() || sign == '-' || sign == '.')
    };
    assert!(ids.iter().all(plain), "{ids:?}");
    assert_eq!(document["relationships"].as_array().unwrap().len(), packages.len());
    let flannel = packages.iter().find(|package| package["name"] == FLANNEL).unwrap();
    assert_eq!(flannel["checksums"][0]["checksumValue"], DIGEST["sha256:".len()..]);
    let purl = flannel["externalRefs"][0]["referenceLocator"].as_str().unwrap();
    let hex = DIGEST.replace(':', "%3A");
    assert_eq!(
        purl,
        format!("pkg:oci/flannel@{hex}?repository_url=ghcr.io%2Fflannel-io%2Fflannel&tag=v0.28.9")
    );
}

#[test]
fn images_are_copied_to_where_they_are_pulled() {
    let desk = Desk::with_spec("ha-ubuntu");
    let rewrite = "--set=artifacts.imageRewrites={ ghcr.io: own.lan/ghcr }";
    let pin = format!("--set=artifacts.imageDigests={{ \"{FLANNEL}\": \"{DIGEST}\" }}");
    let copies = desk.run(&["artifacts", "images", "--copy-to", "r.lan:5000/", rewrite, &pin]);
    let lines: Vec<_> = copies.stdout.lines().collect();
    let pinned =
        format!("docker://ghcr.io/flannel-io/flannel@{DIGEST} docker://own.lan/ghcr/flannel-io/flannel:v0.28.9");
    assert!(lines.iter().any(|line| line.ends_with(&pinned)), "{copies:?}");
    let proxy = "skopeo copy --all --preserve-digests docker://registry.k8s.io/kube-proxy:v1.";
    let proxy = lines.iter().find(|line| line.starts_with(proxy)).unwrap();
    assert!(proxy.contains(" docker://r.lan:5000/kube-proxy:v1."), "{proxy}");
    let listed = desk.run(&["artifacts", "images", rewrite, &pin]);
    assert_eq!(lines.len(), listed.stdout.lines().count());
}

#[test]
fn a_registry_to_copy_to_is_a_name_that_machines_pull_from() {
    let desk = Desk::with_spec("ha-ubuntu");
    let copied = |more: &[&str]| desk.run(&[&["artifacts", "images", "--copy-to"], more].concat());
    let refused = copied(&["https://r.lan:5000"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    assert!(refused.stderr.contains("--copy-to r.lan:5000"), "{refused:?}");
    let note = "no machine pulls from r.lan:5000";
    let unused = copied(&["r.lan:5000"]);
    assert!(unused.code == 0 && unused.stderr.contains(note), "{unused:?}");
    let rewrites = "--set=artifacts.imageRewrites={ registry.k8s.io: \"r.lan:5000/k8s\" }";
    let mirror = "--set=runtime.registries=[{ host: _default, mirrors: [{ url: \"https://r.lan:5000\" }] }]";
    for used in [rewrites, mirror] {
        let copies = copied(&["r.lan:5000", used]);
        assert!(copies.code == 0 && !copies.stderr.contains(note), "{copies:?}");
    }
}

#[test]
fn nothing_that_renders_or_checks_needs_a_network() {
    let desk = Desk::of("air-gapped");
    let offline = |arguments: &[&str]| {
        let own = desk.command(arguments);
        let mut command = std::process::Command::new("unshare");
        // A network namespace without an active interface.
        command.args(["--net", "--map-root-user", "--"]);
        command.arg(own.get_program()).args(own.get_args());
        command.current_dir(desk.directory.path()).env_remove("FIRELAY_SECRETS");
        super::desk::Ran::of(&super::support::output(&mut command, "util-linux"))
    };
    for verb in [
        &["check"][..],
        &["render"],
        &["verify"],
        &["audit", "--secrets", "firelay.secrets.yaml"],
        &["graph"],
        &["size"],
        &["why", "cp1:/etc/firelay/node.env"],
        &["artifacts", "list"],
        &["artifacts", "list", "--output", "spdx"],
        &["artifacts", "images"],
        &["artifacts", "mirror", "m", "--plan"],
    ] {
        let ran = offline(verb);
        assert_eq!(ran.code, 0, "{verb:?}: {ran:?}");
    }
    let lacking = offline(&["artifacts", "check", "m"]);
    assert_eq!(lacking.code, 5, "{lacking:?}");
    assert!(desk.at("out/manifest.json").exists());
    let refused = offline(&["artifacts", "mirror", "m", "--retries", "0"]);
    assert_eq!(refused.code, 1, "there is no network: {refused:?}");
}

/// Snapshots of stacked members are restored by programs of the image's minor, whatever the version of external members is.
#[test]
fn programs_beside_stacked_members_are_of_the_images_minor() {
    let profiles = Profiles::embedded().unwrap();
    for release in profiles.kubernetes.values() {
        let version = release.versions.first().unwrap();
        let minor = release.etcd_image.rsplit_once('.').unwrap().0;
        for set in ["etcd.version=3.5.33", "etcd.dataDir=/var/lib/etcd"] {
            let desk = Desk::of("ha-ubuntu");
            let kubernetes = format!("kubernetes.version={version}");
            let arguments = [
                "artifacts",
                "list",
                "--set",
                "etcd.backup={ every: 6h }",
                "--set",
                &kubernetes,
            ];
            let ran = desk.run(&[&arguments[..], &["--set", "platform=openstack", "--set", set]].concat());
            let line = ran.stdout.lines().find(|line| line.starts_with("etcd "));
            let found = line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default();
            assert!(found.starts_with(&format!("{minor}.")), "{version} {set}: {ran:?}");
        }
    }
}
