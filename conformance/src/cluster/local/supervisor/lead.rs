//! `Lead`: components are started again with their requests led through a proxy, and once whoever
//! asked for it is gone, without it.

use super::{Cluster, End};
use crate::cluster::local::components::{ALL, Component};
use crate::cluster::local::kubeconfig::{self, Login};
use crate::cluster::local::leaders::Leader;
use crate::cluster::local::protocol::{Answer, Request, receive, send};
use crate::cluster::local::state::State;
use crate::cluster::{ClusterError, LeadThrough};
use std::collections::BTreeMap;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Where each of some components is led.
type Ways = BTreeMap<Component, LeadThrough>;

/// The components of these names.
fn ways(asked: BTreeMap<String, LeadThrough>) -> Result<Ways, ClusterError> {
    let way = |(name, through): (String, LeadThrough)| {
        let component = ALL.into_iter().find(|component| component.name() == name);
        match component {
            Some(component) if component.is_client() => Ok((component, through)),
            Some(_) => Err(ClusterError::NoClient { component: name }),
            None => Err(ClusterError::NoComponent { name }),
        }
    };
    asked.into_iter().map(way).collect()
}

impl Cluster {
    /// Leads components until the other side closes, and answers a second time when they are back.
    pub(super) async fn lead(
        &self,
        asked: BTreeMap<String, LeadThrough>,
        process: Option<i32>,
        mut from: BufReader<OwnedReadHalf>,
        to: &mut OwnedWriteHalf,
        ends: &mpsc::UnboundedSender<End>,
    ) {
        let ways = match self.enter(asked, process).await {
            Ok(ways) => ways,
            Err(error) => return drop(send(to, &Answer::Failed(error)).await),
        };
        let closed = async {
            drop(receive::<Request>(&mut from).await);
            self.leaders.left();
        };
        let led = async {
            let answer = match self.send_along(&ways).await {
                Ok(state) => Answer::Ready(Box::new(state)),
                Err(error) => Answer::Failed(error),
            };
            drop(send(to, &answer).await);
        };
        tokio::join!(closed, led);
        let answer = match self.bring_back(&ways).await {
            Ok(state) => Answer::Ready(Box::new(state)),
            Err(error) => {
                drop(ends.send(End::NotBack(error.clone())));
                Answer::Failed(error)
            }
        };
        drop(send(to, &answer).await);
    }

    async fn enter(
        &self,
        asked: BTreeMap<String, LeadThrough>,
        process: Option<i32>,
    ) -> Result<Ways, ClusterError> {
        let ways = ways(asked)?;
        let servers = ways.iter().map(|(component, way)| (*component, way.server.clone()));
        let leader = Leader { process, components: servers.collect() };
        let entered = self.leaders.enter(&leader).await;
        entered.map_err(|leader| ClusterError::Led {
            name: self.supervisor.name(),
            process: leader.process,
        })?;
        Ok(ways)
    }

    /// Starts the components again, each with its requests on their way. Given up if the leader goes
    /// meanwhile.
    async fn send_along(&self, ways: &Ways) -> Result<State, ClusterError> {
        let components: Vec<_> = ways.keys().copied().collect();
        let gates = self.gates();
        self.restarting(&gates, async |start| {
            start.end(&components).await;
            self.write_kubeconfigs(ways)?;
            start.start_again(&components)?;
            tokio::select! {
                served = start.serve_again(&components) => served,
                () = self.leaders.gone_from(&components) => Err(ClusterError::Interrupted),
            }
        })
        .await
    }

    /// Starts the components again, each with its requests on the direct way.
    async fn bring_back(&self, ways: &Ways) -> Result<State, ClusterError> {
        let components: Vec<_> = ways.keys().copied().collect();
        let direct = LeadThrough {
            server: self.site.url(Component::ApiServer),
            certificate_authority: self.authority.pem().to_owned(),
        };
        let direct = components.iter().map(|component| (*component, direct.clone())).collect();
        let gates = self.gates();
        let back = self
            .restarting(&gates, async |start| {
                start.end(&components).await;
                self.leaders.undone();
                self.write_kubeconfigs(&direct)?;
                start.start_again(&components)?;
                start.serve_again(&components).await
            })
            .await;
        self.leaders.over();
        back
    }

    fn write_kubeconfigs(&self, ways: &Ways) -> Result<(), ClusterError> {
        for (component, way) in ways {
            let login = Login::Token(self.tokens.of(*component).unwrap_or_default());
            let file = self.site.kubeconfig(*component);
            let (server, authority) = (&way.server, &way.certificate_authority);
            kubeconfig::write(&file, server, authority, component.user(), &login)?;
        }
        Ok(())
    }
}
