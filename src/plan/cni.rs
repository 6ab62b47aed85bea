//! `network.cni`: the plugin.

use super::{CniPlan, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span},
    spec::{Cni, Flannel, FlannelBackend, Spec},
};

/// `network.cni`, checked and resolved; flannel if absent.
pub(super) fn resolve(spec: &Spec, report: &mut Report) -> CniPlan {
    let given = spec.network.cni.as_ref();
    match given.map(|cni| &cni.value) {
        Some(Cni::None) => {
            if spec.manifests.is_empty() {
                let finding = Diagnostic::warning("FL0110", "no network plugin, and no manifest that could bring one")
                    .label("nodes stay NotReady until a plugin is installed")
                    .help("add the plugin's manifest under `manifests`");
                report.push(Diagnostic {
                    span: given.map(|cni| cni.span),
                    ..finding
                });
            }
            CniPlan::None
        }
        Some(Cni::Flannel(flannel)) => flannel_plan(flannel, given.map(|cni| cni.span), report),
        None => flannel_plan(&Flannel::default(), None, report),
    }
}

fn flannel_plan(flannel: &Flannel, span: Option<Span>, report: &mut Report) -> CniPlan {
    let backend = flannel
        .backend
        .as_ref()
        .map_or(FlannelBackend::Vxlan, |backend| backend.value);
    let vxlan = backend == FlannelBackend::Vxlan;
    let idle = [
        ("vni", flannel.vni.as_ref().map(|vni| vni.span), vxlan),
        (
            "port",
            flannel.port.as_ref().map(|port| port.span),
            backend != FlannelBackend::HostGw,
        ),
        ("directRouting", span.filter(|_| flannel.direct_routing), vxlan),
    ];
    for (key, span, used) in idle {
        if let (Some(span), false) = (span, used) {
            let finding = Diagnostic::error("FL0113", format!("this flannel backend has no `{key}`")).at(span);
            report.push(finding.help(format!("remove `{key}`, or use the vxlan backend")));
        }
    }
    if let Some(vni) = flannel
        .vni
        .as_ref()
        .filter(|vni| vni.value == 0 || vni.value > 0x00ff_ffff)
    {
        report.push(
            Diagnostic::error("FL0113", "not a VXLAN identifier")
                .at(vni.span)
                .label("from 1 to 16777215"),
        );
    }
    CniPlan::Flannel {
        backend,
        mtu: flannel.mtu.as_ref().map(|mtu| mtu.value),
        port: flannel.port.as_ref().map(|port| port.value),
        vni: flannel.vni.as_ref().map(|vni| vni.value),
        direct_routing: flannel.direct_routing,
    }
}
