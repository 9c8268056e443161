//! Components at work together.

mod cluster;
mod jobs;
mod kueue;
mod queued;
mod slow;
