//! Where randomness comes from.

use ulid::Ulid;

/// Where fresh tokens and names come from: the operating system in production, a seed in a
/// simulation.
pub trait Entropy: Send + Sync {
    /// A fresh identifier that nobody else has.
    fn ulid(&self) -> Ulid;

    /// A fresh token in lower case, for marks and names.
    fn token(&self) -> String {
        self.ulid().to_string().to_ascii_lowercase()
    }
}

/// The randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    #[expect(clippy::disallowed_methods, reason = "the one place where randomness is read")]
    fn ulid(&self) -> Ulid {
        Ulid::generate()
    }
}
