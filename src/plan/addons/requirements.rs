//! Requirements of declarations, with texts filled in and merged.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{diagnostic::Diagnostic, plain_text};
use serde_json::{Map, Value};

use super::{broken, context, of};
use crate::{
    UNITS,
    declaration::{Leaf, Place, Port, Requirement},
    plan::{AddonPlan, HostFilePlan, KernelPlan, Plan, PortPlan, Requirements, UnitPlan, ports, report::Report},
    spec::Spec,
    template,
};

/// Collects the requirements of all plugins and add-ons.
pub(super) fn collect(plan: &Plan, report: &mut Report) -> Requirements {
    let mut all = Requirements::default();
    let whole = context(plan);
    let kubernetes: Vec<_> = ports::of_kubernetes(plan)
        .into_iter()
        .chain(ports::local(plan))
        .collect();
    for addon in &plan.addons {
        let context = of(&whole, addon);
        for requirement in &addon.choice.declaration.implies {
            let asker = Asker {
                kubernetes: &kubernetes,
                addon,
                context: &context,
            };
            match asker.filled(requirement) {
                Ok(Some(filled)) => report.extend(
                    asker
                        .add(filled, &mut all)
                        .unwrap_or_else(|error| vec![broken(addon, &error)]),
                ),
                Ok(None) => {}
                Err(error) => report.push(broken(addon, &error)),
            }
        }
    }
    all
}

struct Asker<'a> {
    /// Ports in use before any plugin.
    kubernetes: &'a [PortPlan],
    addon: &'a AddonPlan,
    context: &'a Value,
}

impl Asker<'_> {
    fn folder(&self) -> String {
        self.addon.choice.declaration.folder()
    }

    /// A requirement with its texts filled in, if its condition holds.
    fn filled(&self, requirement: &Requirement) -> Result<Option<Requirement>, template::Error> {
        let when = requirement.when.as_deref();
        if !when.map_or(Ok(true), |when| template::holds(&self.folder(), when, self.context))? {
            return Ok(None);
        }
        let raw = serde_json::to_value(requirement).unwrap_or_default();
        let filled = fill(&self.folder(), raw, self.context)?.unwrap_or_default();
        serde_json::from_value(filled)
            .map(Some)
            .map_err(|error| refused(&self.folder(), &error))
    }

    fn add(&self, one: Requirement, all: &mut Requirements) -> Result<Vec<Diagnostic>, template::Error> {
        append(&mut all.modules, one.modules);
        append(&mut all.unmanaged_interfaces, one.unmanaged_interfaces);
        append(&mut all.cni_plugins, one.cni_plugins);
        append(&mut all.sans, one.sans);
        append(&mut all.runtimes, one.runtimes);
        append(&mut all.packages, one.packages);
        append(&mut all.etcd_packages, one.etcd_packages);
        append(
            &mut all.binaries,
            one.binaries.into_iter().map(|it| (it.name, it.roles)).collect(),
        );
        all.without_kube_proxy |= one.kube_proxy == Some(false);
        all.without_node_cidrs |= one.node_cidrs == Some(false);
        all.serving_certificates |= one.serving_certificates == Some(true);
        all.approves_serving |= one.approves_serving == Some(true);
        all.etcd_key |= one.etcd_key == Some(true);
        let kernel = one.kernel.as_deref().and_then(|least| kernel(least, self.addon));
        all.kernel = kernel.max(all.kernel.take());
        for file in one.files {
            all.files.push(HostFilePlan {
                content: self.text(file.content, file.template)?,
                mode: u32::from_str_radix(&file.mode, 8).map_err(|error| refused(&self.folder(), &error))?,
                path: file.path,
                roles: file.roles,
            });
        }
        for unit in one.units {
            all.units.push(UnitPlan {
                content: self.text(unit.content, unit.template)?,
                name: unit.name,
                enable: unit.enable,
                roles: unit.roles,
            });
        }
        let mut findings = self.listen(&one.ports, all);
        findings.extend(self.merge(one.kubelet_config, &mut all.kubelet_config, Clone::clone));
        for (from, to) in [
            (one.sysctls, &mut all.sysctls),
            (one.kubelet_arguments, &mut all.kubelet_arguments),
            (one.api_server_arguments, &mut all.api_server_arguments),
            (one.controller_manager_arguments, &mut all.controller_manager_arguments),
        ] {
            findings.extend(self.merge(from, to, plain_text));
        }
        Ok(findings)
    }

    fn text(&self, content: Option<String>, name: Option<String>) -> Result<String, template::Error> {
        match (content, name) {
            (Some(content), _) => Ok(content),
            (None, Some(name)) => template::render(&format!("{}/{name}", self.folder()), self.context),
            (None, None) => Err(refused(&self.folder(), &"a file needs content or template")),
        }
    }

    /// Adds ports, and finds those that others have.
    fn listen(&self, ports: &[Port], all: &mut Requirements) -> Vec<Diagnostic> {
        let plans: Vec<_> = ports.iter().map(|port| (port.local, self.port(port))).collect();
        let findings = plans.iter().filter_map(|(_, port)| self.taken(port, all)).collect();
        let (local, open): (Vec<_>, Vec<_>) = plans.into_iter().partition(|(local, _)| *local);
        append(&mut all.local_ports, local.into_iter().map(|(_, port)| port).collect());
        append(&mut all.ports, open.into_iter().map(|(_, port)| port).collect());
        findings
    }

    fn port(&self, port: &Port) -> PortPlan {
        PortPlan {
            protocol: plain_text(&port.protocol),
            port: plain_text(&port.port).parse().ok(),
            on: port.on,
            of: self.addon.title().to_owned(),
        }
    }

    /// The finding for a port that is already used on a machine.
    fn taken(&self, port: &PortPlan, all: &Requirements) -> Option<Diagnostic> {
        let number = port.port?;
        let same = |other: &&PortPlan| {
            let place = port.on == other.on || [port.on, other.on].contains(&Place::All);
            other.of != port.of && other.protocol == port.protocol && other.port == port.port && place
        };
        let mut others = self.kubernetes.iter().chain(&all.ports).chain(&all.local_ports);
        let other = others.find(same)?;
        let message = format!("{} and {} both want {} port {number}", port.of, other.of, port.protocol);
        let finding = Diagnostic::error("FL0804", message).help("give one of them another port, or leave it out");
        Some(finding.at(self.addon.choice.span("")))
    }

    /// Settings by name; what another has set to another value is a finding.
    fn merge<T: PartialEq>(
        &self,
        from: BTreeMap<String, Value>,
        to: &mut BTreeMap<String, T>,
        value: fn(&Value) -> T,
    ) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for (name, given) in from {
            let given = value(&given);
            if to.get(&name).is_some_and(|other| *other != given) {
                let message = format!(
                    "{} and another add-on want different values of `{name}`",
                    self.addon.key()
                );
                let finding = Diagnostic::error("FL0804", message).help("leave one of them out");
                findings.push(finding.at(self.addon.choice.span("")));
            } else {
                to.insert(name, given);
            }
        }
        findings
    }
}

/// Handlers of the user that an add-on brings.
pub(super) fn own_handlers(requirements: &Requirements, spec: &Spec) -> Vec<Diagnostic> {
    let brought = |name: &str| requirements.runtimes.iter().any(|handler| handler.name == name);
    let given = spec.runtime.runtimes.iter().map(|handler| &handler.name);
    let taken = given.filter(|name| brought(name));
    taken
        .map(|name| {
            let finding = Diagnostic::error("FL0509", "a runtime handler is given twice").at(name.span);
            finding.label("an add-on brings this one")
        })
        .collect()
}

/// Files of the user that a plugin or add-on writes.
pub(super) fn own_files(requirements: &Requirements, spec: &Spec) -> Vec<Diagnostic> {
    let units = requirements.units.iter().map(|unit| format!("{UNITS}{}", unit.name));
    let paths: BTreeSet<_> = requirements
        .files
        .iter()
        .map(|file| file.path.clone())
        .chain(units)
        .collect();
    let given = spec.levels().flat_map(|level| level.files);
    let taken = given.filter(|file| paths.contains(file.path.as_str()));
    taken
        .map(|file| {
            let finding = Diagnostic::error("FL0607", "a file that firelay writes itself").at(file.path.span);
            finding.help("it belongs to the network plugin or an add-on; choose another path")
        })
        .collect()
}

/// The certificates that an add-on needs, filled in.
pub(super) fn certificates(addon: &AddonPlan, context: &Value) -> Result<BTreeMap<String, Leaf>, template::Error> {
    let declaration = &addon.choice.declaration;
    let folder = declaration.folder();
    let mut all = BTreeMap::new();
    for authority in &declaration.certificates {
        let when = authority.when.as_deref();
        if !when.map_or(Ok(true), |when| template::holds(&folder, when, context))? {
            continue;
        }
        let raw = serde_json::to_value(&authority.leaves).unwrap_or_default();
        let filled = fill(&folder, raw, context)?.unwrap_or_default();
        let leaves: BTreeMap<String, Leaf> =
            serde_json::from_value(filled).map_err(|error| refused(&folder, &error))?;
        all.extend(leaves);
    }
    Ok(all)
}

fn refused(folder: &str, why: &impl ToString) -> template::Error {
    template::Error {
        template: format!("{folder}/addon.yaml"),
        line: 0,
        reason: why.to_string(),
    }
}

/// Texts of a value filled in; `None` for what is undefined.
fn fill(of: &str, value: Value, context: &Value) -> Result<Option<Value>, template::Error> {
    Ok(Some(match value {
        Value::String(text) if text.contains("{{") || text.contains("{%") => {
            return template::filled(of, &text, context);
        }
        Value::Array(items) => {
            let mut filled = Vec::new();
            for item in items {
                let is_text = item.is_string();
                match fill(of, item, context)? {
                    Some(Value::Array(several)) if is_text => filled.extend(several),
                    one => filled.extend(one),
                }
            }
            filled.into()
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (name, field) in fields {
                filled.extend(fill(of, field, context)?.map(|field| (name, field)));
            }
            filled.into()
        }
        other => other,
    }))
}

/// Further elements, each once.
fn append<T: PartialEq>(to: &mut Vec<T>, from: Vec<T>) {
    for item in from {
        if !to.contains(&item) {
            to.push(item);
        }
    }
}

fn kernel(least: &str, addon: &AddonPlan) -> Option<KernelPlan> {
    let (major, minor) = least.split_once('.')?;
    Some(KernelPlan {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        of: addon.key().to_owned(),
    })
}
