//! TLS beside HTTP, on the same port: a connection that begins as TLS does is taken for it.
//!
//! The certificate is made when the process starts, and nobody vouches for it: it is for who reaches this port through the API
//! server's proxy, which asks no pod for a name, so that what they show is not in clear on its way from there.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::sync::Arc;
use std::time::Duration;
use std::{error, io};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::server::TlsStream;

/// How a connection in TLS begins: a record with a handshake.
const HANDSHAKE: u8 = 22;
/// So many handshakes are begun in this time: whoever reaches the port cannot keep a processor busy with them.
const AT_ONCE: usize = 8;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(super) struct Tls {
    acceptor: TlsAcceptor,
    handshakes: Arc<Semaphore>,
}

impl Tls {
    /// With a key of its own.
    pub(super) fn new() -> Result<Self, Box<dyn error::Error + Send + Sync>> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["muster".to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key.into())?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            handshakes: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// Whether somebody begins as TLS does, as soon as they begin.
    pub(super) async fn is_begun_by(stream: &TcpStream) -> io::Result<bool> {
        let mut first = [0];
        let read = stream.peek(&mut first).await?;
        Ok(read == 1 && first == [HANDSHAKE])
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let permit = Arc::clone(&self.handshakes).acquire_owned().await.ok();
        tokio::spawn(async {
            sleep(PAUSE).await;
            drop(permit);
        });
        self.acceptor.accept(stream).await
    }
}
