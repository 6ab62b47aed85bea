//! TLS 1.2 and 1.3 with the server's own certificate.

use std::sync::Arc;

use firelay_base::secret::Secret;
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// The configuration for a certificate in DER and its key in PKCS#8 DER.
pub fn server_config(certificate: &[u8], key: &Secret<Vec<u8>>) -> Result<Arc<ServerConfig>, rustls::Error> {
    let certificate = CertificateDer::from(certificate.to_vec());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.expose().clone()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}
