//! Proxies, from the same environment variables as curl: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`; lower
//! case takes precedence.

use std::net::IpAddr;

use ipnet::IpNet;

/// Proxies by scheme, and the hosts that are reached without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proxies {
    pub(crate) http: Option<String>,
    pub(crate) https: Option<String>,
    direct: Vec<String>,
}

impl Proxies {
    /// The proxies of an environment.
    pub(crate) fn of(environment: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| {
            let value = environment(name).or_else(|| environment(&name.to_uppercase()));
            value.filter(|value| !value.trim().is_empty())
        };
        let all = get("all_proxy");
        let direct = get("no_proxy").unwrap_or_default();
        let words = direct.split([',', ' ']).map(|word| word.trim().to_lowercase());
        Self {
            http: get("http_proxy").or_else(|| all.clone()),
            https: get("https_proxy").or(all),
            direct: words.filter(|word| !word.is_empty()).collect(),
        }
    }

    /// Whether a host is reached without a proxy: by its name, its domain, a range, or `*`.
    pub(crate) fn bypasses(&self, host: &str) -> bool {
        let host = host.trim_matches(['[', ']']).to_lowercase();
        let address = host.parse::<IpAddr>().ok();
        self.direct.iter().any(|word| {
            let domain = word.trim_start_matches("*.").trim_start_matches('.');
            let below = host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
            let range = || address.zip(word.parse::<IpNet>().ok());
            word == "*" || host == domain || below || range().is_some_and(|(address, range)| range.contains(&address))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Proxies {
        let value = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Proxies::of(value)
    }

    #[test]
    fn each_scheme_has_its_own_and_lower_case_wins() {
        let both = of(&[
            ("HTTPS_PROXY", "http://a"),
            ("https_proxy", "http://b"),
            ("ALL_PROXY", "http://c"),
        ]);
        assert_eq!(both.https.as_deref(), Some("http://b"));
        assert_eq!(both.http.as_deref(), Some("http://c"));
        assert_eq!(of(&[("HTTPS_PROXY", " ")]), Proxies::default());
    }

    #[test]
    fn domains_ranges_and_addresses_are_reached_directly() {
        let some = of(&[("NO_PROXY", "example.com, .lan,10.0.0.0/8,192.0.2.7")]);
        for host in ["example.com", "a.Example.com", "x.lan", "10.3.4.5", "192.0.2.7"] {
            assert!(some.bypasses(host), "{host}");
        }
        for host in ["anexample.com", "11.0.0.1", "192.0.2.70", "example.com.org"] {
            assert!(!some.bypasses(host), "{host}");
        }
        assert!(of(&[("no_proxy", "*")]).bypasses("[fd00::1]"));
    }
}
