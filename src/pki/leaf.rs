//! Leaf certificates as kubeadm makes them (`pkiutil.NewSignedCert`), always P-256.

use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, string::PrintableString,
};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{Authorities, Error, authorities::Ca, names::Names};
use crate::{
    plan::Plan,
    secret::Secret,
    secrets::{OpenAuthority, PrivateKey, to_pem},
};

/// Extended key usage.
#[derive(Clone, Copy, Debug)]
pub(super) enum Usage {
    Server,
    Client,
    ServerAndClient,
}

impl Usage {
    fn purposes(self) -> Vec<ExtendedKeyUsagePurpose> {
        match self {
            Self::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Self::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Self::ServerAndClient => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        }
    }
}

/// The content of a leaf certificate.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    ca: Ca,
    common_name: String,
    organization: Option<String>,
    usage: Usage,
    names: Names,
    /// Nothing renews it, whoever holds its CA's key.
    unrenewed: bool,
}

impl Leaf {
    pub(super) fn new(ca: Ca, usage: Usage, common_name: impl Into<String>) -> Self {
        Self {
            ca,
            common_name: common_name.into(),
            organization: None,
            usage,
            names: Names::default(),
            unrenewed: false,
        }
    }

    pub(super) fn organization(self, organization: impl Into<Option<String>>) -> Self {
        Self {
            organization: organization.into(),
            ..self
        }
    }

    pub(super) fn names(self, names: Names) -> Self {
        Self { names, ..self }
    }

    /// Nothing renews it, although its CA's key is where something could.
    pub(super) fn unrenewed(self) -> Self {
        Self {
            unrenewed: true,
            ..self
        }
    }

    /// kubelets and kubeadm renew with the keys of CAs on control planes.
    fn is_renewed(&self, plan: &Plan) -> bool {
        let held = match self.ca {
            Ca::Kubernetes => plan.pki.holds_kubernetes_key(),
            Ca::FrontProxy => plan.pki.holds_front_proxy_key(),
            Ca::Etcd => plan.pki.holds_etcd_key(&plan.etcd),
        };
        held && !self.unrenewed
    }
}

/// A signed leaf.
pub(super) struct Issued {
    /// PEM of the certificate.
    pub(super) certificate: String,
    /// PEM of the key.
    pub(super) key: Secret<String>,
    /// When it begins to hold.
    pub(super) not_before: OffsetDateTime,
    /// When it ends.
    pub(super) not_after: OffsetDateTime,
}

/// Signs a leaf on a date. `label` names it within the cluster, and key and serial follow from it.
pub(super) fn sign(
    plan: &Plan,
    authorities: &Authorities,
    issued_at: OffsetDateTime,
    label: &str,
    leaf: &Leaf,
) -> Result<Issued, Error> {
    sign_by(
        plan,
        authorities,
        issued_at,
        label,
        leaf,
        (leaf.ca.name(), authorities.get(leaf.ca)),
    )
}

/// [`sign`] by a CA that is none of the bundle's.
pub(super) fn sign_by(
    plan: &Plan,
    authorities: &Authorities,
    issued_at: OffsetDateTime,
    label: &str,
    leaf: &Leaf,
    (name, authority): (&'static str, &OpenAuthority),
) -> Result<Issued, Error> {
    let key = authorities.keys.key(label);
    let mut params = leaf.params(label)?;
    (params.not_before, params.not_after) = validity(plan, issued_at, leaf, name, authority)?;
    let content = leaf.digest(authority, &key, &params);
    params.serial_number = Some(SerialNumber::from(authorities.keys.serial(label, &content)));
    complete(&params, &key, label, authority)
}

/// A key and a serial that do not follow from the bundle.
pub struct Fresh {
    /// The key.
    pub key: PrivateKey,
    /// The serial.
    pub serial: u64,
}

/// Signs a leaf with a fresh key, from and until a time of its own.
pub(super) fn sign_fresh(
    authorities: &Authorities,
    leaf: &Leaf,
    fresh: &Fresh,
    (begin, end): (OffsetDateTime, OffsetDateTime),
) -> Result<Issued, Error> {
    let mut params = leaf.params(&leaf.common_name)?;
    (params.not_before, params.not_after) = (begin, end);
    params.serial_number = Some(SerialNumber::from(fresh.serial));
    complete(&params, &fresh.key, &leaf.common_name, authorities.get(leaf.ca))
}

fn complete(
    params: &CertificateParams,
    key: &PrivateKey,
    label: &str,
    authority: &OpenAuthority,
) -> Result<Issued, Error> {
    let certificate = params
        .signed_by(key, &authority.issuer)
        .map_err(|source| Error::Sign(label.to_owned(), source))?;
    Ok(Issued {
        certificate: to_pem("CERTIFICATE", certificate.der()),
        key: key.to_pem(),
        not_before: params.not_before,
        not_after: params.not_after,
    })
}

/// From `issuedAt - backdate` to `issuedAt + leafValidity`, but within the validity of the CA: a verifier needs both alive. What nothing
/// renews lasts as long as the CA, unless the spec says how long leaves live: otherwise etcd would stop after a year.
fn validity(
    plan: &Plan,
    issued_at: OffsetDateTime,
    leaf: &Leaf,
    name: &'static str,
    authority: &OpenAuthority,
) -> Result<(OffsetDateTime, OffsetDateTime), Error> {
    if authority.not_after <= issued_at {
        let ended = authority.not_after.format(&Rfc3339).unwrap_or_default();
        return Err(Error::Ended(name, ended));
    }
    let end = match plan.pki.unrenewed_last && !leaf.is_renewed(plan) {
        true => authority.not_after,
        false => issued_at.saturating_add(plan.pki.leaf_validity),
    };
    let begin = begin(plan, issued_at, authority).ok_or(Error::Validity)?;
    Ok((begin, end.min(authority.not_after)))
}

/// `issuedAt - backdate`, but not before the CA. An adopted CA may be younger than the backdate: then `issuedAt` less half of its age, so that
/// a later certificate begins later. X.509 has no year before 1950, and no fractions of seconds.
pub(super) fn begin(plan: &Plan, issued_at: OffsetDateTime, authority: &OpenAuthority) -> Option<OffsetDateTime> {
    let moment = { issued_at.checked_sub(plan.pki.backdate) }.filter(|moment| moment.year() >= 1950)?;
    let age = (issued_at - authority.not_before).max(Duration::ZERO);
    let earliest = match authority.adopted {
        true => issued_at - Duration::seconds(age.whole_seconds() / 2),
        false => authority.not_before,
    };
    Some(moment.max(earliest))
}

impl Leaf {
    /// All but validity and serial.
    fn params(&self, label: &str) -> Result<CertificateParams, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = self.subject();
        params.subject_alt_names = self.alternative_names(label)?;
        params.is_ca = IsCa::NoCa;
        params.custom_extensions = vec![end_entity()];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = self.usage.purposes();
        params.use_authority_key_identifier_extension = true;
        Ok(params)
    }

    /// `O` before `CN`, as Go writes them.
    fn subject(&self) -> DistinguishedName {
        let mut subject = DistinguishedName::new();
        if let Some(organization) = &self.organization {
            subject.push(DnType::OrganizationName, text(organization));
        }
        subject.push(DnType::CommonName, text(&self.common_name));
        subject
    }

    fn alternative_names(&self, label: &str) -> Result<Vec<SanType>, Error> {
        let name = |name: &String| Error::Name(label.to_owned(), name.clone());
        let hosts = self
            .names
            .hosts
            .iter()
            .map(|host| host.as_str().try_into().map(SanType::DnsName).map_err(|_| name(host)));
        let addresses = self
            .names
            .addresses
            .iter()
            .map(|address| Ok(SanType::IpAddress(*address)));
        hosts.chain(addresses).collect()
    }

    /// SHA-256 of all that the certificate says but its serial, each part with its length before it: a certificate
    /// that changes gets another serial, as RFC 5280 §4.1.2.2 wants.
    fn digest(&self, authority: &OpenAuthority, key: &PrivateKey, params: &CertificateParams) -> [u8; 32] {
        let mut parts = vec![
            authority.public_key.clone(),
            key.der_bytes().to_vec(),
            self.common_name.clone().into_bytes(),
            format!("{:?} {:?}", self.organization, self.usage).into_bytes(),
            params.not_before.unix_timestamp().to_be_bytes().to_vec(),
            params.not_after.unix_timestamp().to_be_bytes().to_vec(),
        ];
        parts.extend(self.names.hosts.iter().map(|host| host.clone().into_bytes()));
        parts.extend(
            self.names
                .addresses
                .iter()
                .map(|address| address.to_string().into_bytes()),
        );
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

/// `basicConstraints`, critical, `CA:FALSE`: an empty SEQUENCE (RFC 5280 §4.2.1.9). The library's own way to say so adds
/// a subject key identifier, which kubeadm's leaves do not have and whose bytes do not compress.
fn end_entity() -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(&[2, 5, 29, 19], vec![0x30, 0x00]);
    extension.set_criticality(true);
    extension
}

/// PrintableString where it can be, as Go does, else UTF8String.
fn text(value: &str) -> DnValue {
    PrintableString::try_from(value).map_or_else(|_| DnValue::Utf8String(value.to_owned()), DnValue::PrintableString)
}
