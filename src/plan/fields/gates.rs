//! Feature gates of the components (`component-base/featuregate/feature_gate.go`).

use firelay_yaml::{
    config_schema::{GateSetting, Gated},
    diagnostic::{Diagnostic, Span, nearest},
};

use super::Accepted;
use crate::{plan::report::Report, spec::Argument};

/// The flag of every component.
const FLAG: &str = "feature-gates";

impl Accepted {
    /// The finding for one gate.
    pub(in crate::plan) fn gate(&self, name: &str, on: bool, span: Span) -> Option<Diagnostic> {
        let Some(state) = self.gates.state(name, self.minor) else {
            return self.gates.covers(self.minor).then(|| self.unknown_gate(name).at(span));
        };
        let locked = state.locked().filter(|only| *only != on)?;
        let way = if locked { "on" } else { "off" };
        let message = format!("the feature gate {name} is locked {way} in {}", self.minor);
        let finding = Diagnostic::error("FL0531", message).at(span);
        Some(
            finding
                .label("with another value no component starts")
                .help("remove it"),
        )
    }

    fn unknown_gate(&self, name: &str) -> Diagnostic {
        let message = format!("Kubernetes {} has no such feature gate", self.minor);
        let finding = Diagnostic::error("FL0530", message);
        if let Some(first) = self.gates.later(name, self.minor) {
            let help = "choose that version, or remove it";
            return finding.label(format!("a gate since {first}")).help(help);
        }
        if let Some(last) = self.gates.earlier(name, self.minor) {
            let help = "remove it: what it stood for is there for good, or gone";
            return finding.label(format!("a gate up to {last}")).help(help);
        }
        let finding = finding.help("an unknown gate keeps every component from starting");
        finding.suggest(nearest(name, self.gates.names(self.minor)))
    }

    /// Enabled gates without a gate that they require. Only gates in `near`, the most specific setting, are reported.
    pub(in crate::plan) fn requirements(&self, far: &[GateSetting], near: &[GateSetting], report: &mut Report) {
        let settings: Vec<_> = far.iter().chain(near).collect();
        let set = |name: &str| near.iter().find(|setting| setting.name == name);
        for (name, others) in self.gates.requires(self.minor).filter(|_| !near.is_empty()) {
            for other in others {
                let (setting, help) = match (set(name), set(other)) {
                    (Some(setting), _) => (setting, format!("turn {other} on too, or remove {name}")),
                    (None, Some(setting)) => (setting, format!("turn {name} off too, or remove {other}")),
                    (None, None) => continue,
                };
                if !self.lacks(name, other, &settings) {
                    continue;
                }
                let message = format!("the feature gate {name} needs {other}, which is off");
                let finding = Diagnostic::error("FL0532", message).at(setting.span);
                report.push(finding.label("no component starts so").help(help));
            }
        }
    }

    /// Whether a gate is on and another, which this minor has, is off.
    fn lacks(&self, name: &str, other: &str, settings: &[&GateSetting]) -> bool {
        self.is_on(name, settings) == Some(true) && self.is_on(other, settings) == Some(false)
    }

    /// Whether a gate is on; `None` when the minor does not have it.
    fn is_on(&self, name: &str, settings: &[&GateSetting]) -> Option<bool> {
        let state = self.gates.state(name, self.minor)?;
        let set = settings.iter().rev().find(|setting| setting.name == name);
        Some(set.map_or(state.default(), |setting| setting.on))
    }

    /// Fields that are set while their gate is off.
    pub(in crate::plan) fn check_gated(&self, gated: &[Gated], settings: &[GateSetting], report: &mut Report) {
        let settings: Vec<_> = settings.iter().collect();
        for field in gated
            .iter()
            .filter(|field| self.is_on(&field.gate, &settings) == Some(false))
        {
            let (path, gate) = (&field.path, &field.gate);
            let message = format!("`{path}` without the feature gate {gate}");
            let finding = Diagnostic::error("FL0533", message).at(field.span);
            let help = format!("add featureGates: {{ {gate}: true }}, or remove the field");
            report.push(finding.label("the kubelet does not start").help(help));
        }
    }

    /// The gates of an argument `--feature-gates`, each checked.
    pub(in crate::plan) fn gates_of(&self, argument: &Argument, report: &mut Report) -> Vec<GateSetting> {
        if argument.name.as_str() != FLAG {
            return Vec::new();
        }
        let span = argument.value.span;
        let mut settings = Vec::new();
        for part in argument.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let read = part
                .split_once('=')
                .and_then(|(name, on)| Some((name.trim(), boolean(on.trim())?)));
            let Some((name, on)) = read else {
                let finding = Diagnostic::error("FL0534", "not a list of feature gates").at(span);
                report.push(
                    finding
                        .label("each has a name and true or false")
                        .help("write NAME=true,OTHER=false"),
                );
                continue;
            };
            report.extend(self.gate(name, on, span).map(|finding| naming(finding, name)));
            settings.push(GateSetting {
                name: name.to_owned(),
                on,
                span,
            });
        }
        settings
    }
}

/// Names the gate, because several have one place.
fn naming(finding: Diagnostic, name: &str) -> Diagnostic {
    let label = match finding.label.as_str() {
        "" => name.to_owned(),
        label => format!("{name}: {label}"),
    };
    finding.label(label)
}

/// Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
