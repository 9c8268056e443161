//! One certificate authority for each start of a cluster, and what it signs.
//!
//! It lives as long as the cluster: nothing here outlasts `cluster down`.

use super::files;
use crate::cluster::ClusterError;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::path::{Path, PathBuf};

/// A certificate and its key, in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cluster) struct Pair {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// The key, PEM, readable by this user alone.
    pub key: PathBuf,
}

/// The authority, and the folder it writes to.
pub(in crate::cluster) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Makes an authority whose files go to `folder`.
    pub(in crate::cluster) fn create(folder: &Path) -> Result<Self, ClusterError> {
        files::private_folder(folder)?;
        let mut parameters = parameters("dispatch-conformance", None);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let pem = parameters.self_signed(&key).map_err(failed)?.pem();
        let authority =
            Self { folder: folder.to_path_buf(), issuer: Issuer::new(parameters, key), pem };
        files::write(&authority.file(), authority.pem.as_bytes())?;
        Ok(authority)
    }

    /// The authority's certificate, in a file.
    pub(in crate::cluster) fn file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The authority's certificate, PEM.
    pub(in crate::cluster) fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for servers that are reached by these names and addresses.
    pub(in crate::cluster) fn server(
        &self,
        file: &str,
        names: &[&str],
    ) -> Result<Pair, ClusterError> {
        let mut parameters = parameters(names.first().copied().unwrap_or_default(), None);
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        parameters.subject_alt_names =
            CertificateParams::new(names).map_err(failed)?.subject_alt_names;
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, &parameters)
    }

    /// A certificate for a client: `user` is its name in Kubernetes, `group` its group.
    pub(in crate::cluster) fn client(
        &self,
        file: &str,
        user: &str,
        group: &str,
    ) -> Result<Pair, ClusterError> {
        let mut parameters = parameters(user, Some(group));
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, &parameters)
    }

    /// A key pair for signing ServiceAccount tokens. Its `certificate` is the public key.
    pub(in crate::cluster) fn signing_key(&self, file: &str) -> Result<Pair, ClusterError> {
        let key = KeyPair::generate().map_err(failed)?;
        self.store(file, &key.public_key_pem(), &key)
    }

    fn sign(&self, file: &str, parameters: &CertificateParams) -> Result<Pair, ClusterError> {
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = parameters.signed_by(&key, &self.issuer).map_err(failed)?;
        self.store(file, &certificate.pem(), &key)
    }

    fn store(&self, file: &str, public: &str, key: &KeyPair) -> Result<Pair, ClusterError> {
        let pair = Pair {
            certificate: self.folder.join(file).with_added_extension("crt"),
            key: self.folder.join(file).with_added_extension("key"),
        };
        files::write(&pair.certificate, public.as_bytes())?;
        files::write_private(&pair.key, key.serialize_pem().as_bytes())?;
        Ok(pair)
    }
}

fn parameters(name: &str, group: Option<&str>) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        parameters.distinguished_name.push(DnType::OrganizationName, group);
    }
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
fn failed(error: rcgen::Error) -> ClusterError {
    ClusterError::Request { action: "making a certificate".to_owned(), detail: error.to_string() }
}
