//! What a node's kubelet and systemd change of the machine as a whole, since these settings belong to no
//! container: known before, and put back.

use super::node::Node;
use fs_err as fs;
use std::collections::BTreeMap;

/// The settings of the kernel that they set.
const CHANGED: [&str; 8] = [
    "vm/overcommit_memory",
    "kernel/panic",
    "kernel/panic_on_oops",
    "fs/file-max",
    "fs/protected_fifos",
    "fs/protected_hardlinks",
    "fs/protected_regular",
    "fs/protected_symlinks",
];

/// The settings as they were before any node was there: those that were noted for another cluster,
/// else as they are.
pub(super) fn before<'a>(
    mut of_others: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    of_others.next().cloned().unwrap_or_else(now)
}

fn now() -> BTreeMap<String, String> {
    let value = |name: &&str| {
        let text = fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
        Some(((*name).to_owned(), text.trim().to_owned()))
    };
    CHANGED.iter().filter_map(value).collect()
}

/// Puts them back by way of the node, which may write them where this process may not. That is not
/// worth failing for.
pub(super) async fn put_back(node: &Node, settings: &BTreeMap<String, String>) {
    let script = "systemctl stop kubelet; while read -r name value; do echo \"$value\" >\"/proc/sys/$name\"; done";
    let lines: Vec<_> = settings.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    if let Err(error) = node.script(script, &lines.concat()).await {
        tracing::warn!(%error, "the machine's settings were not put back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_before_are_those_before_the_first_cluster() {
        let first = BTreeMap::from([("kernel/panic".to_owned(), "7".to_owned())]);
        assert_eq!(before([&first].into_iter()), first);
        assert_eq!(before([].into_iter()), now());
    }
}
