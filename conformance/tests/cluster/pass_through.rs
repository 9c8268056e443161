//! The least that a component can be led through: it passes on what it hears, and says so.

use dispatch_conformance::cluster::LeadThrough;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const ADDRESS: &str = "127.0.0.1";

/// Listens, and passes every connection on to `server`. `heard` is told of each request: its verb
/// and its path.
pub(super) async fn start(
    server: &str,
    authority_pem: &str,
    heard: impl Fn(&str) + Clone + Send + 'static,
) -> LeadThrough {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([ADDRESS.into()]).unwrap();
    let key = PrivateKeyDer::from_pem_slice(signing_key.serialize_pem().as_bytes()).unwrap();
    // Without a word of HTTP/2, so that requests can be read.
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority_pem.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let address = server.trim_start_matches("https://").to_owned();

    let listener = TcpListener::bind((ADDRESS, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, connector) = (acceptor.clone(), connector.clone());
            let (address, heard) = (address.clone(), heard.clone());
            tokio::spawn(async move {
                let near = acceptor.accept(stream).await?;
                let name = ServerName::try_from(ADDRESS).map_err(std::io::Error::other)?;
                let far = connector.connect(name, TcpStream::connect(address).await?).await?;
                let ((from_near, mut to_near), (mut from_far, to_far)) = (split(near), split(far));
                let answers = copy(&mut from_far, &mut to_near);
                tokio::try_join!(requests(from_near, to_far, heard), answers)
            });
        }
    });
    let server = format!("https://{ADDRESS}:{port}");
    LeadThrough { server, certificate_authority: cert.pem() }
}

/// Passes requests on. The clients send the head of each by itself.
async fn requests(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    heard: impl Fn(&str),
) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        let first = buffer[..read].split(|byte| *byte == b'\r').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        if let Some(request) = first.strip_suffix(" HTTP/1.1") {
            heard(request);
        }
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        to.flush().await?;
    }
}
