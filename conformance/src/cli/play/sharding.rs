//! Which part of what was asked for is played here, and which elsewhere.

use clap::Args;

use crate::cli::terminal::say;
use crate::exit_code::ExitCode;
use crate::shard::Shard;

/// The part, as it is asked for on the command line.
#[derive(Debug, Args)]
pub(in crate::cli) struct Sharding {
    /// Only the I-th of N parts of what is to be played, so that N machines play all of it. Each part
    /// is the same every time, and no two have anything in common.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// The same with I from 0, as Kubernetes counts the pods of an Indexed Job.
    #[arg(long, value_name = "I/N", value_parser = Shard::from_zero, conflicts_with = "shard")]
    shard_from_zero: Option<Shard>,
}

impl Sharding {
    /// The shard that was asked for, in either way.
    pub(in crate::cli) fn shard(&self) -> Option<Shard> {
        self.shard.or(self.shard_from_zero)
    }
}

/// What of all is played here. An empty part is refused, as a filter is that leaves nothing.
pub(in crate::cli) fn part<T, C: Ord>(
    shard: Option<Shard>,
    all: Vec<T>,
    class: impl Fn(&T) -> C,
) -> Result<Vec<T>, ExitCode> {
    let Some(shard) = shard else { return Ok(all) };
    let count = all.len();
    let part = shard.part(all, class);
    if part.is_empty() {
        say(&format!("error: nothing is in shard {shard}: there are {count} to be played in all"));
        return Err(ExitCode::NothingRan);
    }
    Ok(part)
}

/// Why what was played is no claim to conformance, if that is because it is a part.
pub(in crate::cli) fn no_claim(shard: Option<Shard>) -> Option<String> {
    let shard = shard.filter(|shard| shard.of() > 1)?;
    Some(format!("shard {shard} was played; all {} together are the whole", shard.of()))
}

/// The name of a report's file.
pub(in crate::cli) fn file(name: &str, shard: Option<Shard>) -> String {
    shard.map_or_else(|| name.to_owned(), |shard| shard.file(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;

    use super::*;
    use crate::scenario::{Scenario, embedded};

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    #[test]
    fn the_shards_of_the_suite_are_the_suite() {
        let all: Vec<_> = embedded().unwrap().into_iter().map(|it| it.id).collect();
        let mut found = BTreeMap::new();
        for nth in ["1/3", "2/3", "3/3"] {
            for id in part(Some(shard(nth)), all.clone(), |_| ()).unwrap() {
                assert_eq!(found.insert(id, nth), None, "played twice");
            }
        }
        assert!(found.keys().eq(&all));
    }

    #[test]
    fn scenarios_that_have_to_be_alone_are_spread() {
        let alone = |nth: &str| {
            let part =
                part(Some(shard(nth)), embedded().unwrap(), |it: &Scenario| it.alone).unwrap();
            part.iter().filter(|it| it.alone).count()
        };
        assert!(alone("1/2").abs_diff(alone("2/2")) <= 1);
    }

    #[test]
    fn without_a_shard_everything_is_played() {
        assert_eq!(part(None, vec![1, 2, 3], |_| ()), Ok(vec![1, 2, 3]));
        assert_eq!(no_claim(None), None);
        assert_eq!(file("junit.xml", None), "junit.xml");
    }

    #[test]
    fn a_shard_with_nothing_in_it_is_refused() {
        assert_eq!(part(Some(shard("4/4")), vec![1, 2, 3], |_| ()), Err(ExitCode::NothingRan));
    }

    #[rstest]
    #[case::of_several("2/4", Some("shard 2/4 was played; all 4 together are the whole"))]
    #[case::the_whole("1/1", None)]
    fn a_shard_is_no_claim_unless_it_is_the_whole(
        #[case] nth: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(no_claim(Some(shard(nth))).as_deref(), expected);
    }
}
