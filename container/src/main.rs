//! The container: says who it is, and ends when it is told.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{env, fs, thread};

use dispatch_container::life::{BEAT, Life, Told};
use dispatch_container::said::{Said, Saying};
use dispatch_container::{POD_UID, PORT};
use nix::sys::signal::{SigSet, Signal};

/// How much of a request is read.
const REQUEST_BYTES: u64 = 16 << 10;

/// How long whoever asks may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match run() {
        Ok(code) => code.into(),
        Err(error) => {
            // Where it cannot be printed either, the exit code says it.
            drop(writeln!(io::stderr(), "dispatch-container: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<u8> {
    // Before any other thread is there, so that all have it blocked: it is waited for instead. The
    // first process of a container would else not see it at all.
    let mut terminate = SigSet::empty();
    terminate.add(Signal::SIGTERM);
    terminate.thread_block()?;
    let me = Me::read()?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let (tell, told) = channel();
    let by_signal = tell.clone();
    thread::spawn(move || {
        while terminate.wait().is_ok() {
            if by_signal.send(Told::Terminate).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for asked in listener.incoming().flatten() {
            // Of one that breaks off nothing is done.
            drop(answer(&asked, &tell));
        }
    });
    live(&me, &told)
}

/// Lives until it is told to end; gives the exit code.
fn live(me: &Me, told: &Receiver<Told>) -> io::Result<u8> {
    let mut life = Life::default();
    me.say(Saying::Started)?;
    loop {
        let ends = match told.recv_timeout(BEAT) {
            Ok(told) => {
                if told == Told::Terminate {
                    me.say(Saying::ToldToStop)?;
                }
                life.take(told, up()?)
            }
            Err(RecvTimeoutError::Timeout) => {
                me.say(Saying::Alive)?;
                life.at(up()?)
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("nobody can tell it anything any more"));
            }
        };
        if let Some(code) = ends {
            me.say(Saying::Ends)?;
            return Ok(code);
        }
    }
}

/// Answers a request once what it asks for is under way; before that, if this ends by it, since the
/// answer would else be lost.
fn answer(mut asked: &TcpStream, tell: &Sender<Told>) -> io::Result<()> {
    asked.set_read_timeout(Some(REQUEST_LIMIT))?;
    asked.set_write_timeout(Some(REQUEST_LIMIT))?;
    let mut lines = BufReader::new(asked.take(REQUEST_BYTES)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // To the end of the headers, so that whoever sends is not cut off.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let told = match first.split(' ').collect::<Vec<_>>()[..] {
        ["POST", path, _] => Told::by_path(path),
        _ => None,
    };
    let ends = matches!(told, Some(Told::End(_)));
    let pass_on = || -> io::Result<()> {
        told.map_or(Ok(()), |told| tell.send(told).map_err(io::Error::other))
    };
    if !ends {
        pass_on()?;
    }
    let status = if told.is_some() { "200 OK" } else { "404 Not Found" };
    let head = "Content-Length: 0\r\nConnection: close";
    asked.write_all(format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n").as_bytes())?;
    if ends { pass_on() } else { Ok(()) }
}

/// Who this is.
struct Me {
    admission: Option<String>,
    restart: Option<String>,
    pod: Option<String>,
    machine: String,
}

impl Me {
    fn read() -> io::Result<Self> {
        Ok(Self {
            admission: env::var("DISPATCH_ADMISSION").ok(),
            restart: env::var("DISPATCH_RESTART").ok(),
            pod: env::var(POD_UID).ok(),
            machine: fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
        })
    }

    fn say(&self, what: Saying) -> io::Result<()> {
        let said = Said {
            what,
            admission: self.admission.clone(),
            restart: self.restart.clone(),
            pod: self.pod.clone(),
            machine: self.machine.clone(),
            up_ms: u64::try_from(up()?.as_millis()).unwrap_or(u64::MAX),
        };
        let mut line = serde_json::to_string(&said)?;
        line.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.flush()
    }
}

/// How long the machine has been up.
fn up() -> io::Result<Duration> {
    let text = fs::read_to_string("/proc/uptime")?;
    let seconds = text.split(' ').next().and_then(|word| word.parse().ok());
    let odd = || io::Error::other(format!("/proc/uptime cannot be read: {text:?}"));
    seconds.map(Duration::from_secs_f64).ok_or_else(odd)
}
