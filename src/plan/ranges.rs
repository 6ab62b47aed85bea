//! Rows of machines: `worker-{1..40}` and `10.0.1.1-10.0.1.40`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

/// The most machines of one group, and of one spec.
pub(super) const MAX_MACHINES: usize = 65_536;

fn bad(text: &Spanned<String>, label: impl Into<String>) -> Diagnostic {
    Diagnostic::error("FL0202", "not a range").at(text.span).label(label)
}

/// The names of a group: one, or as many as its `{FIRST..LAST}` counts. Leading zeros give every number the same width.
pub(super) fn names(text: &Spanned<String>) -> Result<Vec<String>, Diagnostic> {
    let help = "write it as worker-{1..40}, or {01..40} for numbers of equal width";
    let Some((prefix, rest)) = text.split_once('{') else {
        return if text.contains('}') {
            Err(bad(text, "`}` without `{`").help(help))
        } else {
            Ok(vec![text.value.clone()])
        };
    };
    let (range, suffix) = rest
        .split_once('}')
        .ok_or_else(|| bad(text, "`{` without `}`").help(help))?;
    if suffix.contains(['{', '}']) {
        return Err(bad(text, "more than one range in a name").help(help));
    }
    let (first, last) = range
        .split_once("..")
        .ok_or_else(|| bad(text, "no `..` between the braces").help(help))?;
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        return Err(bad(text, "a range counts from one number to another").help(help));
    };
    check_count(text, to.checked_sub(from))?;
    let width = if [first, last].iter().any(|end| end.len() > 1 && end.starts_with('0')) {
        last.len()
    } else {
        0
    };
    if width > 0 && first.len() != last.len() {
        return Err(bad(text, "numbers with leading zeros need the same width").help(help));
    }
    Ok((from..=to)
        .map(|number| format!("{prefix}{number:0width$}{suffix}"))
        .collect())
}

fn number(text: &str) -> Option<u128> {
    let digits = text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Refuses a range that runs backwards or too far; `steps` is its last less its first.
fn check_count(text: &Spanned<String>, steps: Option<u128>) -> Result<(), Diagnostic> {
    match steps {
        None => Err(bad(text, "the range ends before it begins")),
        Some(steps) if steps >= MAX_MACHINES as u128 => Err(bad(text, format!("more than {MAX_MACHINES} machines"))),
        Some(_) => Ok(()),
    }
}

/// The addresses of an entry: one, or those from `FIRST-LAST`.
pub(super) fn addresses(text: &Spanned<String>) -> Result<Vec<IpAddr>, Diagnostic> {
    read(text).map_err(|finding| match meant(text) {
        Some(meant) => finding.help(format!("write {meant}")),
        None => finding,
    })
}

/// Corrects ends in brackets, ends with prefix lengths, and a shortened last one (`10.0.0.1-9`).
fn meant(text: &str) -> Option<String> {
    let bare = |end: &str| {
        let end = end.trim().trim_start_matches('[');
        end.split(['/', ']']).next().unwrap_or_default().to_owned()
    };
    let Some((first, last)) = text.split_once('-') else {
        let only = bare(text);
        return (only != text && only.parse::<IpAddr>().is_ok()).then_some(only);
    };
    let (first, last) = (bare(first), bare(last));
    let last = match first.parse().ok()? {
        IpAddr::V4(_) => completed(&first, &last, '.'),
        IpAddr::V6(_) => completed(&first, &last, ':'),
    };
    let meant = format!("{first}-{last}");
    (meant != text && last.parse::<IpAddr>().is_ok()).then_some(meant)
}

/// The last end of a range with the parts of the first that it was written without.
fn completed(first: &str, last: &str, separator: char) -> String {
    let parts = last.split(separator).count();
    match first.rsplitn(parts + 1, separator).nth(parts) {
        Some(before) if last.parse::<IpAddr>().is_err() => format!("{before}{separator}{last}"),
        _ => last.to_owned(),
    }
}

/// The entry that would do for a number of machines, from the address it begins with.
pub(super) fn row(first: IpAddr, machines: usize) -> Option<String> {
    let steps = u32::try_from(machines).ok()?.checked_sub(1)?;
    let last: IpAddr = match first {
        IpAddr::V4(first) => Ipv4Addr::from(u32::from(first).checked_add(steps)?).into(),
        IpAddr::V6(first) => Ipv6Addr::from(u128::from(first).checked_add(steps.into())?).into(),
    };
    Some(if steps == 0 {
        first.to_string()
    } else {
        format!("{first}-{last}")
    })
}

fn read(text: &Spanned<String>) -> Result<Vec<IpAddr>, Diagnostic> {
    let Some((first, last)) = text.split_once('-') else {
        return Ok(vec![address(text, text)?]);
    };
    match (address(text, first.trim())?, address(text, last.trim())?) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            let (first, last) = (u32::from(first), u32::from(last));
            check_count(text, last.checked_sub(first).map(u128::from))?;
            Ok((first..=last).map(|bits| Ipv4Addr::from(bits).into()).collect())
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            let (first, last) = (u128::from(first), u128::from(last));
            check_count(text, last.checked_sub(first))?;
            Ok((first..=last).map(|bits| Ipv6Addr::from(bits).into()).collect())
        }
        _ => Err(bad(text, "the ends are of different families")),
    }
}

/// An address that a machine can have.
fn address(place: &Spanned<String>, text: &str) -> Result<IpAddr, Diagnostic> {
    let finding = |label: &str| {
        Diagnostic::error("FL0206", "not a node address")
            .at(place.span)
            .label(label)
    };
    let address: IpAddr = text.parse().map_err(|_| {
        finding("neither IPv4 nor IPv6")
            .help("write 10.0.0.11, or for a row of machines 10.0.0.11-10.0.0.20; no prefix length")
    })?;
    match unusable(address) {
        Some(why) => Err(finding(why)),
        None => Ok(address),
    }
}

/// Why no other machine could reach an address.
pub(super) fn unusable(address: IpAddr) -> Option<&'static str> {
    match address {
        _ if address.is_unspecified() => Some("the unspecified address"),
        _ if address.is_loopback() => Some("a loopback address"),
        _ if address.is_multicast() => Some("a multicast address"),
        IpAddr::V4(v4) if v4.is_broadcast() => Some("the broadcast address"),
        IpAddr::V4(v4) if v4.is_link_local() => Some("a link-local address"),
        IpAddr::V6(v6) if v6.is_unicast_link_local() => Some("a link-local address"),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Some("an IPv4 address written as IPv6"),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use firelay_yaml::diagnostic::Span;

    fn text(text: &str) -> Spanned<String> {
        Spanned::new(text.to_owned(), Span::default())
    }

    #[test]
    fn names_count() {
        assert_eq!(names(&text("cp1")).unwrap(), ["cp1"]);
        assert_eq!(names(&text("w-{9..11}.x")).unwrap(), ["w-9.x", "w-10.x", "w-11.x"]);
        assert_eq!(names(&text("w{08..10}")).unwrap(), ["w08", "w09", "w10"]);
        assert_eq!(names(&text("w{5..5}")).unwrap(), ["w5"]);
        assert_eq!(names(&text("w{1..65536}")).unwrap().len(), 65_536);
    }

    #[test]
    fn odd_names_are_refused() {
        for name in [
            "w{1..2}{1..2}",
            "w{2..1}",
            "w{1..65537}",
            "w{0..999999999}",
            "w{1}",
            "w{a..b}",
            "w{1..",
            "w}",
            "w{1..010}",
            "w{..3}",
            "w{+1..3}",
        ] {
            assert!(names(&text(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn addresses_count() {
        let row = addresses(&text("10.0.0.254-10.0.1.1")).unwrap();
        assert_eq!(
            row.iter().map(IpAddr::to_string).collect::<Vec<_>>(),
            ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]
        );
        assert_eq!(addresses(&text("fd00::ffff-fd00::1:0")).unwrap().len(), 2);
        assert_eq!(addresses(&text("::2-::1:1")).unwrap().len(), 65_536);
    }

    #[test]
    fn odd_addresses_are_refused() {
        for entry in [
            "10.0.0.2-10.0.0.1",
            "10.0.0.1-fd00::1",
            "0.0.0.1-255.0.0.0",
            "::2-ffff::",
            "10.0.0.0/24",
            "x",
            "",
            "127.0.0.1",
            "::ffff:10.0.0.1",
            "fe80::1",
            "10.0.0.1-",
        ] {
            assert!(addresses(&text(entry)).is_err(), "{entry}");
        }
    }
}
