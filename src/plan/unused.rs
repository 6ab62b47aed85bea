//! Settings of a kubelet for machines that run none: members of an external etcd.

use firelay_yaml::diagnostic::{Diagnostic, Span};

use super::{machines::NodeGroup, report::Report};
use crate::spec::{Settings, Spec};

/// Warns of labels, taints and kubelet settings of the etcd role and of nodes with this role alone.
pub(super) fn check(spec: &Spec, groups: &[NodeGroup<'_>], report: &mut Report) {
    let members = || groups.iter().filter(|group| group.roles.etcd);
    if members().count() > 0 && members().all(|group| !group.roles.kubernetes()) {
        check_one(spec.roles.etcd.settings(), report);
    }
    let without = members().filter(|group| !group.roles.kubernetes());
    without.for_each(|group| check_one(group.node.settings(), report));
}

fn check_one(settings: Settings<'_>, report: &mut Report) {
    let kubelet = settings.kubelet;
    let first = |keys: Vec<Span>| keys.into_iter().min();
    let archive = settings.image_archives.first();
    let set = [
        ("imageArchives", archive.map(|archive| archive.url.span)),
        ("labels", first(settings.labels.keys().map(|key| key.span).collect())),
        (
            "taints",
            settings.taints.and_then(|taints| Some(taints.first()?.key.span)),
        ),
        (
            "kubelet.config",
            first(kubelet.config.keys().map(|key| key.span).collect()),
        ),
        (
            "kubelet.extraArgs",
            kubelet.extra_args.first().map(|argument| argument.name.span),
        ),
    ];
    for (key, span) in set.into_iter().filter_map(|(key, span)| Some((key, span?))) {
        let finding = Diagnostic::warning("FL0511", format!("`{key}` has no effect")).at(span);
        report.push(finding.label("machines with the etcd role alone run no kubelet and are no nodes of Kubernetes"));
    }
}
