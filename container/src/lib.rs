//! What runs in the containers of the suite's jobs, where these are real: it prints who it is, runs until
//! it is told to end, and takes as long over SIGTERM as it was told to.
//!
//! [`said`] is what it prints, which the suite reads from the container's log. [`life`] is what it does
//! when it is told something, by SIGTERM or at its port.

pub mod life;
pub mod said;

/// The TCP port at which a container is told what to do: `POST /linger/SECONDS`, `/let-go`, `/end/CODE`.
pub const PORT: u16 = 8125;

/// The environment variable that names the pod's UID. A and the restart attempt come as in any job of
/// dispatch's: in `DISPATCH_ADMISSION` and `DISPATCH_RESTART`.
pub const POD_UID: &str = "POD_UID";
