//! A run in parts, each on a machine of its own.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// One of so many parts of what is to be played. Which part something is in depends on nothing but
/// its place among all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `of`.
    nth: u16,
    of: u16,
}

/// Something that names no shard.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("expected I/N with I from {first} to {last}, such as {first}/4")]
pub struct NotAShard {
    first: u16,
    last: &'static str,
}

impl Shard {
    /// Of `I/N` with I from 0 to N-1, as Kubernetes' Indexed Jobs and some CI systems count.
    pub fn from_zero(text: &str) -> Result<Self, NotAShard> {
        let shard = numbers(text).and_then(|(index, of)| Self::new(index.checked_add(1)?, of));
        shard.ok_or(NotAShard { first: 0, last: "N-1" })
    }

    fn new(nth: u16, of: u16) -> Option<Self> {
        (1..=of).contains(&nth).then_some(Self { nth, of })
    }

    /// How many shards there are.
    pub fn of(self) -> u16 {
        self.of
    }

    /// What of all is in this shard, in its order. All is dealt out one by one, first what is of the
    /// least class: so no shard has more than one more of a class than another.
    pub fn part<T, C: Ord>(
        self,
        all: impl IntoIterator<Item = T>,
        class: impl Fn(&T) -> C,
    ) -> Vec<T> {
        let mut all: Vec<_> = all.into_iter().enumerate().collect();
        all.sort_by_key(|(_, it)| class(it));
        let before = usize::from(self.nth) - 1;
        let mut part: Vec<_> = all.into_iter().skip(before).step_by(self.of.into()).collect();
        part.sort_by_key(|(place, _)| *place);
        part.into_iter().map(|(_, it)| it).collect()
    }

    /// The name of a file of this shard, so that all can be in one folder: `junit.xml` becomes
    /// `junit-2-of-4.xml`.
    pub fn file(self, name: &str) -> String {
        let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
        format!("{stem}-{}-of-{}.{extension}", self.nth, self.of)
    }
}

fn numbers(text: &str) -> Option<(u16, u16)> {
    let (index, of) = text.split_once('/')?;
    Some((index.parse().ok()?, of.parse().ok()?))
}

impl FromStr for Shard {
    type Err = NotAShard;

    fn from_str(text: &str) -> Result<Self, NotAShard> {
        let shard = numbers(text).and_then(|(nth, of)| Self::new(nth, of));
        shard.ok_or(NotAShard { first: 1, last: "N" })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.nth, self.of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first("1/4", Some("1/4"))]
    #[case::last("4/4", Some("4/4"))]
    #[case::whole("1/1", Some("1/1"))]
    #[case::none_before_the_first("0/4", None)]
    #[case::past_the_last("5/4", None)]
    #[case::of_none("1/0", None)]
    #[case::negative("-1/4", None)]
    #[case::one_number("2", None)]
    #[case::three("1/2/3", None)]
    #[case::words("one/two", None)]
    #[case::too_many("1/65536", None)]
    #[case::nothing("", None)]
    fn a_shard_is_one_of_so_many(#[case] text: &str, #[case] expected: Option<&str>) {
        let shard = text.parse::<Shard>().ok().map(|shard| shard.to_string());
        assert_eq!(shard.as_deref(), expected);
    }

    #[rstest]
    #[case::first("0/4", Some("1/4"))]
    #[case::last("3/4", Some("4/4"))]
    #[case::past_the_last("4/4", None)]
    #[case::largest("65535/65535", None)]
    #[case::of_none("0/0", None)]
    fn an_index_from_zero_is_one_less(#[case] text: &str, #[case] expected: Option<&str>) {
        let shard = Shard::from_zero(text).ok().map(|shard| shard.to_string());
        assert_eq!(shard.as_deref(), expected);
    }

    #[test]
    fn what_is_no_shard_is_answered_with_what_is_expected() {
        let said = "5/4".parse::<Shard>().unwrap_err().to_string();
        assert_eq!(said, "expected I/N with I from 1 to N, such as 1/4");
        let said = Shard::from_zero("4/4").unwrap_err().to_string();
        assert_eq!(said, "expected I/N with I from 0 to N-1, such as 0/4");
    }

    #[test]
    fn files_of_shards_have_names_of_their_own() {
        let shard: Shard = "2/4".parse().unwrap();
        assert_eq!(shard.file("junit.xml"), "junit-2-of-4.xml");
    }

    fn every(of: u16) -> impl Iterator<Item = Shard> {
        (1..=of).map(move |nth| Shard { nth, of })
    }

    proptest! {
        /// Whatever there is, of whatever classes, and however many shards.
        #[test]
        fn everything_is_in_exactly_one_shard(
            classes in prop::collection::vec(0_u8..4, 0..100),
            of in 1_u16..40,
        ) {
            let all: Vec<_> = classes.into_iter().enumerate().collect();
            let class = |(_, class): &(usize, u8)| *class;
            let parts: Vec<_> =
                every(of).map(|shard| shard.part(all.iter().copied(), class)).collect();
            for part in &parts {
                prop_assert!(part.is_sorted(), "in their order");
            }
            let mut union = parts.concat();
            union.sort_unstable();
            prop_assert_eq!(union, all);
        }

        #[test]
        fn no_shard_has_more_than_one_more_than_another(
            classes in prop::collection::vec(0_u32..4, 0..100),
            of in 1_u16..40,
        ) {
            let parts: Vec<_> =
                every(of).map(|shard| shard.part(classes.iter().copied(), |it| *it)).collect();
            let even = |count: &dyn Fn(&Vec<u32>) -> usize| {
                let counts: Vec<_> = parts.iter().map(count).collect();
                counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1
            };
            prop_assert!(even(&Vec::len));
            for class in 0..4 {
                prop_assert!(even(&|part| part.iter().filter(|it| **it == class).count()));
            }
        }
    }
}
