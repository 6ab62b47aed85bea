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

/// Whether a resource has an argument or a block of this name.
fn sets(block: &Block, key: &str) -> bool {
    attribute(block, key).is_some() || block.body().blocks().any(|inner| inner.identifier() == key)
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

#[test]
fn machines_can_have_an_identity_where_buckets_ask_for_one() {
    let profiles = Profiles::embedded().unwrap();
    for module in modules() {
        let platforms = module.words("platforms");
        let asks = platforms
            .iter()
            .any(|name| !profiles.platform[name].identity.is_empty());
        let given = module.blocks("variable").any(|block| label(block, 0) == "identities");
        assert_eq!(given, asks, "{}", module.name);
        for name in ["member", "worker", "pool"].into_iter().filter(|_| given) {
            let mut blocks = module.blocks("resource").filter(|block| label(block, 1) == name);
            let told = blocks.any(|block| format!("{:?}", block.body()).contains("identities"));
            assert!(told, "{}: {name} has no identity", module.name);
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
            matches!(version, Some(Expression::String(version)) if version.starts_with("~> ") || version.contains(", < ")),
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

/// Terraform replaces no machine for its document, image or size: `firelay update` changes machines that run.
#[test]
fn machines_are_replaced_by_hand() {
    for module in modules() {
        let machines: Vec<_> = module
            .blocks("resource")
            .filter(|block| {
                // Pools of servers by number. A port of such a server has no lifecycle.
                let numbered = written(block, "for_each") == "local.pool_machines" && sets(block, "lifecycle");
                numbered || ["member", "worker"].contains(&label(block, 1).as_str())
            })
            .collect();
        assert!(machines.len() >= 2, "{}", module.name);
        for block in machines {
            let lifecycle = block.body().blocks().find(|inner| inner.identifier() == "lifecycle");
            let rule = |key: &str| lifecycle.and_then(|lifecycle| attribute(lifecycle, key)).is_some();
            let of = format!("{} {}", module.name, label(block, 1));
            assert!(!rule("create_before_destroy"), "{of}: its address is taken");
            // With libvirt the document is in a volume, and the machine refers only to the volume's name.
            assert!(rule("ignore_changes"), "{of}");
            let text = format!("{:?}", lifecycle.unwrap());
            assert!(
                !text.contains("terraform_data"),
                "{of}: a new document must not replace it"
            );
            // Providers stop machines to change their size, all at once.
            let sizes = ["instance_type", "machine_type", "server_type", "flavor_name", "size"];
            let sizes = sizes.iter().chain(&["num_cpus", "vcpu", "cpu", "memory"]);
            let ignored = attribute(lifecycle.unwrap(), "ignore_changes").unwrap().to_string();
            let is_ignored = |key: &str| ignored.split(['[', ']', ',', ' ', '\n']).any(|own| own == key);
            for size in sizes.filter(|size| sets(block, size)) {
                assert!(is_ignored(size), "{of}: {size} stops all machines: {ignored}");
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

/// The expression of an attribute as HCL writes it.
fn written(block: &Block, key: &str) -> String {
    attribute(block, key)
        .map(|value| hcl::format::to_string(value).unwrap())
        .unwrap_or_default()
}

/// Variables of a kind have one form everywhere: what one module learns to refuse, all do.
#[test]
fn variables_of_one_name_are_the_same_everywhere() {
    let modules = modules();
    for name in [
        "load_balancer",
        "identities",
        "api_cidrs",
        "ssh_cidrs",
        "pool_sizes",
        "machines",
        "pools",
    ] {
        let found: Vec<_> = modules
            .iter()
            .flat_map(|module| module.blocks("variable").map(move |block| (module, block)))
            .filter(|(_, block)| label(block, 0) == name)
            .collect();
        let modules = match name {
            "machines" => 8,
            "pools" => 6,
            "load_balancer" | "api_cidrs" | "ssh_cidrs" => 5,
            "identities" => 3,
            _ => 0,
        };
        assert_eq!(found.len(), modules, "{name}");
        for (module, block) in found {
            let validated = block.body().blocks().any(|inner| inner.identifier() == "validation");
            let of = format!("{} {name}", module.name);
            assert!(validated || name == "machines", "{of} has no validation");
            match name {
                "load_balancer" => assert_eq!(written(block, "default"), "\"internal\"", "{of}"),
                "machines" | "pools" => assert!(written(block, "type").starts_with("map("), "{of}"),
                "identities" => assert_eq!(written(block, "type"), "map(string)", "{of}"),
                _ => assert_eq!(written(block, "type"), "list(string)", "{of}"),
            }
        }
    }
}

/// Resources without tags or labels in their API, by their providers' documentation.
const UNTAGGED: &[&str] = &[
    "aws_autoscaling_lifecycle_hook",
    "aws_cloudwatch_event_target",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachment",
    "aws_lb_target_group_attachment",
    "aws_route53_record",
    "aws_s3_bucket_policy",
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_server_side_encryption_configuration",
    "aws_sqs_queue_policy",
    "azurerm_lb_backend_address_pool",
    "azurerm_lb_probe",
    "azurerm_lb_rule",
    "azurerm_network_interface_backend_address_pool_association",
    "azurerm_network_interface_security_group_association",
    "azurerm_network_security_rule",
    "azurerm_role_assignment",
    "google_compute_backend_service",
    "google_compute_firewall",
    "google_compute_health_check",
    "google_compute_instance_group",
    "google_compute_instance_group_membership",
    "google_compute_region_backend_service",
    "google_compute_region_health_check",
    "google_compute_region_instance_group_manager",
    "google_compute_region_target_tcp_proxy",
    "google_compute_security_policy",
    "google_compute_target_tcp_proxy",
    "google_dns_record_set",
    "google_project_iam_member",
    "google_service_account",
    "google_storage_bucket_iam_member",
    "hcloud_load_balancer_network",
    "hcloud_load_balancer_service",
    "hcloud_load_balancer_target",
    "openstack_compute_servergroup_v2",
    "openstack_lb_listener_v2",
    "openstack_lb_member_v2",
    "openstack_lb_monitor_v2",
    "openstack_lb_pool_v2",
    "openstack_networking_secgroup_rule_v2",
    "proxmox_virtual_environment_file",
    "terraform_data",
    "vsphere_compute_cluster_vm_anti_affinity_rule",
];

#[test]
fn tags_are_on_everything_that_can_have_them() {
    let mut untagged = BTreeSet::new();
    for module in modules() {
        let variables: BTreeSet<_> = module.blocks("variable").map(|block| label(block, 0)).collect();
        if !variables.contains("tags") && !variables.contains("labels") {
            assert_eq!(module.name, "libvirt");
            continue;
        }
        for block in module.blocks("resource") {
            let body = hcl::format::to_string(block.body()).unwrap();
            let tagged = ["var.tags", "var.labels", "local.machine_tags"]
                .iter()
                .any(|name| body.contains(name));
            if !tagged {
                untagged.insert(label(block, 0));
            }
        }
    }
    let expected: BTreeSet<_> = UNTAGGED.iter().map(|&kind| kind.to_owned()).collect();
    assert_eq!(untagged, expected);
}

/// The page of a module, and the module block of its example.
fn page(module: &Module) -> (String, Body) {
    let page = fs::read_to_string(module.folder().join("README.md")).unwrap();
    let example = page.split("```hcl\n").nth(1).unwrap().split("```").next().unwrap();
    let example = hcl::parse(example).unwrap_or_else(|error| panic!("{}: {error}", module.name));
    (page, example)
}

#[test]
fn pages_have_every_variable_and_an_example_that_sets_the_required_ones() {
    for module in modules() {
        let (page, example) = page(&module);
        let name = &module.name;
        let rows: BTreeSet<_> = page
            .lines()
            .filter_map(|line| {
                line.strip_prefix("| `")?
                    .split_once('`')
                    .map(|(name, _)| name.to_owned())
            })
            .collect();
        let variables: BTreeSet<_> = module.blocks("variable").map(|block| label(block, 0)).collect();
        assert_eq!(rows, variables, "{name}: rows of the table, and variables");
        let used = example.blocks().find(|block| block.identifier() == "module").unwrap();
        let set: BTreeSet<_> = used.body().attributes().map(|given| given.key().to_owned()).collect();
        let unknown: Vec<_> = set
            .iter()
            .filter(|key| *key != "source" && !variables.contains(*key))
            .collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        for block in module.blocks("variable") {
            let (variable, required) = (label(block, 0), attribute(block, "default").is_none());
            assert!(
                !required || set.contains(&variable),
                "{name}: the example lacks {variable}"
            );
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{variable}` | ")))
                .unwrap();
            assert_eq!(row.contains("| required |"), required, "{name}: {row}");
        }
    }
}

#[test]
fn instances_of_a_group_are_drained_before_they_end() {
    let modules = modules();
    let aws = modules.iter().find(|module| module.name == "aws").unwrap();
    let of = |kind: &str| aws.blocks("resource").find(|block| label(block, 0) == kind).unwrap();
    let hook = of("aws_autoscaling_lifecycle_hook");
    assert_eq!(
        written(hook, "lifecycle_transition"),
        "\"autoscaling:EC2_INSTANCE_TERMINATING\""
    );
    assert_eq!(written(hook, "heartbeat_timeout"), "var.drain_timeout");
    assert_eq!(
        written(hook, "for_each"),
        written(of("aws_autoscaling_group"), "for_each")
    );
    let manifest = fs::read_to_string(aws.folder().join("termination-handler.yaml.tftpl")).unwrap();
    let image = manifest.lines().find(|line| line.contains("image: ")).unwrap();
    let version = image.rsplit_once(":v").unwrap().1;
    assert!(
        manifest.starts_with(&format!("# aws-node-termination-handler {version}:")),
        "{image}"
    );
    // Notices of spot instances are of the whole account: each instance of a pool has the tag that is asked for.
    let tagged = aws
        .blocks("resource")
        .find(|block| label(block, 0) == "aws_autoscaling_group");
    assert!(
        hcl::format::to_string(tagged.unwrap())
            .unwrap()
            .contains("local.drain_tag")
    );
    assert!(manifest.contains("CHECK_TAG_BEFORE_DRAINING, value: \"true\""));
    let rules = aws
        .blocks("resource")
        .filter(|block| label(block, 0) == "aws_cloudwatch_event_rule");
    let patterns: Vec<_> = rules.map(|rule| written(rule, "event_pattern")).collect();
    let target = aws
        .blocks("resource")
        .filter(|block| label(block, 0) == "aws_cloudwatch_event_target");
    assert_eq!(target.count(), patterns.len());
    for event in [
        "EC2 Instance-terminate Lifecycle Action",
        "EC2 Spot Instance Interruption Warning",
    ] {
        assert!(patterns.iter().any(|pattern| pattern.contains(event)), "{event}");
    }
    for value in ["${queue_url}", "${seconds}", "${tag}"] {
        assert!(manifest.contains(value), "{value}");
    }
    // It can reach the metadata service only in the host's network, since the hop limit is 1.
    assert!(manifest.contains("hostNetwork: true"));
}
