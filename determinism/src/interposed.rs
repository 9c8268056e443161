//! The C library's `getrandom`, of a seed where a thread has one.

use std::cell::Cell;

use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

thread_local! {
    /// The state that the next draw of this thread comes of.
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

pub(super) fn fix(seed: u64) {
    STATE.set(Some(seed));
}

/// The next eight bytes of a thread's stream: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators" (2014).
fn next(state: &mut u64) -> [u8; 8] {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).to_le_bytes()
}

/// Fills the buffer, and says how many bytes were filled.
fn fill(bytes: &mut [u8], flags: u32) -> Result<usize, Errno> {
    // A thread that is about to end has no stream any more.
    let Ok(Some(mut state)) = STATE.try_with(Cell::get) else {
        return rustix::rand::getrandom(bytes, GetRandomFlags::from_bits_retain(flags));
    };
    for chunk in bytes.chunks_mut(8) {
        let drawn = next(&mut state);
        chunk.copy_from_slice(&drawn[..chunk.len()]);
    }
    STATE.set(Some(state));
    Ok(bytes.len())
}

/// Takes the place of the function of this name in the C library.
///
/// # Safety
/// As that one: `buffer` can be written for `length` bytes.
// SAFETY: nothing else in the program has this name, and the signature is the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, flags: u32) -> isize {
    if buffer.is_null() {
        return refuse(Errno::FAULT);
    }
    // SAFETY: the caller says that the buffer can be written for this length. It may not have been
    // written yet, and is not read here.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer, length) };
    match fill(bytes, flags) {
        Ok(filled) => isize::try_from(filled).unwrap_or(isize::MAX),
        Err(error) => refuse(error),
    }
}

unsafe extern "C" {
    #[link_name = "__errno_location"]
    safe fn errno() -> *mut i32;
}

fn refuse(error: Errno) -> isize {
    // SAFETY: the C library's place of this thread's `errno`.
    unsafe { *errno() = error.raw_os_error() };
    -1
}
