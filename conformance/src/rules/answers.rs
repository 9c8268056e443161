//! What an adapter may answer to any call, whatever its rule says.

use dispatch_contract::ErrorKind;

use crate::history::Call;

/// Whether a call failed for a reason that no rule about its object can exclude: the cluster, the
/// rights, an unproved gate, or a call that the adapter does not have.
pub(super) fn is_excused(call: &Call) -> bool {
    call.failed().is_some_and(|error| {
        matches!(
            error.kind,
            ErrorKind::Unavailable
                | ErrorKind::Unknown
                | ErrorKind::Forbidden
                | ErrorKind::ObserveOnly
                | ErrorKind::NotSupported
        )
    })
}
