//! The PKI directory of a control plane, `/etc/kubernetes/pki`, as the roots of a bundle.

use std::path::Path;

use firelay_yaml::diagnostic::{Diagnostic, Span, refuse};
use rcgen::PublicKeyData;
use time::{Duration, OffsetDateTime};
use x509_parser::{
    certificate::X509Certificate,
    extensions::ExtendedKeyUsage,
    pem::{Pem, parse_x509_pem},
};

use crate::{
    secret::Secret,
    secrets::{Authority, PrivateKey, Roots, to_pem},
};

/// The CAs by kubeadm's names of their files, without ending.
const AUTHORITIES: [&str; 3] = ["ca", "front-proxy-ca", "etcd/ca"];
/// Its certificate, whose leaves are clients.
const FRONT_PROXY: &str = "front-proxy-ca.crt";
/// Files of the service-account key.
const SERVICE_ACCOUNT: [&str; 2] = ["sa.key", "sa.pub"];
/// firelay does not replace a CA of a running cluster, so its end is announced early.
const SOON: Duration = Duration::days(365);
/// Where other tools keep the files.
const NAMES: &str = "docs/adopt.md names the files of Kubespray and Cluster API";
/// Kinds of keys that can sign.
const KINDS: &str = "a key of ECDSA P-256, ECDSA P-384 or RSA with 2048 bits or more is needed";

/// All files below the directory.
pub fn files() -> Vec<String> {
    let pair = |name: &&str| [format!("{name}.crt"), format!("{name}.key")];
    let authorities = AUTHORITIES.iter().flat_map(pair);
    authorities.chain(SERVICE_ACCOUNT.map(str::to_owned)).collect()
}

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
    if let Some(finding) = missing_directory(files) {
        return (None, vec![finding]);
    }
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

/// One finding where no file can be read for one and the same reason: the directory is the mistake.
fn missing_directory(files: &[PkiFile]) -> Option<Diagnostic> {
    let first = files.first()?;
    let problem = first.text.as_ref().err()?;
    let is_same = |file: &PkiFile| file.text.as_ref().err() == Some(problem);
    if !files.iter().all(is_same) {
        return None;
    }
    let directory = Path::new(&first.path).parent().unwrap_or(Path::new("")).display();
    let message = format!("no file of a PKI can be read in {directory}: {problem}");
    let finding = Diagnostic::error("FL1301", message).at(first.place);
    Some(finding.help(format!(
        "name a copy of /etc/kubernetes/pki of a control plane with --pki; {NAMES}"
    )))
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
            findings.push(finding.at(file.place).help(format!(
                "copy it from /etc/kubernetes/pki of a control plane, with its path below that directory; {NAMES}"
            )));
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
    findings.extend(restrictions(file, certificate));
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
            .help("no certificate outlives its CA: plan firelay secrets rotate ca, when firelay has created all machines (docs/rotate.md)")
    } else {
        return findings;
    };
    findings.push(finding.at(file.place));
    findings
}

/// Fields with which verifiers refuse certificates of this CA (RFC 5280 §4.1.2.4, §4.2.1.10, §4.2.1.12; Go's `crypto/x509`).
fn restrictions(file: &PkiFile, certificate: &X509Certificate<'_>) -> Vec<Diagnostic> {
    let usages = certificate.extended_key_usage().ok().flatten();
    let usages = usages.map(|usages| usages.value);
    // The front proxy's CA signs clients only.
    let signs_servers = !file.path.ends_with(FRONT_PROXY);
    let lacks = |needed: bool, has: fn(&ExtendedKeyUsage<'_>) -> bool| {
        needed && usages.is_some_and(|usages| !usages.any && !has(usages))
    };
    let constraints = certificate.name_constraints();
    let is_anonymous = certificate.subject().iter().next().is_none();
    let problems = [
        (
            lacks(true, |usages| usages.client_auth),
            "may not sign clients: its extendedKeyUsage lacks clientAuth",
        ),
        (
            lacks(signs_servers, |usages| usages.server_auth),
            "may not sign servers: its extendedKeyUsage lacks serverAuth",
        ),
        (
            !matches!(constraints, Ok(None)),
            "has nameConstraints: names of machines and Services may be outside them",
        ),
        (
            is_anonymous,
            "has an empty subject, which no certificate can name as its issuer",
        ),
    ];
    let problems = problems.into_iter().filter(|(holds, _)| *holds);
    let mut findings: Vec<_> = problems.map(|(_, problem)| unusable(file, problem)).collect();
    findings.extend(intermediate(file, certificate));
    findings
}

/// A CA below another one: the bundle has no place for the certificates above it.
fn intermediate(file: &PkiFile, certificate: &X509Certificate<'_>) -> Option<Diagnostic> {
    let (subject, issuer) = (certificate.subject(), certificate.issuer());
    (subject.as_raw() != issuer.as_raw()).then(|| {
        let message = format!("{} is below another CA: {issuer} signed it", file.path);
        Diagnostic::error("FL1303", message)
            .at(file.place)
            .help("such a CA is not adopted: rotate the cluster to a CA that signs itself first")
    })
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
