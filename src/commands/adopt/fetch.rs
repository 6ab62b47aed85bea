//! The objects of a cluster from its API server, with a kubeconfig.

use std::{fs, path::Path};

use firelay_yaml::diagnostic::Source;

use super::super::failure::{Failure, chain};
use crate::{
    adopt::{Access, Material},
    mirror::{Client, Endpoint, text_of},
    secret::Secret,
};

/// ConfigMaps of kube-system that `adopt` reads.
const CONFIG_MAPS: [&str; 4] = [
    "kubeadm-config",
    "kubelet-config",
    "kube-proxy",
    "extension-apiserver-authentication",
];
const NODES: &str = "/api/v1/nodes";

/// Adds the objects to a source, and returns the CA of the kubeconfig. A ConfigMap that does not exist is left out.
pub(super) fn add(path: &Path, context: Option<&str>, source: &mut Source) -> Result<Option<String>, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    let text = Secret::new(text);
    let access = Access::parse(&name, text.expose(), context).map_err(|error| {
        let help = error.help();
        Failure::Refused(format!("{name} cannot be used: {}\n  = help: {help}", chain(&error)))
    })?;
    let token = access.token.as_ref().map(read).transpose()?;
    let server = endpoint(&access)?;
    let client = Client::new(None)?;
    let config_map = |name: &str| format!("/api/v1/namespaces/kube-system/configmaps/{name}");
    let paths = CONFIG_MAPS.map(config_map).into_iter().chain([NODES.to_owned()]);
    for path in paths {
        let url = format!("{}{path}", server.url);
        let text = text_of(&client, &server, &url, token.as_ref()).map_err(|error| {
            Failure::Io(format!(
                "cannot read {url}: {error}\n  = help: or print the objects with kubectl, and name the files with --from"
            ))
        })?;
        if let Some(text) = text {
            source.add(url, text);
        }
    }
    Ok(server.ca)
}

fn endpoint(access: &Access) -> Result<Endpoint, Failure> {
    let authority = access.authority.as_ref().map(read).transpose()?;
    let client = access.client.as_ref();
    let client = client.map(|(certificate, key)| Ok::<_, Failure>((read(certificate)?.expose().clone(), read(key)?)));
    Ok(Endpoint {
        url: access.server.clone(),
        override_path: true,
        ca: authority.map(|authority| authority.expose().clone()),
        verified: true,
        client: client.transpose()?,
        credentials: None,
    })
}

fn read(material: &Material) -> Result<Secret<String>, Failure> {
    match material {
        Material::Text(text) => Ok(text.clone()),
        Material::File(path) => {
            let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
            Ok(Secret::new(text))
        }
    }
}
