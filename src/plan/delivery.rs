//! `delivery`: the form of a document, and the place of its payload outside the user-data.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    num::NonZeroU16,
};

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};
use semver::Version;

use super::{DeliveryPlan, PointerPlan, inheritance::Inherited, names, report::Report};
use crate::{
    profile::{DocumentFormat, OsProfile, Place, PlatformProfile, Store},
    secret::Secret,
    spec::{DeliveryForm, Pointer, PointerAuth, Spec},
};

/// First specification of Ignition with headers, and with gzip of what is fetched (Ignition docs, "Upgrading configs").
const IGNITION_HEADERS: Version = Version::new(3, 1, 0);

/// Checks every pointer separately, at each level.
pub(super) fn check(spec: &Spec, report: &mut Report) {
    let below = spec.below().map(|level| &level.delivery.pointer);
    let pointers = std::iter::once(&spec.delivery.pointer).chain(below).flatten();
    pointers.for_each(|pointer| check_pointer(pointer, report));
}

fn check_pointer(pointer: &Pointer, report: &mut Report) {
    check_auth(&pointer.auth, report);
    let Some((store, _)) = report.take(place(&pointer.base)) else {
        return;
    };
    if let Some(first) = first_of(&pointer.auth).filter(|_| !store.auth) {
        let finding = Diagnostic::error("FL0903", "`auth` where nobody asks for it").at(first);
        let finding = finding.label("the machine shows the identity that its cloud gave it");
        report.push(finding.help("leave `auth` out, or write the base as https://"));
    }
    if let Some(region) = pointer.region.as_ref().filter(|_| !store.region) {
        let finding = Diagnostic::error("FL0903", "`region` of a place that has none").at(region.span);
        report.push(finding.label("only s3:// has regions").help("leave it out"));
    }
    if store.names.is_some() && *pointer.base == store.example {
        let finding = Diagnostic::warning("FL0906", "a placeholder for a place of yours").at(pointer.base.span);
        let finding = finding.label("`firelay publish` would upload to it, and it may be somebody else's");
        report.push(finding.help("write the place that your machines are to read"));
    }
    let sealed = pointer.sealed.value() == Some(true);
    if store.open && !sealed {
        let finding =
            Diagnostic::warning("FL0905", "keys and tokens go over the network in clear").at(pointer.base.span);
        let finding = finding.label("the digest shows a change, not who listens");
        report.push(finding.help("write https://, or seal the payloads: sealed: true"));
    }
}

fn place(base: &Spanned<String>) -> Result<(&'static Store, Place), Diagnostic> {
    let examples: Vec<_> = Store::all().map(|store| store.example.as_str()).collect();
    let wrong = |label: &str| {
        let finding = Diagnostic::error("FL0901", "not a place for payloads").at(base.span);
        finding.label(label).help(format!("places: {}", examples.join(", ")))
    };
    let parsed = Place::parse(base).ok_or_else(|| wrong("it has no scheme"))?;
    let store = Store::of(&parsed.scheme).ok_or_else(|| wrong("firelay does not know this scheme"))?;
    if names::has_user(base) {
        let finding = Diagnostic::error("FL0314", "a URL with a user name or password").at(base.span);
        return Err(finding
            .label("it would stand in logs and in manifest.json")
            .help("a web server is shown `auth`: { headers: { Authorization: … } }"));
    }
    if base.contains(['?', '#']) {
        // The value may contain a signature.
        let finding = Diagnostic::error("FL0901", "not a place for payloads").at_hidden(base.span);
        return Err(finding
            .label("the name of each payload is put behind it")
            .help("what stands behind `?` goes to auth.query"));
    }
    if !is_plain(&parsed) {
        return Err(wrong("letters, digits and . _ ~ - between slashes"));
    }
    if parsed.depth() < store.least_path {
        return Err(wrong(&format!("too short: write it as {}", store.example)));
    }
    match &store.names {
        Some(names) if !names.fit(&parsed) => Err(wrong(&names.rule)),
        None if !is_host(&parsed.authority) => Err(wrong("a host, and behind it perhaps a port from 1 to 65535")),
        _ => Ok((store, parsed)),
    }
}

/// No part needs an escape in a URL.
pub(super) fn is_plain(place: &Place) -> bool {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "._~-/".contains(c));
    let host = |c: char| odd(c) && !":[]".contains(c) || c == '/';
    let mut parts = place.path.split('/').filter(|_| !place.path.is_empty());
    !place.authority.is_empty()
        && !place.authority.contains(host)
        && !place.path.contains(odd)
        && parts.all(|part| !matches!(part, "" | "." | ".."))
}

/// A name or address, and perhaps a port.
fn is_host(authority: &str) -> bool {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (known, port) = match bracketed {
        Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
        None => {
            let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            let known = host.parse::<Ipv4Addr>().is_ok() || names::is_dns_name(&host.to_lowercase());
            (known, port)
        }
    };
    let number = port.strip_prefix(':').map(str::parse::<NonZeroU16>);
    known && (port.is_empty() || number.is_some_and(|number| number.is_ok()))
}

fn first_of(auth: &PointerAuth) -> Option<firelay_yaml::diagnostic::Span> {
    let headers = auth.headers.keys().map(|name| name.span);
    headers.chain(auth.query.iter().map(|query| query.span)).min()
}

/// Values are never shown.
fn check_auth(auth: &PointerAuth, report: &mut Report) {
    let token = |name: &str| !name.is_empty() && names::is_plain(name, "-_");
    let text = |value: &str| !value.is_empty() && value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    for (name, value) in &auth.headers {
        if !token(name) {
            let finding = Diagnostic::error("FL0903", "not the name of a header").at(name.span);
            let finding = finding.label("letters, digits, - and _");
            report.push(finding.help("write it as Authorization: Bearer …"));
        } else if !text(value.expose()) {
            let finding = Diagnostic::error("FL0903", "not the value of a header").at(value.span);
            report.push(finding.label("one line of ASCII, with something in it"));
        }
    }
    if let Some(query) = &auth.query {
        let value = query.expose();
        if !text(value) || value.contains([' ', '#', '?', '"', '<', '>', '`']) {
            let finding = Diagnostic::error("FL0903", "not a query").at(query.span);
            report.push(finding.label("what stands behind `?` in a URL, without it and without blanks"));
        }
    }
}

/// `delivery` of one machine. [`check`] reports mistakes of the pointer itself.
pub(super) fn resolve(
    settings: &Inherited<'_>,
    os: &OsProfile,
    platform: &PlatformProfile,
    report: &mut Report,
) -> DeliveryPlan {
    let form = settings.form;
    if let Some(form) = form {
        report.take(check_form(form, settings.pointer.is_some(), os, platform));
    }
    let pointer = settings
        .pointer
        .filter(|_| form.is_none_or(|form| form.value == DeliveryForm::Pointer))
        .and_then(|pointer| plan(pointer).map(|plan| (pointer, plan)));
    if let Some((pointer, plan)) = &pointer {
        report.take(check_followed(pointer, plan, os));
        // Without a limit no payload is ever moved elsewhere.
        let limited = os.user_data(platform).is_none_or(|data| data.limit.is_some());
        if form.is_some() || limited {
            report.take(check_identity(pointer, plan, os, platform));
        }
    }
    DeliveryPlan {
        form: form.value(),
        pointer: pointer.map(|(_, plan)| plan),
        max_exposure: settings.max_exposure.value(),
    }
}

fn plan(pointer: &Pointer) -> Option<PointerPlan> {
    let (store, base) = place(&pointer.base).ok()?;
    let header =
        |(name, value): (&Spanned<String>, &Spanned<Secret<String>>)| (name.value.clone(), value.value.clone());
    Some(PointerPlan {
        store,
        base,
        region: pointer.region.value(),
        headers: pointer.auth.headers.iter().map(header).collect(),
        query: pointer.auth.query.value(),
        sealed: pointer.sealed.value() == Some(true),
    })
}

/// Refuses a form that the platform has no place for.
fn check_form(
    form: &Spanned<DeliveryForm>,
    pointer: bool,
    os: &OsProfile,
    platform: &PlatformProfile,
) -> Result<(), Diagnostic> {
    let Some(user_data) = os.user_data(platform) else {
        return Ok(());
    };
    if form.value == DeliveryForm::Pointer && !pointer {
        return Err(Diagnostic::error("FL0902", "a pointer to nowhere")
            .at(form.span)
            .label("there is no `delivery.pointer`")
            .help(
                "say where the payloads lie: delivery: { form: pointer, pointer: { base: https://files.example.com } }",
            ));
    }
    let forms = user_data.forms();
    if form.value == DeliveryForm::Pointer || forms.contains(&form.value) {
        return Ok(());
    }
    let forms: Vec<_> = forms.iter().map(|form| form.name()).collect();
    Err(Diagnostic::error(
        "FL0902",
        format!("{} takes no {} documents of {}", platform.name, form.name(), os.name),
    )
    .at(form.span)
    .label(format!("it takes them {}, or by pointer", forms.join(" or ")))
    .help("leave `form` out: the first form that fits is taken"))
}

/// Reports machines without an identity for the store. Ignition would then send anonymous requests; the script of
/// cloud-init systems would query a missing metadata service.
fn check_identity(
    pointer: &Pointer,
    PointerPlan { store, base, .. }: &PointerPlan,
    os: &OsProfile,
    platform: &PlatformProfile,
) -> Result<(), Diagnostic> {
    if store.auth || platform.identity.contains(&base.scheme) {
        return Ok(());
    }
    let message = format!("machines of {} have no identity for {}://", platform.name, base.scheme);
    let (finding, label) = match os.document {
        DocumentFormat::CloudInit => (
            Diagnostic::error("FL0904", message),
            "they would wait for ever for the cloud's metadata service",
        ),
        DocumentFormat::Ignition => (
            Diagnostic::warning("FL0904", message),
            "Ignition asks without one, and gets what everybody may read",
        ),
    };
    Err(finding
        .at(pointer.base.span)
        .label(label)
        .help("write the base of these machines as https://…, with `auth`"))
}

/// Refuses what the system's reader of documents cannot fetch or open.
fn check_followed(pointer: &Pointer, plan: &PointerPlan, os: &OsProfile) -> Result<(), Diagnostic> {
    let PointerPlan { store, base, .. } = plan;
    if os.document != DocumentFormat::Ignition {
        return Ok(());
    }
    let wrong = |message: String, span| Diagnostic::error("FL0904", message).at(span);
    let version = os.ignition_version.as_deref();
    let version = version.and_then(|text| Version::parse(text).ok());
    let older = |since: &Version| version.as_ref().is_some_and(|version| version < since);
    let since = Version::parse(&store.ignition.since).unwrap_or(IGNITION_HEADERS);
    let header = pointer.auth.headers.keys().next();
    if let Some(sealed) = pointer.sealed.as_ref().filter(|sealed| sealed.value) {
        return Err(wrong(format!("{} cannot open a sealed payload", os.name), sealed.span)
            .label("Ignition decrypts nothing, and nothing else runs before it")
            .help("set delivery of these machines apart, without `sealed`, in a place that asks who they are"));
    }
    if older(&since) {
        let message = format!("{} does not fetch from {}://", os.name, base.scheme);
        return Err(
            wrong(message, pointer.base.span).label(format!("its Ignition needs specification {since} for that"))
        );
    }
    if let Some(header) = header.filter(|_| older(&IGNITION_HEADERS)) {
        let message = format!("{} sends no headers", os.name);
        return Err(
            wrong(message, header.span).label(format!("its Ignition needs specification {IGNITION_HEADERS} for that"))
        );
    }
    if store.ignition.most_path.is_some_and(|most| base.depth() > most) {
        let message = format!("{} does not fetch from below a container", os.name);
        return Err(wrong(message, pointer.base.span)
            .label("Ignition takes an account, a container and a name")
            .help(format!("write it as {}", store.example)));
    }
    Ok(())
}
