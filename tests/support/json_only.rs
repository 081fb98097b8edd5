//! An API server that has no protobuf: the same one by a proxy that lets none through.

use http::Request;
use http::header::{ACCEPT, HeaderValue};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

/// A client that is answered in JSON, whatever it asks for.
pub(crate) fn in_json_only(client: &Client) -> Client {
    let client = client.clone();
    let service = service_fn(move |mut request: Request<Body>| {
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(ACCEPT, json);
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}
