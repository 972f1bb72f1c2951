import { afterAll, beforeAll, expect, it } from 'vitest';
import { answering, OK, type Stand, startStand } from './wire/stand.ts';

const ADMIN = '/smartWeb/api/rest/v0/admin/metrics/d2';
const PARTS = ['/sessions', '/rpc', '/sba', '/object'];
const SECTIONS = ['gauges', 'counters', 'histograms', 'meters', 'timers'] as const;
const CLIENTS = 8;
const READS = 30;

type Document = Record<(typeof SECTIONS)[number], Record<string, unknown>>;

let stand: Stand;

beforeAll(async () => {
  stand = await startStand({ onConnection: answering(OK) });
});

afterAll(() => stand.close());

async function keysOf(path: string): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${stand.monitorPort}${ADMIN}${path}`);
  const document = (await response.json()) as Document;
  return SECTIONS.flatMap((section) => Object.keys(document[section]).map((name) => `${section} ${name}`)).sort();
}

async function keysOfParts(): Promise<string[]> {
  return (await Promise.all(PARTS.map(keysOf))).flat().sort();
}

const KINDS = [
  ['POST', 'rpc/E.Load/'],
  ['GET', 'sba/E.Load/'],
  ['GET', 'archive/H.'],
] as const;

async function call(kind: number, name: string, user: number): Promise<void> {
  const [method, path] = KINDS[kind % KINDS.length] as (typeof KINDS)[number];
  const headers = { authorization: `Basic ${btoa(`user${user}:secret`)}` };
  const response = await fetch(`http://127.0.0.1:${stand.port}/smartWeb/api/rest/v0/d2/${path}${name}`, {
    method,
    headers,
  });
  await response.arrayBuffer();
}

/** Clients that call without a pause until told to stop; `nameOf` gives the name of the n-th call. */
function load(nameOf: (call: number) => string): () => Promise<number> {
  let isOn = true;
  let calls = 0;
  const client = async (user: number) => {
    while (isOn) {
      calls += 1;
      await call(calls, nameOf(calls), user);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, user) => client(user));
  return async () => {
    isOn = false;
    await Promise.all(clients);
    return calls;
  };
}

it('endpoint 2 is between the unions of its parts read before and after it, while names are being created', async () => {
  const stop = load((call) => `N${call}`);
  for (let read = 0; read < READS; read += 1) {
    const before = await keysOfParts();
    const union = new Set(await keysOf(''));
    const after = new Set(await keysOfParts());
    expect(before.filter((key) => !union.has(key))).toEqual([]);
    expect([...union].filter((key) => !after.has(key))).toEqual([]);
  }
  expect(await stop()).toBeGreaterThan(READS);
});

it('endpoint 2 is exactly the union of 3, 4, 5 and 8 under load on the names that are there', async () => {
  for (let user = 0; user < CLIENTS; user += 1) await call(0, 'N0', user);
  for (let n = 0; n < 30; n += 1) for (let kind = 0; kind < KINDS.length; kind += 1) await call(kind, `N${n}`, 0);
  const stop = load((n) => `N${n % 30}`);
  for (let read = 0; read < READS; read += 1) expect(await keysOf('')).toEqual(await keysOfParts());
  expect(await stop()).toBeGreaterThan(READS);
});
