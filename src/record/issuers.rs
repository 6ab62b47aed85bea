//! Steps of the issuers of service accounts' tokens: a token that one API server signs, all have to accept.
//!
//! Source: kube-apiserver's `--service-account-issuer`. The first issuer signs, all are accepted, and they are the default of
//! `--api-audiences` (pkg/kubeapiserver/options/authentication.go).

use firelay_yaml::diagnostic::Diagnostic;

use super::Change;
use crate::tree::Role;

const PATH: [&str; 3] = ["kubernetes", "apiServer", "extraArgs"];

impl Change<'_> {
    /// An issuer that signs goes, or one begins to sign that other API servers do not know. A record of an earlier version has none.
    pub(super) fn issuers(&self) -> Option<Diagnostic> {
        let (old, new) = (&self.record.token_issuers, self.plan.kubernetes.token_issuers());
        let several = self.recorded(Role::ControlPlane).count() > 1;
        let (signed, signs) = (old.first()?, new.first()?);
        let (message, help) = if !new.contains(signed) {
            (
                format!("API servers would refuse every token of the issuer {signed}"),
                format!(
                    "keep {signed} as a further --service-account-issuer behind {signs} until no token of it is used: docs/rotate.md"
                ),
            )
        } else if several && !old.contains(signs) {
            (
                format!("API servers that run would refuse tokens of the issuer {signs}"),
                format!("put it behind {signed}, update all control planes, and then put it first: docs/rotate.md"),
            )
        } else if several && *old != new {
            let shown = self.open_step()?;
            (
                format!("issuers change step by step, and the last update may not be over: {shown}"),
                "run all scripts in their order, then firelay update --done".to_owned(),
            )
        } else {
            return None;
        };
        let line = self.text.line(&["tokenIssuers"]);
        let at = self.place(&PATH).or_else(|| self.place(&PATH[..1]));
        let finding = Diagnostic::error("FL1229", message).at(at);
        Some(
            finding
                .label(format!("the record has {} ({line})", old.join(", ")))
                .help(help),
        )
    }
}
