//! Asks those who have a say in a write.

use super::failure::Failure;
use super::server::State;
use super::webhook::{Denied, Review, Webhook};
use crate::object::{Object, name};

impl State {
    /// Lets the rules of the kind change an object.
    pub(super) fn complete(&self, review: &Review<'_>, object: &mut Object) -> Result<(), Failure> {
        for webhook in self.asked(review, false) {
            let told = webhook.mutate(review, object, &self.store);
            told.map_err(|denied| refusal(webhook, review, object, denied))?;
        }
        Ok(())
    }

    /// Lets the webhooks of the components change an object; whether one has.
    pub(super) fn mutate(&self, review: &Review<'_>, object: &mut Object) -> Result<bool, Failure> {
        let mut before = None;
        for webhook in self.asked(review, true) {
            self.reach(webhook)?;
            before.get_or_insert_with(|| object.clone());
            let told = webhook.mutate(review, object, &self.store);
            told.map_err(|denied| refusal(webhook, review, object, denied))?;
        }
        Ok(before.is_some_and(|before| before != *object))
    }

    /// Asks whether an object may be stored: first the rules of the kind, then the webhooks.
    pub(super) fn validate(&self, review: &Review<'_>, object: &Object) -> Result<(), Failure> {
        for of_components in [false, true] {
            for webhook in self.asked(review, of_components) {
                self.reach(webhook)?;
                let told = webhook.validate(review, object, &self.store);
                told.map_err(|denied| refusal(webhook, review, object, denied))?;
            }
        }
        Ok(())
    }

    fn asked<'a>(
        &'a self,
        review: &'a Review<'_>,
        of_components: bool,
    ) -> impl Iterator<Item = &'a dyn Webhook> {
        let all = self.webhooks.iter().map(AsRef::as_ref);
        all.filter(move |it| it.component().is_some() == of_components && it.looks_at(review))
    }

    /// Refuses what a component would have to look at that does not run.
    fn reach(&self, webhook: &dyn Webhook) -> Result<(), Failure> {
        if webhook.component().is_none_or(|it| !self.stopped.contains(&it)) {
            return Ok(());
        }
        let message = format!(
            "Internal error occurred: failed calling webhook \"{}\": failed to call webhook: Post \
             \"https://127.0.0.1\": dial tcp 127.0.0.1:443: connect: connection refused",
            webhook.name()
        );
        Err(Failure::new(500, "InternalError", message))
    }
}

fn refusal(webhook: &dyn Webhook, review: &Review<'_>, object: &Object, denied: Denied) -> Failure {
    match denied {
        Denied::Webhook(why) => {
            let who = webhook.name();
            let message = format!("admission webhook \"{who}\" denied the request: {why}");
            Failure::new(403, "Forbidden", message)
        }
        Denied::Invalid(why) => Failure::invalid(review.resource, name(object), &why),
        Denied::Failure(failure) => failure,
    }
}
