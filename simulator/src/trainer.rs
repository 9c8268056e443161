//! Trainer: makes a `JobSet` of a `TrainJob` and its runtime; its webhooks.
