//! One certificate or credential: where it is, when it ends, its renewal, and what depends on it.

use serde::Serialize;
use time::{Duration, OffsetDateTime};

/// A certificate or another credential at one place.
#[derive(Clone, Debug)]
pub struct Credential {
    /// Its name: the same for all machines.
    pub title: String,
    /// Its kind.
    pub kind: Kind,
    /// Subject of a certificate.
    pub subject: Option<String>,
    /// The machine; absent in the bundle, in the tree and in the cluster.
    pub machine: Option<String>,
    /// Where it is: a file on the machine, or a name.
    pub path: String,
    /// When it ends; absent for one that does not.
    pub expires: Option<OffsetDateTime>,
    /// How it is renewed.
    pub renewal: Renewal,
    /// The loss when it ends.
    pub stops: String,
}

/// The kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// The certificate of a CA.
    Authority,
    /// A leaf certificate.
    Certificate,
    /// A bootstrap token.
    Token,
    /// A key without a certificate.
    Key,
}

/// How a credential is renewed before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Renewal {
    /// The kubelet asks the cluster for a new one.
    Kubelet,
    /// The add-on `certificateRenewal`.
    Timer,
    /// `kubeadm certs renew` or `kubeadm upgrade`, which somebody runs.
    Kubeadm,
    /// The next render.
    Render,
    /// `firelay secrets rotate` with the name of the kind.
    RotateLeaves,
    RotateCa,
    RotateToken,
    RotateServiceAccount,
    RotateEncryption,
    /// Nothing.
    Nobody,
}

impl Renewal {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Kubelet => "renewed by the kubelet",
            Self::Timer => "renewed by firelay's timer",
            Self::Kubeadm => "renewed by `kubeadm certs renew all` or an upgrade",
            Self::Render => "renewed by a render in its last 30 days",
            Self::RotateLeaves => "renewed by `firelay secrets rotate leaves`",
            Self::RotateCa => "renewed by `firelay secrets rotate ca`",
            Self::RotateToken => "renewed by `firelay secrets rotate token`",
            Self::RotateServiceAccount => "renewed by `firelay secrets rotate service-account`",
            Self::RotateEncryption => "renewed by `firelay secrets rotate encryption`",
            Self::Nobody => "renewed by nobody",
        }
    }

    /// A machine does it without anybody's doing.
    pub fn is_automatic(self) -> bool {
        matches!(self, Self::Kubelet | Self::Timer)
    }
}

impl Credential {
    /// It ends before a time, and no machine renews it by itself.
    pub fn needs_work_before(&self, time: OffsetDateTime) -> bool {
        !self.renewal.is_automatic() && self.expires.is_some_and(|end| end <= time)
    }
}

/// Whole days until an end, negative after it.
pub fn days_left(end: OffsetDateTime, now: OffsetDateTime) -> i64 {
    let day = Duration::DAY.whole_seconds();
    (end - now).whole_seconds().div_euclid(day)
}

/// The same credential on several machines, ending at one time.
pub struct Group<'a> {
    /// The first of them.
    pub first: &'a Credential,
    /// Machines that have it.
    pub machines: Vec<&'a str>,
}

/// Sorted credentials, grouped.
pub fn groups(credentials: &[Credential]) -> Vec<Group<'_>> {
    let same = |one: &Credential, other: &Credential| one.expires == other.expires && one.title == other.title;
    let groups = credentials.chunk_by(same).filter_map(|group| {
        let machines = group.iter().filter_map(|credential| credential.machine.as_deref());
        Some(Group {
            first: group.first()?,
            machines: machines.collect(),
        })
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn a_day_that_has_begun_is_not_left() {
        let now = datetime!(2026-11-23 12:00 UTC);
        for (end, days) in [
            (datetime!(2026-11-24 12:00 UTC), 1),
            (datetime!(2026-11-24 11:59 UTC), 0),
            (datetime!(2026-11-23 11:59 UTC), -1),
            (datetime!(2026-11-22 12:00 UTC), -1),
        ] {
            assert_eq!(days_left(end, now), days, "{end}");
        }
    }
}
