//! The program that gives nodes their parts of the pod ranges.

use crate::{
    declaration::{Choice, Kind},
    plan::network::NodeCidrAllocator,
    spec::Spec,
};

/// The flag of kube-controller-manager that firelay sets; the user's own takes precedence.
pub(super) const FLAG: &str = "allocate-node-cidrs";

/// Determined by the network plugin's parameters alone, since there is no plan yet.
pub(in crate::plan) fn node_cidr_allocator(spec: &Spec) -> NodeCidrAllocator {
    let (choices, _) = spec.choices();
    let plugin = choices.iter().find(|choice| choice.declaration.kind == Kind::Cni);
    let requirements: Vec<_> = plugin.into_iter().flat_map(Choice::requirements).collect();
    let mut own = spec.kubernetes.controller_manager.extra_args.iter().rev();
    let own = own.find(|argument| *argument.name == FLAG);
    let allocates = own.map_or_else(
        || requirements.iter().all(|it| it.node_cidrs != Some(false)),
        |argument| *argument.value != "false",
    );
    match allocates {
        true => NodeCidrAllocator::ControllerManager,
        false if requirements.iter().any(|it| it.node_masks == Some(true)) => NodeCidrAllocator::Plugin,
        false => NodeCidrAllocator::Nobody,
    }
}
