/** Messages and scripts of which cases are made. Text is latin1; `{case-token}` becomes the token of the run. */
import { randomBytes } from 'node:crypto';
import type { RawClient, UpstreamConnection, UpstreamScript } from './ends.ts';
import { fieldOf, type Message, methodOf } from './message-reader.ts';
import type { DataPathCase } from './run-case.ts';
import { acceptUpgrade, contentCame, finals, playSteps, requestsCame, type Step, send, untilEnded } from './steps.ts';

/** `request('GET /a', 'Accept: x')`: a request head of HTTP/1.1, with the fields that every request of the suite needs. */
export function request(methodAndTarget: string, ...fields: readonly string[]): string {
  return requestOf('HTTP/1.1', methodAndTarget, ...fields);
}

export function requestOf(version: string, methodAndTarget: string, ...fields: readonly string[]): string {
  return `${[`${methodAndTarget} ${version}`, 'Host: app.example', 'X-Case: {case-token}', ...fields].join('\r\n')}\r\n\r\n`;
}

export function requestWith(body: string, methodAndTarget: string, ...fields: readonly string[]): string {
  return `${request(methodAndTarget, ...fields, `Content-Length: ${body.length}`)}${body}`;
}

/** A request in chunks; `chunks` holds all of them and the trailer section, e.g. `1\r\na\r\n0\r\n\r\n`. */
export function requestInChunks(chunks: string, methodAndTarget: string, ...fields: readonly string[]): string {
  return `${request(methodAndTarget, ...fields, 'Transfer-Encoding: chunked')}${chunks}`;
}

export function response(status: string, ...fields: readonly string[]): string {
  return `${[`HTTP/1.1 ${status}`, ...fields].join('\r\n')}\r\n\r\n`;
}

export function responseWith(body: string, status: string, ...fields: readonly string[]): string {
  return `${response(status, ...fields, `Content-Length: ${body.length}`)}${body}`;
}

export function responseInChunks(chunks: string, status: string, ...fields: readonly string[]): string {
  return `${response(status, ...fields, 'Transfer-Encoding: chunked')}${chunks}`;
}

export const OK = responseWith('fine', '200 OK');
export const OK_TO_HEAD = response('200 OK', 'Content-Length: 4');

/** Fields of an opening handshake, with the key of RFC 6455 §1.3, and what an upstream answers to it. */
export const WEBSOCKET: readonly string[] = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
];
export const SWITCHING = response(
  '101 Switching Protocols',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  'X-Twice: a',
  'X-Twice: b',
);

/** `abc` as `1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n`. */
export function inChunksOfOne(text: string): string {
  return `${[...text].map((octet) => `1\r\n${octet}\r\n`).join('')}0\r\n\r\n`;
}

/** An upstream that reads each request to its end, then answers it. `index` counts the requests of the run from 0. */
export function answeringWith(answer: (request: Message, index: number) => string): Step<UpstreamConnection> {
  return async (connection, { requests }) => {
    for (let request = await connection.request(); request !== undefined; request = await connection.request()) {
      await connection.send(answer(request, requests.indexOf(request)));
    }
  };
}

/** An upstream that answers in turn, and from the last answer on always with that; a HEAD, unless told, with `OK_TO_HEAD`. */
export function answering(...answers: readonly string[]): Step<UpstreamConnection> {
  return answeringWith(
    (request, index) => answers[index] ?? answers.at(-1) ?? (methodOf(request) === 'HEAD' ? OK_TO_HEAD : OK),
  );
}

/**
 * Answers each POST with `answer` once its head and `bodyBytes` of its content have come, and all else with `OK`: also what comes
 * behind an early answer on a connection of its own.
 */
export function answeringPostsEarly(answer: string, bodyBytes = 0): UpstreamScript {
  return async (connection) => {
    for (let next = await connection.head(); next !== undefined; next = await connection.head()) {
      const isEarly = methodOf(next) === 'POST';
      if (isEarly && bodyBytes > 0) await contentCame(bodyBytes)(connection);
      await connection.send(isEarly ? answer : OK);
    }
  };
}

export function asking(...requests: readonly string[]): Step<RawClient>[] {
  return [...requests.flatMap((text, index) => [send(text), finals(index + 1)]), requestsCame(requests.length)];
}

export function pipelining(...requests: readonly string[]): Step<RawClient>[] {
  return [send(requests.join('')), finals(requests.length), requestsCame(requests.length)];
}

export function askingUntilEnd(text: string): Step<RawClient>[] {
  return [send(text), untilEnded];
}

/**
 * An upstream that does `steps` at an upgrade, and answers all else with `OK`: the upgrade may come on another connection than the
 * request before it.
 */
export function upgrading(...steps: readonly Step<UpstreamConnection>[]): Step<UpstreamConnection> {
  return async (connection) => {
    for (let head = await connection.request(); head !== undefined; head = await connection.request()) {
      if (fieldOf(head, 'upgrade') === undefined) await connection.send(OK);
      else await playSteps([acceptUpgrade, ...steps], connection);
    }
  };
}

export function oneExchange(
  name: string,
  requestText: string,
  responseText: string,
  more: Partial<DataPathCase> = {},
): DataPathCase {
  const status = Number(responseText.slice(9, 12));
  return { name, statuses: [status], upstream: answering(responseText), client: asking(requestText), ...more };
}

export const MEBIBYTE = 1_048_576;
/** Incompressible and without a pattern, so that a lost, doubled or swapped block shows in the checksum. */
export const NOISE: Buffer = randomBytes(MEBIBYTE);
