//! Certificates of plugins and add-ons: a CA each, derived from the bundle's seed, and leaves.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::{
    Authorities, Error,
    authorities::Ca,
    leaf::{Leaf, Usage, sign_by},
    names::Names,
};
use crate::{
    declaration,
    plan::{AddonPlan, Plan},
    secret::Secret,
    secrets::{Authority, Bundle},
};

/// A certificate of an add-on; all PEM.
#[derive(Clone, Debug)]
pub struct AddonCertificate {
    /// Of its CA.
    pub ca: String,
    /// Its own.
    pub certificate: String,
    /// Its key.
    pub key: Secret<String>,
}

/// Certificates by the add-on's name in the spec, and by their own.
pub type AddonCertificates = BTreeMap<String, BTreeMap<String, AddonCertificate>>;

/// The certificates that the plan's plugins and add-ons need.
pub fn of_addons(plan: &Plan, authorities: &Authorities, bundle: &Bundle) -> Result<AddonCertificates, Error> {
    let with = plan.addons.iter().filter(|addon| !addon.certificates.is_empty());
    with.map(|addon| Ok((addon.key().to_owned(), issue(plan, addon, authorities, bundle)?)))
        .collect()
}

fn issue(
    plan: &Plan,
    addon: &AddonPlan,
    authorities: &Authorities,
    bundle: &Bundle,
) -> Result<BTreeMap<String, AddonCertificate>, Error> {
    let name = &addon.choice.declaration.name;
    let refused = |problem: String| Error::Addon(name.clone(), problem);
    let label = format!("addon/{name}/ca");
    let validity = (-plan.pki.backdate, plan.pki.ca_validity);
    let key = authorities.keys.key(&label);
    let content = Sha256::digest(format!("{name} {} {validity:?}", bundle.issued_at.unix_timestamp()));
    let serial = authorities.keys.serial(&label, &content.into());
    let ca = Authority::signed(&format!("{name}-ca"), &key, bundle.issued_at, validity, serial);
    let ca = ca.map_err(|error| refused(error.to_string()))?;
    let open = ca.open().map_err(|problem| refused(problem.to_owned()))?;
    let leaf = |(leaf, wanted): (&String, &declaration::Leaf)| {
        let label = format!("addon/{name}/{leaf}");
        let issued = sign_by(
            plan,
            authorities,
            bundle.issued_at,
            &label,
            &filled(wanted),
            ("add-on", &open),
        )?;
        let pair = AddonCertificate {
            ca: ca.certificate.clone(),
            certificate: issued.certificate,
            key: issued.key,
        };
        Ok((leaf.clone(), pair))
    };
    addon.certificates.iter().map(leaf).collect()
}

fn filled(wanted: &declaration::Leaf) -> Leaf {
    let server = wanted.usages.contains(&declaration::Usage::Server);
    let client = wanted.usages.contains(&declaration::Usage::Client);
    let usage = match (server, client) {
        (true, true) => Usage::ServerAndClient,
        (false, true) => Usage::Client,
        _ => Usage::Server,
    };
    let names = Names::default().with_all(&wanted.dns_names).with_all(&wanted.addresses);
    // The key of its CA is in no document.
    Leaf::new(Ca::Kubernetes, usage, wanted.common_name.as_str())
        .names(names)
        .unrenewed()
}
