//! `JobSet`: makes Jobs of a `JobSet`; its webhooks.
