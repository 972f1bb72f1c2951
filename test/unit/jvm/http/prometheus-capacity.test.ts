import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parsePrometheusJvm } from '../../../../src/jvm/http/prometheus.ts';
import { createServerGauges, createServerState } from '../../../../src/jvm/server-reading.ts';

const FIXTURES = new URL('../../../fixtures/jvm/http/prometheus/', import.meta.url);
const ALL = {
  ...{ 'server.threads.busy': 17, 'server.threads.max': 200, 'server.connections': 40 },
  ...{ 'server.jvm.threads.live': 64, 'server.jvm.threads.daemon': 60, 'server.jvm.threads.peak': 70 },
  ...{ 'server.process.descriptors.open': 120, 'server.process.descriptors.max': 1_024 },
};

it.each([
  ['Micrometer', ALL, 'capacity-micrometer.txt'],
  [
    'client_java, with the example rules for Tomcat',
    { ...ALL, 'server.process.memory': 5e8, 'server.process.cpu': 2.5 },
    'capacity-client-java.txt',
  ],
  [
    'an exporter that stands beside the server, but not what that is itself',
    { 'server.threads.busy': 17 },
    'capacity-standalone.txt',
  ],
])('the capacity of a server is read from %s', (_, capacity, file) => {
  const { server = {} } = parsePrometheusJvm(readFileSync(new URL(file, FIXTURES), 'utf8'));
  const before = { process: { id: '1700000000', cpuSeconds: 1 }, seconds: 1 };
  const { gauges } = createServerGauges(createServerState(server, 8080, before));
  expect(Object.fromEntries([...gauges].map(([name, { read }]) => [name, read()]))).toEqual(capacity);
});
