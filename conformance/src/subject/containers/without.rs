//! What there is of containers in a build that has none.

use std::convert::Infallible;

use super::{ContainerError, ImageName, Launch, Launched};

/// An image of this build: there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    never: Infallible,
}

impl Image {
    /// Says that this build has no containers.
    #[expect(clippy::unused_async, reason = "as where there are containers")]
    pub async fn ready(_: ImageName, _: &str) -> Result<(Self, Vec<String>), ContainerError> {
        Err(ContainerError::NotBuilt)
    }

    /// The name that it was asked for by.
    pub fn name(&self) -> &ImageName {
        match self.never {}
    }

    /// What it is exactly.
    pub fn id(&self) -> &str {
        match self.never {}
    }

    pub(in crate::subject) fn launch(&self, _: Launch) -> std::io::Result<Launched> {
        match self.never {}
    }
}

/// Says that this build has no containers.
pub async fn remove_containers(_: &str) -> Result<Vec<String>, ContainerError> {
    Err(ContainerError::NotBuilt)
}
