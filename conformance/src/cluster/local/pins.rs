//! What the local cluster is made of: modules pinned by go.mod and go.sum, built with fixed
//! flags. The files are part of this program, so it needs no checkout.

use sha2::{Digest, Sha256};

/// A Go module that exists only to pin others.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cluster) struct Module {
    /// The name of its folder.
    pub name: &'static str,
    /// Its `go.mod`.
    pub go_mod: &'static str,
    /// Its `go.sum`.
    pub go_sum: &'static str,
}

/// Kubernetes, etcd, Kueue and Trainer.
pub(in crate::cluster) static STACK: Module = Module {
    name: "stack",
    go_mod: include_str!("../../../../ci/control-plane/stack/go.mod"),
    go_sum: include_str!("../../../../ci/control-plane/stack/go.sum"),
};

/// JobSet, apart from the rest: its main does not compile against the controller-runtime that
/// Kueue brings.
pub(in crate::cluster) static JOBSET: Module = Module {
    name: "jobset",
    go_mod: include_str!("../../../../ci/control-plane/jobset/go.mod"),
    go_sum: include_str!("../../../../ci/control-plane/jobset/go.sum"),
};

/// What only a kind cluster is made with.
pub(in crate::cluster) static KIND_TOOLS: Module = Module {
    name: "kind-tools",
    go_mod: include_str!("../../../../ci/kind/tools/go.mod"),
    go_sum: include_str!("../../../../ci/kind/tools/go.sum"),
};

/// kind itself.
pub(in crate::cluster) static KIND: Binary =
    Binary { name: "kind", package: "sigs.k8s.io/kind", module: &KIND_TOOLS, stamped: false };

/// One program of the control plane.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cluster) struct Binary {
    /// Its file name in the cache.
    pub name: &'static str,
    /// The package to build.
    pub package: &'static str,
    /// The module that pins it.
    pub module: &'static Module,
    /// Whether the Kubernetes version is stamped into it. Without the stamp it calls itself
    /// v0.0.0-master, which Kueue cannot parse and exits on.
    pub stamped: bool,
}

/// All programs, those that compile the most shared packages first.
pub(in crate::cluster) static BINARIES: [Binary; 7] = [
    Binary { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: &STACK, stamped: false },
    Binary {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        module: &STACK,
        stamped: true,
    },
    Binary {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        module: &STACK,
        stamped: true,
    },
    Binary {
        name: "kube-scheduler",
        package: "k8s.io/kubernetes/cmd/kube-scheduler",
        module: &STACK,
        stamped: true,
    },
    Binary {
        name: "kueue",
        package: "sigs.k8s.io/kueue/cmd/kueue",
        module: &STACK,
        stamped: false,
    },
    Binary {
        name: "trainer-controller-manager",
        package: "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
        module: &STACK,
        stamped: false,
    },
    Binary { name: "jobset", package: "sigs.k8s.io/jobset", module: &JOBSET, stamped: false },
];

/// Environment of every build. `GOFLAGS` is set so that a person's own flags change nothing.
pub(in crate::cluster) const BUILD_ENVIRONMENT: [(&str, &str); 4] = [
    ("CGO_ENABLED", "0"),
    ("GOFLAGS", "-buildvcs=false"),
    ("GOTOOLCHAIN", "local"),
    ("GOWORK", "off"),
];

/// Raised whenever the form of what is kept beside the binaries changes.
const CACHE_FORMAT: u32 = 1;

impl Module {
    /// The `go` line of go.mod: the lowest toolchain that will do.
    pub(in crate::cluster) fn go_version(&self) -> &'static str {
        self.go_mod.lines().find_map(|line| line.strip_prefix("go ")).map_or("1.26", str::trim)
    }

    /// The version that `require` pins for a module path, such as `v1.35.4`.
    pub(in crate::cluster) fn version_of(&self, path: &str) -> Option<&'static str> {
        self.go_mod.lines().find_map(|line| {
            let line = line.trim().strip_prefix("require ").unwrap_or(line.trim());
            let mut words = line.split_whitespace();
            (words.next()? == path).then(|| words.next()).flatten().filter(|w| w.starts_with('v'))
        })
    }
}

impl Binary {
    /// The arguments of `go` that build this program into `output`.
    pub(in crate::cluster) fn build_arguments(&self, output: &str) -> Vec<String> {
        let flags = self.linker_flags();
        ["build", "-mod=readonly", "-trimpath", &format!("-ldflags={flags}"), "-o", output]
            .into_iter()
            .chain([self.package])
            .map(str::to_owned)
            .collect()
    }

    /// The name of the cache's folder for this program alone.
    pub(in crate::cluster) fn digest(&self, go_version: &str) -> String {
        digest_of(go_version, &[self.module], std::slice::from_ref(self))
    }

    fn linker_flags(&self) -> String {
        let version = STACK.version_of("k8s.io/kubernetes").filter(|_| self.stamped);
        let Some(version) = version else { return "-s -w".to_owned() };
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) =
            (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let stamp = "-X k8s.io/component-base/version.git";
        format!("-s -w {stamp}Version={version} {stamp}Major={major} {stamp}Minor={minor}")
    }
}

/// The name of the cache's folder: it changes with the pins, the flags and the toolchain.
pub(in crate::cluster) fn digest(go_version: &str) -> String {
    digest_of(go_version, &[&STACK, &JOBSET], &BINARIES)
}

fn digest_of(go_version: &str, modules: &[&Module], binaries: &[Binary]) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    };
    add(&CACHE_FORMAT.to_string());
    add(go_version);
    for module in modules {
        add(module.go_mod);
        add(module.go_sum);
    }
    for (name, value) in BUILD_ENVIRONMENT {
        add(name);
        add(value);
    }
    for binary in binaries {
        add(&binary.build_arguments(binary.name).join("\n"));
    }
    hash.finalize().iter().take(10).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::kubernetes(&STACK, "k8s.io/kubernetes", "v1.35.4")]
    #[case::kueue(&STACK, "sigs.k8s.io/kueue", "v0.17.0")]
    #[case::trainer(&STACK, "github.com/kubeflow/trainer/v2", "v2.2.0")]
    #[case::jobset(&JOBSET, "sigs.k8s.io/jobset", "v0.11.1")]
    #[case::kind(&KIND_TOOLS, "sigs.k8s.io/kind", "v0.33.0")]
    fn the_pinned_versions_are_those_the_contract_was_measured_on(
        #[case] module: &Module,
        #[case] path: &str,
        #[case] version: &str,
    ) {
        assert_eq!(module.version_of(path), Some(version));
    }

    #[test]
    fn every_program_is_pinned_as_a_tool_of_its_module() {
        for binary in BINARIES.iter().chain([&KIND]) {
            assert!(
                binary
                    .module
                    .go_mod
                    .lines()
                    .any(|line| line.trim().trim_start_matches("tool ") == binary.package),
                "{} is not a tool of {}",
                binary.package,
                binary.module.name
            );
        }
    }

    #[test]
    fn kubernetes_is_stamped_with_the_pinned_version() {
        assert_eq!(
            BINARIES[1].linker_flags(),
            "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.4 \
             -X k8s.io/component-base/version.gitMajor=1 \
             -X k8s.io/component-base/version.gitMinor=35"
        );
        assert_eq!(BINARIES[0].linker_flags(), "-s -w");
    }

    #[test]
    fn another_toolchain_has_another_cache() {
        assert_ne!(digest("go1.26.8"), digest("go1.26.9"));
        assert_eq!(digest("go1.26.8"), digest("go1.26.8"));
    }
}
