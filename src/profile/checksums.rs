//! Published digests: files of `sha256sum`, and the tables of Kubespray and kops.

use semver::Version;
use serde_json::Value;

use super::{Artifact, catalog::short};
use crate::spec::Arch;

/// Hexadecimal digits of a SHA-256 and of a SHA-512.
const DIGITS: [usize; 2] = [64, 128];

/// The digest of a file in the output of `sha256sum` or `sha512sum`, or in a text that is the digest alone. A text with a signature around it
/// (RFC 9580 §7) is read without it.
pub fn in_sums(text: &str, file: &str) -> Option<String> {
    if let Some(digest) = digest(text.trim()) {
        return Some(digest);
    }
    let of_file = |line: &str| {
        let (sum, name) = line.split_once([' ', '\t'])?;
        let name = name.trim_start_matches([' ', '\t', '*']).trim_end();
        (name.rsplit('/').next() == Some(file)).then(|| digest(sum))?
    };
    text.lines().find_map(of_file)
}

/// A table of digests of many releases.
#[derive(Clone, Debug)]
pub enum Table {
    /// `roles/kubespray_defaults/vars/main/checksums.yml`: NAME, architecture, version, digest.
    Kubespray(Value),
    /// `pkg/assets/assetdata/NAME.yaml` of kops: names of files below base URLs.
    Kops(Value),
}

impl Table {
    /// Recognizes a table by its keys.
    pub fn of(value: Value) -> Option<Self> {
        let keys = value.as_object()?;
        if keys.contains_key("filestores") && keys.contains_key("files") {
            return Some(Self::Kops(value));
        }
        let is_table = keys.keys().any(|key| key.ends_with("_checksums"));
        is_table.then_some(Self::Kubespray(value))
    }

    /// The digest of a release.
    pub fn digest(&self, artifact: &Artifact, version: &Version, arch: Arch) -> Option<String> {
        match self {
            Self::Kubespray(table) => {
                let own = &table[artifact.kubespray.as_ref()?][arch.to_string()];
                let release = own.get(version.to_string()).or_else(|| own.get(short(version)));
                let (_, own) = release?.as_str()?.split_once(':')?;
                digest(own)
            }
            Self::Kops(table) => {
                let url = artifact.url_of(version, arch);
                let bases = table["filestores"].as_array()?.iter();
                let names: Vec<_> = bases
                    .filter_map(|store| url.strip_prefix(store["base"].as_str()?))
                    .collect();
                let is_file = |file: &&Value| file["name"].as_str().is_some_and(|name| names.contains(&name));
                let file = table["files"].as_array()?.iter().find(is_file)?;
                digest(file["sha256"].as_str()?)
            }
        }
    }
}

fn digest(text: &str) -> Option<String> {
    let is_digest = DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_checksums_are_read_in_each_projects_form() {
        let sum = "a".repeat(64);
        let other = "b".repeat(64);
        // dl.k8s.io; containerd and helm; etcd and nerdctl; runc with its signature.
        for text in [
            sum.clone(),
            format!("{sum}\n"),
            format!("{sum}  runc.amd64\n"),
            format!("{other} *runc.arm64\n{sum} *runc.amd64\n"),
            format!(
                "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{other}  libseccomp.tar.gz\n{sum}  ./runc.amd64\n-----BEGIN PGP SIGNATURE-----\n"
            ),
        ] {
            assert_eq!(in_sums(&text, "runc.amd64").as_ref(), Some(&sum), "{text}");
        }
        for text in [
            "",
            "404 page not found",
            &sum[1..],
            &format!("{sum}  runc.arm64"),
            &format!("{other}\n{sum}\n"),
        ] {
            assert_eq!(in_sums(text, "runc.amd64"), None, "{text}");
        }
    }
}
