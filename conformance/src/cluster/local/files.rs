//! Files that are either whole or not there, and folders that are ours alone.

use crate::cluster::ClusterError;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Makes a folder and those above it.
pub(in crate::cluster) fn folder(path: &Path) -> Result<(), ClusterError> {
    fs::create_dir_all(path).map_err(|error| ClusterError::io(path, &error))
}

/// Makes a folder that only this user may enter, and those above it.
pub(in crate::cluster) fn private_folder(path: &Path) -> Result<(), ClusterError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).map_err(|e| ClusterError::io(path, &e))?;
    let mode = std::fs::Permissions::from_mode(0o700);
    fs::set_permissions(path, mode).map_err(|error| ClusterError::io(path, &error))
}

/// Writes a file by way of a temporary one, so that no reader sees half of it.
pub(in crate::cluster) fn write(path: &Path, content: &[u8]) -> Result<(), ClusterError> {
    put(path, content, 0o644)
}

/// As [`write`], readable by this user alone. For keys and what holds them.
pub(in crate::cluster) fn write_private(path: &Path, content: &[u8]) -> Result<(), ClusterError> {
    put(path, content, 0o600)
}

fn put(path: &Path, content: &[u8], mode: u32) -> Result<(), ClusterError> {
    let temporary = path.with_added_extension(format!("{}.part", std::process::id()));
    let written = (|| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode);
        let mut file = options.open(&temporary)?;
        file.write_all(content)?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|error| {
        drop(fs::remove_file(&temporary));
        ClusterError::io(path, &error)
    })
}

/// Removes a folder with all that is in it; one that is not there is no error.
pub(in crate::cluster) fn remove_folder(path: &Path) -> Result<(), ClusterError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(ClusterError::io(path, &error))
        }
        _ => Ok(()),
    }
}

/// Fails if no more can be written to a folder.
pub(in crate::cluster) fn room(folder: &Path) -> Result<(), ClusterError> {
    let probe = folder.join("room");
    let written = fs::write(&probe, vec![0; 64 * 1024]);
    drop(fs::remove_file(&probe));
    written.map_err(|error| ClusterError::io(folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private(&path, b"secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_file_where_a_folder_should_be_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = write(&file.join("below"), b"").unwrap_err();
        assert!(matches!(error, ClusterError::Unwritable { .. }), "{error:?}");
    }
}
