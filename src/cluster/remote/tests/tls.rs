//! Whom a question is trusted to, and who we say we are: against a real server with certificates.

use super::*;
use k8s_openapi::ByteString;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::fs;
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// An authority.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: CertificateDer<'static>,
}

/// A certificate and its key.
struct Signed {
    pem: String,
    key_pem: String,
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let signed = params.self_signed(&key).unwrap();
        Self {
            pem: signed.pem(),
            der: signed.der().clone(),
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(&self, name: &str) -> Signed {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let signed = params.signed_by(&key, &self.issuer).unwrap();
        Signed {
            pem: signed.pem(),
            key_pem: key.serialize_pem(),
            der: signed.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        }
    }

    /// A server with a certificate for a name that answers those whose certificate this signed, or all.
    async fn serve(&self, name: &str, asks_who: bool) -> Server {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if asks_who {
            let roots = Arc::new(roots);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let Signed { der, key, .. } = self.sign(name);
        let config = builder.with_single_cert(vec![der], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Server::start_with(Manner::Says(refuses_n1()), Some(acceptor)).await
    }
}

fn plugin_with(server: &Server, tls: Tls) -> Plugin {
    let url = format!("https://{}/plugin", server.address);
    plugin(&url, tls, Duration::from_secs(5)).0
}

/// What is wrong with the question to a server; nothing where it is answered.
async fn wrong(server: &Server, tls: Tls) -> Option<String> {
    match plugin_with(server, tls).ask(1, &question()).await {
        RemoteAnswer::Nodes(_) => None,
        RemoteAnswer::Failed(words) => Some(words),
        other => panic!("{other:?}"),
    }
}

fn in_base64(text: &str) -> String {
    let bytes = ByteString(text.as_bytes().to_vec());
    let value = serde_json::to_value(bytes).unwrap();
    value.as_str().unwrap().to_owned()
}

/// The path of a file with this text.
fn file(dir: &TempDir, name: &str, text: &str) -> Option<String> {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    Some(path.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_server_is_trusted_whose_certificate_the_given_authority_signed_and_no_other() {
    let (ours, others, dir) = (Authority::new(), Authority::new(), TempDir::new().unwrap());
    let server = ours.serve("127.0.0.1", false).await;
    let by_file = |authority: &Authority| Tls {
        ca_file: file(&dir, "ca.crt", &authority.pem),
        ..Tls::default()
    };
    assert_eq!(wrong(&server, by_file(&ours)).await, None);
    let by_data = Tls {
        ca_data: Some(in_base64(&ours.pem)),
        ..Tls::default()
    };
    assert_eq!(wrong(&server, by_data).await, None);
    for tls in [by_file(&others), Tls::default()] {
        let words = wrong(&server, tls).await.unwrap();
        assert!(words.contains("invalid peer certificate"), "{words}");
    }
    let unchecked = Tls {
        insecure: true,
        ..Tls::default()
    };
    assert_eq!(wrong(&server, unchecked).await, None);
}

#[tokio::test]
async fn the_name_in_the_certificate_is_the_hosts_or_the_one_that_is_given() {
    let (ours, dir) = (Authority::new(), TempDir::new().unwrap());
    let server = ours.serve("licences.example.com", false).await;
    let named = |name: Option<&str>| Tls {
        ca_file: file(&dir, "ca.crt", &ours.pem),
        server_name: name.map(str::to_owned),
        ..Tls::default()
    };
    let words = wrong(&server, named(None)).await.unwrap();
    assert!(words.contains("not valid for name"), "{words}");
    assert_eq!(
        wrong(&server, named(Some("licences.example.com"))).await,
        None
    );
}

#[tokio::test]
async fn a_server_that_asks_who_we_are_is_shown_our_certificate() {
    let (ours, others, dir) = (Authority::new(), Authority::new(), TempDir::new().unwrap());
    let server = ours.serve("127.0.0.1", true).await;
    let shown = |by: &Authority| {
        let signed = by.sign("muster");
        Tls {
            ca_file: file(&dir, "ca.crt", &ours.pem),
            cert_file: file(&dir, "tls.crt", &signed.pem),
            key_file: file(&dir, "tls.key", &signed.key_pem),
            ..Tls::default()
        }
    };
    assert_eq!(wrong(&server, shown(&ours)).await, None);
    assert!(wrong(&server, shown(&others)).await.is_some());
    let nothing = Tls {
        ca_file: file(&dir, "ca.crt", &ours.pem),
        ..Tls::default()
    };
    assert!(wrong(&server, nothing).await.is_some());
}

#[tokio::test]
async fn files_are_read_anew_after_a_question_that_failed() {
    let (ours, dir) = (Authority::new(), TempDir::new().unwrap());
    let server = ours.serve("127.0.0.1", false).await;
    let tls = Tls {
        ca_file: file(&dir, "ca.crt", &Authority::new().pem),
        ..Tls::default()
    };
    let plugin = plugin_with(&server, tls);
    let answer = plugin.ask(1, &question()).await;
    assert!(matches!(answer, RemoteAnswer::Failed(_)), "{answer:?}");
    file(&dir, "ca.crt", &ours.pem);
    let answer = plugin.ask(2, &question()).await;
    assert!(matches!(answer, RemoteAnswer::Nodes(_)), "{answer:?}");
}
