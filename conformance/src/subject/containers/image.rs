//! An image that controllers are containers of.

use testcontainers::core::error::ClientError;
use testcontainers::runners::AsyncRunner;
use testcontainers::{GenericImage, TestcontainersError};

use super::container::{self, Marks};
use super::engine::{Engine, Left, failed};
use super::owner::Owner;
use super::{ContainerError, ImageName, Launch, Launched};

/// An image that the engine has, for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    name: ImageName,
    /// What it is exactly, whatever its name means meanwhile.
    id: String,
    marks: Marks,
}

impl Image {
    /// Readies it for the run of this id: what killed runs have left in the engine is removed, and an image
    /// that the engine does not have is pulled. Gives the names of the containers that were removed too.
    pub async fn ready(name: ImageName, run: &str) -> Result<(Self, Vec<String>), ContainerError> {
        let engine = Engine::reach().await?;
        let owner =
            Owner::this().map_err(|error| failed("be told whose it is".to_owned(), &error))?;
        let is_gone = |left: &Left| left.owner.as_ref().is_some_and(|it| it.is_gone(&owner));
        let removed = removed(&engine, is_gone).await?;
        let id = match engine.image(&name.to_string()).await? {
            Some(id) => id,
            None => pulled(&engine, &name).await?,
        };
        let marks = Marks { owner: owner.to_string(), run: run.to_owned() };
        Ok((Self { name, id, marks }, removed))
    }

    /// The name that it was asked for by.
    pub fn name(&self) -> &ImageName {
        &self.name
    }

    /// What it is exactly.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Starts a container of it, to be reached by what is given.
    pub(in crate::subject) fn launch(&self, launch: Launch) -> std::io::Result<Launched> {
        container::launch(&self.id, &self.marks, launch)
    }
}

/// Removes what is left of a run's containers, which is nothing unless something went wrong, and gives
/// their names.
pub async fn remove_containers(run: &str) -> Result<Vec<String>, ContainerError> {
    let engine = Engine::reach().await?;
    removed(&engine, |left| left.run.as_deref() == Some(run)).await
}

/// Removes containers of the suite's, and gives their names.
async fn removed(
    engine: &Engine,
    which: impl Fn(&Left) -> bool,
) -> Result<Vec<String>, ContainerError> {
    let mut removed = Vec::new();
    for left in engine.all().await?.into_iter().filter(which) {
        engine.remove(&left).await?;
        removed.push(left.name);
    }
    Ok(removed)
}

/// Pulls an image, and gives its id.
async fn pulled(engine: &Engine, name: &ImageName) -> Result<String, ContainerError> {
    let no_image = |detail| ContainerError::NoImage { image: name.clone(), detail };
    let image = GenericImage::new(name.repository(), name.tag());
    if let Err(error) = image.pull_image().await {
        return Err(no_image(match error {
            TestcontainersError::Client(ClientError::PullImage { err, .. }) => err.to_string(),
            error => error.to_string(),
        }));
    }
    let found = engine.image(&name.to_string()).await?;
    found.ok_or_else(|| no_image("it was pulled, and is not there".to_owned()))
}
