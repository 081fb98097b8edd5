//! The small files a control plane is started with: tokens and kubeconfigs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

/// What the API server writes down, and where, if it is asked to.
pub(crate) const AUDIT_POLICY: &str = "audit-policy.yaml";
pub(crate) const AUDIT_LOG: &str = "audit.log";

/// Writes a file; an error names it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let open = File::options()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    open.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A token nobody can guess: other users of the machine reach loopback too.
pub(crate) fn random_token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A user the API server knows by a token.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
    pub(crate) token: String,
}

impl User {
    /// The line of `--token-auth-file` (CSV: token, name, uid, groups).
    pub(crate) fn line(&self) -> String {
        format!(
            "{},{},{},\"{}\"\n",
            self.token,
            self.name,
            self.name,
            self.groups.join(",")
        )
    }

    /// The name of the user's kubeconfig; a user name may hold a `:` or `/`.
    pub(crate) fn kubeconfig_name(&self) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        format!(
            "kubeconfig-{}",
            self.name.chars().map(safe).collect::<String>()
        )
    }
}

/// A kubeconfig. It is JSON, which every reader of YAML takes; the authority
/// stands beside it as a file of its own.
pub(crate) fn kubeconfig(url: &str, ca: &Path, user: &User) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "devcluster", "cluster": {
            "server": url,
            "certificate-authority": ca,
        }}],
        "users": [{"name": user.name, "user": {"token": user.token}}],
        "contexts": [{"name": "devcluster", "context": {
            "cluster": "devcluster", "user": user.name, "namespace": "default",
        }}],
        "current-context": "devcluster",
    });
    format!("{config:#}\n")
}
