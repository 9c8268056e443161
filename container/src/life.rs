//! What a container does when it is told something.

use std::time::Duration;

/// How often a container says that it is still there.
pub const BEAT: Duration = Duration::from_millis(500);

/// The exit code of one that ends because of SIGTERM, as a shell has it.
pub const TERMINATED: u8 = 143;

/// What a container is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// To ignore SIGTERM, for at most so long after it came.
    Linger(Duration),
    /// To ignore it no longer, also where it has come.
    LetGo,
    /// To end with this exit code.
    End(u8),
    /// To stop, by SIGTERM.
    Terminate,
}

impl Told {
    /// What is asked for by the path of a request; `None` if it is nothing that a container does.
    pub fn by_path(path: &str) -> Option<Self> {
        let mut words = path.trim_matches('/').split('/');
        let told = match (words.next()?, words.next()) {
            ("linger", Some(seconds)) => Self::Linger(Duration::from_secs(seconds.parse().ok()?)),
            ("let-go", None) => Self::LetGo,
            ("end", Some(code)) => Self::End(code.parse().ok()?),
            _ => return None,
        };
        words.next().is_none().then_some(told)
    }
}

/// A container's life, as far as it depends on what it was told. Times are since any one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// For how long SIGTERM is ignored; not at all unless given.
    lingers: Option<Duration>,
    /// When SIGTERM came.
    told_to_stop: Option<Duration>,
}

impl Life {
    /// Takes what it is told; gives the exit code if it is to end.
    pub fn take(&mut self, told: Told, now: Duration) -> Option<u8> {
        match told {
            Told::Linger(limit) => self.lingers = Some(limit),
            Told::LetGo => self.lingers = None,
            Told::End(code) => return Some(code),
            Told::Terminate => {
                self.told_to_stop.get_or_insert(now);
            }
        }
        self.at(now)
    }

    /// The exit code if it is to end at this time.
    pub fn at(&self, now: Duration) -> Option<u8> {
        let until = self.told_to_stop? + self.lingers.unwrap_or_default();
        (now >= until).then_some(TERMINATED)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LINGER: Told = Told::Linger(Duration::from_secs(10));

    /// What comes of being told this, a second apart each, and of looking so many seconds later.
    #[rstest]
    #[case::it_runs_on(&[], 100, None)]
    #[case::it_ends_when_it_is_told_to(&[Told::End(3)], 0, Some(3))]
    #[case::sigterm_ends_it(&[Told::Terminate], 0, Some(TERMINATED))]
    #[case::sigterm_is_ignored_for_a_while(&[LINGER, Told::Terminate], 9, None)]
    #[case::and_not_for_longer(&[LINGER, Told::Terminate], 10, Some(TERMINATED))]
    #[case::a_second_sigterm_does_not_lengthen_that(
        &[LINGER, Told::Terminate, Told::Terminate], 9, Some(TERMINATED))]
    #[case::let_go_before(&[LINGER, Told::LetGo, Told::Terminate], 0, Some(TERMINATED))]
    #[case::let_go_after(&[LINGER, Told::Terminate, Told::LetGo], 0, Some(TERMINATED))]
    #[case::let_go_without_sigterm(&[LINGER, Told::LetGo], 100, None)]
    #[case::it_ends_also_while_it_lingers(&[LINGER, Told::Terminate, Told::End(0)], 0, Some(0))]
    fn it_ends_when_it_should(
        #[case] told: &[Told],
        #[case] later: u64,
        #[case] expected: Option<u8>,
    ) {
        let mut life = Life::default();
        let mut now = Duration::ZERO;
        let mut ended = None;
        for told in told {
            now += Duration::from_secs(1);
            ended = ended.or(life.take(*told, now));
        }
        assert_eq!(ended.or(life.at(now + Duration::from_secs(later))), expected);
    }

    #[rstest]
    #[case::linger("/linger/30", Some(Told::Linger(Duration::from_secs(30))))]
    #[case::let_go("/let-go", Some(Told::LetGo))]
    #[case::end("/end/0", Some(Told::End(0)))]
    #[case::a_code_that_is_none("/end/256", None)]
    #[case::without_a_code("/end", None)]
    #[case::more("/end/0/0", None)]
    #[case::something_else("/terminate", None)]
    #[case::nothing("/", None)]
    fn a_path_says_what_to_do(#[case] path: &str, #[case] expected: Option<Told>) {
        assert_eq!(Told::by_path(path), expected);
    }
}
