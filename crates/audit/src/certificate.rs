//! The statements of a certificate that an audit compares.

use x509_parser::{certificate::X509Certificate, extensions::ParsedExtension};

/// The statements of a certificate about its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Certificate {
    pub(crate) authority: bool,
    pub(crate) common_name: String,
    pub(crate) organizations: Vec<String>,
    pub(crate) client: bool,
    /// Common name of its issuer.
    pub(crate) issuer: String,
    /// Identifiers of its own key and of its issuer's.
    pub(crate) key_id: Option<Vec<u8>>,
    pub(crate) issuer_key_id: Option<Vec<u8>>,
}

impl Certificate {
    pub(crate) fn new(certificate: &X509Certificate<'_>) -> Self {
        let common_name = |name: &x509_parser::x509::X509Name<'_>| {
            let first = name.iter_common_name().find_map(|name| name.as_str().ok());
            first.unwrap_or_default().to_owned()
        };
        let subject = certificate.subject();
        let organizations = subject.iter_organization().filter_map(|name| name.as_str().ok());
        let usage = certificate.extended_key_usage().ok().flatten();
        let (key_id, issuer_key_id) = key_ids(certificate);
        Self {
            authority: certificate.is_ca(),
            common_name: common_name(subject),
            organizations: organizations.map(str::to_owned).collect(),
            // Without the extension any use is right (RFC 5280 §4.2.1.12).
            client: usage.is_none_or(|usage| usage.value.client_auth || usage.value.any),
            issuer: common_name(certificate.issuer()),
            key_id,
            issuer_key_id,
        }
    }
}

/// The identifiers of its own key and of the one that signed it (RFC 5280 §4.2.1.1, §4.2.1.2).
fn key_ids(certificate: &X509Certificate<'_>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let (mut own, mut issuer) = (None, None);
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => own = Some(id.0.to_vec()),
            ParsedExtension::AuthorityKeyIdentifier(id) => issuer = id.key_identifier.as_ref().map(|id| id.0.to_vec()),
            _ => {}
        }
    }
    (own, issuer)
}
