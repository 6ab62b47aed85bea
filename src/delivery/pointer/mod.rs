//! The last form: a small document (stub) for the platform, and a payload elsewhere that the machine fetches.
//!
//! The stub contains the payload's digest, so that no other content is accepted (docs/adr/0013-pointers.md).

mod fetched;
mod seal;

use semver::Version;
use sha2::{Digest, Sha256};

pub use seal::PayloadKeys;

use super::Error;
use crate::{
    document::{CloudInit, Compression, Document, Ignition, Remote},
    encoding::{gzip, hex, sha256_hex},
    node::NodeFiles,
    plan::{NodePlan, PointerPlan},
    profile::{DocumentFormat, Place, Store},
};

/// First specification of Ignition in which what is fetched may be gzipped.
const IGNITION_GZIP: Version = Version::new(3, 1, 0);

/// A small document and its payload.
pub(super) struct Pointed {
    /// The document for the platform.
    pub(super) stub: String,
    pub(super) payload: Located,
}

/// A payload and its future location.
pub(super) struct Located {
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
    /// Name of the file in the tree.
    pub(super) file: String,
    pub(super) place: Place,
    /// Its content is encrypted.
    pub(super) sealed: bool,
}

impl Located {
    /// The name contains the digest: two payloads never share a name, and one that a machine may still request is never
    /// overwritten.
    fn new(cluster: &str, node: &NodePlan, pointer: &PointerPlan, bytes: Vec<u8>, ending: &str) -> Self {
        let sha256 = sha256_hex(&bytes);
        let object = format!("{cluster}-{}-{sha256}.{ending}", node.name);
        Self {
            place: pointer.base.join(&object),
            file: format!("payload.{ending}"),
            bytes,
            sha256,
            sealed: pointer.sealed,
        }
    }
}

/// Splits a node's document; `plain` is the whole of it.
pub(super) fn point(
    cluster: &str,
    node: &NodePlan,
    pointer: &PointerPlan,
    files: &NodeFiles,
    plain: &str,
    keys: &PayloadKeys,
) -> Result<Pointed, Error> {
    match node.os.document {
        DocumentFormat::CloudInit => for_cloud_init(cluster, node, pointer, files, keys),
        DocumentFormat::Ignition => for_ignition(cluster, node, pointer, plain),
    }
}

fn for_cloud_init(
    cluster: &str,
    node: &NodePlan,
    pointer: &PointerPlan,
    files: &NodeFiles,
    keys: &PayloadKeys,
) -> Result<Pointed, Error> {
    let packed = gzip(&fetched::payload(files));
    let (bytes, ending, key) = if pointer.sealed {
        let identity = hex(&*keys.identity(&node.name));
        let sealed = keys.seal(&node.name, &packed, &Sha256::digest(&packed));
        (sealed, "json.gz.age", Some(identity))
    } else {
        (packed, "json.gz", None)
    };
    let payload = Located::new(cluster, node, pointer, bytes, ending);
    let stub = fetched::stub(node, pointer, files, &payload, key).map_err(|source| Error::Stub {
        node: node.name.clone(),
        source,
    })?;
    let stub = CloudInit.render(&stub, Compression::None);
    let stub = stub.map_err(Error::of_document(node))?;
    Ok(Pointed { stub, payload })
}

fn for_ignition(cluster: &str, node: &NodePlan, pointer: &PointerPlan, plain: &str) -> Result<Pointed, Error> {
    let version = node.os.ignition_version.clone().unwrap_or_default();
    let newer = Version::parse(&version).is_ok_and(|version| version >= IGNITION_GZIP);
    let store = &pointer.store.ignition;
    let compressed = newer && store.compression;
    let (bytes, ending) = if compressed {
        (gzip(plain.as_bytes()), "ign.gz")
    } else {
        (plain.as_bytes().to_vec(), "ign")
    };
    let payload = Located::new(cluster, node, pointer, bytes, ending);
    let source = Store::fill(&store.source, &payload.place, None).map_err(|source| Error::Stub {
        node: node.name.clone(),
        source,
    })?;
    let query = pointer.query.as_ref().map(|query| format!("?{}", query.expose()));
    let remote = Remote {
        source: &(source + query.as_deref().unwrap_or_default()),
        compressed,
        config: plain.as_bytes(),
        headers: &pointer.headers,
        trusted: &node.host.trusted_cas,
        proxy: node.host.proxy.as_ref().filter(|_| newer),
    };
    let stub = Ignition {
        version: version.clone(),
    }
    .pointing(&remote);
    Ok(Pointed { stub, payload })
}
