//! `trustedCas`, and other certificates and keys given as text.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use x509_parser::{
    der_parser::parse_der,
    pem::{Pem, parse_x509_pem},
};

use super::Site;
use crate::{
    plan::{names, report::Report},
    secret::Secret,
};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The certificates of a machine, one in each text, without duplicates. Refused on a system whose profile has no trust
/// settings.
pub(super) fn resolve(texts: &[&Spanned<String>], site: &Site<'_>, report: &mut Report) -> Vec<String> {
    if let (None, Some(first)) = (&site.os.trust, texts.first()) {
        let finding = Diagnostic::error("FL0609", format!("{} trusts no further certificates", site.os.name));
        let label = "its profile does not say how";
        report.push(finding.at(first.span).label(label));
    }
    names::distinct(texts.iter().flat_map(|text| blocks(text)))
}

/// PEM blocks with their borders; text between them is a comment (RFC 7468 section 2).
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with(BEGIN) {
            block = Some(String::new());
        }
        if let Some(lines) = &mut block {
            lines.push_str(line);
            lines.push('\n');
        }
        if line.starts_with(END) {
            blocks.extend(block.take());
        }
    }
    blocks.extend(block);
    blocks
}

/// Refuses text other than certificates. A private key that was given by mistake is not shown.
pub(in crate::plan) fn check(text: &Spanned<String>, report: &mut Report) {
    let span = text.span;
    let blocks = blocks(text);
    if text.contains("PRIVATE KEY") {
        let finding = Diagnostic::error("FL0613", "a private key among the certificates").at(span);
        let finding = finding.label("it would be on every machine");
        report.push(finding.help("give the certificate alone"));
    } else if blocks.is_empty() || !blocks.iter().all(|block| is_certificate(block)) {
        let finding = Diagnostic::error("FL0613", "not a certificate").at(span);
        let help = "give the content of a file that begins with -----BEGIN CERTIFICATE-----";
        report.push(finding.label("X.509 in PEM, one or more").help(help));
    }
}

/// Refuses what is not the key of a certificate, of which nothing is shown.
pub(in crate::plan) fn check_key(certificate: &Spanned<String>, key: &Secret<String>, report: &mut Report) {
    if !Pem::iter_from_buffer(key.expose().as_bytes())
        .flatten()
        .any(|pem| is_key(&pem))
    {
        let finding = Diagnostic::error("FL0613", "not a private key").at(certificate.span);
        let help = "give the content of its file as a block of text (`key: |`); one with a passphrase cannot be read";
        let label = "the key that goes with this certificate cannot be read";
        report.push(finding.label(label).help(help));
    }
}

/// An encrypted key is labelled as such, or contains no DER.
fn is_key(pem: &Pem) -> bool {
    let plain = pem.label.ends_with("PRIVATE KEY") && !pem.label.starts_with("ENCRYPTED");
    plain && parse_der(&pem.contents).is_ok_and(|(rest, _)| rest.is_empty())
}

fn is_certificate(block: &str) -> bool {
    let pem = parse_x509_pem(block.as_bytes()).ok().map(|(_, pem)| pem);
    pem.is_some_and(|pem| pem.label == "CERTIFICATE" && pem.parse_x509().is_ok())
}
