//! Configuration for programs of Kubernetes among the files of a machine.

use std::sync::Arc;

use firelay_base::memo::Memo;
use serde_json::{Map, Value};

use super::Pool;
use crate::{
    Config, Finding, Machine,
    class::{own_texts, unquoted},
    cluster::variable,
    provided::PROVIDED,
};

/// Objects for the API server, which checks them itself; here they only have to be YAML.
const MANIFESTS: &str = "/etc/firelay/addons/";

/// Configuration in TOML of containerd and CRI-O, with that of their registries: folders, and endings of names.
const TOML: [(&str, &str); 3] = [
    ("/etc/containerd/", ".toml"),
    ("/etc/crio/crio.conf.d/", ".conf"),
    ("/etc/containers/registries.conf.d/", ".conf"),
];

/// The documents of a file as far as they are YAML, and why others are not.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    values: Vec<Arc<Value>>,
    faults: Vec<String>,
}

/// Every document in every file that has an `apiVersion`, and what is no YAML or TOML.
pub(super) fn read(machine: &Machine, pool: &Pool) -> (Vec<Config>, Vec<Finding>) {
    let (mut configs, mut faults) = (Vec::new(), no_toml(machine, &pool.no_toml));
    let own = Own::of(machine);
    for (path, _, bytes) in machine.root.files() {
        let is_named = is_named(path).then(|| std::str::from_utf8(bytes).ok()).flatten();
        let Some(text) = is_named.filter(|text| is_config(path, text)) else {
            continue;
        };
        let documents = own.documents(path, text, pool);
        faults.extend(documents.faults.iter().map(|why| {
            let message = format!("not YAML: {why}");
            machine.error("FL1024", path, message)
        }));
        configs.extend(documents.values.iter().map(|value| Config {
            path: path.to_owned(),
            value: value.clone(),
        }));
    }
    (configs, faults)
}

/// A machine's own name and address, each with a placeholder. Every reader of YAML takes all of them for text.
struct Own<'a>(Vec<(&'a str, &'static str)>);

impl<'a> Own<'a> {
    fn of(machine: &'a Machine) -> Self {
        let address = variable(machine, "FL_ADDRESSES").unwrap_or_default();
        let own = own_texts(&machine.name, address).into_iter();
        let own = own.zip(["firelay-own-name", "firelay-own-address"]);
        Self(own.filter_map(|(value, word)| Some((value?, word))).collect())
    }

    /// The documents of a file. They are read once for machines whose files differ in these values alone.
    fn documents(&self, path: &str, text: &str, pool: &Pool) -> Arc<Documents> {
        let read = |text: &str| pool.configs.of(path, text.as_bytes(), || documents(path, text));
        let shared = self.replaced(text).and_then(|text| self.restored(&read(&text)));
        shared.map_or_else(|| read(text), Arc::new)
    }

    /// The text with placeholders for own values that end a line after a colon; `None` where nothing is replaced.
    fn replaced(&self, text: &str) -> Option<String> {
        // An escape may spell a placeholder, and how much aliases may repeat depends on the length of a text.
        if text.contains(['\\', '&', '*']) || self.held(text).next().is_some() {
            return None;
        }
        let mut replaced = String::with_capacity(text.len());
        let mut done = 0;
        for (at, _) in text.match_indices(": ") {
            let value = text[at + 2..].lines().next().unwrap_or_default();
            let Some((own, word)) = self.0.iter().find(|(own, _)| *own == unquoted(value)) else {
                continue;
            };
            let start = at + 2 + usize::from(own.len() != value.len());
            replaced += &text[done..start];
            replaced += word;
            done = start + own.len();
        }
        replaced += &text[done..];
        (done > 0).then_some(replaced)
    }

    /// The documents with the values; `None` if the text itself has to be read: it has a fault, or a placeholder in a key.
    fn restored(&self, documents: &Documents) -> Option<Documents> {
        let values = documents.values.iter().map(|value| self.value(value).map(Arc::new));
        documents.faults.is_empty().then_some(())?;
        Some(Documents {
            values: values.collect::<Option<_>>()?,
            faults: Vec::new(),
        })
    }

    /// The values whose placeholders a text has.
    fn held<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t (&'a str, &'static str)> {
        self.0.iter().filter(move |(_, word)| text.contains(word))
    }

    fn value(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => Value::String(
                self.held(text)
                    .fold(text.clone(), |text, (own, word)| text.replace(word, own)),
            ),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect::<Option<_>>()?),
            Value::Object(entries) => {
                let is_plain = |key: &str| self.held(key).next().is_none();
                let entry =
                    |(key, value): (&String, &Value)| is_plain(key).then_some((key.clone(), self.value(value)?));
                Value::Object(entries.iter().map(entry).collect::<Option<Map<_, _>>>()?)
            }
            other => other.clone(),
        })
    }
}

/// The documents of a file; those of manifests are only to be YAML.
fn documents(path: &str, text: &str) -> Documents {
    let mut documents = Documents::default();
    if path.starts_with(MANIFESTS) {
        let fault = firelay_yaml::documents(text).err();
        documents.faults.extend(fault.map(|why| why.to_string()));
        return documents;
    }
    let parts = firelay_yaml::split(text).into_iter().map(|range| &text[range]);
    for part in parts.filter(|part| !is_empty(part)) {
        match firelay_yaml::parse::<Value>(path, part) {
            Ok(value) => documents.values.push(Arc::new(value)),
            Err(why) => documents.faults.push(why.to_string()),
        }
    }
    documents
}

/// containerd ignores the mirrors of an invalid hosts.toml, and CRI-O does not start with an invalid file. Lines are not shown, since they may contain a password.
fn no_toml(machine: &Machine, known: &Memo<Option<String>>) -> Vec<Finding> {
    let files = TOML.iter().flat_map(|(folder, ending)| {
        let files = machine.root.below(folder);
        files.filter(move |(path, _)| path.ends_with(ending))
    });
    let wrong = files.filter_map(|(path, _)| {
        let text = machine.text(path)?;
        let message = known.of("", text.as_bytes(), || why_no_toml(text)).as_ref().clone()?;
        Some(machine.error("FL1024", path, message))
    });
    wrong.collect()
}

fn why_no_toml(text: &str) -> Option<String> {
    let why = toml::de::DeTable::parse(text).err()?;
    let before = text.get(..why.span().unwrap_or_default().start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Some(format!("not TOML: line {line}: {}", why.message()))
}

/// A `.conf` is configuration of anybody; only those of Kubernetes are YAML.
fn is_named(path: &str) -> bool {
    let is = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    is(&[".yaml", ".yml", ".kubeconfig", ".json"]) || (is(&[".conf"]) && PROVIDED.is_read(path))
}

fn is_config(path: &str, text: &str) -> bool {
    text.contains("apiVersion") || path.contains("/patches/")
}

fn is_empty(part: &str) -> bool {
    part.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The own values of a machine, and a function that puts them into a text of another machine.
    fn own(number: u8) -> (Own<'static>, impl Fn(&str) -> String) {
        let own = [("w-5", "10.0.0.5"), ("w-6", "10.0.0.6"), ("w-7", "10.0.0.7")][usize::from(number)];
        let words = vec![(own.0, "firelay-own-name"), (own.1, "firelay-own-address")];
        (Own(words), move |text: &str| {
            text.replace("w-5", own.0).replace("10.0.0.5", own.1)
        })
    }

    fn values(documents: &Documents) -> (Vec<Value>, Vec<String>) {
        let values = documents.values.iter().map(|value| (**value).clone());
        (values.collect(), documents.faults.clone())
    }

    /// Whatever is around the own values of several machines, the documents are those of the text itself.
    #[test]
    fn documents_with_own_values_are_those_of_the_text() {
        let text = "apiVersion: v1\nname: w-5\nlist:\n- name: ip\n  value: \"10.0.0.5\"\n- a: 'w-5'\n  b: |\n    c: w-5\nd: 10.0.0.5\n";
        let odd = [
            "",
            " ",
            "'",
            "\"",
            "#",
            "- ",
            "? ",
            ": ",
            "|\n",
            ">\n",
            "[",
            "{a: ",
            "&a ",
            "*a",
            "!!int ",
            "w-5: ",
            "x\n---\n",
            "firelay-own-name",
            "\ne: \"firelay\\x2down-name\"\n",
        ];
        let mut shared = 0;
        for at in 0..=text.len() {
            for more in odd {
                let pool = Pool::default();
                for (own, of_machine) in (0..3).map(own) {
                    let text = of_machine(&format!("{}{more}{}", &text[..at], &text[at..]));
                    let read = values(&own.documents("a.yaml", &text, &pool));
                    assert_eq!(read, values(&documents("a.yaml", &text)), "{text}");
                    let replaced = own.replaced(&text).map(|text| documents("a.yaml", &text));
                    shared += usize::from(replaced.is_some_and(|documents| own.restored(&documents).is_some()));
                }
            }
        }
        assert!(shared > 1000, "{shared}");
    }

    #[test]
    fn a_text_with_a_placeholder_is_read_itself() {
        let (own, _) = own(0);
        assert!(own.replaced("a: w-5\nb: firelay-own-name\n").is_none());
        assert!(own.replaced("a: w-55\nb: c\n").is_none());
        assert_eq!(own.replaced("a: 'w-5'\n").as_deref(), Some("a: 'firelay-own-name'\n"));
    }
}
