//! Which scenarios are being played on a cluster: each holds the lock of a file for as long as its
//! process lives, so that what a killed run has left can be told from what is in use.

use super::places::{ClusterFolder, Places};
use super::{files, supervised};
use crate::cluster::ClusterError;
use fs_err as fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The claims on one cluster. They go with it.
pub struct Claims {
    folder: PathBuf,
}

/// A claim, until this is dropped or the process is gone.
pub struct Claim {
    path: PathBuf,
    _lock: fs::File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // It may have gone with the cluster.
        drop(fs::remove_file(&self.path));
    }
}

impl Claims {
    /// Those on the running cluster of this name.
    pub fn on(places: &Places, name: &str) -> Result<Self, ClusterError> {
        let folder = places.cluster(name)?;
        if supervised(&folder) {
            Ok(Self::in_folder(&folder))
        } else {
            Err(ClusterError::NotRunning { name: name.to_owned() })
        }
    }

    pub(in crate::cluster) fn in_folder(folder: &ClusterFolder) -> Self {
        Self { folder: folder.run().join("claims") }
    }

    /// Claims everything on the cluster that is named after `scenario`.
    pub fn claim(&self, scenario: &str) -> Result<Claim, ClusterError> {
        files::private_folder(&self.folder)?;
        let path = self.folder.join(scenario);
        let failed = |error: std::io::Error| ClusterError::io(&path, &error);
        let file = fs::File::create(&path).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        Ok(Claim { path, _lock: file })
    }

    /// Whether a process holds the claim on what is named after `scenario`.
    pub fn is_held(&self, scenario: &str) -> Result<bool, ClusterError> {
        let path = self.folder.join(scenario);
        match fs::File::open(&path) {
            Ok(file) => Ok(matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(ClusterError::io(&path, &error)),
        }
    }

    /// Forgets a claim that nobody holds.
    pub fn forget(&self, scenario: &str) {
        // Most have none.
        drop(fs::remove_file(self.folder.join(scenario)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_held_as_long_as_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims { folder: folder.path().join("claims") };
        assert_eq!(claims.is_held("r-1"), Ok(false));
        let claim = claims.claim("r-1").unwrap();
        assert_eq!(claims.is_held("r-1"), Ok(true));
        assert_eq!(claims.is_held("r-2"), Ok(false));
        drop(claim);
        assert_eq!(claims.is_held("r-1"), Ok(false));
    }

    #[test]
    fn the_file_of_a_process_that_is_gone_claims_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let claims = Claims { folder: folder.path().to_owned() };
        fs::write(folder.path().join("r-1"), "").unwrap();
        assert_eq!(claims.is_held("r-1"), Ok(false));
        claims.forget("r-1");
        assert!(!folder.path().join("r-1").exists());
    }
}
