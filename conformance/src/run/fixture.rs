//! What a scenario needs before its first step, and how it is made.

mod access;
mod objects;
mod rights;

use dispatch_contract::Clock;
use dispatch_kubernetes::request::RequestError;
use dispatch_simulator::object::seconds;
use futures::future::try_join_all;
use kube::Client;

use super::api::{apply_status, create};
use super::{Names, RunError};
use crate::containers::Choice;
use crate::scenario::Given;

pub(super) use access::{PrivateFolder, Token};
pub(super) use objects::{foreign_check_ready, namespace, submitted, trainer, workload_like};
pub(super) use rights::Rights;

/// Who the subjects are to the cluster.
pub(super) struct Access {
    /// The adapter's bearer token.
    pub(super) adapter: Token,
    /// The controller's bearer token.
    pub(super) controller: Token,
}

/// What is made of a scenario.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) names: &'a Names,
    pub(super) given: &'a Given,
    pub(super) containers: &'a Choice,
}

/// The rights that both subjects ship.
pub(super) fn shipped(names: &Names) -> Result<Vec<Rights>, RunError> {
    let shipped = [
        (access::ADAPTER, &dispatch_adapter::manifests::ALL[..]),
        (access::CONTROLLER, &dispatch_admission::manifests::ALL[..]),
    ];
    let own = |(account, manifests): (&'static str, &[(&str, &str)])| {
        let texts = manifests.iter().map(|(_, text)| *text);
        let wrap = |why| RunError::Manifests { account, why };
        rights::rights(texts, account, names).map_err(wrap)
    };
    shipped.into_iter().map(own).collect()
}

/// Makes everything in the scenario's namespace and beside it. The namespace is there already.
pub(super) async fn make(
    client: &Client,
    Wanted { names, given, containers }: Wanted<'_>,
    (rights, clock): (&[Rights], &dyn Clock),
) -> Result<Access, RequestError> {
    let mut all = objects::all(names, given, containers);
    all.extend([access::ADAPTER, access::CONTROLLER].map(|name| access::account(name, names)));
    all.extend(rights.iter().flat_map(Rights::roles).cloned());
    try_join_all(all.into_iter().map(|object| create(client, object))).await?;
    let bindings = rights.iter().flat_map(Rights::bindings).cloned();
    try_join_all(bindings.map(|object| rights::bind(client, object))).await?;
    if given.foreign_check {
        apply_status(client, objects::foreign_check_served(names, &seconds(clock.now()))).await?;
    }
    try_join_all(rights.iter().map(|rights| rights::in_force(client, rights, names))).await?;
    Ok(Access {
        adapter: access::token(client, access::ADAPTER, names).await?,
        controller: access::token(client, access::CONTROLLER, names).await?,
    })
}
