//! What real runs went through, as text that can be kept and compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::life::{Life, Lived, Transition};
use super::role::Role;
use crate::history::Kind;

/// What the suite carries.
const RECORDED: &str = include_str!("../../parity/real.txt");

const FIRST_LINE: &str = "dispatch-parity/1";

const ABOUT: &str = "\
# What the objects of each scenario went through on the real cluster, in several runs.
# Written by `dispatch-conformance parity --real DIR... --record FILE`; see CONTRIBUTING.md.
# A play names the lives of each object; `never` stands for a run without it. After a life with `!`
# the history went on for a while. Below are the lives, one line for each write.
";

/// A run without the object.
const NEVER: &str = "never";

/// Marks a life after which the history went on.
const STILL: char = '!';

/// The plays of real runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// By the scenario's id, and the case.
    pub plays: BTreeMap<String, Play>,
}

/// What the runs of one scenario, or of one case of it, went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Play {
    /// The scenario's id.
    pub scenario: String,
    /// The case, where there is one.
    pub case: Option<String>,
    /// The digest of the scenario's file.
    pub digest: String,
    /// The verdict.
    pub verdict: String,
    /// How many runs there were.
    pub runs: usize,
    /// The different lives of each object; one without writes where a run did not have the object.
    pub lives: BTreeMap<Role, Vec<Life>>,
    /// The life of an object that no run has.
    pub never: Life,
}

/// A recording cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} of the recording: {why}")]
pub struct RecordingError {
    /// The line, from 1.
    line: usize,
    /// What is wrong with it.
    why: String,
}

impl Play {
    /// The id, and the case after it where there is one.
    pub fn full_id(&self) -> String {
        match &self.case {
            Some(case) => format!("{}/{case}", self.scenario),
            None => self.scenario.clone(),
        }
    }

    /// Adds one more run: the lives of its objects, and that of an object that it does not have.
    fn add(&mut self, lived: BTreeMap<Role, Lived>, never: &Life) {
        for (role, lives) in &mut self.lives {
            if !lived.contains_key(role) {
                add(lives, never.clone());
            }
        }
        for (role, lived) in lived {
            let before = if self.runs == 0 { Vec::new() } else { vec![self.never.clone()] };
            add(self.lives.entry(role).or_insert(before), lived.life);
        }
        self.never.still |= never.still;
        self.runs += 1;
    }
}

fn add(lives: &mut Vec<Life>, life: Life) {
    match lives.iter_mut().find(|known| known.writes == life.writes) {
        Some(known) => known.still |= life.still,
        None => lives.push(life),
    }
}

impl Recording {
    /// What the suite carries.
    ///
    /// # Errors
    /// It is not well formed.
    pub fn embedded() -> Result<Self, RecordingError> {
        Self::read(RECORDED)
    }

    /// Adds one more run of a play. Runs of another version of the scenario no longer count. Gives
    /// back whether the verdict is that of the runs before; where it is another one, the run is not
    /// added.
    pub fn add(&mut self, play: Play, lived: BTreeMap<Role, Lived>) -> bool {
        let never = play.never.clone();
        let known = self.plays.entry(play.full_id()).or_default();
        if known.digest != play.digest {
            *known = Play { runs: 0, lives: BTreeMap::new(), never: Life::default(), ..play };
        } else if known.verdict != play.verdict {
            return false;
        }
        known.add(lived, &never);
        true
    }

    /// The recording as text: the same plays give the same text.
    pub fn write(&self) -> String {
        let mut out = format!("{FIRST_LINE}\n{ABOUT}");
        let mut lives: BTreeMap<(Kind, String), String> = BTreeMap::new();
        for play in self.plays.values() {
            let case = play.case.as_ref().map(|case| format!(" {case}")).unwrap_or_default();
            let _ = write!(out, "\nplay {}{case}\n", play.scenario);
            let _ = writeln!(out, "{} {} of {} runs", play.digest, play.verdict, play.runs);
            let _ = writeln!(out, "others = {}", marked(NEVER.to_owned(), &play.never));
            for (role, of_role) in &play.lives {
                let mut words: Vec<String> = Vec::new();
                for life in of_role {
                    let text = written(life);
                    let id = if life.writes.is_empty() { NEVER.to_owned() } else { id(&text) };
                    words.push(marked(id.clone(), life));
                    if !life.writes.is_empty() {
                        lives.insert((role.kind, id), text);
                    }
                }
                words.sort();
                let _ = writeln!(out, "{role} = {}", words.join(" "));
            }
        }
        for ((kind, id), text) in lives {
            let _ = write!(out, "\nlife {kind} {id}\n{text}");
        }
        out
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// It is not well formed.
    pub fn read(text: &str) -> Result<Self, RecordingError> {
        let mut numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        if numbered.next().is_none_or(|(_, line)| line != FIRST_LINE) {
            return Err(wrong(1, format!("the first line has to be `{FIRST_LINE}`")));
        }
        let numbered: Vec<_> = numbered.filter(|(_, line)| !line.starts_with('#')).collect();
        let blocks = numbered.split(|(_, line)| line.is_empty()).filter(|block| !block.is_empty());
        let (plays, lives): (Vec<_>, Vec<_>) =
            blocks.partition(|block| block[0].1.starts_with("play "));
        let lives = lives.into_iter().map(read_life).collect::<Result<_, _>>()?;
        let mut recording = Self::default();
        for block in plays {
            let play = read_play(block, &lives)?;
            recording.plays.insert(play.full_id(), play);
        }
        Ok(recording)
    }
}

type Line<'a> = (usize, &'a str);

/// Lives by the word for their kind and by their ids.
type Lives<'a> = BTreeMap<(&'a str, &'a str), Life>;

fn wrong(line: usize, why: impl Into<String>) -> RecordingError {
    RecordingError { line, why: why.into() }
}

fn marked(mut word: String, life: &Life) -> String {
    word.extend(life.still.then_some(STILL));
    word
}

fn written(life: &Life) -> String {
    let mut out = String::new();
    for write in &life.writes {
        let words: Vec<_> = write.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "{}", words.join(", "));
    }
    out
}

fn id(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(5).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn read_life<'a>(block: &[Line<'a>]) -> Result<((&'a str, &'a str), Life), RecordingError> {
    let (number, first) = block[0];
    let head = first.strip_prefix("life ").and_then(|rest| rest.split_once(' '));
    let Some(head) = head else {
        return Err(wrong(number, "a block begins with `play` or `life`"));
    };
    let write = |line: &Line<'_>| line.1.split(", ").map(Transition::read).collect();
    let writes = block[1..].iter().map(write).collect();
    Ok((head, Life { writes, still: false }))
}

fn read_play(block: &[Line<'_>], lives: &Lives<'_>) -> Result<Play, RecordingError> {
    let (number, first) = block[0];
    let name = first.trim_start_matches("play ");
    let (scenario, case) = match name.split_once(' ') {
        Some((scenario, case)) => (scenario, Some(case.to_owned())),
        None => (name, None),
    };
    let of: Vec<&str> = block.get(1).map(|line| line.1.split(' ').collect()).unwrap_or_default();
    let [digest, verdict, "of", runs, "runs"] = of[..] else {
        return Err(wrong(number + 1, "there has to be `DIGEST VERDICT of N runs`"));
    };
    let runs = runs.parse().map_err(|_| wrong(number + 1, "it names no number of runs"))?;
    let mut play = Play {
        scenario: scenario.to_owned(),
        case,
        digest: digest.to_owned(),
        verdict: verdict.to_owned(),
        runs,
        lives: BTreeMap::new(),
        never: Life::default(),
    };
    for (number, line) in &block[2..] {
        if let Some(word) = line.strip_prefix("others = ") {
            play.never = life_of(lives, "", word)
                .ok_or_else(|| wrong(*number, format!("there is no life {word}")))?;
            continue;
        }
        let split = line.split_once(" = ");
        let named = split.and_then(|(role, words)| Some((role.split_once(' ')?, words)));
        let Some(((kind_word, name), words)) = named else {
            return Err(wrong(*number, "there has to be `KIND NAME = LIFE...`"));
        };
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == kind_word);
        let kind = kind.ok_or_else(|| wrong(*number, format!("there is no kind {kind_word}")))?;
        let of_role = words.split(' ').map(|word| {
            life_of(lives, kind_word, word)
                .ok_or_else(|| wrong(*number, format!("there is no life {word}")))
        });
        let of_role = of_role.collect::<Result<_, _>>()?;
        play.lives.insert(Role { kind, name: name.to_owned() }, of_role);
    }
    Ok(play)
}

fn life_of(lives: &Lives<'_>, kind: &str, word: &str) -> Option<Life> {
    let still = word.ends_with(STILL);
    let id = word.trim_end_matches(STILL);
    let life = if id == NEVER { Life::default() } else { lives.get(&(kind, id))?.clone() };
    Some(Life { still, ..life })
}
