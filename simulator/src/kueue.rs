//! Kueue: queues, quota, admission checks, evictions; its integrations and its webhooks.
