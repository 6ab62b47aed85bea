//! The modules evaluated by Terraform itself, without their providers: `stand_in.py` turns every resource into a
//! terraform_data. The test shows that every expression is valid for a rendered tree, and the changes of a new
//! document. It cannot show how a provider treats an argument. Where a provider's program is on the machine, Terraform
//! checks its module with the provider's schema, and runs `tests/terraform/MODULE.tftest.hcl`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::desk::Desk;
use super::modules::{Module, modules};
use super::support::{root, said, succeed};

/// A module's fake beside the tree that it reads.
struct StandIn {
    name: String,
    desk: Desk,
    platform: String,
}

impl StandIn {
    /// The environment has only the variables that Terraform itself needs.
    fn terraform(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("terraform");
        let command = command.args(arguments).current_dir(self.folder());
        command.env_remove("TF_CLI_CONFIG_FILE").output().unwrap()
    }

    fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.terraform(arguments);
        assert!(
            output.status.success(),
            "{}: {arguments:?}\n{}",
            self.name,
            said(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.desk.at("module")
    }

    fn render(&self, changes: &[&str]) {
        let platform = format!("platform={}", self.platform);
        let mut arguments = vec![
            "render",
            "--set",
            &platform,
            "--set",
            "delivery.extraOutputs=[terraform]",
        ];
        // The Ignition documents of this cluster are too large for EC2.
        let smaller: &[&str] = match self.name.as_str() {
            "aws" => &["nodes[gpu1].os=ubuntu-24.04", "pools[burst].os=ubuntu-24.04"],
            _ => &[],
        };
        for change in smaller.iter().chain(changes) {
            arguments.extend(["--set", change]);
        }
        let ran = self.desk.run(&arguments);
        assert_eq!(ran.code, 0, "{}: {ran:?}", self.name);
    }

    fn new(module: &Module) -> Self {
        let platforms = module.words("platforms");
        let stand_in = Self {
            name: module.name.clone(),
            desk: Desk::of("mixed"),
            platform: platforms.first().unwrap().clone(),
        };
        let mut python = Command::new("/usr/bin/python3");
        python
            .arg(root().join("tests/terraform/stand_in.py"))
            .arg(module.folder())
            .arg(stand_in.folder());
        succeed(&mut python, "python3");
        let variables = stand_in.variables(module);
        stand_in
            .desk
            .write("module/terraform.tfvars.json", &variables.to_string());
        stand_in
    }

    /// A value for every variable without a default, and for those that add resources.
    fn variables(&self, module: &Module) -> Value {
        let mut values = optional(&module.name);
        values["tree"] = json!(self.desk.at("out"));
        for block in module
            .blocks("variable")
            .filter(|block| block.body().attributes().all(|attribute| attribute.key() != "default"))
        {
            let name = block.labels()[0].as_str();
            let machines = |value: &Value| json!({ "ubuntu-24.04/amd64": value, "ubuntu-24.04/arm64": value, "flatcar/amd64": value });
            values[name] = match (module.name.as_str(), name) {
                ("azurerm", "images") => machines(&json!({ "publisher": "p", "offer": "o", "sku": "s" })),
                (_, "images" | "templates") => machines(&json!("image")),
                ("openstack", "machines") => {
                    json!({ "control-plane": { "flavor": "f", "volume_size": 20 }, "worker": { "flavor": "f" } })
                }
                // All machines share one range there; subnets of a VPC do not.
                (_, "subnet_ids") => json!(["one"]),
                (_, "ssh_keys") => json!(["one", "two"]),
                _ => json!("word"),
            };
        }
        values
    }

    /// Addresses of resources that a plan would change, with the actions.
    fn changes(&self, flags: &[String]) -> BTreeSet<(String, String)> {
        let plan = ["plan", "-no-color", "-input=false", "-out=plan"];
        let arguments: Vec<_> = plan.into_iter().chain(flags.iter().map(String::as_str)).collect();
        self.succeeds(&arguments);
        let plan: Value = serde_json::from_str(&self.succeeds(&["show", "-json", "plan"])).unwrap();
        let changes = plan["resource_changes"].as_array().unwrap().iter();
        let changes = changes.map(|change| {
            (
                change["address"].as_str().unwrap().to_owned(),
                change["change"]["actions"].to_string(),
            )
        });
        changes.filter(|(_, actions)| actions != "[\"no-op\"]").collect()
    }
}

/// Values of variables with a default, for resources that the default leaves out.
fn optional(module: &str) -> Value {
    let api = json!(["192.0.2.0/24"]);
    match module {
        "aws" => json!({
            "api_cidrs": api, "load_balancer": "external", "dns_zone": "Z1", "csi": true,
            "pointer_base": "s3://example/far", "create_bucket": true,
            "pools": { "burst": { "max": 2, "spot": true, "refresh": true } },
        }),
        "azurerm" => json!({
            "api_cidrs": api, "load_balancer": "external", "csi": true, "pointer_container_id": "/container",
            "pools": { "burst": { "size": 2, "spot": true } },
        }),
        "google" => json!({
            "api_cidrs": api, "proxy_cidr": "10.9.0.0/24", "dns_zone": "zone", "zones": { "cp2": "b" }, "csi": true,
            "pointer_base": "gs://example/far", "create_bucket": true, "disk_encryption_key": "key",
            "pools": { "burst": { "size": 2, "spot": true } },
        }),
        "hcloud" => json!({ "api_cidrs": api, "pools": { "burst": { "size": 2 } } }),
        "openstack" => json!({
            "api_cidrs": api, "load_balancer": "external", "external_network": "public", "pools": { "burst": { "size": 2 } },
        }),
        "vsphere" => json!({ "anti_affinity": true, "pools": { "burst": { "size": 2 } } }),
        _ => json!({}),
    }
}

/// Debian has no package of Terraform, so CI reads the modules as HCL only.
#[test]
#[ignore = "wants Terraform on the machine, and takes minutes: `just terraform`"]
fn terraform_evaluates_every_module_over_a_tree() {
    for module in modules() {
        let stand_in = StandIn::new(&module);
        stand_in.render(&[]);
        stand_in.succeeds(&["init", "-no-color", "-input=false"]);
        stand_in.succeeds(&["validate", "-no-color"]);
        stand_in.succeeds(&["apply", "-no-color", "-input=false", "-auto-approve"]);
        let outputs: Value = serde_json::from_str(&stand_in.succeeds(&["output", "-json"])).unwrap();
        let instances = outputs["instances"]["value"].as_object().unwrap();
        for name in ["cp1", "cp2", "cp3", "arm1", "arm2", "gpu1"] {
            assert!(instances.contains_key(name), "{}: {name} of {outputs}", module.name);
        }
        stand_in.render(&[]);
        assert_eq!(
            stand_in.changes(&[]),
            BTreeSet::new(),
            "{}: the same documents",
            module.name
        );
        one_machine_more(&stand_in);
        a_new_document(&stand_in, &module);
        a_changed_document(&stand_in);
    }
}

/// A new machine whose name sorts first does not change the others.
fn one_machine_more(stand_in: &StandIn) {
    let spec = stand_in.desk.read("cluster.yaml");
    let more = "nodes:\n  - { name: aa1, roles: [worker], addresses: [10.4.0.41] }\n";
    stand_in.desk.write("cluster.yaml", &spec.replacen("nodes:\n", more, 1));
    stand_in.render(&[]);
    let changes = stand_in.changes(&[]);
    assert!(!changes.is_empty());
    let others: Vec<_> = changes
        .iter()
        .filter(|(address, _)| !address.ends_with("[\"aa1\"]"))
        .collect();
    assert!(others.is_empty(), "{}: {others:?}", stand_in.name);
    stand_in.desk.write("cluster.yaml", &spec);
}

/// Every document changes: no machine does. `-replace` creates one anew, with its new document.
fn a_new_document(stand_in: &StandIn, module: &Module) {
    let name = &stand_in.name;
    let machine = |address: &str| {
        ["__member", "__worker", "burst-"]
            .iter()
            .any(|part| address.contains(part))
    };
    stand_in.render(&["ntp.servers=[192.0.2.123]"]);
    let changes = stand_in.changes(&[]);
    let changed = changes.iter().find(|(address, _)| machine(address));
    assert_eq!(changed, None, "{name}");

    let addresses: Vec<_> = replaced_together(module)
        .iter()
        .map(|resource| format!("{resource}[\"gpu1\"]"))
        .collect();
    let worker = addresses.last().unwrap();
    let replaced = addresses.iter().map(|address| format!("-replace={address}"));
    let changes = stand_in.changes(&replaced.chain([format!("-target={worker}")]).collect::<Vec<_>>());
    let created = (worker.clone(), r#"["delete","create"]"#.to_owned());
    assert!(changes.contains(&created), "{name}: {changes:?}");
    let other = changes
        .iter()
        .find(|(address, _)| machine(address) && !address.ends_with("[\"gpu1\"]"));
    assert_eq!(other, None, "{name}");
    stand_in.succeeds(&["apply", "-no-color", "-input=false", "-auto-approve"]);
}

/// The worker's resource, after those that trigger its replacement: what `examples/terraform/replace` is given.
fn replaced_together(module: &Module) -> Vec<String> {
    let worker = module
        .blocks("resource")
        .find(|block| block.labels()[1].as_str() == "worker");
    let worker = worker.unwrap();
    let name = |kind: &str, name: &str| format!("terraform_data.{kind}__{name}");
    let lifecycle = worker.body().blocks().find(|inner| inner.identifier() == "lifecycle");
    let triggers = lifecycle.unwrap().body().attributes();
    let triggers = triggers.filter(|rule| rule.key() == "replace_triggered_by");
    let triggers = triggers.map(|rule| {
        let text = rule.expr().to_string();
        let words: Vec<_> = text.trim_matches(['[', ']']).split(['.', '[']).map(str::trim).collect();
        name(words[0], words[1])
    });
    triggers.chain([name(worker.labels()[0].as_str(), "worker")]).collect()
}

/// A provider's own schema: the modules whose provider is below this directory, as Terraform lays out its mirrors.
const PLUGINS: &str = "FIRELAY_TERRAFORM_PLUGINS";

#[test]
#[ignore = "wants Terraform, and checks only modules whose providers are in FIRELAY_TERRAFORM_PLUGINS: `just terraform`"]
fn terraform_validates_modules_with_their_providers() {
    let Ok(plugins) = std::env::var(PLUGINS) else { return };
    let plugins = format!("-plugin-dir={plugins}");
    let run = |folder: &Path, arguments: &[&str]| {
        let mut terraform = Command::new("terraform");
        let terraform = terraform
            .args(arguments)
            .current_dir(folder)
            .env_remove("TF_CLI_CONFIG_FILE");
        terraform.output().unwrap()
    };
    let mut validated = Vec::new();
    for module in modules() {
        let copy = tempfile::tempdir().unwrap();
        for file in fs::read_dir(module.folder()).unwrap() {
            let file = file.unwrap().path();
            fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
        let name = &module.name;
        let own = root().join("tests/terraform").join(format!("{name}.tftest.hcl"));
        if run(copy.path(), &["init", "-input=false", &plugins]).status.success() {
            let valid = run(copy.path(), &["validate", "-no-color"]);
            assert!(valid.status.success(), "{name}: {}", said(&valid));
            if own.exists() {
                let desk = StandIn::new(&module);
                desk.render(&[]);
                fs::copy(own, copy.path().join("module.tftest.hcl")).unwrap();
                let tree = format!("-var=tree={}", desk.desk.at("out").display());
                let tested = run(copy.path(), &["test", "-no-color", &tree]);
                assert!(tested.status.success(), "{name}: {}", said(&tested));
            }
            validated.push(name.clone());
        }
    }
    assert!(!validated.is_empty(), "{plugins} has no provider of a module");
}

fn a_changed_document(stand_in: &StandIn) {
    let variables: Value = serde_json::from_str(&stand_in.desk.read("out/terraform/nodes.auto.tfvars.json")).unwrap();
    let path = format!("out/{}", variables["firelay_nodes"]["cp2"]["path"].as_str().unwrap());
    let document = stand_in.desk.read(&path);
    stand_in.desk.write(&path, &document.replacen('a', "b", 1));
    let plan = stand_in.terraform(&["plan", "-no-color", "-input=false"]);
    assert!(!plan.status.success(), "{}", stand_in.name);
    assert!(
        said(&plan).replace(['\n', '│'], " ").contains("not as it was rendered"),
        "{}",
        said(&plan)
    );
}
