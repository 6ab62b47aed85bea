//! Arguments and fields that kubeadm, the boot chain or the documents set: another value leaves a cluster that does not
//! come up, or one that drops a setting of the spec without a word.

mod rows;

pub(super) use rows::{
    API_SERVER, CONTROLLER_MANAGER, ETCD, KUBE_PROXY_FIELDS, KUBELET_FIELDS, KUBELET_FLAGS, SCHEDULER,
};

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Severity},
};

use super::report::Report;

/// Which values of a setting are meant.
enum When {
    Any,
    Is(&'static str),
    Not(&'static [&'static str]),
}

impl When {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Is(this) => value == *this,
            Self::Not(these) => !these.contains(&value),
        }
    }
}

/// Settings that are not free: names, the values concerned, why, and what to do instead.
struct Owned {
    names: &'static [&'static str],
    when: When,
    why: &'static str,
    instead: &'static str,
    severity: Severity,
}

const fn owned(names: &'static [&'static str], why: &'static str, instead: &'static str) -> Owned {
    Owned {
        names,
        when: When::Any,
        why,
        instead,
        severity: Severity::Error,
    }
}

/// A switch that must not be turned off.
const fn not_false(names: &'static [&'static str], why: &'static str, instead: &'static str) -> Owned {
    Owned {
        when: When::Is("false"),
        ..owned(names, why, instead)
    }
}

/// A component as a whole.
pub(super) struct Settings {
    /// Its name, which is also that in profiles.
    pub(super) component: &'static str,
    /// It has the feature gates of Kubernetes.
    pub(super) feature_gates: bool,
    rows: &'static [Owned],
}

impl Settings {
    fn row(&self, name: &str, value: &str) -> Option<&Owned> {
        let named = |row: &&Owned| row.names.contains(&name) && row.when.holds(value);
        self.rows.iter().find(named)
    }

    /// Whether a setting is not free.
    pub(super) fn names(&self, name: &str, value: &str) -> bool {
        self.row(name, value).is_some()
    }

    /// Refuses a setting that is not free.
    pub(super) fn check(&self, name: &Spanned<String>, value: &str, report: &mut Report) {
        let Some(row) = self.row(name, value) else {
            return;
        };
        let free = match (&row.when, row.severity) {
            (_, Severity::Warning) => "should not be",
            _ => "cannot be",
        };
        let value = match row.when {
            When::Any => "set here".to_owned(),
            When::Is(this) => this.to_owned(),
            When::Not(these) => format!("other than {}", these.join(" or ")),
        };
        let finding = Diagnostic::error(
            "FL0512",
            format!("`{}` of {} {free} {value}", name.value, self.component),
        );
        report.push(Diagnostic {
            severity: row.severity,
            ..finding.at(name.span).label(row.why).help(row.instead)
        });
    }
}
