//! Free ports on the loopback address.

use crate::cluster::ClusterError;
use std::net::{Ipv4Addr, TcpListener};

/// Below the range from which the kernel takes ports for outgoing connections (32768 by default):
/// a port from within it could be taken by any connection before its server listens.
const LOW: u16 = 15_000;
const HIGH: u16 = 30_000;

/// A port that nobody else can take until it is given up.
#[derive(Debug)]
pub(crate) struct Reserved(TcpListener);

impl Reserved {
    /// Its number.
    pub(super) fn number(&self) -> u16 {
        self.0.local_addr().map_or(0, |address| address.port())
    }

    /// Gives it up for the server that is about to listen on it.
    pub(crate) fn give_up(self) -> u16 {
        self.number()
    }
}

/// Reserves `count` ports, looking from a place that depends on `seed`, so that clusters that
/// start together do not look at the same ports.
pub(crate) fn reserve(count: usize, seed: u32) -> Result<Vec<Reserved>, ClusterError> {
    let range = u32::from(HIGH - LOW);
    let start = seed.wrapping_mul(97) % range;
    let free: Vec<Reserved> = (0..range)
        .filter_map(|step| u16::try_from((start + step) % range).ok())
        .filter_map(|offset| TcpListener::bind((Ipv4Addr::LOCALHOST, LOW + offset)).ok())
        .map(Reserved)
        .take(count)
        .collect();
    if free.len() < count { Err(ClusterError::NoPort { low: LOW, high: HIGH }) } else { Ok(free) }
}

/// Finds the line of a log in which a server says that its port is in use.
pub(super) fn in_use(log: &str) -> Option<&str> {
    log.lines().find(|line| line.contains("address already in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_nobody_elses_until_given_up() {
        let mine = reserve(3, 7).unwrap();
        let yours = reserve(3, 7).unwrap();
        for port in &mine {
            assert!(yours.iter().all(|other| other.number() != port.number()));
        }
        let port = mine.into_iter().next().unwrap().give_up();
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn a_log_tells_of_a_taken_port() {
        let log = "starting\nlisten tcp 127.0.0.1:15000: bind: address already in use\nexiting";
        assert!(in_use(log).unwrap().contains("15000"));
        assert_eq!(in_use("panic: x"), None);
    }
}
