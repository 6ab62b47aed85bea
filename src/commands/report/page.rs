//! The page: all sections, and the facts above them.

use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::{
    super::failure::Failure, boot::Boot, certificates::Certificates, changes::Changes, cluster::Cluster,
    exposure::Exposure, findings::Findings, outline::Outline, refused::RefusedSpec, sizes::Sizes, subject::Subject,
};
use crate::{
    encoding::{base64, sha256_hex},
    template,
};

/// The context of the templates. A refused spec has neither documents nor certificates.
#[derive(Serialize)]
pub(super) struct Page<'s> {
    name: &'s str,
    kubernetes: Option<&'s str>,
    firelay: &'s str,
    date: String,
    /// Why there is no document.
    refused: Option<String>,
    facts: Vec<Fact>,
    cluster: Option<Cluster>,
    boot: Option<Boot>,
    sizes: Option<Sizes>,
    certificates: Option<Certificates>,
    exposure: Option<Exposure<'s>>,
    findings: Findings,
    changes: Option<&'s Changes>,
    policy: String,
    style: Inline,
    script: Inline,
    live: Option<Live>,
}

/// A text in place of the page, while there is none.
#[derive(Serialize)]
struct Notice<'t> {
    text: &'t str,
    policy: String,
    style: Inline,
    live: Live,
}

/// The addition of a served page: a script that loads it again when the server has another version.
#[derive(Serialize)]
struct Live {
    version: String,
    script: Inline,
}

/// A page for a server.
pub(super) struct Served {
    pub(super) version: String,
    /// Its Content-Security-Policy.
    pub(super) policy: String,
    pub(super) html: String,
}

/// A figure with a link to its section.
#[derive(Serialize)]
struct Fact {
    name: &'static str,
    value: String,
    section: &'static str,
}

/// A text in the page that its Content-Security-Policy allows by this digest.
#[derive(Serialize)]
struct Inline {
    text: &'static str,
    digest: String,
}

impl Inline {
    /// A file below `templates/`, without the line break at its end.
    fn of(path: &str) -> Self {
        let text = template::source(path).unwrap_or_default().trim_end();
        Self {
            text,
            digest: base64(Sha256::digest(text)),
        }
    }
}

impl Live {
    /// Of the version with this content.
    fn of(content: &str) -> Self {
        Self {
            version: sha256_hex(content.as_bytes()),
            script: Inline::of("report/reload.js"),
        }
    }
}

/// The Content-Security-Policy: nothing but the texts in the page, and for a served page its server.
fn policy(style: &Inline, script: Option<&Inline>, live: Option<&Live>) -> String {
    let scripts = script.into_iter().chain(live.map(|live| &live.script));
    let scripts: String = scripts.map(|script| format!(" 'sha256-{}'", script.digest)).collect();
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src{scripts};{} base-uri 'none'; form-action 'none'",
        style.digest,
        live.map_or("", |_| " connect-src 'self';"),
    )
}

impl Served {
    /// A text in place of the page.
    pub(super) fn notice(text: &str) -> Result<Self, Failure> {
        let (style, live) = (Inline::of("report/page.css"), Live::of(text));
        let policy = policy(&style, None, Some(&live));
        let notice = Notice {
            text,
            policy,
            style,
            live,
        };
        let html = template::render("report/notice.html.j2", &notice)?;
        Ok(Self {
            version: notice.live.version,
            policy: notice.policy,
            html,
        })
    }
}

impl<'s> Page<'s> {
    pub(super) fn of(subject: &'s Subject, now: OffsetDateTime) -> Self {
        let manifest = &subject.manifest;
        let findings = Findings::of(&subject.diagnostics, &subject.verified, &subject.exposure.findings);
        Self {
            kubernetes: Some(&manifest.kubernetes_version),
            firelay: &manifest.firelay_version,
            cluster: Some(Cluster::of(Outline::of(manifest, &subject.tree, &subject.facts))),
            boot: Some(Boot::of(&subject.picture)),
            sizes: Some(Sizes::of(subject)),
            certificates: Some(Certificates::of(&subject.credentials, now)),
            exposure: Some(Exposure::of(&subject.exposure)),
            changes: subject.changes.as_ref(),
            ..Self::empty(&manifest.cluster, findings, now)
        }
        .with_facts()
    }

    /// Of a refused spec, with this verdict.
    pub(super) fn of_refused(spec: RefusedSpec, name: &'s str, verdict: String, now: OffsetDateTime) -> Self {
        Self {
            refused: Some(verdict),
            cluster: spec.outline.map(Cluster::of),
            sizes: spec.sizes,
            ..Self::empty(name, Findings::of(&spec.findings, &[], &[]), now)
        }
        .with_facts()
    }

    fn empty(name: &'s str, findings: Findings, now: OffsetDateTime) -> Self {
        let (style, script) = (Inline::of("report/page.css"), Inline::of("report/page.js"));
        Self {
            name,
            kubernetes: None,
            firelay: env!("CARGO_PKG_VERSION"),
            date: now.date().to_string(),
            refused: None,
            facts: Vec::new(),
            cluster: None,
            boot: None,
            sizes: None,
            certificates: None,
            exposure: None,
            findings,
            changes: None,
            policy: policy(&style, Some(&script), None),
            style,
            script,
            live: None,
        }
    }

    fn with_facts(mut self) -> Self {
        let fact = |name, section, value: Option<String>| value.map(|value| Fact { name, value, section });
        let certificate = self.certificates.as_ref().and_then(Certificates::next);
        let exposure = self.exposure.as_ref().map(Exposure::highest);
        let facts = [
            fact("Cluster", "cluster", self.cluster.as_ref().map(Cluster::count)),
            fact("Findings", "findings", Some(self.findings.summary())),
            fact(
                "Changes",
                "changes",
                self.changes.map(|changes| changes.brief().to_owned()),
            ),
            fact(
                "First boot",
                "boot",
                self.boot.as_ref().map(|boot| format!("about {}", boot.end())),
            ),
            fact(
                "Fullest document",
                "sizes",
                self.sizes.as_ref().and_then(Sizes::fullest),
            ),
            fact("Next renewal", "certificates", certificate.map(str::to_owned)),
            fact(
                "Highest exposure",
                "exposure",
                exposure.map(|highest| format!("a reader {highest}")),
            ),
        ];
        self.facts = facts.into_iter().flatten().collect();
        self
    }

    pub(super) fn render(&self) -> Result<String, Failure> {
        Ok(template::render("report/page.html.j2", self)?)
    }

    /// The page for a server. Its version is the content of the page that would be written.
    pub(super) fn serve(mut self) -> Result<Served, Failure> {
        let live = Live::of(&self.render()?);
        self.policy = policy(&self.style, Some(&self.script), Some(&live));
        let version = live.version.clone();
        self.live = Some(live);
        Ok(Served {
            version,
            html: self.render()?,
            policy: self.policy,
        })
    }
}
