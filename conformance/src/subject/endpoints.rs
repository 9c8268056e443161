//! Asks a subject's health endpoint.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(2);

/// How much of an answer is read, in bytes.
const ANSWER_BYTES: u64 = 4096;

/// Whether the subject at this address says that it is ready; if not, what it says.
pub(super) async fn ready(address: SocketAddr) -> Result<(), String> {
    match timeout(LIMIT, get(address)).await {
        Ok(Ok(answer)) => parse(&answer),
        Ok(Err(error)) => Err(format!("{address} does not answer: {error}")),
        Err(_) => Err(format!("{address} did not answer within {LIMIT:?}")),
    }
}

async fn get(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn parse(answer: &str) -> Result<(), String> {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    match head.split_ascii_whitespace().nth(1) {
        Some("200") => Ok(()),
        Some(status) => Err(format!("it answers {status}: {}", body.trim())),
        None => Err("it does not answer with HTTP".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::ready("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Ok(()))]
    #[case::not_ready(
        "HTTP/1.1 503 Service Unavailable\r\n\r\nno list yet\n",
        Err("it answers 503: no list yet")
    )]
    #[case::something_else("SSH-2.0-x", Err("it does not answer with HTTP"))]
    fn a_subject_is_ready_when_it_says_so(
        #[case] answer: &str,
        #[case] expected: Result<(), &str>,
    ) {
        assert_eq!(parse(answer), expected.map_err(str::to_owned));
    }
}
