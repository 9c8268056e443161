//! SHA-1, of which JobSet and Kueue make names.

/// The SHA-1 of a text, in hexadecimal digits (FIPS 180-4).
pub fn sha1(text: &str) -> String {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut message = text.as_bytes().to_vec();
    let bits = u64::try_from(message.len()).unwrap_or_default() * 8;
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend_from_slice(&bits.to_be_bytes());
    for block in message.chunks_exact(64) {
        mix(&mut state, block);
    }
    state.iter().fold(String::new(), |text, word| format!("{text}{word:08x}"))
}

fn mix(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| (word << 8) | u32::from(*byte));
    }
    for at in 16..80 {
        words[at] =
            (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
    }
    let mut turned = *state;
    for (round, word) in words.iter().enumerate() {
        let [first, second, third, fourth, fifth] = turned;
        let (choice, constant) = match round {
            0..20 => ((second & third) | (!second & fourth), 0x5a82_7999),
            20..40 => (second ^ third ^ fourth, 0x6ed9_eba1),
            40..60 => ((second & third) | (second & fourth) | (third & fourth), 0x8f1b_bcdc),
            _ => (second ^ third ^ fourth, 0xca62_c1d6),
        };
        let next = first
            .rotate_left(5)
            .wrapping_add(choice)
            .wrapping_add(fifth)
            .wrapping_add(constant)
            .wrapping_add(*word);
        turned = [next, first, second.rotate_left(30), third, fourth];
    }
    for (word, mixed) in state.iter_mut().zip(turned) {
        *word = word.wrapping_add(mixed);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "da39a3ee5e6b4b0d3255bfef95601890afd80709")]
    #[case("abc", "a9993e364706816aba3e25717850c26c9cd0d89d")]
    #[case(
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
    )]
    fn a_digest_is_that_of_the_standard(#[case] text: &str, #[case] digest: &str) {
        assert_eq!(sha1(text), digest);
    }
}
