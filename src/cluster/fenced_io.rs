//! The last gate: connections that look at the fence right before bytes go to the kernel.
//!
//! A process may be paused anywhere, also between looking at the fence and writing. Here, under
//! TLS, nothing but the system call is left to do, so one that goes on after a pause sends
//! nothing. And what the kernel was given does not stay with it: see [`bound`].

use super::Fence;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

/// How long the kernel may hold bytes that the other end did not confirm. Then the connection
/// breaks and they are gone. A packet that was lost is repeated after 0.2 s, so one loss is borne.
const DELIVERED_WITHIN: Duration = Duration::from_millis(400);

/// Makes a connector give up in time: without this, bytes for a server that cannot be reached
/// would wait in the kernel and arrive when it can be, however late, also when the process that
/// wrote them is gone.
///
/// Where the kernel has no such bound (it is Linux's), a write is bounded by the server's alone.
pub(super) fn bound(tcp: &mut HttpConnector) {
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(DELIVERED_WITHIN));
    #[cfg(not(target_os = "linux"))]
    let _ = (tcp, DELIVERED_WITHIN);
}

/// Makes connections that look at a fence.
#[derive(Clone)]
pub(super) struct FencedConnector {
    pub(super) tcp: HttpConnector,
    /// `None`: all may pass.
    pub(super) fence: Option<Fence>,
}

impl Service<Uri> for FencedConnector {
    type Response = FencedIo;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<FencedIo, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.tcp.call(to);
        let fence = self.fence.clone();
        Box::pin(async move {
            let stream = connecting.await?;
            if fence.is_some() {
                // Closed without an answer, also by the end of the process: what was not yet
                // delivered is thrown away, and the server sees a broken connection.
                stream.inner().set_zero_linger()?;
            }
            Ok(FencedIo { stream, fence })
        })
    }
}

/// A connection that writes only while its fence is open. Reading is always allowed.
pub(super) struct FencedIo {
    stream: TokioIo<TcpStream>,
    fence: Option<Fence>,
}

impl FencedIo {
    fn check(&self) -> io::Result<()> {
        match &self.fence {
            Some(fence) if !fence.is_open() => {
                Err(io::Error::other("the lease is not held: nothing is sent"))
            }
            _ => Ok(()),
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Read for FencedIo {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl Write for FencedIo {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        self.stream().poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}

impl Connection for FencedIo {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;
    use kube::Config;
    use muster_model::units::{Millis, Time};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    /// A server that answers everything with `{}`, and tells what bytes came in.
    async fn server() -> (Config, mpsc::UnboundedReceiver<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (came, bytes) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let came = came.clone();
                tokio::spawn(async move {
                    let mut buffer = [0; 4096];
                    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                        came.send(buffer[..count].to_vec()).unwrap();
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                        stream.write_all(answer).await.unwrap();
                    }
                });
            }
        });
        (Config::new(url.parse().unwrap()), bytes)
    }

    #[tokio::test]
    async fn no_byte_leaves_a_closed_fence_on_a_new_connection_or_an_old() {
        let (config, mut bytes) = server().await;
        let fence = Fence::shut();
        let client = client::writer(&config, Duration::from_secs(5), &fence).unwrap();
        let ask = async || {
            let request = http::Request::post("/x").body(b"body".to_vec()).unwrap();
            client.request::<serde_json::Value>(request).await
        };
        assert!(ask().await.is_err());
        assert!(bytes.try_recv().is_err(), "closed: nothing is sent");
        fence.allow_until(Time(u64::MAX));
        ask().await.unwrap();
        let came = String::from_utf8(bytes.recv().await.unwrap()).unwrap();
        assert!(came.starts_with("POST /x?timeout=2s HTTP/1.1"), "{came}");
        while bytes.try_recv().is_ok() {}
        // The connection stays open, and now its time is over.
        fence.allow_until(fence.clock().now() - Millis(1));
        assert!(ask().await.is_err());
        assert!(bytes.try_recv().is_err(), "out of time: nothing is sent");
        fence.allow_until(Time(u64::MAX));
        ask().await.unwrap();
        fence.close();
        assert!(ask().await.is_err());
    }

    #[tokio::test]
    async fn what_was_not_delivered_dies_with_the_connection() {
        let (config, _bytes) = server().await;
        let mut connector = FencedConnector {
            tcp: HttpConnector::new(),
            fence: Some(Fence::open()),
        };
        bound(&mut connector.tcp);
        let io = connector.call(config.cluster_url.clone()).await.unwrap();
        assert_eq!(io.stream.inner().linger().unwrap(), Some(Duration::ZERO));
    }
}
