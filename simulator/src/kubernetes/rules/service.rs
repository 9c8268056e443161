//! What Services get where they leave something open (Kubernetes `pkg/apis/core/v1/defaults.go`,
//! `pkg/registry/core/service`). Only headless ones are here: nothing else is made.

use serde_json::{Value, json};

use crate::api::{Denied, Failure, Lookup, Operation, Review, Webhook};
use crate::component::Component;
use crate::object::{default_to, text};
use crate::resource::SERVICE;

/// The rules of Services.
pub(super) struct ServiceRules;

impl Webhook for ServiceRules {
    fn name(&self) -> &'static str {
        "services"
    }

    fn component(&self) -> Option<Component> {
        None
    }

    fn looks_at(&self, review: &Review<'_>) -> bool {
        review.writes(&[SERVICE])
    }

    fn mutate(
        &self,
        review: &Review<'_>,
        service: &mut Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        for (field, value) in [
            ("type", json!("ClusterIP")),
            ("sessionAffinity", json!("None")),
            ("internalTrafficPolicy", json!("Cluster")),
            ("clusterIPs", json!(["None"])),
            ("ipFamilies", json!(["IPv4"])),
            ("ipFamilyPolicy", json!("SingleStack")),
        ] {
            default_to(service, &["spec", field], value);
        }
        if review.operation == Operation::Create {
            service["status"] = json!({"loadBalancer": {}});
        }
        Ok(())
    }

    fn validate(
        &self,
        _review: &Review<'_>,
        service: &Value,
        _stored: &dyn Lookup,
    ) -> Result<(), Denied> {
        if text(service, "/spec/clusterIP") == "None" {
            return Ok(());
        }
        Err(Denied::Failure(Failure::unsupported("services with an address")))
    }
}
