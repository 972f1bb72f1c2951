import { expect, it } from 'vitest';
import { createServerGauges } from '../../../src/jvm/gauges.ts';
import { createServerState, type ServerReading } from '../../../src/jvm/server-reading.ts';

const values = (reading: ServerReading, port = 8080, before?: Parameters<typeof createServerState>[2]) =>
  Object.fromEntries(
    [...createServerGauges(createServerState(reading, port, before)).gauges].map(([name, { read }]) => [name, read()]),
  );

const process = (id: string, cpuSeconds?: number) => ({ id, cpuSeconds });

it('the capacity of the server has a gauge for each value that is known, and none for others', () => {
  expect(values({})).toEqual({});
  const all: ServerReading = {
    connectors: [{ port: 8080, busyThreads: 0, maxThreads: 200, connections: 7 }],
    threads: { live: 30, daemon: 20, peak: 40 },
    process: { id: 'a', cpuSeconds: 9, residentBytes: 5e8, openDescriptors: 90, maxDescriptors: 1_024 },
  };
  expect(values(all, 8080, { process: process('a', 4), seconds: 2.5 })).toEqual({
    ...{ 'server.threads.busy': 0, 'server.threads.max': 200, 'server.connections': 7 },
    ...{ 'server.jvm.threads.live': 30, 'server.jvm.threads.daemon': 20, 'server.jvm.threads.peak': 40 },
    ...{ 'server.process.cpu': 2, 'server.process.memory': 5e8 },
    ...{ 'server.process.descriptors.open': 90, 'server.process.descriptors.max': 1_024 },
  });
  expect(values({ threads: { live: 3 } })).toEqual({ 'server.jvm.threads.live': 3 });
});

it.each<[what: string, ports: (number | undefined)[], busy: number | undefined]>([
  ['the connector that we dial', [8443, 8080, 8009], 1],
  ['the only one, whatever its port', [8443], 0],
  ['none of several others', [8443, undefined], undefined],
])('the capacity of the server has the threads of %s', (_, ports, busy) => {
  const connectors = ports.map((port, index) => ({ port, busyThreads: index }));
  expect(values({ connectors })['server.threads.busy']).toBe(busy);
});

it.each([
  ['after the first reading', process('a', 5), undefined],
  ['of another process than before', process('b', 5), { process: process('a', 4), seconds: 1 }],
  ['without its processor time', process('a'), { process: process('a', 4), seconds: 1 }],
  ['after no time', process('a', 5), { process: process('a', 4), seconds: 0 }],
])('the capacity of the server has no cores %s', (_, now, before) => {
  expect(values({ process: now }, 8080, before)).not.toHaveProperty('server.process.cpu');
});
