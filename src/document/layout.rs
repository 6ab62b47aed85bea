//! Checks of a node's files for every format.

use std::borrow::Cow;

use super::Error;
use crate::node::{NodeFile, NodeFiles, NodeUnit, unit_path};

/// File systems that are new at every boot. Ignition refuses to write there; cloud-init writes, and the next boot loses
/// it.
const VOLATILE: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Directory,
    Leaf,
}

/// Refuses invalid or duplicate paths, and units that cannot be enabled. `implied` are files that a format adds itself.
pub(super) fn check(files: &NodeFiles, implied: &[NodeFile]) -> Result<(), Error> {
    let mut all: Vec<_> = paths(files, implied).collect();
    all.iter().try_for_each(|(path, _)| check_path(path))?;
    all.sort_unstable();
    if let Some(twice) = all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error::Duplicate(twice[0].0.to_string()));
    }
    let is_leaf = |path: &str| {
        let found = all.binary_search_by(|(other, _)| other.as_ref().cmp(path));
        found.is_ok_and(|at| all[at].1 == Kind::Leaf)
    };
    let mut last = None;
    for (path, _) in &all {
        let parent = ancestors(path).next();
        // Files of one directory have the same ancestors.
        if std::mem::replace(&mut last, parent) == parent {
            continue;
        }
        if let Some(leaf) = ancestors(path).find(|parent| is_leaf(parent)) {
            return Err(Error::Beneath(path.to_string(), leaf.to_owned()));
        }
    }
    if let Some((path, mode)) = modes(files).find(|(_, mode)| *mode > 0o7777) {
        return Err(Error::Mode(path.to_owned(), mode));
    }
    files.units.iter().try_for_each(check_unit)
}

/// Paths above a path, the nearest first, without the root.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent))
        .skip(1)
        .filter(|parent| !parent.is_empty())
}

/// Paths and modes of files and directories.
pub(super) fn modes(files: &NodeFiles) -> impl Iterator<Item = (&str, u32)> {
    let regular = files.files.iter().map(|file| (file.path.as_str(), file.mode));
    let directories = files.directories.iter();
    regular.chain(directories.map(|directory| (directory.path.as_str(), directory.mode)))
}

fn paths<'a>(files: &'a NodeFiles, implied: &'a [NodeFile]) -> impl Iterator<Item = (Cow<'a, str>, Kind)> + use<'a> {
    let directories = files
        .directories
        .iter()
        .map(|directory| (Cow::from(&directory.path), Kind::Directory));
    let implied = implied.iter().map(|file| Cow::from(&file.path));
    let contents = files.contents().map(|(path, ..)| path);
    let links = files.links.iter().map(|link| Cow::from(&link.path));
    let masks = files.masked_units.iter().map(|name| unit_path(name).into());
    let leaves = implied.chain(contents).chain(links).chain(masks);
    directories.chain(leaves.map(|path| (path, Kind::Leaf)))
}

fn check_path(path: &str) -> Result<(), Error> {
    let plain = path.strip_prefix('/').is_some_and(|rest| {
        // Nearly every path is ASCII, and bytes are looked at much faster than characters.
        let is_printed = rest.bytes().all(|byte| byte.is_ascii_graphic()) || !rest.contains(char::is_control);
        is_printed && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
    });
    if !plain {
        return Err(Error::Path(path.to_owned()));
    }
    let is_below = |mount: &&str| {
        let rest = path.strip_prefix(mount);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match VOLATILE.into_iter().find(is_below) {
        Some(mount) => Err(Error::Volatile(path.to_owned(), mount)),
        None => Ok(()),
    }
}

/// A unit without its own content only adds drop-ins to one of the image.
fn check_unit(unit: &NodeUnit) -> Result<(), Error> {
    let installable = unit.content.is_empty() || unit.content.lines().any(|line| line.trim() == "[Install]");
    if unit.enabled && !installable {
        return Err(Error::NoInstall(unit.name.clone()));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::node::{NodeDirectory, NodeFile, NodeLink};

    fn file(path: &str) -> NodeFile {
        NodeFile::new(path, 0o644, "")
    }

    fn refusal(files: &NodeFiles) -> String {
        check(files, &[]).unwrap_err().to_string()
    }

    #[test]
    fn paths_are_absolute_and_plain() {
        for path in [
            "etc/a",
            "",
            "/",
            "/etc//a",
            "/etc/../a",
            "/etc/./a",
            "/etc/a/",
            "/etc/a\nb",
            "/etc/a\u{7f}",
            "/etc/ä\u{85}",
        ] {
            let message = refusal(&NodeFiles {
                files: vec![file(path)],
                ..Default::default()
            });
            assert!(message.contains("is not a plain absolute path"), "{path:?}: {message}");
        }
    }

    #[test]
    fn nothing_is_laid_where_it_vanishes() {
        for path in ["/run/kubeadm.yaml", "/tmp", "/dev/shm/a"] {
            let message = refusal(&NodeFiles {
                files: vec![file(path)],
                ..Default::default()
            });
            assert!(message.contains("empty after every boot"), "{path}: {message}");
        }
        check(
            &NodeFiles {
                files: vec![file("/runner/a"), file("/var/tmp/ä b")],
                ..Default::default()
            },
            &[],
        )
        .unwrap();
    }

    #[test]
    fn one_path_is_one_thing() {
        let directories = vec![NodeDirectory {
            path: "/etc/a".into(),
            mode: 0o700,
        }];
        let twice = NodeFiles {
            files: vec![file("/etc/a")],
            directories,
            ..Default::default()
        };
        assert_eq!(refusal(&twice), "/etc/a is written twice: keep one of the two");
        let masked_units = vec!["a.service".to_owned()];
        let masked = NodeFiles {
            files: vec![file("/etc/systemd/system/a.service")],
            masked_units,
            ..Default::default()
        };
        assert_eq!(
            refusal(&masked),
            "/etc/systemd/system/a.service is written twice: keep one of the two"
        );
    }

    #[test]
    fn only_directories_have_children() {
        let links = vec![NodeLink {
            path: "/etc/a".into(),
            target: "/opt".into(),
        }];
        let beneath = NodeFiles {
            files: vec![file("/etc/a/b/c")],
            links,
            ..Default::default()
        };
        assert_eq!(
            refusal(&beneath),
            "/etc/a/b/c lies beneath /etc/a, which is not a directory"
        );
        let directories = vec![NodeDirectory {
            path: "/etc/a".into(),
            mode: 0o700,
        }];
        check(
            &NodeFiles {
                files: vec![file("/etc/a/b/c")],
                directories,
                ..Default::default()
            },
            &[],
        )
        .unwrap();
    }

    #[test]
    fn an_enabled_unit_says_what_wants_it() {
        let files = |content: &str| NodeFiles {
            units: vec![NodeUnit::new("a.service", content, true)],
            ..Default::default()
        };
        assert!(refusal(&files("[Service]\nExecStart=/bin/true\n")).contains("no [Install] section"));
        check(&files("[Install]\nWantedBy=multi-user.target\n"), &[]).unwrap();
        check(&files(""), &[]).unwrap();
    }
}
