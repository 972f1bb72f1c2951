/**
 * A sample application server of a control system, for the demo and for tests. To a proxy it looks like the real REST
 * API; `#serve` and `#answer` have its paths. It keeps nothing and knows nothing of the sidecar. It answers a failed
 * authentication with 404, as the real one does. For browsers it has a form login and Comet.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { attempt } from '../base/attempt.ts';
import { COMET_PATH } from './comet-message.ts';
import { LOGIN_PATH, SampleComet } from './comet-server.ts';
import {
  createAuthFields,
  SAMPLE_ACCOUNTS,
  SAMPLE_OBJECTS,
  SAMPLE_RPCS,
  SAMPLE_SBAS,
  type SampleRpc,
  type SampleSba,
} from './plant.ts';

export const SAMPLE_APPLICATION = 'smartWeb';

const ROOT = `/${SAMPLE_APPLICATION}/`;
const PREFIX = `${ROOT}api/rest/v0/`;
const MAX_DOWNLOAD_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 16 * 1024;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const NOT_FOUND: Answer = { status: 404, body: { error: 'not found' } };

export class SampleControlSystem {
  readonly #slowness: number;
  readonly #server: Server;
  readonly #stopping = new AbortController();
  readonly #comet: SampleComet;
  readonly #rpcs = new Map(SAMPLE_RPCS.map((rpc) => [rpc.path, rpc]));
  readonly #sbas = new Map(SAMPLE_SBAS.map((sba) => [sba.path, sba]));
  readonly #accepted = new Set(SAMPLE_ACCOUNTS.map((account) => Object.values(createAuthFields(account))[0]));

  /** `slowness`: factor on the time of every call; 0 answers at once. */
  constructor({ slowness = 1 }: { readonly slowness?: number } = {}) {
    this.#slowness = slowness;
    this.#server = createServer((request, response) => {
      // Clients may always leave in the middle of an answer.
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#comet = new SampleComet(SAMPLE_APPLICATION, (kind, path) =>
      this.#work((kind === 'rpc' ? this.#rpcs : this.#sbas).get(path)),
    );
    this.#server.on('upgrade', (request, socket: Socket, head) => {
      if (isBelow(request.url, ROOT + COMET_PATH)) this.#comet.upgrade(request, socket, head);
      else socket.destroy();
    });
  }

  /** Listens on 127.0.0.1 and resolves to the port; 0 picks a free one. Rejects if the port is in use. */
  async start(port: number): Promise<number> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#comet.stop();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (isBelow(request.url, ROOT + LOGIN_PATH)) return this.#comet.logIn(request, response);
    if (isBelow(request.url, ROOT + COMET_PATH)) return this.#comet.serve(request, response);
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const credentials = request.headers['x-api-key'] ?? request.headers.authorization;
    const bytes = await readBody(request);
    if (!this.#accepted.has(String(credentials)) || !url.pathname.startsWith(PREFIX)) return send(response, NOT_FOUND);
    // Undefined for %-sequences that are not UTF-8: no name of this system has any.
    const segments = attempt(() => url.pathname.slice(PREFIX.length).split('/').map(decodeURIComponent));
    if (segments?.[0] === 'd2' && segments[1] === 'sba') {
      const sba = this.#sbas.get(segments.slice(2).join('/'));
      if (sba === undefined || sba.method !== request.method) return send(response, NOT_FOUND);
      return this.#sba(sba, url, bytes, response);
    }
    send(response, segments === undefined ? NOT_FOUND : await this.#answer(request.method ?? '', segments, bytes));
  }

  async #answer(method: string, segments: readonly string[], bytes: number): Promise<Answer> {
    const [area, kind, ...names] = segments;
    if (area === 'admin') return method === 'GET' ? { status: 200, body: { server: 'sample' } } : NOT_FOUND;
    if (area !== 'd2') return NOT_FOUND;
    switch (kind) {
      case 'rpc':
        return method === 'POST'
          ? createAnswer(await this.#work(this.#rpcs.get(names.join('/'))), { result: 'ok', received: bytes })
          : NOT_FOUND;
      case 'archive':
      case 'object':
        return names.length === 1 && SAMPLE_OBJECTS.includes(names[0] ?? '') ? this.#values(kind) : NOT_FOUND;
      case 'auth':
        return names[0] === 'login' || names[0] === 'logout' ? { status: 200, body: { result: 'ok' } } : NOT_FOUND;
      default:
        return NOT_FOUND;
    }
  }

  /** Waits for the duration of the call and returns its status; 404 for an unknown call. */
  async #work(call: SampleRpc | undefined): Promise<number> {
    if (call === undefined) return 404;
    const fails = Math.random() < call.failureShare;
    const ms = (call.minMs + Math.random() * (call.maxMs - call.minMs)) * this.#slowness;
    if (ms > 0) await wait(ms, undefined, { signal: this.#stopping.signal });
    return fails ? 500 : 200;
  }

  #values(kind: 'archive' | 'object'): Answer {
    const rows = Array.from({ length: kind === 'archive' ? 60 : 1 }, () => Math.round(Math.random() * 1000) / 10);
    return { status: 200, body: { values: rows } };
  }

  /** Sends bytes without a known length, so the answer is chunked. */
  async #sba(sba: SampleSba, url: URL, bytes: number, response: ServerResponse): Promise<void> {
    const wanted = Number(url.searchParams.get('param') ?? 0);
    if (!Number.isSafeInteger(wanted) || wanted < 0 || wanted > MAX_DOWNLOAD_BYTES) return send(response, NOT_FOUND);
    const status = await this.#work(sba);
    if (sba.method === 'POST' || status !== 200) return send(response, createAnswer(status, { received: bytes }));
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    await pipeline(Readable.from(octets(wanted)), response);
  }
}

function createAnswer(status: number, body: unknown): Answer {
  if (status === 404) return NOT_FOUND;
  return status === 200 ? { status, body } : { status, body: { error: 'the script ended with an error' } };
}

function isBelow(url: string | undefined, path: string): boolean {
  return url === path || url?.startsWith(`${path}/`) === true || url?.startsWith(`${path}?`) === true;
}

function* octets(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(CHUNK_BYTES, 0xd2);
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) yield left < CHUNK_BYTES ? chunk.subarray(0, left) : chunk;
}

async function readBody(request: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of request) bytes += (chunk as Buffer).length;
  return bytes;
}

function send(response: ServerResponse, answer: Answer): void {
  const text = JSON.stringify(answer.body);
  response.writeHead(answer.status, {
    'content-type': 'application/json;charset=UTF-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
