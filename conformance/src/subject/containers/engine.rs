//! The container engine, as far as it is asked directly.

use std::collections::HashMap;

use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::query_parameters::{
    ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
};
use testcontainers::core::client::docker_client_instance;

use super::ContainerError;
use super::owner::{OWNER, Owner, RUN};
use crate::cluster::local::endpoint::chain;

/// The engine, which answers.
#[derive(Clone)]
pub(super) struct Engine(pub(super) Docker);

/// A container of the suite's.
pub(super) struct Left {
    /// Its id.
    id: String,
    /// Its name, for people.
    pub(super) name: String,
    pub(super) owner: Option<Owner>,
    pub(super) run: Option<String>,
}

impl Engine {
    /// Reaches it.
    pub(super) async fn reach() -> Result<Self, ContainerError> {
        let missing = |error: &dyn std::error::Error| {
            let place = std::env::var("DOCKER_HOST");
            let place =
                place.as_deref().unwrap_or("the usual socket, since DOCKER_HOST is not set");
            ContainerError::EngineMissing { detail: format!("{}; asked at {place}", chain(error)) }
        };
        let docker = docker_client_instance().await.map_err(|error| missing(&error))?;
        docker.ping().await.map_err(|error| missing(&error))?;
        Ok(Self(docker))
    }

    /// The id of an image; none if the engine does not have it.
    pub(super) async fn image(&self, name: &str) -> Result<Option<String>, ContainerError> {
        match self.0.inspect_image(name).await {
            Ok(image) => Ok(image.id),
            Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
            Err(error) => Err(failed(format!("look for the image {name}"), &error)),
        }
    }

    /// All containers of the suite's, of whichever run.
    pub(super) async fn all(&self) -> Result<Vec<Left>, ContainerError> {
        let filters = HashMap::from([("label", vec![OWNER])]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let found = self.0.list_containers(Some(options)).await;
        let found = found.map_err(|error| failed("list containers".to_owned(), &error))?;
        let left = found.into_iter().filter_map(|container| {
            let label = |name| container.labels.as_ref()?.get(name).cloned();
            let name = container.names.as_ref().and_then(|names| names.first());
            Some(Left {
                name: name.map_or("?", |name| name.trim_start_matches('/')).to_owned(),
                owner: label(OWNER).and_then(|owner| Owner::parse(&owner)),
                run: label(RUN),
                id: container.id?,
            })
        });
        Ok(left.collect())
    }

    /// Removes a container, whatever it does.
    pub(super) async fn remove(&self, left: &Left) -> Result<(), ContainerError> {
        let removed = self.remove_by_name(&left.id).await;
        removed.map_err(|error| failed(format!("remove the container {}", left.name), &error))
    }

    /// As [`Engine::remove`], by its name or its id. That it is gone is as good.
    pub(super) async fn remove_by_name(&self, name: &str) -> Result<(), Error> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        match self.0.remove_container(name, Some(options)).await {
            // 409: it is being removed by somebody else.
            Ok(()) | Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn failed(what: String, error: &dyn std::error::Error) -> ContainerError {
    ContainerError::EngineFailed { what, detail: chain(error) }
}
