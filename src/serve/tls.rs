//! TLS 1.2 and 1.3 with the server's own certificate.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

use crate::pki::BootServer;

/// What a certificate is served with.
pub fn server_config(identity: &BootServer) -> Result<Arc<ServerConfig>, rustls::Error> {
    let certificate = CertificateDer::from(identity.certificate.clone());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key.expose().clone()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}
