//! Lists the scenarios, so that the binary carries them and needs no checkout.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Asked for when it runs: with one target folder for several checkouts, the compiled script may
    // be another one's.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = PathBuf::from(manifest).join("../scenarios");
    println!("cargo::rerun-if-changed={}", root.display());
    let root = root.canonicalize()?;
    let mut files = Vec::new();
    find(&root, &root, &mut files)?;
    files.sort();
    let mut list = String::from("const SCENARIOS: &[(&str, &str)] = &[\n");
    for (id, path) in files {
        let path = path.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
        // Writing to a String cannot fail.
        let _ = writeln!(list, "    ({id:?}, include_str!({path:?})),");
    }
    list.push_str("];\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("scenarios.rs"), list)
}

/// Scenario files as id and path; folders that begin with an underscore hold none.
fn find(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with(['_', '.']);
        if entry.file_type()?.is_dir() && !hidden {
            find(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") && !hidden {
            let id = path.strip_prefix(root).map_err(io::Error::other)?.with_extension("");
            files.push((id.to_string_lossy().replace('\\', "/"), path));
        }
    }
    Ok(())
}
