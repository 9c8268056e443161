//! `apply`: a field gets another owner, and keeps its value.

use crate::run::api;
use crate::run::error::StepError;
use crate::run::stage::Stage;
use crate::scenario::{Target, Thing};

use super::administrator::named;

pub(super) async fn run(
    stage: &mut Stage<'_>,
    target: &Target,
    field: &[String],
    manager: &str,
) -> Result<(), StepError> {
    let all = named(stage, &Thing::Of(target.clone()))?;
    let Some(one) = all.first() else {
        return Err(StepError::failed(format!("there is no {target} to apply a field of")));
    };
    let found = api::get(&stage.client, one).await?;
    let object = serde_json::to_value(&found)
        .map_err(|error| StepError::failed(format!("{target} cannot be read: {error}")))?;
    let path = field.iter().fold(String::new(), |path, name| format!("{path}/{name}"));
    let Some(value) = object.pointer(&path) else {
        return Err(StepError::failed(format!("{target} has no {}", field.join("."))));
    };
    let nested =
        field.iter().rev().fold(value.clone(), |value, name| serde_json::json!({ name: value }));
    Ok(api::apply(&stage.client, one, nested, manager).await?)
}
