//! The proxy's certificate authority, and what it signs. It is in memory alone, and gone with the
//! proxy.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// It could not be made.
    #[error("it could not be made")]
    Make(#[from] rcgen::Error),
    /// It could not be used.
    #[error("it could not be used")]
    Use(#[from] rustls::Error),
}

/// What the proxy shows to subjects.
pub(super) struct Identity {
    /// The certificate authority, PEM.
    pub(super) authority: String,
    /// Takes connections, of HTTP/2 or HTTP/1.1, as the subject likes.
    pub(super) acceptor: TlsAcceptor,
}

impl Identity {
    /// One that is good on the loopback address, and on this one.
    pub(super) fn create(beside: IpAddr) -> Result<Self, CertificateError> {
        let mut of_authority = parameters("dispatch-conformance proxy");
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        of_authority.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let authority = of_authority.self_signed(&key)?.pem();
        let issuer = Issuer::new(of_authority, key);

        let mut of_server = parameters("127.0.0.1");
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned(), beside.to_string()];
        of_server.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
        of_server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        of_server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = of_server.signed_by(&key, &issuer)?.der().clone();

        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate],
                PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            )?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { authority, acceptor: TlsAcceptor::from(Arc::new(server)) })
    }
}

fn parameters(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}
