//! Certificates and keys on each machine: who signed them, whom they fit, how long they hold.

use std::sync::LazyLock;

use serde::Deserialize;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::Known;
use crate::verify::{
    Entry, Finding, Level, Machine,
    certificate::{Certificate, bits, pem, public_bits},
};

/// Where certificates wait until a step puts them to use.
const DIRECTORY: &str = "/etc/firelay/";

/// Its directories in which firelay has its own; what else there is the user brought.
const OWN: [&str; 4] = ["pki/", "etcd/", "kubelet/", "kubeconfig/"];

/// What ends sooner than this is worth a word.
const SOON: Duration = Duration::days(30);

/// `certificates.yaml`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Table {
    pub(super) certificates: Vec<Row>,
    public_keys: Vec<PublicKey>,
    pub(super) shared: Vec<String>,
}

/// What a certificate should be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    path: String,
    by: Option<String>,
    cn: Option<String>,
    o: Option<String>,
    #[serde(default, rename = "use")]
    uses: Vec<Use>,
    #[serde(default)]
    authority: bool,
    pub(super) names: Option<Names>,
}

/// What it is shown for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Use {
    Server,
    Client,
}

/// Whose names it has.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Names {
    Api,
    Etcd,
    Node,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicKey {
    path: String,
    key: String,
}

/// The table that is built in.
pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| crate::verify::embedded("certificates.yaml", include_str!("../certificates.yaml")));

impl Row {
    /// Where it is on a machine.
    pub(super) fn path(&self) -> String {
        format!("{DIRECTORY}{}", self.path)
    }
}

/// Every certificate and key of a machine.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, entry, bytes) in machine.root.files() {
        let Some(text) = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| text.starts_with("-----BEGIN "))
        else {
            continue;
        };
        let file = File { machine, path, text };
        findings.extend(file.every(entry, known.now));
    }
    for row in &TABLE.certificates {
        let path = row.path();
        if let Some(text) = machine.text(&path) {
            let file = File {
                machine,
                path: &path,
                text,
            };
            findings.extend(file.expected(row));
        }
    }
    findings.extend(TABLE.public_keys.iter().filter_map(|pair| public_key(machine, pair)));
    findings
}

/// A file in PEM.
struct File<'a> {
    machine: &'a Machine,
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn error(&self, code: &'static str, message: String) -> Finding {
        Finding::error(code, self.machine.document_of(self.path), message).at(self.path)
    }

    /// An error in what the cluster stands on; of what the user brought it is only told.
    fn grave(&self, code: &'static str, message: String) -> Finding {
        let rest = self.path.strip_prefix(DIRECTORY).unwrap_or_default();
        let own = OWN.iter().any(|directory| rest.starts_with(directory));
        Finding {
            level: if own { Level::Error } else { Level::Warning },
            ..self.error(code, message)
        }
    }

    /// What holds of every certificate and key, whoever made it.
    fn every(&self, entry: &Entry, now: OffsetDateTime) -> Vec<Finding> {
        let blocks = match pem(self.text) {
            Ok(blocks) => blocks,
            Err(why) => return vec![self.grave("FL1030", why)],
        };
        let mut findings = Vec::new();
        let is_private = blocks.iter().any(|block| block.label.ends_with("PRIVATE KEY"));
        if is_private && entry.mode & 0o077 != 0 {
            let message = format!("a private key of mode {:04o}, which others can read", entry.mode);
            findings.push(self.grave("FL1039", message).help("mode 0600"));
        }
        if is_private && let Err(why) = public_bits(self.text) {
            findings.push(self.grave("FL1030", why));
        }
        for block in blocks.iter().filter(|block| block.label == "CERTIFICATE") {
            match Certificate::read(&block.der) {
                Ok(certificate) => findings.extend(self.validity(&certificate, now)),
                Err(why) => findings.push(self.grave("FL1030", why)),
            }
        }
        findings
    }

    fn validity(&self, certificate: &Certificate, now: OffsetDateTime) -> Option<Finding> {
        let Certificate {
            not_before, not_after, ..
        } = certificate;
        let help = "firelay render makes certificates anew where pki.leafValidity is raised; an authority lasts as long as the bundle";
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
            Some(
                Finding::warning("FL1037", self.machine.document_of(self.path), message)
                    .at(self.path)
                    .help(help),
            )
        } else {
            None
        }
    }

    /// What kubeadm's certificates have to be.
    fn expected(&self, row: &Row) -> Vec<Finding> {
        // One that cannot be read was told of.
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

    fn identity(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        let name = row.cn.as_ref()?.replace("{node}", &self.machine.name);
        let right =
            certificate.common_name == name && row.o.as_ref().is_none_or(|o| certificate.organizations == [o.clone()]);
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
        // One that cannot be read was told of.
        let authority = Certificate::first(authority).ok()?;
        (!certificate.is_signed_by(&authority)).then(|| self.error("FL1031", format!("{by} did not sign it")))
    }

    /// The key stands in the same file or in one of the same name. An authority's may be elsewhere.
    fn key(&self, row: &Row, certificate: &Certificate) -> Option<Finding> {
        let beside = self.path.strip_suffix(".crt").map(|start| format!("{start}.key"));
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
    let public = machine.text(&path)?;
    let private = machine.text(&key)?;
    let fits = bits(public).is_ok_and(|public| public_bits(private).is_ok_and(|private| private == public));
    (!fits).then(|| {
        let message = format!("it does not belong to {key}");
        Finding::error("FL1032", machine.document_of(&path), message).at(path)
    })
}

fn subject(name: &str, organizations: &[String]) -> String {
    let organizations: Vec<_> = organizations.iter().map(|name| format!(", O={name}")).collect();
    format!("CN={name}{}", organizations.concat())
}

pub(super) fn date(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap_or_default()
}
