//! Kueue's feature gates.

use std::collections::BTreeMap;

/// The feature gates that matter here. A change takes effect when Kueue starts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `AdmissionGatedBy`: whether the gate's annotation holds a job back. Without it the annotation
    /// is ignored. Alpha, and off by default (Kueue `pkg/features/kube_features.go`).
    pub admission_gated_by: bool,
}

/// The name of the one gate that is known.
const ADMISSION_GATED_BY: &str = "AdmissionGatedBy";

/// There is no such feature gate, as far as is known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the embedded Kueue does not know the feature gate {0}")]
pub struct UnknownFeature(String);

impl Features {
    /// All gates, by name.
    pub fn gates(self) -> BTreeMap<String, bool> {
        BTreeMap::from([(ADMISSION_GATED_BY.to_owned(), self.admission_gated_by)])
    }

    /// Whether the gate of this name is on.
    pub fn get(self, name: &str) -> Result<bool, UnknownFeature> {
        match name {
            ADMISSION_GATED_BY => Ok(self.admission_gated_by),
            _ => Err(UnknownFeature(name.to_owned())),
        }
    }

    /// Turns the gate of this name on or off.
    pub fn set(&mut self, name: &str, on: bool) -> Result<(), UnknownFeature> {
        match name {
            ADMISSION_GATED_BY => self.admission_gated_by = on,
            _ => return Err(UnknownFeature(name.to_owned())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_known_by_its_name_and_no_other_is() {
        let mut features = Features::default();
        assert_eq!(features.get("AdmissionGatedBy"), Ok(false));
        features.set("AdmissionGatedBy", true).unwrap();
        assert_eq!(features.get("AdmissionGatedBy"), Ok(true));
        assert!(features.set("PartialAdmission", true).is_err());
        assert!(features.get("").is_err());
    }
}
