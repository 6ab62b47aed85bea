//! Outputs in addition to the documents.

use std::collections::BTreeSet;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{NodePlan, report::Report};
use crate::{profile::DocumentFormat, spec::Beside};

/// All requested outputs; a warning for a form that no machine's document has.
pub(super) fn resolve(asked: &[Spanned<Beside>], nodes: &[NodePlan], report: &mut Report) -> BTreeSet<Beside> {
    for entry in asked {
        let Some((format, readers)) = form_of(entry.value) else {
            continue;
        };
        if nodes.iter().all(|node| node.os.document != format) {
            let finding = Diagnostic::warning("FL0511", "this entry of `delivery.beside` has no effect").at(entry.span);
            report.push(finding.label(format!("no machine has a system that reads {readers}")));
        }
    }
    asked.iter().map(|entry| entry.value).collect()
}

/// The only format that there is in this form, and its name.
fn form_of(beside: Beside) -> Option<(DocumentFormat, &'static str)> {
    match beside {
        Beside::Parts => Some((DocumentFormat::CloudInit, "cloud-init")),
        Beside::Butane => Some((DocumentFormat::Ignition, "Ignition")),
        Beside::Terraform | Beside::TerraformSecrets => None,
    }
}
