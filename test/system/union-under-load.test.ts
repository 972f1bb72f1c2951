import { afterAll, beforeAll, expect, it } from 'vitest';
import { basic } from '../support/monitor/access/access-files.ts';
import { send } from '../support/net.ts';
import { answering, OK, type Stand, startStand } from './wire/stand.ts';

const REST = '/smartWeb/api/rest/v0';
const PARTS = ['/sessions', '/rpc', '/sba', '/object'];
const SECTIONS = ['gauges', 'counters', 'histograms', 'meters', 'timers'] as const;
const CLIENTS = 8;
const READS = 30;
const NAMES = 30;
const KINDS = [
  ['POST', 'rpc/E.Load/'],
  ['GET', 'sba/E.Load/'],
  ['GET', 'archive/H.'],
] as const;

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ onConnection: answering(OK) });
});
afterAll(() => stand.close());

async function keysOf(path: string): Promise<string[]> {
  const { body } = await send(stand.monitorPort, `${REST}/admin/metrics/d2${path}`);
  const document = JSON.parse(body) as Record<(typeof SECTIONS)[number], object>;
  return SECTIONS.flatMap((section) => Object.keys(document[section]).map((name) => `${section} ${name}`)).sort();
}

async function keysOfParts(): Promise<string[]> {
  return (await Promise.all(PARTS.map(keysOf))).flat().sort();
}

async function call(kind: number, name: string, user: number): Promise<void> {
  const [method, path] = KINDS[kind % KINDS.length] as (typeof KINDS)[number];
  const headers = { authorization: basic(`user${user}`, 'secret') };
  await send(stand.port, `${REST}/d2/${path}${name}`, { method, headers });
}

/** Clients that call without a pause until `read` has ended; `nameOf` gives the name of the n-th call. */
async function underLoad(nameOf: (call: number) => string, read: () => Promise<void>): Promise<void> {
  let isOn = true;
  let calls = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, user) => {
    while (isOn) {
      calls += 1;
      await call(calls, nameOf(calls), user);
    }
  });
  for (let count = 0; count < READS; count += 1) await read();
  isOn = false;
  await Promise.all(clients);
  expect(calls).toBeGreaterThan(READS);
}

it('endpoint 2 is between the unions of its parts read before and after it, while names are being created', async () => {
  await underLoad(
    (n) => `N${n}`,
    async () => {
      const before = await keysOfParts();
      const union = new Set(await keysOf(''));
      const after = new Set(await keysOfParts());
      expect(before.filter((key) => !union.has(key))).toEqual([]);
      expect([...union].filter((key) => !after.has(key))).toEqual([]);
    },
  );
});

it('endpoint 2 is exactly the union of 3, 4, 5 and 8 under load on the names that are there', async () => {
  for (let user = 0; user < CLIENTS; user += 1) await call(0, 'N0', user);
  for (let n = 0; n < NAMES; n += 1) for (const kind of KINDS.keys()) await call(kind, `N${n}`, 0);
  await underLoad(
    (n) => `N${n % NAMES}`,
    async () => expect(await keysOf('')).toEqual(await keysOfParts()),
  );
});
