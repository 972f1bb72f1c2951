/**
 * Request smuggling: what is ambiguous never reaches a server in two readings, and no server ever sees a request that the
 * client did not send. The corpus goes through both data paths to real servers; a tap between takes down every byte. Needs
 * Debian's `tomcat10`, `nginx` and `haproxy`; D2S_REQUIRE_TOMCAT=1 and D2S_REQUIRE_PROXIES=1 make their absence a failure.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { ambiguousMessages } from '../corpus/smuggling.ts';
import {
  isInstalled,
  type RealServer,
  startHaproxy,
  startNginx,
  startNode,
  startTomcatServer,
} from './smuggling/servers.ts';
import { SmugglingStand } from './smuggling/smuggling-stand.ts';
import { readTolerantly } from './smuggling/strict-reader.ts';
import { endsByItself, judge, MARKER, type Verdict } from './smuggling/verdict.ts';
import { isTomcatInstalled } from './tomcat/tomcat.ts';

const hasTomcat = isTomcatInstalled();
const hasNginx = isInstalled('nginx');
const hasHaproxy = isInstalled('haproxy');

/** Connections at a time. */
const STANDS = 4;
const LIMIT_MS = 60_000;

const servers = [
  { name: 'Node', start: startNode, isThere: true },
  { name: 'Tomcat', start: startTomcatServer, isThere: hasTomcat },
  { name: 'nginx', start: startNginx, isThere: hasNginx },
  { name: 'haproxy', start: startHaproxy, isThere: hasHaproxy },
];

for (const { name } of servers.filter(({ isThere }) => !isThere)) {
  console.warn(`SKIPPED: ambiguous messages to ${name}; Debian's package of it is not installed`);
}

it.runIf(process.env.D2S_REQUIRE_TOMCAT === '1')('has the Tomcat that D2S_REQUIRE_TOMCAT=1 demands', () => {
  expect(hasTomcat).toBe(true);
});

it.runIf(process.env.D2S_REQUIRE_PROXIES === '1')(
  'has the nginx and haproxy that D2S_REQUIRE_PROXIES=1 demands',
  () => {
    expect({ hasNginx, hasHaproxy }).toEqual({ hasNginx: true, hasHaproxy: true });
  },
);

it('has at least 200 messages, all of them different, with names that tell them apart', () => {
  expect(ambiguousMessages.length).toBeGreaterThan(200);
  expect(new Set(ambiguousMessages.map(({ name }) => name)).size).toBe(ambiguousMessages.length);
  const all = ambiguousMessages.map(({ bytes }) => bytes);
  expect(ambiguousMessages.filter(({ bytes }, i) => all.indexOf(bytes) !== i).map(({ name }) => name)).toEqual([]);
});

interface Setting {
  readonly dataPath: Config['dataPath'];
  readonly forwarded: Config['forwarded'];
}

const settings: readonly Setting[] = [
  { dataPath: 'auto', forwarded: 'append' },
  { dataPath: 'auto', forwarded: 'replace' },
  { dataPath: 'gateway', forwarded: 'append' },
  { dataPath: 'gateway', forwarded: 'replace' },
];

/** Plays the whole corpus; what was wrong, and how the messages were taken. */
async function playAll(
  server: RealServer,
  setting: Setting,
): Promise<{ faults: string[]; verdicts: Map<string, Verdict> }> {
  const faults: string[] = [];
  const verdicts = new Map<string, Verdict>();
  const left = [...ambiguousMessages];
  const work = async () => {
    const stand = await SmugglingStand.start({ ...setting, server: server.address });
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { name, bytes, taken } = next;
        const sent = readTolerantly(bytes + MARKER);
        const played = await stand.play([Buffer.from(bytes + MARKER, 'latin1')], !endsByItself(sent));
        const verdict = judge(sent, played, setting.forwarded);
        verdicts.set(name, verdict);
        faults.push(...verdict.faults.map((fault) => `${name}: ${fault}`));
        const isServersRefusal = taken.includes('served') && verdict.refusedByServer > 0;
        if (!taken.includes(verdict.outcome) && !isServersRefusal)
          faults.push(`${name}: ${verdict.outcome}, not ${taken.join(' or ')}`);
      }
    } finally {
      stand.close();
    }
  };
  await Promise.all(Array.from({ length: STANDS }, work));
  return { faults, verdicts };
}

for (const { name, start, isThere } of servers) {
  describe.runIf(isThere)(`before ${name}`, () => {
    let server: RealServer;
    beforeAll(async () => {
      server = await start();
    });
    afterAll(() => server?.stop());

    for (const setting of settings) {
      const title = `dataPath ${setting.dataPath}, forwarded ${setting.forwarded}: one reading of each message, and nothing that was not sent`;
      it(title, { timeout: LIMIT_MS }, async () => {
        const { faults, verdicts } = await playAll(server, setting);
        const all = [...verdicts.values()];
        if (process.env.SMUG_DEBUG) {
          const counts: Record<string, number> = {};
          for (const { outcome } of all) counts[outcome] = (counts[outcome] ?? 0) + 1;
          console.log(name, setting, counts, all.reduce((sum, { read }) => sum + read, 0), all.reduce((sum, v) => sum + v.refusedByServer, 0));
          for (const fault of faults) console.log(`FAULT ${name} ${setting.dataPath} ${setting.forwarded}: ${fault.slice(0, 700)}`);
        }
        expect(faults).toEqual([]);
      });
    }
  });
}
