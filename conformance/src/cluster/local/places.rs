//! Where things are: the cache that all clusters share, and the folder of one cluster.

use crate::cluster::ClusterError;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "dispatch-conformance";

/// The two folders that everything is kept under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// What can be built again: `$XDG_CACHE_HOME/dispatch-conformance`.
    pub cache: PathBuf,
    /// What belongs to running clusters, and logs: `$XDG_STATE_HOME/dispatch-conformance`.
    pub state: PathBuf,
}

impl Places {
    /// As the environment says (XDG Base Directory Specification: a relative path is ignored).
    pub fn from_environment() -> Result<Self, ClusterError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, ClusterError> {
        let absolute = |name: &str| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = |variable: &str, fallback: &str| {
            absolute(variable)
                .or_else(|| absolute("HOME").map(|home| home.join(fallback)))
                .map(|base| base.join(PROGRAM))
                .ok_or_else(|| ClusterError::NoHome { variable: variable.to_owned() })
        };
        Ok(Self {
            cache: base("XDG_CACHE_HOME", ".cache")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
        })
    }

    /// The folder of all clusters.
    pub fn clusters(&self) -> PathBuf {
        self.state.join("clusters")
    }

    /// The folder of all clusters of kind.
    pub fn kind_clusters(&self) -> PathBuf {
        self.state.join("kind")
    }

    /// The folder of one cluster of kind.
    pub fn kind_cluster(&self, name: &str) -> Result<ClusterFolder, ClusterError> {
        Self::folder_in(&self.kind_clusters(), name)
    }

    /// The folder of one cluster.
    pub fn cluster(&self, name: &str) -> Result<ClusterFolder, ClusterError> {
        Self::folder_in(&self.clusters(), name)
    }

    fn folder_in(clusters: &Path, name: &str) -> Result<ClusterFolder, ClusterError> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fits = (1..=40).contains(&name.len())
            && name.starts_with(letters)
            && name.chars().all(|c| letters(c) || c == '-');
        if !fits {
            return Err(ClusterError::BadName { name: name.to_owned() });
        }
        Ok(ClusterFolder { root: clusters.join(name) })
    }
}

/// The folder of one cluster, entered by its user alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterFolder {
    root: PathBuf,
}

impl ClusterFolder {
    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Locked by the supervisor for as long as it lives.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// What the supervisor says about itself.
    pub fn state(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Logs, one for each process. They stay when the cluster ends, until the next start.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log of one process.
    pub fn log(&self, process: &str) -> PathBuf {
        self.logs().join(process).with_added_extension("log")
    }

    /// The log of the supervisor itself.
    pub fn supervisor_log(&self) -> PathBuf {
        self.root.join("supervisor.log")
    }

    /// Everything that goes when the cluster ends: keys, sockets, data.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.run().join("kubeconfig")
    }

    /// The supervisor's socket.
    pub fn socket(&self) -> PathBuf {
        self.run().join("control.sock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn places(variables: &[(&str, &str)]) -> Result<Places, ClusterError> {
        Places::from_variables(|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
        })
    }

    #[rstest]
    #[case::home(&[("HOME", "/h")], "/h/.cache", "/h/.local/state")]
    #[case::xdg(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "/s")], "/c", "/s")]
    #[case::relative_is_ignored(&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")], "/h/.cache", "/h/.local/state")]
    fn the_folders_follow_the_environment(
        #[case] variables: &[(&str, &str)],
        #[case] cache: &str,
        #[case] state: &str,
    ) {
        let found = places(variables).unwrap();
        assert_eq!(found.cache, Path::new(cache).join(PROGRAM));
        assert_eq!(found.state, Path::new(state).join(PROGRAM));
    }

    #[test]
    fn without_a_home_the_error_names_the_variable() {
        let error = places(&[]).unwrap_err();
        assert_eq!(error, ClusterError::NoHome { variable: "XDG_CACHE_HOME".into() });
    }

    #[rstest]
    #[case::plain("default", true)]
    #[case::dashes("run-12", true)]
    #[case::empty("", false)]
    #[case::climbs("../x", false)]
    #[case::capital("A", false)]
    #[case::dash_first("-x", false)]
    fn a_name_is_a_safe_folder_name(#[case] name: &str, #[case] good: bool) {
        let places = places(&[("HOME", "/h")]).unwrap();
        assert_eq!(places.cluster(name).is_ok(), good);
    }
}
