//! Certificates and keys of one control plane.
//!
//! The API server can make a certificate by itself, but that one is its own
//! issuer, and strict TLS clients (rustls) refuse an issuer's certificate as a
//! server's. So there is an authority here and a certificate signed by it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::files::{write, write_secret};

/// The files, and the authority's certificate as PEM.
#[derive(Debug)]
pub(crate) struct Pki {
    pub(crate) ca_pem: String,
    pub(crate) server_cert: PathBuf,
    pub(crate) server_key: PathBuf,
    pub(crate) service_account_key: PathBuf,
    pub(crate) service_account_pub: PathBuf,
}

impl Pki {
    /// Makes fresh keys and certificates in `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        authority
            .distinguished_name
            .push(DnType::CommonName, "devcluster authority");
        let authority_key = KeyPair::generate()?;
        let ca_pem = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, authority_key);

        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"];
        let mut server = CertificateParams::new(names.map(String::from))?;
        server
            .distinguished_name
            .push(DnType::CommonName, "devcluster kube-apiserver");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let server_key = KeyPair::generate()?;
        let server_pem = server.signed_by(&server_key, &issuer)?.pem();

        let service_account = KeyPair::generate()?;
        let files = Self {
            server_cert: dir.join("server.crt"),
            server_key: dir.join("server.key"),
            service_account_key: dir.join("service-account.key"),
            service_account_pub: dir.join("service-account.pub"),
            ca_pem,
        };
        write(&dir.join("ca.crt"), &files.ca_pem)?;
        write(&files.server_cert, &server_pem)?;
        write_secret(&files.server_key, &server_key.serialize_pem())?;
        write_secret(&files.service_account_key, &service_account.serialize_pem())?;
        write(
            &files.service_account_pub,
            &service_account.public_key_pem(),
        )?;
        Ok(files)
    }
}
