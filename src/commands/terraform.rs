//! `terraform`: the protocol of the data source `external` of the provider hashicorp/external: one JSON object of texts on
//! stdin, one on stdout, or one line on stderr and an exit code other than 0 (its documentation, "External Program
//! Protocol"; 2.3, 2026-11-20). It is run at every plan, so it reads a tree and changes nothing.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use firelay_yaml::diagnostic;
use serde_json::Value;
use time::format_description::well_known::Rfc3339;

use super::{failure::Failure, streams};
use crate::{
    cli::Terraform,
    profile::Encoding,
    tree::{Error, ManifestFile, TreeReader},
};

/// The maximum size of a query; valid ones have a few hundred bytes.
const MOST_BYTES: u64 = 1 << 16;

/// The keys of a query.
const KEYS: [&str; 3] = ["out", "node", "content"];

/// Runs the verb.
pub fn run(args: &Terraform) -> Result<(), Failure> {
    let query = Query::read(args)?;
    let reader = TreeReader::open(&query.out)?;
    let tree = Tree {
        root: &query.out,
        reader,
    };
    let answer = match &query.node {
        Some(name) => tree.one(name, query.content)?,
        None => tree.all()?,
    };
    let json = serde_json::to_string(&answer)?;
    streams::data(&format!("{json}\n"))
}

/// Terraform's query.
struct Query {
    out: PathBuf,
    node: Option<String>,
    content: bool,
}

impl Query {
    fn read(args: &Terraform) -> Result<Self, Failure> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            let help = "Terraform's external data source asks on stdin; try: echo '{}' | firelay terraform";
            return Err(Failure::Usage(help.to_owned()));
        }
        let mut bytes = Vec::new();
        let read = stdin.lock().take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io(format!("cannot read stdin: {error}")))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(wrong(&format!("it has more than {MOST_BYTES} bytes")));
        }
        let mut query = texts(&bytes)?;
        let content = match query.remove("content").as_deref() {
            None | Some("" | "false") => false,
            Some("true") => true,
            Some(other) => return Err(wrong(&format!("content is true or false, not {other:?}"))),
        };
        let node = query.remove("node").filter(|name| !name.is_empty());
        if content && node.is_none() {
            return Err(wrong("content is told of one node at a time: name it as node"));
        }
        let out = query.remove("out").filter(|out| !out.is_empty());
        Ok(Self {
            out: out.map_or_else(|| args.tree.path().to_owned(), PathBuf::from),
            node,
            content,
        })
    }
}

fn wrong(what: &str) -> Failure {
    Failure::Usage(format!("the query on stdin is not right: {what}"))
}

/// The query's texts. The provider always sends texts; manual tests may not.
fn texts(bytes: &[u8]) -> Result<BTreeMap<String, String>, Failure> {
    let query: Value = serde_json::from_slice(bytes).map_err(|error| wrong(&format!("no JSON ({error})")))?;
    let Value::Object(query) = query else {
        return Err(wrong("no JSON object"));
    };
    let text = |(key, value): (String, Value)| {
        if !KEYS.contains(&key.as_str()) {
            let near = diagnostic::nearest(&key, KEYS);
            let help = near.map_or_else(
                || format!("there are {}", KEYS.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            return Err(wrong(&format!("no key {key:?}: {help}")));
        }
        match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(wrong(&format!("{key} is no text: put it in quotes"))),
        }
    };
    query.into_iter().map(text).collect()
}

/// Texts by key. A missing value is an empty text, since HCL has no equally short test for a missing key.
type Answer = BTreeMap<&'static str, String>;

/// A rendered tree.
struct Tree<'a> {
    root: &'a Path,
    reader: TreeReader,
}

impl Tree<'_> {
    /// The node's document, and its text if requested.
    fn one(&self, name: &str, content: bool) -> Result<Answer, Failure> {
        let file = self.documents().find(|file| file.node.as_deref() == Some(name));
        let file = file.ok_or_else(|| self.unknown(name))?;
        let mut answer = self.cluster();
        answer.extend(self.machine(file)?);
        if content {
            answer.insert("user_data", self.text(Some(file))?);
            answer.insert("meta_data", self.text(self.beside(file, META_DATA))?);
            answer.insert("network_config", self.text(self.beside(file, NETWORK_CONFIG))?);
        }
        Ok(answer)
    }

    /// Every machine and pool, as JSON within the texts.
    fn all(&self) -> Result<Answer, Failure> {
        let mut nodes: [BTreeMap<&str, Answer>; 2] = Default::default();
        for file in self.documents() {
            let name = file.node.as_deref().unwrap_or_default();
            nodes[usize::from(file.pool)].insert(name, self.machine(file)?);
        }
        let mut answer = self.cluster();
        for (key, nodes) in ["nodes", "pools"].into_iter().zip(nodes) {
            answer.insert(key, serde_json::to_string(&nodes)?);
        }
        Ok(answer)
    }

    /// The delivered files.
    fn documents(&self) -> impl Iterator<Item = &ManifestFile> {
        let files = self.reader.manifest.files.iter();
        files.filter(|file| file.attribute.is_some() && file.node.is_some())
    }

    fn unknown(&self, name: &str) -> Failure {
        let names: Vec<_> = self.documents().filter_map(|file| file.node.as_deref()).collect();
        let near = diagnostic::nearest(name, names.iter().copied());
        let help = near.map_or_else(String::new, |near| format!(": did you mean {near}?"));
        Failure::Usage(format!("{} has no node or pool {name}{help}", self.root.display()))
    }

    fn cluster(&self) -> Answer {
        let manifest = &self.reader.manifest;
        Answer::from([
            ("cluster", manifest.cluster.clone()),
            ("kubernetes_version", manifest.kubernetes_version.clone()),
            ("bundle_fingerprint", manifest.bundle_fingerprint.clone()),
        ])
    }

    /// The facts without secrets. The document is read, too: else one that differs from the manifest would only be noticed when
    /// a machine fails to boot.
    fn machine(&self, file: &ManifestFile) -> Result<Answer, Failure> {
        self.bytes(file)?;
        let roles: Vec<_> = file.roles.iter().map(word).collect();
        let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        let beside = |name| self.beside(file, name).map_or_else(String::new, |file| self.path(file));
        let expires = file.expires.and_then(|at| at.format(&Rfc3339).ok());
        Ok(Answer::from([
            ("node", file.node.clone().unwrap_or_default()),
            ("pool", file.pool.to_string()),
            ("roles", roles.join(",")),
            ("platform", file.platform.clone().unwrap_or_default()),
            ("mac", file.mac.clone().unwrap_or_default()),
            ("attribute", file.attribute.clone().unwrap_or_default()),
            ("encoding", file.encoding.as_ref().map(word).unwrap_or_default()),
            ("path", self.path(file)),
            ("meta_data_path", beside(META_DATA)),
            ("network_config_path", beside(NETWORK_CONFIG)),
            ("sha256", file.sha256.clone()),
            ("counted", number(file.counted)),
            ("limit", number(file.limit)),
            ("expires", expires.unwrap_or_default()),
        ]))
    }

    fn path(&self, file: &ManifestFile) -> String {
        self.root.join(&file.path).display().to_string()
    }

    /// A file of the same node.
    fn beside(&self, file: &ManifestFile, name: &str) -> Option<&ManifestFile> {
        let path = format!("nodes/{}/{name}", file.node.as_deref()?);
        self.reader.manifest.files.iter().find(|other| other.path == path)
    }

    /// A file's text, empty if it does not exist. Terraform's texts are UTF-8.
    fn text(&self, file: Option<&ManifestFile>) -> Result<String, Failure> {
        let Some(file) = file else { return Ok(String::new()) };
        let text = String::from_utf8(self.bytes(file)?);
        text.map_err(|_| {
            let encoding = file
                .encoding
                .as_ref()
                .map_or_else(String::new, |encoding: &Encoding| word(encoding));
            Failure::Usage(format!(
                "{} is {encoding} and no text: read it with filebase64",
                self.path(file)
            ))
        })
    }

    fn bytes(&self, file: &ManifestFile) -> Result<Vec<u8>, Failure> {
        self.reader.read(file).map_err(|error| match error {
            Error::Gone { .. } => Failure::Io(format!("{} is gone: render again", self.path(file))),
            Error::Changed { .. } => {
                Failure::Io(format!("{} is not as it was rendered: render again", self.path(file)))
            }
            error => error.into(),
        })
    }
}

const META_DATA: &str = "meta-data";
const NETWORK_CONFIG: &str = "network-config";

/// The manifest's word for a value.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
