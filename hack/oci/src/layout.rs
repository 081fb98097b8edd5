//! The layout: what an image consists of, each under the sum of its bytes, and an index of it all.
//!
//! Of the specification of images of the Open Container Initiative, version 1.1.

use crate::layer::{File, archive, compressed};
use anyhow::Context;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Who the program runs as: nobody who has an account anywhere.
pub(crate) const USER: &str = "65532:65532";
/// Where the program is.
pub(crate) const PROGRAM: &str = "usr/local/bin/muster";

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Of a bill of materials.
const SBOM: &str = "application/vnd.cyclonedx+json";

/// Accounts, for programs that look up their own.
const PASSWD: &str =
    "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";

/// What is said of all images.
pub(crate) struct About {
    /// The version.
    pub(crate) version: String,
    /// The commit.
    pub(crate) revision: String,
    /// When they were made.
    pub(crate) created: Timestamp,
}

/// The image for one architecture.
pub(crate) struct Image {
    /// Which one.
    pub(crate) arch: &'static str,
    /// The program.
    pub(crate) program: Vec<u8>,
    /// What it is made of.
    pub(crate) sbom: Value,
    /// The licences of what it is made of.
    pub(crate) licences: String,
}

/// Writes the layout of some images into a folder, which is there whole or not at all.
pub(crate) fn write(out: &Path, about: &About, images: &[Image]) -> anyhow::Result<()> {
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let place = || part.display().to_string();
    if part.exists() {
        fs::remove_dir_all(&part).with_context(place)?;
    }
    let blobs = Blobs(part.join("blobs/sha256"));
    fs::create_dir_all(&blobs.0).with_context(place)?;
    let mut manifests = Vec::new();
    let mut boms = Vec::new();
    for image in images {
        let mut manifest = image.write(&blobs, about)?;
        boms.push(bill_of(&blobs, &manifest, &image.sbom, about)?);
        manifest["platform"] = json!({"architecture": image.arch, "os": "linux"});
        manifests.push(manifest);
    }
    let mut all = blobs.json(
        INDEX,
        &json!({
            "schemaVersion": 2, "mediaType": INDEX, "manifests": ([manifests, boms].concat()),
            "annotations": annotations(about),
        }),
    )?;
    all["annotations"] = json!({"org.opencontainers.image.ref.name": about.version});
    // One thing with one name: what is published under it is all of it.
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [all]});
    fs::write(part.join("index.json"), text(&index)?).with_context(place)?;
    let layout = json!({"imageLayoutVersion": "1.0.0"});
    fs::write(part.join("oci-layout"), text(&layout)?).with_context(place)?;
    fs::rename(&part, out).with_context(|| out.display().to_string())
}

fn annotations(about: &About) -> Value {
    json!({
        "org.opencontainers.image.title": "muster",
        "org.opencontainers.image.description": "A gang scheduler for Kubernetes",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": about.version,
        "org.opencontainers.image.revision": about.revision,
        "org.opencontainers.image.created": about.created.to_string(),
    })
}

impl Image {
    /// Writes its parts, and returns the descriptor of its manifest.
    fn write(&self, blobs: &Blobs, about: &About) -> anyhow::Result<Value> {
        let bom = text(&self.sbom)?;
        let file = |path, content, runs| File {
            path,
            content,
            runs,
        };
        let layer = archive(&[
            file("etc/passwd", PASSWD.as_bytes(), false),
            file(PROGRAM, &self.program, true),
            file(
                "usr/share/licenses/muster/LICENSES",
                self.licences.as_bytes(),
                false,
            ),
            file("usr/share/sbom/muster.cdx.json", &bom, false),
        ])?;
        let config = json!({
            "architecture": self.arch,
            "os": "linux",
            "created": about.created.to_string(),
            "config": {
                "User": USER,
                "Env": ["PATH=/usr/local/bin"],
                "Entrypoint": [format!("/{PROGRAM}")],
                "WorkingDir": "/",
                "Labels": annotations(about),
            },
            "rootfs": {"type": "layers", "diff_ids": [sum(&layer)]},
            "history": [{"created": about.created.to_string(), "created_by": "hack/image"}],
        });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": blobs.json(CONFIG, &config)?,
            "layers": [blobs.put(LAYER, &compressed(&layer)?)?],
            "annotations": annotations(about),
        });
        blobs.json(MANIFEST, &manifest)
    }
}

/// Writes a bill of materials beside the image that it is of, and returns the descriptor of its manifest.
fn bill_of(blobs: &Blobs, image: &Value, bom: &Value, about: &About) -> anyhow::Result<Value> {
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": SBOM,
        "config": blobs.put(EMPTY, b"{}")?,
        "layers": [blobs.put(SBOM, &text(bom)?)?],
        "subject": image,
        "annotations": {"org.opencontainers.image.created": about.created.to_string()},
    });
    let mut descriptor = blobs.json(MANIFEST, &manifest)?;
    descriptor["artifactType"] = json!(SBOM);
    // Who looks for an image to run passes it over.
    descriptor["platform"] = json!({"architecture": "unknown", "os": "unknown"});
    Ok(descriptor)
}

/// Where each thing is under the sum of its bytes.
struct Blobs(PathBuf);

impl Blobs {
    /// Writes bytes, and returns the descriptor of them.
    fn put(&self, media_type: &str, bytes: &[u8]) -> anyhow::Result<Value> {
        let sum = sum(bytes);
        let path = self.0.join(sum.trim_start_matches("sha256:"));
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        Ok(json!({"mediaType": media_type, "digest": sum, "size": bytes.len()}))
    }

    fn json(&self, media_type: &str, value: &Value) -> anyhow::Result<Value> {
        self.put(media_type, &text(value)?)
    }
}

fn text(value: &Value) -> anyhow::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn sum(bytes: &[u8]) -> String {
    let sum = digest(&SHA256, bytes);
    let digits: Vec<String> = sum
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{}", digits.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Result;
    use flate2::read::GzDecoder;
    use std::collections::BTreeMap;
    use std::io::Read;

    fn about() -> About {
        About {
            version: "1.2.3".to_owned(),
            revision: "abc".to_owned(),
            created: Timestamp::UNIX_EPOCH,
        }
    }

    fn image(arch: &'static str) -> Image {
        Image {
            arch,
            program: arch.as_bytes().to_vec(),
            sbom: json!({"bomFormat": "CycloneDX", "of": arch}),
            licences: "Apache-2.0".to_owned(),
        }
    }

    /// All files below a folder, by path from it.
    fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(next)? {
                let path = entry?.path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(folder)?.display().to_string();
                    found.insert(name, fs::read(path)?);
                }
            }
        }
        Ok(found)
    }

    /// What a descriptor is of; its size and sum are those of the bytes.
    fn read(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        let bytes = &files[&format!("blobs/{}", digest.replace(':', "/"))];
        assert_eq!(digest, sum(bytes));
        assert_eq!(descriptor["size"], bytes.len());
        bytes.clone()
    }

    fn object(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Result<Value> {
        Ok(serde_json::from_slice(&read(files, descriptor))?)
    }

    #[test]
    fn the_dockerfile_makes_the_same_of_it() {
        let file = include_str!("../../../deploy/image/Dockerfile");
        let says = |line: &str| file.lines().any(|one| one == line);
        assert!(says(&format!("USER {USER}")));
        assert!(says(&format!("ENTRYPOINT [\"/{PROGRAM}\"]")));
        assert!(says("ENV PATH=/usr/local/bin"));
        assert!(file.contains(&format!("/release/muster /{PROGRAM}\n")));
    }

    #[test]
    fn a_layout_is_whole_and_the_same_each_time() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let images = [image("amd64"), image("arm64")];
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        write(&one, &about(), &images)?;
        write(&two, &about(), &images)?;
        let files = files(&one)?;
        assert_eq!(files, super::tests::files(&two)?);
        let index: Value = serde_json::from_slice(&files["index.json"])?;
        let all = &index["manifests"][0];
        assert_eq!(index["manifests"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            all["annotations"]["org.opencontainers.image.ref.name"],
            "1.2.3"
        );
        let manifests = object(&files, all)?["manifests"].clone();
        let mut counted = 1;
        for (place, arch) in ["amd64", "arm64"].into_iter().enumerate() {
            let descriptor = &manifests[place];
            assert_eq!(
                descriptor["platform"],
                json!({"architecture": arch, "os": "linux"})
            );
            let manifest = object(&files, descriptor)?;
            let config = object(&files, &manifest["config"])?;
            assert_eq!(config["architecture"], arch);
            assert_eq!(config["config"]["User"], USER);
            assert_eq!(
                config["config"]["Entrypoint"],
                json!(["/usr/local/bin/muster"])
            );
            let mut layer = Vec::new();
            let bytes = read(&files, &manifest["layers"][0]);
            GzDecoder::new(&bytes[..]).read_to_end(&mut layer)?;
            assert_eq!(config["rootfs"]["diff_ids"], json!([sum(&layer)]));
            let bill = object(&files, &manifests[place + 2])?;
            assert_eq!(bill["subject"]["digest"], descriptor["digest"]);
            assert_eq!(object(&files, &bill["layers"][0])?["of"], arch);
            counted += 5;
        }
        // The configuration of both bills is the same, and there are index.json and oci-layout.
        assert_eq!(files.len(), counted + 1 + 2);
        Ok(())
    }
}
