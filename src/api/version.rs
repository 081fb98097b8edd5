//! Versions of objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whether what is known of an object, of version `known`, is newer than this news of it. Versions grow
/// as objects change (KEP-5504); any that is no number is as new as any other.
#[must_use]
pub fn is_older(news: &ObjectMeta, known: &str) -> bool {
    let news = news.resource_version.as_ref();
    let news: Option<u64> = news.and_then(|text| text.parse().ok());
    let known = known.parse().ok();
    news.zip(known).is_some_and(|(news, known)| news < known)
}
