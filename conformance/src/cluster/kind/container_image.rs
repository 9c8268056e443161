//! The image of the containers of scenarios' jobs: one program, `FROM scratch`. It is put into the node's
//! store as a file, in the format of `docker save`; no registry and no engine's store has to have it.

use super::node::Node;
use crate::cluster::ClusterError;
use crate::containers::Program;
use fs_err as fs;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The image's name without the tag, which is the program's digest.
const NAME: &str = "localhost/dispatch-conformance/container";

/// Where the program is in it.
const PLACE: &str = "dispatch-container";

/// Where the node has the file for as long as it is read.
const IN_NODE: &str = "/dispatch-conformance-image";

/// Who runs it, as in the images of the components: nobody in particular.
const USER: &str = "65532:65532";

/// Sees to it that the node has the image of this program, and gives the image's name.
pub(super) async fn load(
    node: &Node,
    program: &Program,
    scratch: &Path,
) -> Result<String, ClusterError> {
    let digest = program.digest();
    let image = format!("{NAME}:{digest}");
    let known = node.execute(&["ctr", "-n", "k8s.io", "images", "ls", "-q"]).await?;
    if known.lines().any(|line| line == image) {
        return Ok(image);
    }
    // A folder for each image, so that two runs at once do not read each other's.
    let folder = scratch.join(format!("image-{digest}"));
    let file = folder.join("image.tar");
    let failed = |error: std::io::Error| ClusterError::io(&file, &error);
    fs::create_dir_all(&folder).map_err(failed)?;
    let archive = archive(&image, program.bytes()).map_err(failed)?;
    fs::write(&file, archive).map_err(failed)?;
    let place = format!("{IN_NODE}-{digest}");
    node.copy_in(&folder, &place).await?;
    let script =
        format!("ctr -n k8s.io images import $(find {place} -name image.tar) && rm -r {place}");
    node.script(&script, "").await?;
    fs::remove_dir_all(&folder).map_err(failed)?;
    Ok(image)
}

/// The image as `docker save` writes one. The same program gives the same bytes.
fn archive(image: &str, program: &[u8]) -> std::io::Result<Vec<u8>> {
    let layer = tar(&[(PLACE, program)], 0o755)?;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": { "Entrypoint": [format!("/{PLACE}")], "User": USER },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))] },
    });
    let config = config.to_string();
    let name = format!("{}.json", sha256(config.as_bytes()));
    let manifest = json!([{ "Config": name, "RepoTags": [image], "Layers": ["layer.tar"] }]);
    let manifest = manifest.to_string();
    tar(
        &[
            ("layer.tar", &layer),
            (&name, config.as_bytes()),
            ("manifest.json", manifest.as_bytes()),
        ],
        0o644,
    )
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// A tar of files, all of this mode, root's, and as old as can be.
fn tar(files: &[(&str, &[u8])], mode: u32) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, *content)?;
    }
    tar.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn unpacked(archive: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it.tar");
        std::fs::write(&file, archive).unwrap();
        let done = Command::new("tar").arg("-xf").arg(&file).current_dir(folder.path()).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        folder
    }

    #[test]
    fn the_image_is_the_program_alone() {
        let outer = unpacked(&archive("name:tag", b"program").unwrap());
        let read = |name: &str| std::fs::read(outer.path().join(name)).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&read("manifest.json")).unwrap();
        assert_eq!(manifest[0]["RepoTags"], json!(["name:tag"]));
        let layer = read(manifest[0]["Layers"][0].as_str().unwrap());
        let config: serde_json::Value =
            serde_json::from_slice(&read(manifest[0]["Config"].as_str().unwrap())).unwrap();
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", sha256(&layer)));
        let inner = unpacked(&layer);
        assert_eq!(std::fs::read(inner.path().join(PLACE)).unwrap(), b"program");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(inner.path().join(PLACE)).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn the_same_program_gives_the_same_image() {
        let once = || archive("n:t", b"program").unwrap();
        assert_eq!(once(), once());
    }
}
