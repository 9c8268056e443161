//! The program that runs in real containers, as it was built.

use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use sha2::{Digest, Sha256};

/// Its name.
const NAME: &str = "dispatch-container";

/// Where cargo puts what it builds for this target, seen from the folder of another profile.
const BUILT_STATIC: &str = "../x86_64-unknown-linux-gnu/release";

/// How it is built where it is not there.
const BUILD: &str = "RUSTFLAGS=-Ctarget-feature=+crt-static cargo build --release --target \
                     x86_64-unknown-linux-gnu --package dispatch-container";

/// The program, which needs nothing else in its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    bytes: Vec<u8>,
}

/// There is no program for containers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// Nowhere.
    #[error("it is in none of {}; `{BUILD}` builds it", listed(.0))]
    Nowhere(Vec<PathBuf>),
    /// A file cannot be read.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A file needs what an image does not have.
    #[error(
        "{path} is not a static program, so that it would not start in an image without libraries; `{BUILD}` \
             builds one"
    )]
    NotStatic {
        /// The file.
        path: PathBuf,
    },
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Program {
    /// Reads it from this file, or where none is named, from beside the suite's own program, whose path
    /// this is.
    pub fn find(named: Option<&Path>, suite: &Path) -> Result<Self, NoProgram> {
        if let Some(path) = named {
            return Self::read(path);
        }
        let beside = suite.parent().unwrap_or(Path::new("."));
        let places = [beside.to_owned(), beside.join(BUILT_STATIC)].map(|place| place.join(NAME));
        let found = places.iter().filter(|path| path.exists()).map(|path| Self::read(path));
        let not_there = || NoProgram::Nowhere(places.to_vec());
        // What a build of the workspace leaves beside the suite is not static.
        found.reduce(|one, other| if one.is_ok() { one } else { other }).ok_or_else(not_there)?
    }

    fn read(path: &Path) -> Result<Self, NoProgram> {
        let read = fs_err::read(path);
        let why = |error: std::io::Error| error.to_string();
        let unreadable = |why| NoProgram::Unreadable { path: path.to_owned(), why };
        let bytes = read.map_err(why).map_err(unreadable)?;
        match is_static(&bytes) {
            Some(true) => Ok(Self { bytes }),
            Some(false) => Err(NoProgram::NotStatic { path: path.to_owned() }),
            None => Err(unreadable("it is no 64-bit ELF program".to_owned())),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What tells it from every other build: the beginning of its SHA-256, in hexadecimal.
    pub fn digest(&self) -> String {
        format!("{:x}", Sha256::digest(&self.bytes)).chars().take(16).collect()
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_owned() }
    }
}

/// Whether a program names no interpreter that would load libraries for it; `None` if it is no 64-bit ELF.
fn is_static(bytes: &[u8]) -> Option<bool> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    Some(!segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with one program header of this kind.
    fn elf(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (bytes[20], bytes[32], bytes[54], bytes[56], bytes[64]) = (1, 64, 56, 1, kind);
        bytes
    }

    #[test]
    fn only_a_program_without_an_interpreter_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let find = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Program::find(None, &folder.path().join("suite")).map(|program| program.bytes)
        };
        assert_eq!(find(&elf(1)), Ok(elf(1)));
        assert_eq!(find(&elf(3)), Err(NoProgram::NotStatic { path: path.clone() }));
        assert!(find(b"#!/bin/sh").unwrap_err().to_string().contains("no 64-bit ELF program"));
        assert!(find(&elf(1)[..66]).is_err());
    }

    #[test]
    fn where_a_build_has_left_both_the_static_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (debug, release) =
            (folder.path().join("debug"), folder.path().join("x86_64-unknown-linux-gnu/release"));
        for (place, kind) in [(&debug, 3), (&release, 1)] {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join(NAME), elf(kind)).unwrap();
        }
        assert_eq!(Program::find(None, &debug.join("suite")), Ok(Program::of(&elf(1))));
    }

    #[test]
    fn where_there_is_none_it_is_said_how_one_is_built() {
        let error = Program::find(None, Path::new("/nowhere/suite")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/dispatch-container"), "{error}");
        assert!(error.contains("+crt-static"), "{error}");
    }

    #[test]
    fn the_digest_is_that_of_the_program() {
        assert_eq!(Program::of(b"").digest(), "e3b0c44298fc1c14");
    }
}
