//! Outputs in addition to the documents.

use std::collections::BTreeSet;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::{NodePlan, report::Report};
use crate::{profile::DocumentFormat, spec::ExtraOutput};

/// All requested outputs; a warning for a form that no machine's document has.
pub(super) fn resolve(
    asked: &[Spanned<ExtraOutput>],
    nodes: &[NodePlan],
    report: &mut Report,
) -> BTreeSet<ExtraOutput> {
    for entry in asked {
        let Some((format, readers)) = form_of(entry.value) else {
            continue;
        };
        if nodes.iter().all(|node| node.os.document != format) {
            let finding =
                Diagnostic::warning("FL0511", "this entry of `delivery.extraOutputs` has no effect").at(entry.span);
            report.push(finding.label(format!("no machine has a system that reads {readers}")));
        }
    }
    asked.iter().map(|entry| entry.value).collect()
}

/// The only format that there is in this form, and its name.
fn form_of(output: ExtraOutput) -> Option<(DocumentFormat, &'static str)> {
    match output {
        ExtraOutput::Parts => Some((DocumentFormat::CloudInit, "cloud-init")),
        ExtraOutput::Butane => Some((DocumentFormat::Ignition, "Ignition")),
        ExtraOutput::Terraform | ExtraOutput::TerraformSecrets => None,
    }
}
