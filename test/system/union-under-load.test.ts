import { afterAll, expect, it } from 'vitest';
import { basic } from '../support/monitor/access/access-files.ts';
import { answering, OK, startStand } from './wire/stand.ts';

const REST = '/smartWeb/api/rest/v0';
const PARTS = ['/sessions', '/rpc', '/sba', '/object'];
const SECTIONS = ['gauges', 'counters', 'histograms', 'meters', 'timers'] as const;
const CLIENTS = 8;
const READS = 30;
const KINDS = [
  ['POST', 'rpc/E.Load/'],
  ['GET', 'sba/E.Load/'],
  ['GET', 'archive/H.'],
] as const;

const stand = await startStand({ onConnection: answering(OK) });
afterAll(() => stand.close());

async function keysOf(path: string): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${stand.monitorPort}${REST}/admin/metrics/d2${path}`);
  const document = (await response.json()) as Record<(typeof SECTIONS)[number], object>;
  return SECTIONS.flatMap((section) => Object.keys(document[section]).map((name) => `${section} ${name}`)).sort();
}

async function keysOfParts(): Promise<string[]> {
  return (await Promise.all(PARTS.map(keysOf))).flat().sort();
}

async function call(kind: number, name: string, user: number): Promise<void> {
  const [method, path] = KINDS[kind % KINDS.length] as (typeof KINDS)[number];
  const headers = { authorization: basic(`user${user}`, 'secret') };
  const response = await fetch(`http://127.0.0.1:${stand.port}${REST}/d2/${path}${name}`, { method, headers });
  await response.arrayBuffer();
}

it('endpoint 2 is between the unions of its parts read before and after it, while names are being created', async () => {
  let isOn = true;
  let calls = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, user) => {
    while (isOn) {
      calls += 1;
      await call(calls, `N${calls}`, user);
    }
  });
  for (let count = 0; count < READS; count += 1) {
    const before = await keysOfParts();
    const union = new Set(await keysOf(''));
    const after = new Set(await keysOfParts());
    expect(before.filter((key) => !union.has(key))).toEqual([]);
    expect([...union].filter((key) => !after.has(key))).toEqual([]);
  }
  isOn = false;
  await Promise.all(clients);
  expect(calls).toBeGreaterThan(READS);
});
