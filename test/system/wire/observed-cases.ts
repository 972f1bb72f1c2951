/** What observers must have been told, given what both ends of a case saw. */
import { expect } from 'vitest';
import type { MessageSeen, Observation } from './observation.ts';
import type { ExchangeSeen } from './recording-observer.ts';

/** What an exchange is made of, in order; the rest is in `expectOrder`. */
const ORDER = /^b[qQhrR]*e[cu]*x?$/;

export function expectOrder({ order, ending, head }: ExchangeSeen): void {
  expect(order).toMatch(ORDER);
  for (const letter of 'bQhRex') expect(order.split(letter).length, `${letter} in ${order}`).toBeLessThanOrEqual(2);
  expectNothingBehind(order, 'q', 'Q');
  expectNothingBehind(order, 'r', 'R');
  for (const letter of 'rRcux')
    if (order.includes(letter)) expect(order.indexOf('h')).toBeLessThan(order.indexOf(letter));
  if (head?.status === 101) {
    expect(order).toMatch(/^bQhe[cu]*x$/);
    return;
  }
  expect(order).not.toMatch(/[cux]/);
  expect(order.includes('R'), `${order}, ${ending?.kind}`).toBe(ending?.kind === 'completed');
}

function expectNothingBehind(order: string, bytes: string, end: string): void {
  if (order.includes(end)) expect(order.lastIndexOf(bytes)).toBeLessThan(order.indexOf(end));
}

export interface Compared {
  requests: number;
  responses: number;
  tunnels: number;
}

/** Compares payloads with the messages that both ends saw, where each message can be told to be of one exchange. */
export function expectPayloads(seen: readonly ExchangeSeen[], ends: Observation, compared: Compared): void {
  const finals = ends.responses.filter(({ startLine }) => !/^HTTP\/1\.\d 1(?!01)/.test(startLine));
  if (ends.requests.length === seen.length) {
    for (const [index, one] of seen.entries()) {
      expectRequest(one, ends.requests[index]!);
      compared.requests += 1;
    }
  }
  if (finals.length !== seen.length || seen.some(({ ending }) => ending?.kind !== 'completed')) return;
  for (const [index, one] of seen.entries()) {
    expectResponse(one, finals[index]!);
    compared.responses += 1;
    if (one.head?.status !== 101) continue;
    compared.tunnels += 1;
    expectTunnel(one, ends);
  }
}

function expectRequest(one: ExchangeSeen, request: MessageSeen): void {
  const observed = one.request.describe();
  expect(`${one.exchange.request.method} ${one.exchange.request.target}`).toBe(withoutVersion(request.startLine));
  if (one.has('requestEnd') && request.isComplete) expect(observed).toBe(request.body);
  // Either may have been cut off before the other.
  else expect(observed.startsWith(request.body) || request.body.startsWith(observed), observed).toBe(true);
}

function withoutVersion(startLine: string): string {
  return startLine.slice(0, startLine.lastIndexOf(' '));
}

function expectResponse(one: ExchangeSeen, response: MessageSeen): void {
  expect(one.head?.status).toBe(Number(response.startLine.split(' ')[1]));
  expect(one.exchange.status).toBe(one.head?.status);
  expect(one.response.describe()).toBe(response.body);
  for (const name of ['content-type', 'set-cookie', 'x-twice', 'etag', 'link']) {
    const lines = response.fields.filter((line) => line.toLowerCase().startsWith(`${name}:`));
    const values = lines.map((line) => line.slice(name.length + 1).trim());
    expect(one.head?.fields(name)).toEqual(values);
    expect(one.head?.field(name)).toBe(values[0]);
  }
}

/** A long one is shown as its checksum by both, in words of their own. */
function expectTunnel(one: ExchangeSeen, ends: Observation): void {
  for (const [observed, received] of [
    [one.fromClient, ends.upstreamTunnel],
    [one.fromUpstream, ends.clientTunnel],
  ] as const) {
    if (observed.bytes <= 4_096) expect(observed.describe()).toBe(received);
    else expect(checksumOf(observed.describe())).toBe(checksumOf(received));
  }
}

function checksumOf(text: string): string {
  const checksum = /sha256 (\w+)$/.exec(text)?.[1];
  if (checksum === undefined) throw new Error('neither short nor a checksum');
  return checksum;
}
