//! Settings and files that kubeadm, the boot chain or the documents set: with another value a cluster does not start,
//! or silently ignores a setting of the spec.

use std::{collections::BTreeMap, sync::LazyLock};

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use serde::Deserialize;

use super::report::Report;

/// The content of `reserved.yaml`.
pub(super) static RESERVED: LazyLock<Reserved> = LazyLock::new(|| {
    firelay_yaml::parse("reserved.yaml", include_str!("reserved.yaml"))
        .expect("reserved.yaml is embedded, and tests read it")
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Reserved {
    pub(super) api_server: ReservedSettings,
    pub(super) controller_manager: ReservedSettings,
    pub(super) scheduler: ReservedSettings,
    pub(super) etcd: ReservedSettings,
    pub(super) kubelet_flags: ReservedSettings,
    pub(super) kubelet_fields: ReservedSettings,
    pub(super) kube_proxy_fields: ReservedSettings,
    /// Paths, with the keys of the spec that set their contents.
    pub(super) files: BTreeMap<String, String>,
    /// Directories of programs whose names begin with `firelay-`: an update takes these for firelay's, on whichever system.
    pub(super) programs: Vec<String>,
}

/// The reserved settings of a component.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReservedSettings {
    /// Its name, which is also that in profiles.
    pub(super) component: String,
    /// It has the feature gates of Kubernetes.
    pub(super) feature_gates: bool,
    reserved: Vec<ReservedSetting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReservedSetting {
    names: Vec<String>,
    is: Option<String>,
    #[serde(default)]
    not: Vec<String>,
    #[serde(default)]
    warning: bool,
    why: String,
    instead: Option<String>,
}

impl ReservedSettings {
    fn find(&self, name: &str, value: &str) -> Option<&ReservedSetting> {
        let named = |it: &&ReservedSetting| it.names.iter().any(|own| own == name);
        let same = |it: &&ReservedSetting| it.is.as_ref().is_none_or(|is| is == value);
        let mut all = self.reserved.iter().filter(named).filter(same);
        all.find(|it| !it.not.iter().any(|free| free == value))
    }

    /// Whether a setting is reserved.
    pub(super) fn has(&self, name: &str, value: &str) -> bool {
        self.find(name, value).is_some()
    }

    /// Refuses a setting that is reserved.
    pub(super) fn check(&self, name: &Spanned<String>, value: &str, report: &mut Report) {
        let Some(setting) = self.find(name, value) else {
            return;
        };
        let value = match (&setting.is, setting.not.as_slice()) {
            (Some(is), _) => is.clone(),
            (None, []) => "set here".to_owned(),
            (None, free) => format!("other than {}", free.join(" or ")),
        };
        let what = format!("`{}` of {}", name.value, self.component);
        let finding = if setting.warning {
            Diagnostic::warning("FL0512", format!("{what} should not be {value}"))
        } else {
            Diagnostic::error("FL0512", format!("{what} cannot be {value}"))
        };
        let instead = setting.instead.as_deref().unwrap_or("remove it");
        report.push(finding.at(name.span).label(&setting.why).help(instead));
    }
}
