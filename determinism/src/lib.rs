//! Randomness that a simulation can fix.
//!
//! Maps of the standard library, and of the crates that subjects are made of, draw the keys of their
//! hashes from the operating system; the order in which such a map gives its entries decides who asks
//! first. [`fix`] makes what a thread draws from then on come of a seed. It does so by taking the
//! place of the C library's `getrandom`, which every draw ends in.
//!
//! Predictable randomness is for simulations alone: tokens and keys are drawn by other threads. Builds
//! without debug assertions, such as releases, do not have it at all, and [`fix`] does nothing there.

#[cfg(all(target_os = "linux", debug_assertions))]
mod interposed;

/// Fixes what this thread draws from now on. A thread should do this before it makes its first map,
/// and be used for one simulation only.
pub fn fix(seed: u64) {
    #[cfg(all(target_os = "linux", debug_assertions))]
    interposed::fix(seed);
    #[cfg(not(all(target_os = "linux", debug_assertions)))]
    let _ = seed;
}

/// Whether this build can fix anything.
pub const AVAILABLE: bool = cfg!(all(target_os = "linux", debug_assertions));

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
