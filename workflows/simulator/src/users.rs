//! The clients' side of the grid: what they ask and what they are told.

use model::Span;
use wire::Envelope;
use wire::client::{Answer, Request};

use crate::client;
use crate::mangle::mangle;
use crate::observe::{Observer, Seen};
use crate::sim::{Happening, Node, Sim};

/// Time for which a client waits that resumes a process which has not ended.
const BASE_LOOK: Span = Span::from_millis(300);

impl Sim {
    pub(crate) fn ask(&mut self, number: usize, observer: &mut dyn Observer) -> Result<(), String> {
        let is_lost = self.lost.contains(&self.clients[number].manager);
        if self.clients[number].is_done() || is_lost {
            return Ok(());
        }
        if self.waits_for_base(number) {
            self.after(BASE_LOOK, Happening::Ask(number));
            return Ok(());
        }
        let client = &mut self.clients[number];
        let asks = client.asks(self.at, &mut self.random);
        if asks.number == 1 {
            observer.see(self.at, &Seen::Submits(client.submit()))?;
        }
        if asks.begins_to_cancel {
            observer.see(self.at, &Seen::Cancels(client.process()))?;
        }
        let (connection, manager) = (client.connection, client.manager);
        let bytes = wire::encode(&Envelope {
            number: asks.number,
            message: Some(asks.request),
        });
        if self.processes[manager].is_up() && !self.random.happens(self.faults.loss) {
            let delay = self.random.span(self.faults.delay);
            let epoch = self.processes[manager].epoch;
            self.after(
                delay,
                Happening::Request {
                    client: number,
                    connection,
                    epoch,
                    bytes,
                },
            );
        }
        self.after(asks.looks_again_in, Happening::Ask(number));
        Ok(())
    }

    /// True if a client mends a process of which nobody knows yet that it has ended.
    fn waits_for_base(&self, number: usize) -> bool {
        let base = self.clients[number].submit().base;
        base.is_some_and(|base| {
            let mut clients = self.clients.iter();
            !clients.any(|client| client.process() == base && client.knows_the_end())
        })
    }

    pub(crate) fn request(
        &mut self,
        client: usize,
        connection: u64,
        epoch: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        let manager = self.clients[client].manager;
        if self.processes[manager].epoch != epoch || self.clients[client].connection != connection {
            return Ok(());
        }
        let mut bytes = bytes.to_vec();
        let is_mangled = self.random.happens(self.faults.mangling);
        if is_mangled {
            mangle(&mut bytes, &mut self.random);
        }
        let decoded = wire::decode(&bytes).map_err(|error| error.to_string());
        let envelope: Envelope<Request> = match decoded {
            Err(_) if is_mangled => return Ok(()),
            decoded => decoded?,
        };
        let Some(request) = envelope.message else {
            return if is_mangled {
                Ok(())
            } else {
                Err("an unknown request".to_owned())
            };
        };
        self.note(&bytes, || {
            format!(
                "client {client} -> process: {}",
                client::asked_in_short(&request)
            )
        });
        // Whoever sees all processes asks for lists: rules compare these with all that there are.
        let caller = match matches!(request, Request::List) {
            true => process_core::Caller::Local,
            false => self.clients[client].caller.clone(),
        };
        let id = process_core::ClientId(connection);
        self.processes[manager].put(process_core::Input::Request(
            id,
            caller,
            envelope.number,
            request,
        ));
        if self.random.happens(self.faults.loss) {
            self.processes[manager].put(process_core::Input::ClientGone(id));
            self.clients[client].connection = self.random.draw();
        }
        self.turn_soon(Node::Process(manager));
        Ok(())
    }

    /// The process manager answers a client.
    pub(crate) fn answers(&mut self, id: process_core::ClientId, number: u64, answer: Answer) {
        let Some(client) = self
            .clients
            .iter()
            .position(|client| client.connection == id.0)
        else {
            return;
        };
        if self.random.happens(self.faults.loss) {
            return;
        }
        let delay = self.random.span(self.faults.delay);
        let bytes = wire::encode(&Envelope {
            number,
            message: Some(answer),
        });
        self.after(
            delay,
            Happening::Answer {
                client,
                connection: id.0,
                bytes,
            },
        );
    }

    pub(crate) fn answer(
        &mut self,
        number: usize,
        connection: u64,
        bytes: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        if self.clients[number].connection != connection {
            return Ok(());
        }
        let envelope: Envelope<Answer> = wire::decode(bytes).map_err(|error| error.to_string())?;
        let Some(answer) = envelope.message else {
            return Err("an unknown answer".to_owned());
        };
        self.note(bytes, || {
            format!("process -> client {number}: {}", client::in_short(&answer))
        });
        self.clients[number].told(&answer);
        observer.see(self.at, &Seen::Told(number, &answer))?;
        self.rest_if_done();
        Ok(())
    }
}
