//! Which cluster is meant that others run: `--kubeconfig` and `--context`.

use std::path::PathBuf;

use clap::Args;

use crate::cluster::existing::Options;

/// The words on the command line.
#[derive(Debug, Clone, Args)]
pub(super) struct Context {
    /// Of `existing`: the kubeconfig. KUBECONFIG, or ~/.kube/config, unless given.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Of `existing`: the context in it. May be left out only where the kubeconfig has no other; the
    /// current context is never taken.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Context {
    /// What they ask for.
    pub(super) fn options(&self) -> Options {
        Options { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// The same words again.
    pub(super) fn words(&self) -> Vec<String> {
        let kubeconfig = self.kubeconfig.iter().map(|path| path.display().to_string());
        let named = kubeconfig.map(|path| ["--kubeconfig".to_owned(), path]);
        let context = self.context.iter().map(|name| ["--context".to_owned(), name.clone()]);
        named.chain(context).flatten().collect()
    }
}
