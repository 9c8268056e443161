//! The one node of a cluster: a container, and what is done in it.

use super::engine::{docker, run};
use crate::cluster::ClusterError;
use std::ffi::OsStr;
use std::path::Path;

/// What kind calls the cluster of this name: others' clusters are not touched.
pub(super) fn cluster_name(name: &str) -> String {
    format!("dispatch-{name}")
}

/// The node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node(String);

impl Node {
    /// Of the cluster of this name.
    pub(super) fn of(name: &str) -> Self {
        Self(format!("{}-control-plane", cluster_name(name)))
    }

    /// The container's name, which is the node's too.
    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Whether there is such a container, running or not.
    pub(super) async fn exists(&self) -> Result<bool, ClusterError> {
        Ok(!self.listed(&["--all"]).await?.is_empty())
    }

    /// Whether it runs.
    pub(super) async fn runs(&self) -> Result<bool, ClusterError> {
        Ok(!self.listed(&[]).await?.is_empty())
    }

    async fn listed(&self, which: &[&str]) -> Result<String, ClusterError> {
        let filter = format!("name=^{}$", self.0);
        let mut arguments = vec!["ps", "--quiet", "--filter", filter.as_str()];
        arguments.extend(which);
        Ok(docker(&arguments).await?.trim().to_owned())
    }

    /// Removes the container with all that is in it.
    pub(super) async fn remove(&self) -> Result<(), ClusterError> {
        docker(&["rm", "--force", "--volumes", &self.0]).await.map(drop)
    }

    /// Runs a command in it, and gives what that prints.
    pub(super) async fn execute(&self, command: &[&str]) -> Result<String, ClusterError> {
        let all: Vec<&str> = ["exec", &self.0].into_iter().chain(command.iter().copied()).collect();
        docker(&all).await
    }

    /// Runs a script in it, with this input.
    pub(super) async fn script(&self, script: &str, input: &str) -> Result<String, ClusterError> {
        let all = ["exec", "--interactive", &self.0, "bash", "-euc", script];
        run(OsStr::new("docker"), &all, Some(input)).await
    }

    /// Copies a folder of this machine into it.
    pub(super) async fn copy_in(&self, from: &Path, to: &str) -> Result<(), ClusterError> {
        self.execute(&["mkdir", "-p", to]).await?;
        let to = format!("{}:{to}", self.0);
        docker(&[OsStr::new("cp"), from.as_os_str(), OsStr::new(&to)]).await.map(drop)
    }

    /// The address of this machine as the node sees it: the gateway of its network.
    pub(super) async fn gateway(&self) -> Result<std::net::IpAddr, ClusterError> {
        let format = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}";
        let found = docker(&["inspect", "--format", format, &self.0]).await?;
        found.trim().parse().map_err(|_| ClusterError::CommandFailed {
            command: format!("docker inspect {}", self.0),
            output: format!("its network has no gateway: {:?}", found.trim()),
        })
    }
}
