//! Routes of a machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::{InterfacePlan, RoutePlan, check, finding, values::network};
use crate::{
    plan::report::Report,
    spec::{Interface, Route},
};

/// The routes of an interface, gateways first.
pub(super) fn plan(interface: &Interface) -> Vec<RoutePlan> {
    let gateways = interface.gateways.iter().filter_map(|via| {
        let via = check::router(via).ok()?;
        Some(RoutePlan {
            to: everywhere(via),
            via,
            metric: None,
        })
    });
    let routes = interface.routes.iter().filter_map(|route| {
        Some(RoutePlan {
            to: network("FL0624", &route.to).ok()?,
            via: check::router(&route.via).ok()?,
            metric: route.metric.value(),
        })
    });
    gateways.chain(routes).collect()
}

fn everywhere(via: IpAddr) -> IpNet {
    match via {
        IpAddr::V4(_) => Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// The places of routers, in the order of [`plan`].
fn places(interface: &Interface) -> impl Iterator<Item = Span> {
    let gateways = interface.gateways.iter();
    let gateways = gateways.filter(|via| check::router(via).is_ok()).map(|via| via.span);
    let whole = |route: &&Route| network("FL0624", &route.to).is_ok() && check::router(&route.via).is_ok();
    gateways.chain(interface.routes.iter().filter(whole).map(|route| route.via.span))
}

/// Checks that the routers of an interface are its neighbours on a machine.
pub(super) fn check_routers(interface: &Interface, plan: &InterfacePlan, machine: &str, report: &mut Report) {
    for (route, span) in plan.routes.iter().zip(places(interface)) {
        report.take(check_router(route.via, span, plan, machine));
    }
}

fn check_router(via: IpAddr, span: Span, plan: &InterfacePlan, machine: &str) -> Result<(), Diagnostic> {
    let local = matches!(via, IpAddr::V6(v6) if v6.is_unicast_link_local());
    if local || plan.asks(via.is_ipv4()) || plan.bare() {
        return Ok(());
    }
    if plan.addresses.iter().any(|net| net.addr() == via) {
        let own = finding("FL0624", "a machine is its own router", span);
        return Err(own.label(format!("{machine} has this address")));
    }
    if plan.addresses.iter().any(|net| net.contains(&via)) {
        return Ok(());
    }
    let networks: Vec<_> = plan.addresses.iter().map(|net| net.trunc().to_string()).collect();
    let outside = finding("FL0624", "a router outside the networks of its interface", span);
    Err(outside.label(format!("{} of {machine} is in {}", plan.name, networks.join(" and "))))
}

/// Refuses a second route to one network with the metric of the first.
pub(super) fn check_twice(interfaces: &[&Interface], report: &mut Report) {
    let mut seen: Vec<(IpNet, Option<u32>)> = Vec::new();
    for interface in interfaces {
        for (route, span) in plan(interface).iter().zip(places(interface)) {
            let key = (route.to, route.metric);
            if seen.contains(&key) {
                let twice = finding("FL0624", format!("a second route to {}", route.to), span);
                let twice = twice.label("nothing tells which of them counts");
                report.push(twice.help("give routes of one network a `metric` each, under `routes`"));
            }
            seen.push(key);
        }
    }
}
