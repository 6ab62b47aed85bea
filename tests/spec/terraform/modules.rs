//! The modules under `examples/terraform/`, parsed as HCL, compared with a rendered tree and the profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use firelay::profile::Profiles;
use hcl::expr::Expression;
use hcl::structure::{Block, Body};
use serde_json::Value;

use super::rendered;
use super::support::root;

pub struct Module {
    pub name: String,
    /// The texts, by file name.
    pub texts: BTreeMap<String, String>,
    /// All files merged, as Terraform reads them.
    pub body: Body,
}

impl Module {
    /// Every file without its comments.
    fn code(&self) -> String {
        let line = |line: &str| match line.find("# ") {
            Some(start) => line[..start].to_owned(),
            None => line.to_owned(),
        };
        self.texts
            .values()
            .flat_map(|text| text.lines().map(line))
            .collect::<Vec<_>>()
            .join("\n")
    }

    pub fn blocks<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Block> {
        self.body.blocks().filter(move |block| block.identifier() == kind)
    }

    /// Names declared as locals.
    fn locals(&self) -> BTreeMap<String, Expression> {
        let locals = self.blocks("locals").flat_map(|block| block.body().attributes());
        locals
            .map(|local| (local.key().to_owned(), local.expr().clone()))
            .collect()
    }

    pub fn words(&self, local: &str) -> BTreeSet<String> {
        match self.locals().get(local) {
            Some(Expression::Array(words)) => words
                .iter()
                .map(|word| match word {
                    Expression::String(word) => word.clone(),
                    other => panic!("{}: {other:?}", self.name),
                })
                .collect(),
            other => panic!("{}: local {local} is {other:?}", self.name),
        }
    }

    pub fn folder(&self) -> PathBuf {
        folder().join(&self.name)
    }
}

fn folder() -> PathBuf {
    root().join("examples/terraform")
}

pub fn modules() -> Vec<Module> {
    // Other folders there are a user's experiments.
    let all = [
        "aws",
        "azurerm",
        "google",
        "hcloud",
        "libvirt",
        "openstack",
        "proxmox",
        "vsphere",
    ];
    all.iter().map(|name| module(&folder().join(name))).collect()
}

fn module(path: &Path) -> Module {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "tf") {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            texts.insert(name, fs::read_to_string(file).unwrap());
        }
    }
    let bodies = texts
        .iter()
        .map(|(name, text)| hcl::parse(text).unwrap_or_else(|error| panic!("{}/{name}: {error}", path.display())));
    let body = bodies.flatten().collect();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    Module { name, texts, body }
}

/// The names after a prefix, `var.NAME`.
fn references(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if !code[..at].ends_with(|character: char| word(character) || character == '.') {
            let rest = &code[at + prefix.len()..];
            found.insert(rest.chars().take_while(|character| word(*character)).collect());
        }
    }
    found
}

fn label(block: &Block, index: usize) -> String {
    block.labels()[index].as_str().to_owned()
}

fn attribute<'a>(block: &'a Block, key: &str) -> Option<&'a Expression> {
    block
        .body()
        .attributes()
        .find(|attribute| attribute.key() == key)
        .map(hcl::Attribute::expr)
}

#[test]
fn what_is_declared_is_used_and_what_is_used_is_declared() {
    for module in modules() {
        let (code, name) = (module.code(), &module.name);
        let variables: BTreeSet<_> = module.blocks("variable").map(|block| label(block, 0)).collect();
        assert_eq!(variables, references(&code, "var."), "{name}: variables");
        let locals: BTreeSet<_> = module.locals().into_keys().collect();
        assert_eq!(locals, references(&code, "local."), "{name}: locals");
        for block in module.blocks("variable") {
            let text = attribute(block, "description");
            assert!(
                matches!(text, Some(Expression::String(text)) if text.ends_with('.')),
                "{name}: {}",
                label(block, 0)
            );
            assert!(attribute(block, "type").is_some(), "{name}: {}", label(block, 0));
        }
        for block in module.blocks("output") {
            assert!(attribute(block, "description").is_some(), "{name}: {}", label(block, 0));
        }
    }
}

#[test]
fn resources_that_are_used_are_there() {
    for module in modules() {
        let code = module.code();
        let declared = |kind| -> BTreeSet<_> {
            module
                .blocks(kind)
                .map(|block| (label(block, 0), label(block, 1)))
                .collect()
        };
        let (resources, data) = (declared("resource"), declared("data"));
        let types: BTreeSet<_> = resources.iter().map(|(kind, _)| kind.clone()).collect();
        for kind in types {
            for name in references(&code, &format!("{kind}.")) {
                assert!(
                    resources.contains(&(kind.clone(), name.clone())),
                    "{}: {kind}.{name}",
                    module.name
                );
            }
        }
        for kind in references(&code, "data.") {
            let used = references(&code, &format!("data.{kind}."));
            let there: BTreeSet<_> = data
                .iter()
                .filter(|(of, _)| *of == kind)
                .map(|(_, name)| name.clone())
                .collect();
            assert_eq!(used, there, "{}: data.{kind}", module.name);
        }
    }
}

/// Arguments that give machines the identity for fetching from a bucket.
const IDENTITIES: [(&str, &str); 3] = [
    ("aws", "iam_instance_profile"),
    ("azurerm", "identity_ids"),
    ("google", "service_account_email"),
];

#[test]
fn machines_can_have_an_identity_where_buckets_ask_for_one() {
    let profiles = Profiles::embedded().unwrap();
    for module in modules() {
        let platforms = module.words("platforms");
        let asks = platforms
            .iter()
            .any(|name| !profiles.platform[name].identity.is_empty());
        let given = IDENTITIES.iter().find(|(name, _)| *name == module.name);
        assert_eq!(given.is_some(), asks, "{}", module.name);
        let Some((_, variable)) = given else { continue };
        for name in ["member", "worker", "pool"] {
            let mut blocks = module.blocks("resource").filter(|block| label(block, 1) == name);
            let told = blocks.any(|block| format!("{:?}", block.body()).contains(variable));
            assert!(told, "{}: {name} has no {variable}", module.name);
        }
    }
}

#[test]
fn versions_are_pinned() {
    for module in modules() {
        let terraform: Vec<_> = module.blocks("terraform").collect();
        assert_eq!(terraform.len(), 1, "{}", module.name);
        assert!(attribute(terraform[0], "required_version").is_some(), "{}", module.name);
        let providers = terraform[0]
            .body()
            .blocks()
            .find(|block| block.identifier() == "required_providers")
            .unwrap();
        let providers: Vec<_> = providers.body().attributes().collect();
        assert_eq!(providers.len(), 1, "{}", module.name);
        let Expression::Object(provider) = providers[0].expr() else {
            panic!("{}: {:?}", module.name, providers[0])
        };
        let version = provider
            .iter()
            .find(|(key, _)| key.to_string() == "version")
            .map(|(_, version)| version);
        assert!(
            matches!(version, Some(Expression::String(version)) if version.starts_with("~> ")),
            "{}: {version:?}",
            module.name
        );
        assert!(
            module.texts["versions.tf"].contains("was read on 20")
                || module.texts["versions.tf"].contains("were read on 20")
        );
        // Every resource belongs to that provider, or to Terraform itself.
        for block in module.blocks("resource").chain(module.blocks("data")) {
            let kind = label(block, 0);
            assert!(
                kind == "terraform_data" || kind.starts_with(&format!("{}_", providers[0].key())),
                "{}: {kind}",
                module.name
            );
        }
    }
}

#[test]
fn what_reads_the_tree_is_the_same_everywhere() {
    let modules = modules();
    for module in &modules {
        assert_eq!(module.texts["tree.tf"], modules[0].texts["tree.tf"], "{}", module.name);
        assert!(module.folder().join("README.md").exists(), "{}", module.name);
    }
}

/// Keys of a map of machines.
fn keys(machines: &Value) -> BTreeSet<String> {
    let machines = machines.as_object().unwrap().values();
    machines
        .flat_map(|machine| machine.as_object().unwrap().keys().cloned())
        .collect()
}

#[test]
fn every_key_that_is_read_is_in_a_rendered_tree() {
    let desk = rendered();
    let variables: Value = serde_json::from_str(&desk.read("out/terraform/nodes.auto.tfvars.json")).unwrap();
    let machine = keys(&variables["firelay_nodes"]);
    assert_eq!(machine, keys(&variables["firelay_pools"]));
    let top: BTreeSet<_> = variables.as_object().unwrap().keys().cloned().collect();
    let cluster: BTreeSet<_> = variables["firelay_cluster"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for module in modules() {
        let code = module.code();
        let read = |prefix: &str| references(&code, prefix);
        assert!(
            read("local.tree.").is_subset(&top),
            "{}: {:?}",
            module.name,
            read("local.tree.")
        );
        assert!(
            read("local.cluster.").is_subset(&cluster),
            "{}: {:?}",
            module.name,
            read("local.cluster.")
        );
        // A machine is `machine`, or `each.value` in resources for each machine; those of pools have the key `pool`.
        let machine: BTreeSet<_> = machine.iter().cloned().chain(["pool".to_owned()]).collect();
        for prefix in ["machine.", "each.value."] {
            let read: BTreeSet<_> = read(prefix).into_iter().filter(|key| !key.is_empty()).collect();
            let own = |key: &str| prefix == "machine." && matches!(key, "id" | "uuid" | "vm_id");
            let unknown: Vec<_> = read.iter().filter(|key| !machine.contains(*key) && !own(key)).collect();
            assert!(unknown.is_empty(), "{}: {prefix}{unknown:?}", module.name);
        }
        assert!(
            read("each.value.").contains("path") || read("machine.").contains("path"),
            "{}",
            module.name
        );
    }
}

#[test]
fn a_module_sets_what_its_platforms_profile_names() {
    let profiles = Profiles::embedded().unwrap();
    for module in modules() {
        let platforms = module.words("platforms");
        let user_data = platforms
            .iter()
            .map(|name| &profiles.platform[name])
            .flat_map(|platform| [&platform.cloud_init, &platform.ignition])
            .flatten();
        let attributes: BTreeSet<_> = user_data.map(|user_data| user_data.attribute.clone()).collect();
        let set = module.words("attributes");
        assert_eq!(attributes, set, "{}", module.name);
    }
}

/// The lifecycle of machine resources, with and without an etcd member.
#[test]
fn members_are_replaced_by_hand_and_workers_by_their_document() {
    for module in modules() {
        let machines: Vec<_> = module
            .blocks("resource")
            .filter(|block| ["member", "worker"].contains(&label(block, 1).as_str()))
            .collect();
        assert_eq!(machines.len(), 2, "{}", module.name);
        for block in machines {
            let lifecycle = block.body().blocks().find(|inner| inner.identifier() == "lifecycle");
            let rule = |key: &str| lifecycle.and_then(|lifecycle| attribute(lifecycle, key)).is_some();
            let of = format!("{} {}", module.name, label(block, 1));
            assert!(!rule("create_before_destroy"), "{of}: its address is taken");
            if label(block, 1) == "member" {
                // With libvirt the document is in a volume, and the machine refers only to the volume's name.
                assert!(rule("ignore_changes") || module.name == "libvirt", "{of}");
                let text = format!("{:?}", lifecycle.unwrap());
                assert!(
                    !text.contains("terraform_data"),
                    "{of}: a new document must not replace it"
                );
            } else {
                let replaces =
                    rule("replace_triggered_by") || attribute(block, "user_data_replace_on_change").is_some();
                // Where the platform cannot change a document, the provider itself replaces the machine.
                let by_itself = ["azurerm", "openstack", "hcloud"].contains(&module.name.as_str());
                assert!(replaces != by_itself, "{of}");
            }
        }
    }
}

#[test]
fn nothing_is_open_to_the_world_and_no_secret_is_in_a_module() {
    for module in modules() {
        let code = module.code();
        for (at, _) in code.match_indices("0.0.0.0/0") {
            let before = &code[..at];
            let block = &before[before.rfind("resource ").unwrap()..];
            assert!(block.contains("egress"), "{}: {block}", module.name);
        }
        for word in ["PRIVATE KEY", "password", "token ="] {
            assert!(
                !code.contains(word) || module.name == "hcloud" && word == "password",
                "{}: {word}",
                module.name
            );
        }
        if module.name == "aws" {
            let machines = code.matches("metadata_options {").count();
            assert_eq!(machines, 3, "instances and the launch template");
            assert_eq!(code.matches("http_put_response_hop_limit = 1").count(), machines);
            let required = code
                .lines()
                .filter(|line| line.trim_start().starts_with("http_tokens") && line.contains("required"));
            assert_eq!(required.count(), machines);
        }
    }
}
