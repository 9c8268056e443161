//! Randomness that a simulation can fix.
//!
//! Maps of the standard library, and of the crates that subjects are made of, draw the keys of their
//! hashes from the operating system; the order in which such a map gives its entries decides who asks
//! first. [`fix`] makes what a thread draws from then on come of a seed. It does so by taking the
//! place of the C library's `getrandom`, which every draw ends in.
//!
//! Predictable randomness is for simulations alone. Tokens and keys are drawn by other threads, which
//! this leaves as they are; and what runs in production, `dispatch-admission` and `dispatch-adapter`,
//! does not have this crate in it.

#[cfg(target_os = "linux")]
mod interposed;

/// Fixes what this thread draws from now on. A thread should do this before it makes its first map,
/// and be used for one simulation only.
pub fn fix(seed: u64) {
    #[cfg(target_os = "linux")]
    interposed::fix(seed);
    #[cfg(not(target_os = "linux"))]
    let _ = seed;
}

/// Whether this build can fix anything.
pub const AVAILABLE: bool = cfg!(target_os = "linux");

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    fn order(seed: Option<u64>) -> Vec<u32> {
        let drawn = thread::spawn(move || {
            if let Some(seed) = seed {
                fix(seed);
            }
            (0..100).collect::<HashSet<u32>>().into_iter().collect()
        });
        drawn.join().unwrap()
    }

    #[test]
    fn a_seed_gives_one_order_of_a_map() {
        if AVAILABLE {
            assert_eq!(order(Some(7)), order(Some(7)));
            assert_ne!(order(Some(7)), order(Some(8)));
        }
    }

    #[test]
    fn other_threads_draw_as_ever() {
        order(Some(7));
        assert_ne!(order(None), order(None));
    }
}
