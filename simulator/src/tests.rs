//! Components at work together.

mod jobs;
