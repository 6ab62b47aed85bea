//! Handlers of files, from `templates/update.yaml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

/// The answer of a running machine to a changed file, in the order in which answers are carried out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "unit")]
pub enum Handler {
    /// Nothing: the file is read at the first boot alone.
    Boot,
    /// Nothing but the new file: its reader reads it each time.
    None,
    Reload(String),
    Restart(String),
    /// Gives the machine's time service its file, and restarts it.
    TimeServers,
    /// Runs a step of the first boot again.
    Step(String),
    /// Ends what a file had begun that goes.
    Undo(String),
    /// Applies kubeadm's configuration of the cluster.
    Configure,
    /// Goes through kubeadm.
    Kubeadm,
    /// Lays keys and certificates where components read them, and restarts these.
    Certificates,
    /// Evicts the machine's pods first.
    Drain,
    /// Changes the kubelet's flags that kubeadm has written.
    Flags,
    /// Restarts the kubelet or the container runtime, which pods need.
    RestartLate(String),
    /// Restarts a static pod.
    Pod(String),
    /// Changes the labels of the Node.
    Label,
    /// Applies manifests.
    Apply,
    /// Nothing but a new machine takes it.
    Replace,
}

impl Handler {
    /// The action of a running machine, in words.
    pub fn action(&self) -> Option<String> {
        match self {
            Self::Boot | Self::Replace => None,
            Self::None => Some("write files".to_owned()),
            Self::Reload(unit) => Some(format!("reload {unit}")),
            Self::Restart(unit) | Self::RestartLate(unit) => Some(format!("restart {unit}")),
            Self::TimeServers => Some("set the time servers".to_owned()),
            Self::Step(step) => Some(format!("run {step} again")),
            Self::Undo(what) => Some(format!("remove the {}", what.replace('-', " "))),
            Self::Configure => Some("apply kubeadm's configuration".to_owned()),
            Self::Kubeadm => Some("kubeadm upgrade".to_owned()),
            Self::Certificates => Some("change keys and certificates".to_owned()),
            Self::Drain => Some("drain".to_owned()),
            Self::Flags => Some("change the kubelet's flags".to_owned()),
            Self::Pod(pod) => Some(format!("restart pod {pod}")),
            Self::Label => Some("label the Node".to_owned()),
            Self::Apply => Some("apply manifests".to_owned()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(rename_all = "camelCase")]
struct Table {
    spent: Vec<String>,
    removed_last: Vec<String>,
    where_active: Vec<String>,
    lost: Vec<Row>,
    etcd_renewal: EtcdRenewal,
    packages: Vec<String>,
    recreated: Vec<String>,
    handlers: Vec<Row>,
    artifacts: BTreeMap<String, Vec<Handler>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EtcdRenewal {
    keys: Vec<String>,
    certificates: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    paths: Vec<String>,
    handler: Handler,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    firelay_yaml::parse("update.yaml", include_str!("../../templates/update.yaml"))
        .expect("update.yaml is embedded, and a test reads it")
});

/// The handler of a file on a machine.
pub fn handler(path: &str) -> Handler {
    find(path).map_or(Handler::Replace, |(handler, _)| handler.clone())
}

/// The handler of a file that a document loses, where it is another than that of a change.
pub fn handler_of_loss(path: &str) -> Option<Handler> {
    let rows = TABLE.lost.iter();
    let mut fitting = rows.filter(|row| row.paths.iter().any(|pattern| fits(pattern, path)));
    fitting.next().map(|row| row.handler.clone())
}

/// The keys with which machines renew certificates of external etcd.
pub fn renewal_keys() -> &'static [String] {
    &TABLE.etcd_renewal.keys
}

/// Whether machines with such a key renew this certificate.
pub fn is_renewed_for_etcd(path: &str) -> bool {
    let mut patterns = TABLE.etcd_renewal.certificates.iter();
    patterns.any(|pattern| fits(pattern, path))
}

/// Whether a package comes and goes in place.
pub fn is_package_in_place(name: &str) -> bool {
    TABLE.packages.iter().any(|own| own == name)
}

/// The handlers of a binary that another one replaces. Others that are fetched, such as manifests, are for the first boot.
pub fn artifact_handlers(name: &str) -> &'static [Handler] {
    TABLE.artifacts.get(name).map_or(&[], Vec::as_slice)
}

/// Whether a file that a document loses stays until what reads it was restarted.
pub fn is_removed_last(path: &str) -> bool {
    TABLE.removed_last.iter().any(|pattern| fits(pattern, path))
}

/// Whether a machine deletes a file after its use at the first boot.
pub fn is_spent(path: &str) -> bool {
    TABLE.spent.iter().any(|pattern| fits(pattern, path))
}

/// Whether objects of a kind are deleted and created anew where the API server does not change them.
pub fn is_recreated(kind: &str) -> bool {
    TABLE.recreated.iter().any(|own| own == kind)
}

/// Whether a unit is reloaded and restarted only where it runs.
pub fn is_called_where_active(unit: &str) -> bool {
    TABLE.where_active.iter().any(|own| own == unit)
}

/// The pattern that a path fits, if there is one.
pub fn pattern(path: &str) -> Option<&'static str> {
    find(path).map(|(_, pattern)| pattern)
}

/// Every pattern of the table.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    rows().map(|(_, pattern)| pattern)
}

fn find(path: &str) -> Option<(&'static Handler, &'static str)> {
    rows().find(|(_, pattern)| fits(pattern, path))
}

fn rows() -> impl Iterator<Item = (&'static Handler, &'static str)> {
    let paths = |row: &'static Row| row.paths.iter().map(|path| (&row.handler, path.as_str()));
    let spent = TABLE.spent.iter().map(|path| (&Handler::Boot, path.as_str()));
    spent.chain(TABLE.handlers.iter().flat_map(paths))
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
    fn units_are_named_with_their_type() {
        for row in &TABLE.handlers {
            if let Handler::Reload(unit) | Handler::Restart(unit) | Handler::RestartLate(unit) = &row.handler {
                assert!(unit.contains('.'), "{:?}: {unit}", row.paths);
            }
        }
        let restarted = |unit: &String| {
            let own = [Handler::Reload(unit.clone()), Handler::Restart(unit.clone())];
            TABLE.handlers.iter().any(|row| own.contains(&row.handler))
        };
        assert!(TABLE.where_active.iter().all(restarted), "{:?}", TABLE.where_active);
    }

    #[test]
    fn only_files_with_a_handler_are_undone() {
        let lost = TABLE.lost.iter().flat_map(|row| &row.paths);
        let alone: Vec<_> = lost.filter(|own| !patterns().any(|pattern| pattern == *own)).collect();
        assert!(alone.is_empty(), "{alone:?}");
    }

    #[test]
    fn the_first_row_counts_and_an_unknown_file_replaces() {
        assert_eq!(handler("/etc/firelay/kubeadm/init.yaml"), Handler::Boot);
        assert_eq!(handler("/etc/firelay/kubeadm/patches/x.yaml"), Handler::Kubeadm);
        assert_eq!(
            handler("/etc/systemd/system/kubelet.service"),
            Handler::RestartLate("kubelet.service".to_owned())
        );
        assert_eq!(handler("/etc/motd"), Handler::Replace);
    }
}
