//! A kubeconfig, as far as a client needs it that only reads (`k8s.io/client-go/tools/clientcmd/api/v1`).

use std::path::{Path, PathBuf};

use firelay_yaml::{Content, Node, Tree};

use crate::{encoding::unbase64, secret::Secret};

/// Advice for users that only kubectl can log in.
const KUBECTL: &str = "print the objects with kubectl, and name the files with --from";

/// The way to an API server.
pub struct Access {
    /// `https://HOST:PORT`.
    pub server: String,
    /// Its CA; the system's if absent.
    pub authority: Option<Material>,
    /// The client's certificate and key.
    pub client: Option<(Material, Material)>,
    pub token: Option<Material>,
}

/// A text, or the file that has it.
#[derive(Clone)]
pub enum Material {
    /// In the kubeconfig itself.
    Text(Secret<String>),
    /// In a file beside it.
    File(PathBuf),
}

/// A kubeconfig that leads to no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it has no {0} {1:?}")]
    Missing(&'static str, String),
    #[error("{0}")]
    Unusable(&'static str),
}

impl Error {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Missing(..) => "name one of its contexts with --context, or the kubeconfig of an administrator",
            Self::Unusable(_) => KUBECTL,
        }
    }
}

impl Access {
    /// Reads a kubeconfig. Paths in it are relative to its directory.
    pub fn parse(name: &str, text: &str, context: Option<&str>) -> Result<Self, Error> {
        let tree = Tree::parse(text).map_err(|_| Error::Unusable("it is not YAML"))?;
        let root = &tree.root;
        let current = || field(root, "current-context").unwrap_or_default();
        let context = entry(root, ["contexts", "context"], context.unwrap_or_else(current))?;
        let named = |key| field(context, key).unwrap_or_default();
        let cluster = entry(root, ["clusters", "cluster"], named("cluster"))?;
        let user = entry(root, ["users", "user"], named("user"))?;
        check(cluster)?;
        let beside = Path::new(name).parent().unwrap_or(Path::new(""));
        let certificate = material(user, "client-certificate", beside)?;
        let access = Self {
            server: server(cluster).trim_end_matches('/').to_owned(),
            authority: material(cluster, "certificate-authority", beside)?,
            client: certificate.zip(material(user, "client-key", beside)?),
            token: token(user, beside),
        };
        match access.client.is_some() || access.token.is_some() {
            true => Ok(access),
            false => Err(Error::Unusable(
                "its user has neither a client certificate nor a token: a plugin logs it in",
            )),
        }
    }
}

fn entry<'n>(root: &'n Node<'_>, [list, key]: [&'static str; 2], name: &str) -> Result<&'n Node<'n>, Error> {
    let items = match root.get(list).map(|list| &list.content) {
        Some(Content::Sequence(items)) => items.as_slice(),
        _ => &[],
    };
    let found = items.iter().find(|item| field(item, "name") == Some(name));
    found
        .and_then(|item| item.get(key))
        .ok_or_else(|| Error::Missing(key, name.to_owned()))
}

fn field<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::text).filter(|text| !text.is_empty())
}

fn server<'n>(cluster: &'n Node<'_>) -> &'n str {
    field(cluster, "server").unwrap_or_default()
}

fn check(cluster: &Node<'_>) -> Result<(), Error> {
    let problems = [
        (
            !server(cluster).starts_with("https://"),
            "its server is not an https URL",
        ),
        (
            field(cluster, "insecure-skip-tls-verify") == Some("true"),
            "it does not verify the server, which could be any",
        ),
        (
            field(cluster, "proxy-url").is_some(),
            "its server is behind a proxy of its own",
        ),
        (
            field(cluster, "tls-server-name").is_some(),
            "its server has another name in its certificate",
        ),
    ];
    match problems.into_iter().find(|(holds, _)| *holds) {
        Some((_, problem)) => Err(Error::Unusable(problem)),
        None => Ok(()),
    }
}

/// `KEY-data` in base64, or else the file that `KEY` names.
fn material(node: &Node<'_>, key: &str, beside: &Path) -> Result<Option<Material>, Error> {
    match field(node, &format!("{key}-data")) {
        Some(data) => decoded(data).map(Some),
        None => Ok(field(node, key).map(|file| Material::File(beside.join(file)))),
    }
}

fn decoded(data: &str) -> Result<Material, Error> {
    let bytes = unbase64(data).map_err(|_| Error::Unusable("a value that ends with -data is not base64"))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::Unusable("a value that ends with -data is not PEM"))?;
    Ok(Material::Text(Secret::new(text)))
}

fn token(user: &Node<'_>, beside: &Path) -> Option<Material> {
    let text = field(user, "token").map(|token| Material::Text(Secret::new(token.to_owned())));
    text.or_else(|| Some(Material::File(beside.join(field(user, "tokenFile")?))))
}
