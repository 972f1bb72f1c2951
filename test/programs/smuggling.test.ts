/** Request smuggling: an ambiguous message never reaches a server in two readings, and no server ever sees a request that the client did not send. */
import type { NetConnectOpts } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ambiguousMessages } from '../corpus/smuggling.ts';
import { deferTo } from '../support/deferred.ts';
import {
  hasHaproxy,
  hasNginx,
  startHaproxy,
  startNginx,
  startNode,
  startTomcatServer,
} from '../support/smuggling/servers.ts';
import { SETTINGS, type Setting, startSmugglingStand } from '../support/smuggling/smuggling-stand.ts';
import { readStrictly } from '../support/smuggling/strict-reader.ts';
import { endsByItself, judge, MARKER, type Outcome, type Verdict } from '../support/smuggling/verdict.ts';
import { hasTomcat } from '../support/tomcat/tomcat.ts';

const HARNESSES = 4;
const LIMIT_MS = 60_000;

const servers = [
  { name: 'Node', start: startNode, isThere: true },
  { name: 'Tomcat', start: startTomcatServer, isThere: hasTomcat() },
  { name: 'nginx', start: startNginx, isThere: hasNginx() },
  { name: 'haproxy', start: startHaproxy, isThere: hasHaproxy() },
];

/** Plays the whole corpus; returns the faults, and the verdict on each message. */
async function playAll(server: NetConnectOpts, setting: Setting): Promise<{ faults: string[]; verdicts: Verdict[] }> {
  const faults: string[] = [];
  const verdicts: Verdict[] = [];
  const left = [...ambiguousMessages];
  const work = async () => {
    const harness = await startSmugglingStand(server, setting);
    try {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { name, bytes, taken } = next;
        const sent = readStrictly(bytes + MARKER);
        const isHalfClosed = taken.includes('open') || (!endsByItself(sent) && !taken.includes('refused'));
        const played = await harness.play([Buffer.from(bytes + MARKER, 'latin1')], isHalfClosed);
        const verdict = judge(sent, played, setting.forwarded);
        verdicts.push(verdict);
        faults.push(...verdict.faults.map((fault) => `${name}: ${fault}`));
        const isServersRefusal = taken.includes('served') && verdict.refusedByServer > 0;
        if (!taken.includes(verdict.outcome) && !isServersRefusal)
          faults.push(`${name}: ${verdict.outcome}, not ${taken.join(' or ')}`);
      }
    } finally {
      await harness.close();
    }
  };
  await Promise.all(Array.from({ length: HARNESSES }, work));
  return { faults, verdicts };
}

for (const { name, start, isThere } of servers) {
  describe.runIf(isThere)(`a sidecar in front of ${name}`, () => {
    const defer = deferTo(afterAll);
    let server: NetConnectOpts;
    beforeAll(async () => {
      server = await start(defer);
    });

    it.each(SETTINGS)(
      '$forwarded: gives each message one reading, and the server only what was sent',
      {
        timeout: LIMIT_MS,
      },
      async (setting) => {
        const { faults, verdicts } = await playAll(server, setting);
        expect(faults).toEqual([]);
        // The comparison is valid only if all outcomes occur, and the server reads much of the corpus.
        const count = (wanted: Outcome) => verdicts.filter(({ outcome }) => outcome === wanted).length;
        expect(count('served')).toBeGreaterThan(120);
        expect(count('refused')).toBeGreaterThan(500);
        expect(count('closed')).toBeGreaterThan(10);
        expect(count('open')).toBeGreaterThan(10);
        expect(verdicts.reduce((sum, { read }) => sum + read, 0)).toBeGreaterThan(300);
      },
    );
  });
}
