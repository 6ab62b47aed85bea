//! Stores of payloads, by the scheme of their URL.

use std::{collections::BTreeMap, sync::LazyLock};

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::template;

/// All stores by scheme.
static STORES: LazyLock<BTreeMap<String, Store>> = LazyLock::new(|| {
    let text = template::source("pointer/stores.yaml").unwrap_or_default();
    firelay_yaml::parse("templates/pointer/stores.yaml", text).expect("stores.yaml is embedded, and tests read it")
});

/// A kind of place: an entry of `templates/pointer/stores.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Store {
    /// A place, for people.
    pub example: String,
    /// Nothing is encrypted on the way.
    #[serde(default)]
    pub open: bool,
    /// Parts that a path has at least.
    #[serde(default)]
    pub least_path: usize,
    /// The form of names; absent where the authority is a host.
    pub names: Option<StoreNames>,
    /// The part of the script of cloud-init systems that knows how to ask.
    pub fetch: String,
    /// A machine shows what the spec says; elsewhere it shows the identity that its cloud gave it.
    #[serde(default)]
    pub auth: bool,
    /// A region can be said.
    #[serde(default)]
    pub region: bool,
    /// How Ignition takes it.
    pub ignition: IgnitionStore,
    /// A command that uploads a file, with placeholders.
    pub upload: String,
}

/// Names of buckets, accounts and containers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoreNames {
    /// Regular expression of the authority.
    authority: String,
    /// Regular expression of the path; any if absent.
    path: Option<String>,
    /// Both for people.
    pub rule: String,
}

/// How Ignition fetches from a store.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IgnitionStore {
    /// The URL, with placeholders.
    pub source: String,
    /// First version of the specification that knows it.
    pub since: String,
    /// Fetched files may be gzipped.
    pub compression: bool,
    /// Parts that the path of a base may have; any number if absent.
    pub most_path: Option<usize>,
}

/// A URL in its parts: `SCHEME://AUTHORITY/PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// `s3`.
    pub scheme: String,
    /// Host, bucket or account.
    pub authority: String,
    /// Without slashes at its ends; may be empty.
    pub path: String,
}

/// Stores are built in: each stands at its own place.
impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Store {
    /// The store of a scheme.
    pub fn of(scheme: &str) -> Option<&'static Self> {
        STORES.get(scheme)
    }

    /// The scheme of its URLs.
    pub fn scheme(&self) -> Option<&str> {
        self.example.split_once("://").map(|(scheme, _)| scheme)
    }

    pub fn all() -> impl Iterator<Item = &'static Self> + Clone {
        STORES.values()
    }

    /// One of this store's texts with the parts of a place, and a file where there is one.
    pub fn fill(text: &str, place: &Place, file: Option<&str>) -> Result<String, template::Error> {
        let (container, blob) = place.path.split_once('/').unwrap_or((&place.path, ""));
        let context = serde_json::json!({
            "url": place.url(), "authority": place.authority, "path": place.path,
            "container": container, "blob": blob, "file": file.unwrap_or_default(),
        });
        let filled = template::filled("pointer/stores.yaml", text, &context)?;
        Ok(filled
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default())
    }
}

impl StoreNames {
    /// Whether a place can be there.
    pub fn fit(&self, place: &Place) -> bool {
        let fits = |pattern: &str, text| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
        fits(&self.authority, &place.authority) && self.path.as_ref().is_none_or(|path| fits(path, &place.path))
    }
}

impl Place {
    /// Takes a URL apart; `None` for what is none.
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self {
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            path: path.trim_matches('/').to_owned(),
        })
    }

    /// Parts of the path.
    pub fn depth(&self) -> usize {
        self.path.split('/').filter(|part| !part.is_empty()).count()
    }

    /// A thing below it.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        Self { path, ..self.clone() }
    }

    /// As it was parsed, without a slash at its end.
    pub fn url(&self) -> String {
        let Self {
            scheme,
            authority,
            path,
        } = self;
        match path.as_str() {
            "" => format!("{scheme}://{authority}"),
            path => format!("{scheme}://{authority}/{path}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_store_has_what_it_names() {
        assert_eq!(Store::all().count(), 5);
        for (scheme, store) in &*STORES {
            let place = Place::parse(&store.example).unwrap();
            assert_eq!(&place.scheme, scheme);
            assert_eq!(place.url(), store.example);
            assert!(place.depth() >= store.least_path, "{scheme}");
            assert!(store.names.as_ref().is_none_or(|names| names.fit(&place)), "{scheme}");
            assert_eq!(store.names.is_some(), !store.auth, "{scheme}");
            assert!(
                template::source(&format!("pointer/{}.py.j2", store.fetch)).is_some(),
                "{scheme}"
            );
            let object = place.join("cp1.ign");
            let upload = Store::fill(&store.upload, &object, Some("out/it's")).unwrap();
            assert!(
                upload.contains(r"'out/it'\''s'") && upload.contains("cp1.ign"),
                "{upload}"
            );
            assert!(
                Store::fill(&store.ignition.source, &object, None)
                    .unwrap()
                    .ends_with("/cp1.ign")
            );
        }
    }

    #[test]
    fn a_place_is_taken_apart() {
        let place = Place::parse("azure://account/box/a/b/").unwrap();
        assert_eq!(
            (place.authority.as_str(), place.path.as_str(), place.depth()),
            ("account", "box/a/b", 3)
        );
        assert_eq!(Place::parse("https://h").unwrap().join("x").url(), "https://h/x");
        assert_eq!(Place::parse("host/path"), None);
        let blob = Store::fill("{{ container }} {{ blob }}", &place, None).unwrap();
        assert_eq!(blob, "box a/b");
    }
}
