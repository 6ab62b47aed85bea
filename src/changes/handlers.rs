//! Handlers of files, from `templates/update.yaml`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The answer of a running machine to a changed file, in the order in which they are carried out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "unit")]
pub enum Handler {
    /// Nothing: the file is read at the first boot alone.
    Boot,
    /// Nothing but the new file: its reader reads it each time.
    None,
    /// Reloads a unit.
    Reload(String),
    /// Restarts a unit.
    Restart(String),
    /// Goes through kubeadm.
    Kubeadm,
    /// Applies manifests.
    Apply,
    /// Nothing but a new machine takes it.
    Replace,
}

impl Handler {
    /// In words, for what a running machine does.
    pub fn action(&self) -> Option<String> {
        match self {
            Self::Boot | Self::Replace => None,
            Self::None => Some("write files".to_owned()),
            Self::Reload(unit) => Some(format!("reload {unit}")),
            Self::Restart(unit) => Some(format!("restart {unit}")),
            Self::Kubeadm => Some("kubeadm upgrade".to_owned()),
            Self::Apply => Some("apply manifests".to_owned()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    handlers: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    paths: Vec<String>,
    handler: Kind,
    #[serde(default)]
    unit: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Boot,
    None,
    Reload,
    Restart,
    Kubeadm,
    Apply,
    Replace,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    firelay_yaml::parse("update.yaml", include_str!("../../templates/update.yaml"))
        .expect("update.yaml is embedded, and a test reads it")
});

/// The handler of a file on a machine.
pub fn handler(path: &str) -> Handler {
    let row = TABLE
        .handlers
        .iter()
        .find(|row| row.paths.iter().any(|pattern| fits(pattern, path)));
    let Some(row) = row else { return Handler::Replace };
    match row.handler {
        Kind::Boot => Handler::Boot,
        Kind::None => Handler::None,
        Kind::Reload => Handler::Reload(row.unit.clone()),
        Kind::Restart => Handler::Restart(row.unit.clone()),
        Kind::Kubeadm => Handler::Kubeadm,
        Kind::Apply => Handler::Apply,
        Kind::Replace => Handler::Replace,
    }
}

/// Whether a path fits a pattern: `*` is anything without `/`, `**` anything.
fn fits(pattern: &str, path: &str) -> bool {
    let Some(at) = pattern.find('*') else {
        return pattern == path;
    };
    let Some(rest) = path.strip_prefix(&pattern[..at]) else {
        return false;
    };
    let (after, deep) = match pattern[at..].strip_prefix("**") {
        Some(after) => (after, true),
        None => (&pattern[at + 1..], false),
    };
    let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
    let mut within = ends.take_while(|end| deep || !rest[..*end].contains('/'));
    within.any(|end| fits(after, &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_name_and_double_stars_do_not() {
        assert!(fits("/a/*", "/a/b") && !fits("/a/*", "/a/b/c") && fits("/a/**", "/a/b/c"));
        assert!(fits("/a/*.conf", "/a/b.conf") && !fits("/a/*.conf", "/a/b.conf.d") && !fits("/a", "/a/b"));
    }

    #[test]
    fn every_unit_is_named_where_one_is_needed() {
        for row in &TABLE.handlers {
            let needs = matches!(row.handler, Kind::Reload | Kind::Restart);
            assert_eq!(needs, row.unit.ends_with(".service"), "{:?}", row.paths);
        }
    }

    #[test]
    fn the_first_row_counts_and_an_unknown_file_replaces() {
        assert_eq!(handler("/etc/firelay/kubeadm/init.yaml"), Handler::Boot);
        assert_eq!(handler("/etc/firelay/kubeadm/patches/x.yaml"), Handler::Kubeadm);
        assert_eq!(
            handler("/etc/systemd/system/kubelet.service"),
            Handler::Restart("kubelet.service".to_owned())
        );
        assert_eq!(handler("/etc/motd"), Handler::Replace);
    }
}
