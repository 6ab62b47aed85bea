//! The network plugin of a running cluster, and its parameters on which the packets of all nodes have to agree.

use firelay_yaml::diagnostic::Diagnostic;
use serde_json::Value;

use super::Change;
use crate::{
    declaration::Datapath,
    plan::{AddonPlan, context, context_of},
    template,
};

impl Change<'_> {
    /// Whether the plugin is another one. A record of an earlier version does not have it.
    pub(super) fn is_other_plugin(&self) -> bool {
        let old = &self.record.fixed.network_plugin;
        old.is_some() && *old != self.fixed.network_plugin
    }

    /// Another plugin: nothing removes the objects of the old one, its interfaces and its pods' addresses.
    pub(super) fn plugin(&self) -> Option<Diagnostic> {
        let (old, new) = (
            self.record.fixed.network_plugin.as_ref()?,
            self.fixed.network_plugin.as_ref()?,
        );
        if old == new {
            return None;
        }
        let at = self.place(&["network", "cni"]).or_else(|| self.place(&["network"]));
        let message = format!("the network plugin of a running cluster changes from {old} to {new}");
        let finding = Diagnostic::error("FL1225", message).at(at);
        let line = self.text.line(&["fixed", "networkPlugin"]);
        Some(finding.label(format!("it is {old} in {line}")).help(format!(
            "write {old} again, or create a new cluster and move to it; docs/errors/fl12-running-clusters.md has the steps of a migration, \
             which begins with --accept FL1225 and disconnects pods"
        )))
    }

    /// Changed parameters of the same plugin, a finding for each way by which a cluster takes them.
    pub(super) fn datapath(&self) -> Vec<Diagnostic> {
        let plugin = self.plan.plugin().filter(|_| self.whole && !self.is_other_plugin());
        let Some(plugin) = plugin else { return Vec::new() };
        let ways = plugin.choice.declaration.datapath.iter();
        ways.filter_map(|way| self.changed_datapath(plugin, way)).collect()
    }

    fn changed_datapath(&self, plugin: &AddonPlan, way: &Datapath) -> Option<Diagnostic> {
        let differs = |name: &str, old: &Value, new: &Value| {
            old != new && self.effective(plugin, way, name, old) != self.effective(plugin, way, name, new)
        };
        let changed = way.parameters.iter().filter_map(|name| {
            let (old, new) = (self.record.datapath.get(name)?, plugin.choice.value(name));
            differs(name, old, new).then(|| (name, format!("{name} from {} to {}", shown(old), shown(new))))
        });
        let (names, changes): (Vec<_>, Vec<_>) = changed.unzip();
        let at = plugin.choice.span(names.first()?);
        let message = format!(
            "{} does not change by its manifests alone: {}",
            plugin.title(),
            changes.join(", ")
        );
        let finding = Diagnostic::warning("FL1226", message).at(at);
        let finding = finding.label(format!(
            "the record has it otherwise ({})",
            self.text.line(&["datapath"])
        ));
        Some(finding.help(way.way.clone()))
    }

    /// The value that a parameter has where the spec leaves it out.
    fn effective(&self, plugin: &AddonPlan, way: &Datapath, name: &str, value: &Value) -> Value {
        match (value, way.unset.get(name)) {
            (Value::Null, Some(Value::String(text))) => {
                let context = context_of(&context(self.plan), plugin);
                let filled = template::filled(&plugin.choice.declaration.folder(), text, &context);
                filled.ok().flatten().unwrap_or_default()
            }
            (Value::Null, Some(unset)) => unset.clone(),
            _ => value.clone(),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "unset".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
