/**
 * A plant on `faye`: WebSocket, and long-polling for the first steps of its clients. It rejects channel names with a dot and has
 * no remote calls, so that extensions of the server answer them.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import faye, { type Message } from 'faye';
import { type Identity, Ledger } from '../../support/comet/ledger.ts';
import { COMET_PATH, LoginDesk } from '../../support/comet/login-desk.ts';
import {
  DELIVERY_CHANNEL,
  FORBIDDEN_OBJECT,
  GONE_MS,
  listen,
  newValue,
  OBJECT_PREFIX,
  objectOf,
  type Plant,
  SUBSCRIBE_CHANNEL,
  UNSUBSCRIBE_CHANNEL,
} from '../../support/comet/plant.ts';
import { answerOf, isFailure, metricNameOf, type PlantCall, toPlantCall } from '../../support/comet/plant-call.ts';

export async function startFayePlant(): Promise<Plant> {
  const plant = new FayePlant();
  const http = createServer((request, response) => plant.desk.serve(request, response));
  plant.bayeux.attach(http);
  const { port, cut } = await listen(http);
  return {
    port,
    ledger: plant.ledger,
    push: (object) => plant.push(object),
    forget: (clientId) => plant.forget(clientId),
    close: async () => {
      plant.bayeux.close();
      await cut();
    },
  };
}

class FayePlant {
  /** The timeout is how long a connect is held; a client that sends none for twice that time is gone. */
  readonly bayeux = new faye.NodeAdapter({ mount: COMET_PATH, timeout: GONE_MS / 2_000 });
  readonly desk = new LoginDesk((cookie) => {
    for (const clientId of this.ledger.clientsOn(cookie)) this.forget(clientId);
  });
  readonly ledger = new Ledger(this.desk);
  readonly #identities = new WeakMap<IncomingMessage, Identity>();
  /** Clients whose messages come in a request, or over the socket that was upgraded from it. */
  readonly #clientIds = new WeakMap<IncomingMessage, string>();
  /** Calls without a sent acknowledgement, by client and message. */
  readonly #calls = new Map<string, PlantCall>();
  /** Clients that monitor an object through the service channel. */
  readonly #monitoring = new Map<string, Set<string>>();

  constructor() {
    const { bayeux, ledger } = this;
    bayeux.addExtension({
      incoming: (message, request, callback) => {
        if (request !== null) this.#onIncoming(message, request);
        callback(message);
      },
      outgoing: (message, request, callback) => {
        const call = request === null ? undefined : this.#onOutgoing(message, request);
        // At once if nothing has to be awaited: a disconnected client's socket is closed right after its answer.
        if (call === undefined) callback(message);
        else void this.#answer(message.clientId as string, call, message).then(callback);
      },
    });
    bayeux.on('subscribe', (clientId, channel) => ledger.tallyOf(clientId).monitored.add(objectOf(channel) ?? channel));
    bayeux.on('unsubscribe', (clientId, channel) => {
      ledger.tallyOf(clientId).monitored.delete(objectOf(channel) ?? channel);
    });
    bayeux.on('disconnect', (clientId) => {
      for (const clients of this.#monitoring.values()) clients.delete(clientId);
      ledger.end(clientId);
    });
  }

  push(object: string): void {
    const value = newValue(object);
    // A channel name allows fewer characters than an object name.
    if (/^[\w\-!~()$@]+$/.test(object)) void this.bayeux.getClient().publish(`${OBJECT_PREFIX}${object}`, value);
    for (const clientId of this.#monitoring.get(object) ?? []) {
      this.#deliver(clientId, { channel: DELIVERY_CHANNEL, data: value });
    }
  }

  forget(clientId: string): void {
    this.bayeux._server._engine.destroyClient(clientId);
  }

  #onIncoming(message: Message, request: IncomingMessage): void {
    const { channel, clientId, data } = message;
    if (channel === '/meta/handshake') {
      const identity = this.ledger.identify(request, message.ext);
      if (identity === undefined) message.error = '403::denied';
      else this.#identities.set(request, identity);
    }
    if (clientId === undefined) return;
    this.#clientIds.set(request, clientId);
    if (channel === '/meta/subscribe' && message.subscription === `${OBJECT_PREFIX}${FORBIDDEN_OBJECT}`) {
      message.error = '403::denied';
    }
    if (channel === SUBSCRIBE_CHANNEL || channel === UNSUBSCRIBE_CHANNEL) {
      const isGranted = this.#monitor(clientId, objectOf(DELIVERY_CHANNEL, data) ?? '', channel === SUBSCRIBE_CHANNEL);
      if (!isGranted) message.error = '403::denied';
    }
    const call = toPlantCall(channel, data);
    if (call === undefined) return;
    this.#calls.set(`${clientId} ${message.id}`, call);
    if (call.manner === 'refused') message.error = '500::failed';
  }

  #onOutgoing(message: Message, request: IncomingMessage): PlantCall | undefined {
    const { channel, clientId, data, successful } = message;
    const identity = this.#identities.get(request);
    if (channel === '/meta/handshake' && successful === true && clientId !== undefined && identity !== undefined) {
      this.ledger.begin(clientId, identity);
    }
    const object = objectOf(channel, data);
    if (object !== undefined && data !== undefined && successful === undefined) {
      this.ledger.tallyOf(this.#clientIds.get(request) ?? '').countValue(object);
    }
    const key = `${clientId} ${message.id}`;
    const call = this.#calls.get(key);
    this.#calls.delete(key);
    return call;
  }

  async #answer(clientId: string, call: PlantCall, message: Message): Promise<Message> {
    const isLate = call.manner === 'late' || call.manner === 'refused-late';
    const { channel, id } = message;
    const worked = wait(call.workMs).then(() => {
      this.ledger.tallyOf(clientId).countCall(metricNameOf(call), isFailure(call));
      if (isLate) {
        this.#deliver(clientId, { channel, ...(id && { id }), successful: !isFailure(call), data: answerOf(call) });
      }
    });
    if (!isLate) await worked;
    return call.manner === 'data' ? { ...message, data: answerOf(call) } : message;
  }

  #monitor(clientId: string, object: string, isWanted: boolean): boolean {
    if (object === FORBIDDEN_OBJECT) return false;
    const clients = this.#monitoring.get(object) ?? new Set();
    this.#monitoring.set(object, clients);
    const { monitored } = this.ledger.tallyOf(clientId);
    for (const set of [
      { change: clients, item: clientId },
      { change: monitored, item: object },
    ]) {
      if (isWanted) set.change.add(set.item);
      else set.change.delete(set.item);
    }
    return true;
  }

  /**
   * To one client only, which `faye` offers by its engine alone; through the publishing queue, since the engine's own
   * `deliver` drops messages for a client between two of its connections.
   */
  #deliver(clientId: string, message: Message): void {
    const queues = this.bayeux._server._engine._engine;
    queues._messages.set(clientId, [...(queues._messages.get(clientId) ?? []), message]);
    queues.emptyQueue(clientId);
  }
}
