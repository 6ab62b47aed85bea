//! The page: all sections, and the facts above them.

use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::{
    super::{failure::Failure, streams::counted},
    boot::Boot,
    certificates::Certificates,
    changes::Changes,
    cluster::Cluster,
    exposure::Exposure,
    findings::Findings,
    sizes::Sizes,
    subject::Subject,
};
use crate::{
    encoding::{base64, sha256_hex},
    template,
};

/// The context of the templates.
#[derive(Serialize)]
pub(super) struct Page<'s> {
    name: &'s str,
    kubernetes: &'s str,
    firelay: &'s str,
    date: String,
    facts: Vec<Fact>,
    cluster: Cluster,
    boot: Boot,
    sizes: Sizes,
    certificates: Certificates,
    exposure: Exposure<'s>,
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
        let (style, script) = (Inline::of("report/page.css"), Inline::of("report/page.js"));
        let mut page = Self {
            name: &manifest.cluster,
            kubernetes: &manifest.kubernetes_version,
            firelay: &manifest.firelay_version,
            date: now.date().to_string(),
            facts: Vec::new(),
            cluster: Cluster::of(subject),
            boot: Boot::of(&subject.picture),
            sizes: Sizes::of(subject),
            certificates: Certificates::of(&subject.credentials, now),
            exposure: Exposure::of(&subject.exposure),
            findings: Findings::of(&subject.diagnostics, &subject.verified, &subject.exposure.findings),
            changes: subject.changes.as_ref(),
            policy: policy(&style, Some(&script), None),
            style,
            script,
            live: None,
        };
        page.facts = page.facts(subject);
        page
    }

    fn facts(&self, subject: &Subject) -> Vec<Fact> {
        let fact = |name, section, value: Option<String>| value.map(|value| Fact { name, value, section });
        let machines = counted(
            subject.tree.machines.iter().filter(|machine| !machine.pool).count(),
            "machine",
        );
        let pools = subject.tree.machines.iter().filter(|machine| machine.pool).count();
        let pools = if pools > 0 {
            format!(", {}", counted(pools, "pool"))
        } else {
            String::new()
        };
        let changes = self.changes.map(|changes| changes.brief().to_owned());
        let certificate = self.certificates.next().map(str::to_owned);
        let facts = [
            fact("Cluster", "cluster", Some(machines + &pools)),
            fact("Findings", "findings", Some(self.findings.summary())),
            fact("Changes", "changes", changes),
            fact("First boot", "boot", Some(format!("about {}", self.boot.end()))),
            fact("Fullest document", "sizes", self.sizes.fullest()),
            fact("Next renewal", "certificates", certificate),
            fact(
                "Highest exposure",
                "exposure",
                Some(format!("a reader {}", self.exposure.highest())),
            ),
        ];
        facts.into_iter().flatten().collect()
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
