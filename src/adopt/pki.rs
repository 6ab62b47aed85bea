//! The PKI directory of a control plane, `/etc/kubernetes/pki`, as the roots of a bundle.

use firelay_yaml::diagnostic::{Diagnostic, Span, refuse};
use rcgen::PublicKeyData;
use time::{Duration, OffsetDateTime};
use x509_parser::{
    certificate::X509Certificate,
    pem::{Pem, parse_x509_pem},
};

use crate::{
    secret::Secret,
    secrets::{Authority, PrivateKey, Roots, to_pem},
};

/// The CAs by kubeadm's names of their files, without ending.
const AUTHORITIES: [&str; 3] = ["ca", "front-proxy-ca", "etcd/ca"];
/// Files of the service-account key.
const SERVICE_ACCOUNT: [&str; 2] = ["sa.key", "sa.pub"];
/// firelay does not replace a CA of a running cluster, so its end is announced early.
const SOON: Duration = Duration::days(365);
/// Kinds of keys that can sign.
const KINDS: &str = "a key of ECDSA P-256, ECDSA P-384 or RSA with 2048 bits or more is needed";

/// All files below the directory.
pub fn files() -> Vec<String> {
    let pair = |name: &&str| [format!("{name}.crt"), format!("{name}.key")];
    let authorities = AUTHORITIES.iter().flat_map(pair);
    authorities.chain(SERVICE_ACCOUNT.map(str::to_owned)).collect()
}

/// A file of the PKI.
pub struct PkiFile {
    /// Its path, for people.
    pub path: String,
    /// Its place in the source of all findings.
    pub place: Span,
    /// Its text, or why there is none.
    pub text: Result<Secret<String>, String>,
}

/// The roots in the files, in the order of [`files`], or all findings about them.
pub fn roots(files: &[PkiFile], now: OffsetDateTime) -> (Option<Roots>, Vec<Diagnostic>) {
    let mut findings = Vec::new();
    let [ca, ca_key, proxy, proxy_key, etcd, etcd_key, key, public] = files else {
        return (None, findings);
    };
    let mut pair = |certificate, key| authority(certificate, key, now, &mut findings);
    let (kubernetes, front_proxy, etcd) = (pair(ca, ca_key), pair(proxy, proxy_key), pair(etcd, etcd_key));
    let service_account = service_account(key, public, &mut findings);
    let roots = || {
        let service_account = service_account?;
        Some(Roots {
            kubernetes: kubernetes?,
            etcd: etcd?,
            front_proxy: front_proxy?,
            service_account_public: service_account.public_pem(),
            service_account_key: service_account.to_pem(),
        })
    };
    let roots = roots().filter(|_| !refuse(&findings));
    (roots, findings)
}

/// A CA, if nothing is wrong with it.
fn authority(
    certificate: &PkiFile,
    key: &PkiFile,
    now: OffsetDateTime,
    findings: &mut Vec<Diagnostic>,
) -> Option<Authority> {
    let before = findings.len();
    let private = private_key(key, findings);
    let block = block(certificate, "CERTIFICATE", findings);
    let read = block.as_ref().and_then(|block| parsed(certificate, block, findings));
    if let Some(read) = &read {
        findings.extend(check_authority(certificate, read, now));
    }
    if let (Some(read), Some(private)) = (&read, &private)
        && read.public_key().raw != private.subject_public_key_info()
    {
        findings.push(mismatch(key, certificate));
    }
    let is_sound = !refuse(&findings[before..]);
    let authority = Authority {
        certificate: to_pem("CERTIFICATE", &block?.contents),
        key: private?.to_pem(),
    };
    let problem = is_sound.then(|| authority.open().err()).flatten();
    findings.extend(problem.map(|problem| unusable(certificate, problem)));
    problem.is_none().then_some(authority)
}

fn service_account(key: &PkiFile, public: &PkiFile, findings: &mut Vec<Diagnostic>) -> Option<PrivateKey> {
    let private = private_key(key, findings);
    let block = block(public, "PUBLIC KEY", findings);
    if let (Some(block), Some(private)) = (block, &private)
        && block.contents != private.subject_public_key_info()
    {
        findings.push(mismatch(key, public));
    }
    private
}

/// The text of a file that could be read.
fn text<'f>(file: &'f PkiFile, findings: &mut Vec<Diagnostic>) -> Option<&'f str> {
    match &file.text {
        Ok(text) => Some(text.expose()),
        Err(problem) => {
            let finding = Diagnostic::error("FL1301", format!("{} cannot be read: {problem}", file.path));
            findings.push(finding.at(file.place).help(
                "copy it from /etc/kubernetes/pki of a control plane, with its path below that directory; docs/adopt.md names the \
                 files of Kubespray and Cluster API",
            ));
            None
        }
    }
}

fn private_key(file: &PkiFile, findings: &mut Vec<Diagnostic>) -> Option<PrivateKey> {
    let text = text(file, findings)?;
    let key = PrivateKey::from_pem(text);
    if key.is_none() {
        let finding = match is_encrypted(text) {
            true => Diagnostic::error("FL1302", format!("{} is encrypted", file.path)).help(
                "decrypt it with `openssl pkey -in FILE -out COPY`, and remove the copy when the bundle is written",
            ),
            false => {
                Diagnostic::error("FL1302", format!("{} holds no private key that can sign", file.path)).help(KINDS)
            }
        };
        findings.push(finding.at(file.place));
    }
    key
}

/// PKCS#8 names it in the label (RFC 5958), OpenSSL's older form in a header (RFC 1421).
fn is_encrypted(text: &str) -> bool {
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// The only block of a kind.
fn block(file: &PkiFile, label: &str, findings: &mut Vec<Diagnostic>) -> Option<Pem> {
    let text = text(file, findings)?;
    let blocks = Pem::iter_from_buffer(text.as_bytes()).flatten();
    let mut blocks: Vec<_> = blocks.filter(|block| block.label == label).collect();
    let finding = match blocks.len() {
        1 => return blocks.pop(),
        0 => Diagnostic::error("FL1303", format!("{} holds no PEM block {label}", file.path))
            .help("take the file of that name from a control plane"),
        count => Diagnostic::error("FL1306", format!("{} holds {count} blocks {label}", file.path))
            .help("end the rotation in the cluster first, and keep only the block that belongs to the key"),
    };
    findings.push(finding.at(file.place));
    None
}

fn parsed<'b>(file: &PkiFile, block: &'b Pem, findings: &mut Vec<Diagnostic>) -> Option<X509Certificate<'b>> {
    let certificate = block.parse_x509().ok();
    if certificate.is_none() {
        findings.push(unusable(file, "certificate is not an X.509 certificate"));
    }
    certificate
}

fn check_authority(file: &PkiFile, certificate: &X509Certificate<'_>, now: OffsetDateTime) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    if !certificate.is_ca() {
        findings.push(unusable(
            file,
            "certificate is not that of a CA: it lacks CA:TRUE in basicConstraints",
        ));
    }
    let validity = certificate.validity();
    let (from, to) = (validity.not_before.to_datetime(), validity.not_after.to_datetime());
    let finding = if to <= now {
        Diagnostic::error("FL1305", format!("{} ended on {}", file.path, to.date()))
            .help("renew the CA in the cluster first: kubeadm's guide is \"Manual Rotation of CA Certificates\"")
    } else if from > now {
        Diagnostic::error("FL1305", format!("{} holds only from {}", file.path, from.date()))
            .help("set this machine's clock")
    } else if to - now < SOON {
        Diagnostic::warning("FL1305", format!("{} ends on {}", file.path, to.date()))
            .help("no certificate outlives its CA, and firelay does not renew one; plan its rotation")
    } else {
        return findings;
    };
    findings.push(finding.at(file.place));
    findings
}

fn unusable(file: &PkiFile, problem: &str) -> Diagnostic {
    let problem = problem.strip_prefix("certificate ").unwrap_or(problem);
    Diagnostic::error("FL1303", format!("{} {problem}", file.path))
        .at(file.place)
        .help("take the CA's own certificate, whose key signs those of the cluster, not one that it signed")
}

fn mismatch(key: &PkiFile, other: &PkiFile) -> Diagnostic {
    let message = format!("{} is not the key of {}", key.path, other.path);
    Diagnostic::error("FL1304", message)
        .at(key.place)
        .help("take both files from the same control plane")
}

/// The SHA-256 of a certificate in PEM.
pub fn fingerprint(pem: &str) -> Option<String> {
    let (_, block) = parse_x509_pem(pem.as_bytes()).ok()?;
    Some(crate::encoding::sha256_hex(&block.contents))
}
