//! Every system and every runtime with every minor, and every add-on with each minor that it names, rendered whole: the folders of profiles
//! and templates say what there is. `render` verifies each tree, and the documents pass their systems' own validators.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use firelay::{
    commands::{assembly::Assembly, project::Project},
    declaration::{self, Declaration, Kind},
    document::{Compression, for_os},
    profile::KubernetesProfile,
    secrets::Bundle,
    spec::Arch,
};
use rayon::prelude::*;
use semver::Version;
use support::{documents, firelay, plan::PROFILES, root, said, succeed};

use super::{conform::SCHEMA, manifests};

/// Names of the files or folders in a folder of the repository.
fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let entries = entries.filter(|path| path.is_dir() || path.extension().is_some_and(|it| it == "yaml"));
    entries
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// A platform that carries the system's documents.
fn platform(system: &str) -> &'static str {
    let os = &PROFILES.os[system];
    let unlimited = |name: &&String| {
        os.user_data(&PROFILES.platform[*name])
            .is_some_and(|it| it.limit.is_none())
    };
    PROFILES
        .platform
        .keys()
        .find(unlimited)
        .unwrap_or_else(|| panic!("no platform carries {system}"))
}

/// A cluster of a minor with a machine of every system; over all minors each of them is a control plane.
fn spec(number: usize, minor: &str, runtime: &str) -> String {
    let version = &PROFILES.kubernetes[minor].versions[0];
    let systems = names("profiles/os");
    let count = systems.len();
    // Members of etcd are an odd number.
    let planes = count.div_ceil(PROFILES.kubernetes.len()) | 1;
    let nodes = systems.iter().enumerate().map(|(index, system)| {
        let role = if (index + count * planes - number * planes) % count < planes {
            "control-plane"
        } else {
            "worker"
        };
        let (name, platform, last) = (system.replace('.', "-"), platform(system), index + 1);
        format!(
            "  - {{ name: {name}, roles: [{role}], os: {system}, platform: {platform}, addresses: [10.77.0.{last}] }}\n"
        )
    });
    format!(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {{ version: {version} }}
endpoint: {{ host: api.example.com }}
runtime: {{ {runtime} }}
os: ubuntu-24.04
platform: metal
nodes:
{}",
        nodes.collect::<String>()
    )
}

/// The key of the spec for a runtime, and whether the catalogue has a digest of the minor's release.
fn runtime(name: &str, minor: &KubernetesProfile) -> (String, bool) {
    let key = if name == "containerd" {
        String::new()
    } else {
        format!("{name}: {{}}")
    };
    let release = minor
        .component(name)
        .unwrap_or_else(|| panic!("{} names no {name}", minor.minor));
    (key, PROFILES.catalog.artifacts[name].releases.contains_key(release))
}

#[test]
fn every_system_and_runtime_renders_with_every_minor() {
    let directory = tempfile::tempdir().unwrap();
    let runtimes = names("profiles/runtime");
    let minors = names("profiles/kubernetes");
    let cases: Vec<_> = minors
        .iter()
        .enumerate()
        .flat_map(|(number, minor)| runtimes.iter().map(move |runtime| (number, minor, runtime)))
        .collect();
    assert!(cases.len() >= 10 && names("profiles/os").len() >= 24);
    cases.par_iter().for_each(|(number, minor, name)| {
        let (key, digested) = runtime(name, &PROFILES.kubernetes[*minor]);
        let folder = directory.path().join(format!("{minor}-{name}"));
        let output = render(&folder, &spec(*number, minor, &key));
        match digested {
            true => assert!(output.status.success(), "{minor} {name}: {}", said(&output)),
            false => {
                assert!(
                    said(&output).contains("error[FL0303]"),
                    "{minor} {name}: {}",
                    said(&output)
                );
                fs::remove_dir_all(folder).unwrap();
            }
        }
    });
    validate(directory.path());
}

fn render(folder: &Path, spec: &str) -> std::process::Output {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("cluster.yaml"), spec).unwrap();
    support::output(firelay(&["render", "--new-secrets"]).current_dir(folder), "faketime")
}

/// Each tree's documents, by cloud-init's schema and by Ignition.
fn validate(trees: &Path) {
    let trees = fs::read_dir(trees)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("out"));
    let all: Vec<_> = trees.flat_map(|tree| documents(&tree)).map(|(_, path)| path).collect();
    let (cloud_init, ignition): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| path.ends_with("user-data"));
    assert!(
        cloud_init.len() > 100 && ignition.len() > 10,
        "{} and {}",
        cloud_init.len(),
        ignition.len()
    );
    let mut schema = Command::new("/usr/bin/python3");
    let said = succeed(schema.args(["-c", SCHEMA]).args(&cloud_init), "cloud-init");
    assert_eq!(said.matches("Valid").count(), cloud_init.len(), "{said}");
    assert!(!said.to_lowercase().contains("deprecat"), "{said}");
    for path in ignition {
        assert_eq!(
            succeed(Command::new("ignition-validate").arg(&path), "ignition"),
            "",
            "{}",
            path.display()
        );
    }
}

/// Its manifests, each object by the strict schemas of its minor, are in `manifests::every_mode_of_every_plugin_and_add_on_is_whole`.
#[test]
fn every_add_on_renders_with_each_minor_that_it_names() {
    let folders: BTreeSet<_> = ["templates/addons", "templates/cni", "templates/kms"]
        .into_iter()
        .flat_map(names)
        .collect();
    let known: BTreeSet<_> = declarations().map(|it| it.name.clone()).collect();
    assert_eq!(folders, known, "every folder is an add-on");
    let bundle = fs::read_to_string(root().join("tests/fixtures/bundles/single-node.yaml")).unwrap();
    let bundle = Bundle::parse("bundle", &bundle).unwrap();
    let specs = manifests::specs(&declarations().collect::<Vec<_>>());
    let rendered: Vec<_> = specs
        .par_iter()
        .map(|(addon, minor, spec)| (addon.clone(), minor.clone(), document(spec, &bundle)))
        .collect();
    let lacking: Vec<_> = named()
        .into_iter()
        .filter(|(addon, minor)| !rendered.iter().any(|it| (&it.0, &it.1) == (addon, minor)))
        .collect();
    assert!(lacking.is_empty(), "no case of {lacking:?}");
    for (addon, minor, text) in rendered {
        assert!(text.starts_with("#cloud-config\n"), "{addon} {minor}: {}", &text[..100]);
    }
}

/// Plugins, add-ons and key services.
fn declarations() -> impl Iterator<Item = &'static Declaration> {
    declaration::all().chain(declaration::of(Kind::Kms)).map(|it| &**it)
}

/// Add-ons with each minor that one of their releases fits; add-ons without releases fit all.
fn named() -> Vec<(String, String)> {
    let minors = PROFILES.kubernetes.values();
    let fits = |it: &Declaration, minor: &KubernetesProfile| {
        it.releases.is_empty()
            || it
                .releases
                .values()
                .any(|release| release.kubernetes.matches(&minor.versions[0]))
    };
    minors
        .flat_map(|minor| {
            declarations()
                .filter(move |it| fits(it, minor))
                .map(|it| (it.name.clone(), minor.minor.clone()))
        })
        .collect()
}

/// The document of a cluster's only machine.
fn document(spec: &str, bundle: &Bundle) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    fs::write(&path, spec).unwrap();
    let project = Project::load(&path.as_path().into()).unwrap_or_else(|_| panic!("refused: {spec}"));
    let Ok(assembly) = Assembly::new(&project, bundle, false) else {
        panic!("{spec}")
    };
    let node = &project.plan.nodes[0];
    let Ok(files) = assembly.pki(node).and_then(|pki| assembly.files(node, &pki)) else {
        panic!("{spec}")
    };

    for_os(&node.os)
        .unwrap()
        .render(&files, Compression::None)
        .unwrap_or_else(|error| panic!("{error}: {spec}"))
}

/// Images of the add-on's releases, digests of their manifests, and digests of the catalogue.
fn declared(addon: &str) -> [BTreeSet<String>; 3] {
    let declaration = declarations().find(|it| it.name == addon).unwrap();
    let releases = || declaration.releases.iter();
    let named = |version: &Version, image: &String| image.replace("{version}", &version.to_string());
    let images = releases().flat_map(|(version, it)| it.images.values().map(move |image| named(version, image)));
    let manifests = releases().flat_map(|(_, it)| it.fetched.iter().map(|file| file.sha256.clone()));
    let artifacts = PROFILES.catalog.artifacts.values();
    let artifacts = artifacts.flat_map(|it| {
        it.releases
            .keys()
            .filter_map(move |version| it.digest(version, Arch::Amd64))
    });
    [
        images.collect(),
        manifests.collect(),
        artifacts.map(str::to_owned).collect(),
    ]
}

/// Images and files in the document of a cluster with one add-on that the verbs for an air gap do not name.
fn unlisted(addon: &str, spec: &str, bundle: &Bundle) -> Vec<String> {
    let document = document(spec, bundle);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cluster.yaml"), spec).unwrap();
    let told = |arguments: &[&str]| succeed(firelay(arguments).current_dir(folder.path()), "faketime");
    let list = told(&["artifacts", "list", "--output", "json"]);
    let copies = told(&["artifacts", "images"]);
    let plan = told(&["artifacts", "mirror", "mirror", "--plan"]);
    let [images, manifests, artifacts] = declared(addon).map(|all| {
        let used = all
            .iter()
            .filter(|it| document.contains(it.as_str()))
            .cloned()
            .collect::<Vec<_>>();
        assert!(
            all.is_empty() || !used.is_empty(),
            "{addon}: the document has none of {all:?}"
        );
        used
    });
    let pulled = |image: &String| copies.lines().any(|line| line == image) && list.contains(&format!("\"{image}\""));
    let fetched = |digest: &String| list.contains(&format!("\"{digest}\"")) && plan.contains(digest.as_str());
    let files = manifests.into_iter().chain(artifacts).filter(|it| !fetched(it));
    let lacking = images.into_iter().filter(|it| !pulled(it)).chain(files);
    lacking.map(|it| format!("{addon}: {it}")).collect()
}

#[test]
fn every_image_and_file_of_an_add_on_is_among_what_a_mirror_needs() {
    let bundle = fs::read_to_string(root().join("tests/fixtures/bundles/single-node.yaml")).unwrap();
    let bundle = Bundle::parse("bundle", &bundle).unwrap();
    let specs = manifests::specs(&declarations().collect::<Vec<_>>());
    // The newest minor that each names.
    let newest: BTreeMap<_, _> = specs.into_iter().map(|(addon, _, spec)| (addon, spec)).collect();
    let newest: Vec<_> = newest.into_iter().collect();
    let mirror = "artifacts: { mirror: \"https://mirror.example.com\" }\n";
    let lacking = newest
        .par_iter()
        .flat_map_iter(|(addon, spec)| unlisted(addon, &format!("{spec}{mirror}"), &bundle));
    let lacking: Vec<_> = lacking.collect();
    assert!(lacking.is_empty(), "{lacking:#?}");
}
