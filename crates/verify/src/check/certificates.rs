//! Certificates and keys on each machine: their CA, their matching key, their validity.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{Known, files::is_unpacked};
use crate::{
    Entry, Finding, Level, Machine,
    certificate::{Certificate, bits, pem, public_bits},
};

/// Where certificates wait until a step puts them to use.
const DIRECTORY: &str = "/etc/firelay/";

/// firelay's own directories of certificates; files elsewhere come from the user.
const OWN: [&str; 4] = ["pki/", "etcd/", "kubelet/", "kubeconfig/"];

/// How a block of PEM begins.
const BEGIN: &str = "-----BEGIN ";

/// Most files are short: to build a searcher for each takes longer than the search.
static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(BEGIN));

/// A file of machines that run etcd as a unit.
const MEMBER: &str = "/etc/etcd/etcd.env";

/// Certificates that end sooner get a warning.
const SOON: Duration = Duration::days(30);

/// `certificates.yaml`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Table {
    pub(super) certificates: Vec<Row>,
    pub(super) public_keys: Vec<PublicKey>,
    pub(super) shared: Vec<String>,
}

/// The expectations for a certificate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) path: String,
    by: Option<String>,
    cn: Option<String>,
    o: Option<String>,
    /// A group that releases before the present ones have.
    or: Option<String>,
    #[serde(default, rename = "use")]
    uses: Vec<Use>,
    #[serde(default)]
    pub(super) authority: bool,
    pub(super) names: Option<Names>,
    /// Roles of machines that have to have it.
    #[serde(default)]
    on: Vec<String>,
    /// The etcd mode that requires them.
    etcd: Option<Etcd>,
}

/// Where etcd runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Etcd {
    /// In static pods of the control planes.
    Stacked,
    /// etcd runs as a systemd unit.
    External,
}

/// Its extended key usage.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Use {
    Server,
    Client,
}

/// The owner of the names in it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Names {
    Api,
    Etcd,
    Node,
}

/// A public key, and the private one that it belongs to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublicKey {
    pub(super) path: String,
    key: String,
    on: Vec<String>,
}

/// The table that is built in.
pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| crate::embedded("certificates.yaml", include_str!("../certificates.yaml")));

impl Row {
    /// Where it is on a machine.
    pub(super) fn path(&self) -> String {
        format!("{DIRECTORY}{}", self.path)
    }
}

impl Row {
    /// The organisations are those that it should have.
    fn is_group(&self, organizations: &[String]) -> bool {
        let former = self.or.as_ref().is_some_and(|or| organizations == [or.clone()]);
        former || self.o.as_slice() == organizations
    }

    /// A machine has to have it.
    fn is_needed(&self, machine: &Machine, known: &Known<'_>) -> bool {
        is_one_of(machine, &self.on) && self.etcd.is_none_or(|etcd| etcd == Etcd::of(known))
    }
}

/// The machine has one of the roles, as far as it could be unpacked. A pool's machines have no name yet, and get nothing.
fn is_one_of(machine: &Machine, roles: &[String]) -> bool {
    !machine.pool && is_unpacked(machine) && roles.iter().any(|role| machine.is(role))
}

impl Etcd {
    fn of(known: &Known<'_>) -> Self {
        if known.tree.machines.iter().any(|machine| machine.root.has(MEMBER)) {
            Self::External
        } else {
            Self::Stacked
        }
    }
}

/// Every certificate of a machine is valid, now and for a while.
pub(super) fn hold(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _, bytes) in machine.root.files().filter(|(path, _, bytes)| is_pem(path, bytes)) {
        let text = &String::from_utf8_lossy(bytes);
        findings.extend(File { machine, path, text }.held(known.now));
    }
    findings
}

/// Every certificate and key of a machine.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, entry, bytes) in machine.root.files().filter(|(path, _, bytes)| is_pem(path, bytes)) {
        let text = &String::from_utf8_lossy(bytes);
        findings.extend(File { machine, path, text }.every(entry));
    }
    for row in &TABLE.certificates {
        let path = &row.path();
        findings.extend(match machine.text(path) {
            Some(text) => File { machine, path, text }.expected(row),
            None => lacking(machine, path, row, known).into_iter().collect(),
        });
    }
    findings.extend(TABLE.public_keys.iter().filter_map(|pair| public_key(machine, pair)));
    findings
}

/// The file is to be read as PEM: it is one of firelay's, or a block begins at one of its lines. Scripts have texts.
fn is_pem(path: &str, bytes: &[u8]) -> bool {
    let has_block = || {
        let mut places = FINDER.find_iter(bytes);
        places.any(|at| at == 0 || bytes[at - 1] == b'\n')
    };
    is_own(path) || (!bytes.starts_with(b"#!") && has_block())
}

/// Whether firelay creates it; other files come from the user.
fn is_own(path: &str) -> bool {
    let rest = path.strip_prefix(DIRECTORY).unwrap_or_default();
    OWN.iter().any(|directory| rest.starts_with(directory))
}

/// A missing certificate that its key or the machine's role requires.
fn lacking(machine: &Machine, path: &str, row: &Row, known: &Known<'_>) -> Option<Finding> {
    let key = key_of(path).filter(|key| machine.root.has(key));
    let message = match key {
        Some(key) => format!("the certificate of {key} is not there"),
        None if row.is_needed(machine, known) => {
            format!("the certificate is not there, and {} needs it", machine.name)
        }
        None => return None,
    };
    Some(machine.error("FL1032", path, message))
}

/// The path of a certificate's separate key.
fn key_of(path: &str) -> Option<String> {
    path.strip_suffix(".crt").map(|start| format!("{start}.key"))
}

/// A file in PEM.
struct File<'a> {
    machine: &'a Machine,
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, code: &'static str, message: String) -> Finding {
        self.machine.error(code, self.path, message)
    }

    /// An error in firelay's own certificates; a warning in those of the user.
    fn grave(&self, code: &'static str, message: String) -> Finding {
        self.error(code, message).level(Level::error_if(is_own(self.path)))
    }

    /// The rules for every certificate and key, also those of the user.
    fn every(&self, entry: &Entry) -> Vec<Finding> {
        let blocks = match pem(self.text) {
            Ok(blocks) => blocks,
            Err(why) => return vec![self.grave("FL1030", why)],
        };
        if blocks.is_empty() {
            return vec![self.grave("FL1030", "neither a certificate nor a key is in it".to_owned())];
        }
        let mut findings = Vec::new();
        let is_private = blocks.iter().any(|block| block.label.ends_with("PRIVATE KEY"));
        if is_private && entry.mode & 0o077 != 0 {
            let message = format!("a private key of mode {:04o}, which others can read", entry.mode);
            findings.push(self.grave("FL1039", message).help("mode 0600"));
        }
        // Certificates first: a private key is then compared with their public keys.
        for block in blocks.iter().filter(|block| block.label == "CERTIFICATE") {
            findings.extend(Certificate::read(&block.der).err().map(|why| self.grave("FL1030", why)));
        }
        if is_private && let Err(why) = public_bits(self.text) {
            findings.push(self.grave("FL1030", why));
        }
        findings
    }

    /// Another check reports files that cannot be read.
    fn held(&self, now: OffsetDateTime) -> Vec<Finding> {
        let blocks = pem(self.text).ok();
        let certificates = blocks
            .iter()
            .flat_map(|blocks| blocks.iter())
            .filter(|block| block.label == "CERTIFICATE");
        let certificates = certificates.filter_map(|block| Certificate::read(&block.der).ok());
        certificates
            .filter_map(|certificate| self.validity(&certificate, now))
            .collect()
    }

    fn validity(&self, certificate: &Certificate, now: OffsetDateTime) -> Option<Finding> {
        let Certificate {
            not_before, not_after, ..
        } = certificate;
        let help = match certificate.is_authority {
            true => "in a running cluster: firelay secrets rotate ca; before it is founded a new bundle",
            false => {
                "in a running cluster: firelay secrets rotate leaves, or for a machine that is created anew firelay render --replace NAME; before \
                 it is founded: a longer pki.leafValidity"
            }
        };
        if *not_after <= now {
            Some(
                self.grave("FL1036", format!("it ended on {}", date(*not_after)))
                    .help(help),
            )
        } else if *not_before > now {
            let message = format!("it begins on {}, which is to come", date(*not_before));
            Some(
                self.grave("FL1036", message)
                    .help("the clock of this machine, or of the one that made the bundle, is wrong"),
            )
        } else if *not_after < now + SOON {
            let message = format!(
                "it ends on {}, in less than {} days",
                date(*not_after),
                SOON.whole_days()
            );
            Some(self.machine.warning("FL1037", self.path, message).help(help))
        } else {
            None
        }
    }

    /// The rules for kubeadm's certificates.
    fn expected(&self, row: &Row) -> Vec<Finding> {
        // Another check reports unreadable certificates.
        let Ok(certificate) = Certificate::first(self.text) else {
            return Vec::new();
        };
        let found = [
            self.identity(row, &certificate),
            self.usage(row, &certificate),
            self.signer(row, &certificate),
            self.key(row, &certificate),
        ];
        found.into_iter().flatten().collect()
    }

    /// The groups of a client are those of its row, and none where the row has none.
    fn identity(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        let name = row.cn.as_ref()?.replace("{node}", &self.machine.name);
        let right = certificate.common_name == name && row.is_group(&certificate.organizations);
        (!right).then(|| {
            let said = subject(&certificate.common_name, &certificate.organizations);
            let wanted = subject(&name, row.o.as_slice());
            self.error("FL1035", format!("it is for {said}, it should be for {wanted}"))
        })
    }

    fn usage(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        if row.authority != certificate.is_authority {
            let word = if row.authority {
                "no authority, and should be one"
            } else {
                "an authority, and should be none"
            };
            return Some(self.error("FL1034", format!("it is {word}")));
        }
        let lacks = row.uses.iter().find(|wanted| match wanted {
            Use::Server => !certificate.is_server,
            Use::Client => !certificate.is_client,
        })?;
        let word = match lacks {
            Use::Server => "servers",
            Use::Client => "clients",
        };
        Some(self.error("FL1034", format!("its extended key usage is not that of {word}")))
    }

    fn signer(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        let by = format!("{DIRECTORY}{}", row.by.as_ref()?);
        let Some(authority) = self.machine.text(&by) else {
            return Some(self.error("FL1031", format!("its authority {by} is not there")));
        };
        // Another check reports unreadable certificates.
        let authority = Certificate::first(authority).ok()?;
        if !certificate.is_signed_by(&authority) {
            return Some(self.error("FL1031", format!("{by} did not sign it")));
        }
        self.within(&by, certificate, &authority)
    }

    /// A certificate is accepted only while its CA is valid, too.
    fn within(&self, by: &str, certificate: &Certificate, authority: &Certificate) -> Option<Finding> {
        let message = if certificate.not_after > authority.not_after {
            format!(
                "it ends after its authority {by}, which ends on {}",
                date(authority.not_after)
            )
        } else if certificate.not_before < authority.not_before {
            format!(
                "it begins before its authority {by}, which begins on {}",
                date(authority.not_before)
            )
        } else {
            return None;
        };
        let help = "render again with its bundle, which ends certificates with their authority";
        Some(self.machine.warning("FL1063", self.path, message).help(help))
    }

    /// The key is in the same file or in one of the same name. The key of a CA may be elsewhere.
    fn key(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        let beside = key_of(self.path);
        let path = beside.as_deref().unwrap_or(self.path);
        let Some(text) = self.machine.text(path) else {
            return (!row.authority).then(|| self.error("FL1032", format!("its key {path} is not there")));
        };
        let fits = public_bits(text).is_ok_and(|bits| bits == certificate.key);
        (!fits).then(|| self.error("FL1032", format!("the key in {path} is not its key")))
    }
}

fn public_key(machine: &Machine, pair: &PublicKey) -> Option<Finding> {
    let at = |name: &str| format!("{DIRECTORY}{name}");
    let (path, key) = (at(&pair.path), at(&pair.key));
    let wrong = |path: &str, message: String| {
        let finding = Finding::error("FL1032", machine.document_of(path), message);
        Some(finding.at(path))
    };
    match (machine.text(&path), machine.text(&key)) {
        (Some(public), Some(private)) => {
            let fits = bits(public).is_ok_and(|public| public_bits(private).is_ok_and(|private| private == public));
            if fits {
                return None;
            }
            wrong(&path, format!("it does not belong to {key}"))
        }
        (Some(_), None) => wrong(&key, format!("the private key of {path} is not there")),
        (None, Some(_)) => wrong(&path, format!("the public key of {key} is not there")),
        (None, None) if is_one_of(machine, &pair.on) => {
            wrong(&key, format!("the key is not there, and {} needs it", machine.name))
        }
        (None, None) => None,
    }
}

fn subject(name: &str, organizations: &[String]) -> String {
    let organizations: Vec<_> = organizations.iter().map(|name| format!(", O={name}")).collect();
    format!("CN={name}{}", organizations.concat())
}

pub(super) fn date(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap_or_default()
}
