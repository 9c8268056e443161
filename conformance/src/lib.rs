pub mod history;
pub mod scenario;
