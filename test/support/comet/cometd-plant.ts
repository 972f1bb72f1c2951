/** A plant on `cometd-nodejs-server`: long-polling, channel names with dots, remote calls as CometD answers them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import cometd, { type ServerMessage, type ServerSession } from 'cometd-nodejs-server';
import { COMET_PATH, cookieOf, LoginDesk } from './login-desk.ts';
import {
  DELIVERY_CHANNEL,
  FORBIDDEN_OBJECT,
  GONE_MS,
  HOLD_MS,
  listen,
  newValue,
  OBJECT_PREFIX,
  objectOf,
  SUBSCRIBE_CHANNEL,
  UNSUBSCRIBE_CHANNEL,
} from './plant.ts';
import { answerOf, isFailure, toPlantCall } from './plant-call.ts';

type Done = (error?: Error, result?: boolean) => void;

/** Data of a delivery that becomes a whole message: `deliver` itself takes channel and data only, no call id. */
class WholeMessage {
  readonly message: ServerMessage;

  constructor(message: ServerMessage) {
    this.message = message;
  }
}

/** `goneMs`: how long a client may stay away. `serve` takes a request of Comet that another server has received. */
export async function startCometdPlant(goneMs = GONE_MS) {
  const plant = new CometdPlant(goneMs);
  const serve = (request: IncomingMessage, response: ServerResponse) => plant.server.handle(request, response);
  const http: Server = createServer((request, response) => {
    if (request.url?.startsWith(COMET_PATH)) serve(request, response);
    else plant.desk.serve(request, response).catch(() => response.destroy());
  });
  const { port, cut } = await listen(http);
  return {
    port,
    server: http,
    serve,
    get clientCount() {
      return plant.cookies.size;
    },
    push: (object: string) => plant.push(object),
    forget: (clientId: string) => plant.forget(clientId),
    close: async () => {
      plant.server.close();
      await cut();
    },
  };
}

class CometdPlant {
  readonly server: ReturnType<typeof cometd.createCometDServer>;
  readonly desk = new LoginDesk((cookie) => {
    for (const [{ id }, own] of this.cookies) if (own === cookie) this.dismiss(id);
  });
  readonly cookies = new Map<ServerSession, string | undefined>();
  readonly #forgotten = new Set<string>();
  /** Clients that monitor an object through the service channel. */
  readonly #monitoring = new Map<string, Set<ServerSession>>();

  constructor(goneMs: number) {
    this.server = cometd.createCometDServer({
      timeout: HOLD_MS,
      maxInterval: goneMs,
      sweepPeriod: 100,
      // Several tabs of one browser may hold a connect each.
      maxSessionsPerBrowser: -1,
    });
    this.server.policy = {
      canHandshake: (session, message, callback) => callback(undefined, this.#identify(session, message)),
      canSubscribe: (_session, _message, channel, callback) =>
        callback(undefined, objectOf(channel.name) !== FORBIDDEN_OBJECT),
    };
    this.server.addListener('sessionAdded', (session: ServerSession) => this.#begin(session));
    this.server.addListener('sessionRemoved', (session: ServerSession) => {
      this.cookies.delete(session);
      for (const sessions of this.#monitoring.values()) sessions.delete(session);
    });
    for (const name of ['rpc', 'rpcJava', 'rpcSBA']) {
      this.#serve(`/service/d2/${name}`, (session, message, done) => this.#answer(session, message, done));
    }
    this.#serve(SUBSCRIBE_CHANNEL, (session, message, done) => this.#monitor(session, message, done));
    this.#serve(UNSUBSCRIBE_CHANNEL, (session, { data }, done) => {
      this.#monitoring.get(data.objectName)?.delete(session);
      done();
    });
  }

  push(object: string): void {
    const value = newValue(object);
    this.server.getServerChannel(`${OBJECT_PREFIX}${object}`)?.publish(null, value);
    for (const session of this.#monitoring.get(object) ?? []) session.deliver(null, DELIVERY_CHANNEL, value);
  }

  forget(clientId: string): void {
    this.#forgotten.add(clientId);
    this.dismiss(clientId);
  }

  dismiss(clientId: string): void {
    this.server.getServerSession(clientId).disconnect();
  }

  #identify(session: ServerSession, message: ServerMessage): boolean {
    const { request } = this.server.context;
    const isAccepted = this.desk.accepts(request, message.ext);
    if (isAccepted) this.cookies.set(session, cookieOf(request));
    return isAccepted;
  }

  #begin(session: ServerSession): void {
    session.addExtension({
      outgoing: (_sender, _session, message, callback) => {
        // A forgotten client gets no disconnect message; `null` drops a message, which the library's types lack.
        const isDropped = message.channel === '/meta/disconnect' && this.#forgotten.has(session.id);
        const whole = message.data instanceof WholeMessage ? message.data.message : message;
        callback(undefined, isDropped ? (null as unknown as ServerMessage) : whole);
      },
    });
  }

  #serve(channel: string, serve: (session: ServerSession, message: ServerMessage, done: Done) => void): void {
    const listener = (session: ServerSession, _channel: unknown, message: ServerMessage, done: Done) =>
      serve(session, message, done);
    this.server.createServerChannel(channel).addListener('message', listener);
  }

  #monitor(session: ServerSession, { data, reply }: ServerMessage, done: Done): void {
    const { objectName } = data as { objectName: string };
    if (objectName === FORBIDDEN_OBJECT) {
      Object.assign(reply as ServerMessage, { successful: false, error: '403::denied' });
    } else {
      const sessions = this.#monitoring.get(objectName) ?? new Set();
      this.#monitoring.set(objectName, sessions.add(session));
    }
    done();
  }

  #answer(session: ServerSession, { id, channel, data, reply }: ServerMessage, done: Done): void {
    const call = toPlantCall(channel, data);
    if (call === undefined) throw new Error(`not a call: ${channel}`);
    const isLate = call.manner === 'late' || call.manner === 'refused-late';
    const answer = () => {
      if (isLate) {
        const message = { id: id as string, channel, successful: !isFailure(call), data: answerOf(call) };
        session.deliver(null, channel, new WholeMessage(message));
        return;
      }
      if (call.manner === 'refused') Object.assign(reply as ServerMessage, { successful: false, error: '500::failed' });
      if (call.manner === 'data') Object.assign(reply as ServerMessage, { data: answerOf(call) });
      done();
    };
    void wait(call.workMs).then(answer);
    if (isLate) done();
  }
}
