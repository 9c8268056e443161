//! The same of clusters of kind.

use std::time::Instant;

use super::{interrupted, print, say};
use crate::cli::terminal::{Lines, seconds};
use crate::cluster::ClusterError;
use crate::cluster::kind::{self, Down, Options, Phase, State};
use crate::cluster::local::Places;
use crate::exit_code::ExitCode;

pub(super) async fn up(options: &Options) -> Result<ExitCode, ClusterError> {
    let begun = Instant::now();
    let state = tokio::select! {
        state = kind::up(options, &Lines) => state?,
        code = interrupted() => {
            say("interrupted: deleting what was made");
            kind::down(&options.places, &options.name).await?;
            return Ok(code);
        }
    };
    let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let name = &state.name;
    say(&format!("cluster {name} is ready, {}", seconds(elapsed)));
    say(&format!("end it with `dispatch-conformance cluster down --cluster kind --name {name}`"));
    print(&state.kubeconfig.display().to_string());
    Ok(ExitCode::Conformant)
}

pub(super) async fn down(name: &str) -> Result<ExitCode, ClusterError> {
    match kind::down(&Places::from_environment()?, name).await? {
        Down::Deleted => say(&format!("cluster {name} is deleted")),
        Down::Nothing => say(&format!("there is no cluster {name} of kind")),
    }
    Ok(ExitCode::Conformant)
}

/// How many clusters of kind there are, and whether one has failed.
pub(super) async fn status(
    name: Option<&str>,
    json: bool,
) -> Result<(usize, ExitCode), ClusterError> {
    let places = Places::from_environment()?;
    let names = name.map_or_else(|| kind::names(&places), |name| vec![name.to_owned()]);
    let (mut found, mut code) = (0, ExitCode::Conformant);
    for name in names {
        let Some(state) = kind::status(&places, &name).await? else { continue };
        found += 1;
        print(&if json { serde_json::json!(state).to_string() } else { describe(&state) });
        if state.phase == Phase::Gone {
            code = ExitCode::Environment;
        }
    }
    Ok((found, code))
}

fn describe(state: &State) -> String {
    let mut lines = vec![format!("{} (kind): {}", state.name, state.phase.as_str())];
    if state.phase == Phase::Ready {
        lines.push(format!("  kubeconfig  {}", state.kubeconfig.display()));
        lines.push(format!("  images      {}", state.images.as_str()));
        lines.push(format!("  gates       {}", state.feature_gates));
        let versions = state.versions.iter().map(|(name, version)| format!("{name} {version}"));
        lines.push(format!("  versions    {}", versions.collect::<Vec<_>>().join(", ")));
    }
    lines.join("\n")
}
