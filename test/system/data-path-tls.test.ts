/** The suite of `data-path.cases.ts` with TLS on either side and on both: both ends see the same as without sidecar and TLS. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { someOf } from '../support/effort.ts';
import { CertificateFolder, type Pair, textOf } from '../support/tls/certificates.ts';
import { listenerTls, upstreamTls } from '../support/tls/ends.ts';
import { type Stand, startStand } from '../support/wire/stand.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { Comparison, EVERY_SPLIT_LIMIT, GATEWAY, RELAY } from './wire/comparison.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';

const folder = new CertificateFolder();
let authority: Pair;
let own: Pair;
let plain: Comparison;
let secure: ScriptedUpstream;

beforeAll(async () => {
  authority = folder.authority();
  own = folder.signed(authority, { name: 'localhost' });
  plain = await Comparison.start();
  secure = await ScriptedUpstream.listen({ cert: textOf(own.certFile), key: textOf(own.keyFile) });
});

afterAll(async () => {
  await Promise.all([plain.close(), secure.close()]);
  folder.remove();
});

const ends = [
  { name: 'TLS at the client', hasClient: true, hasUpstream: false },
  { name: 'TLS at the upstream', hasClient: false, hasUpstream: true },
  { name: 'TLS at both ends', hasClient: true, hasUpstream: true },
] as const;

for (const path of [RELAY, GATEWAY]) {
  for (const { name, hasClient, hasUpstream } of ends) {
    describe(`through the ${path.name}, ${name}`, () => {
      let stand: Stand;
      let runner: CaseRunner;

      beforeAll(async () => {
        const upstream = hasUpstream ? secure : plain.upstream;
        stand = await startStand({
          upstreamPort: upstream.port,
          config: (base) => ({
            ...{ dataPath: path.dataPath, forwarded: 'append' },
            listen: { ...base.listen, tls: hasClient ? listenerTls(own) : undefined },
            upstream: { ...base.upstream, tls: hasUpstream ? upstreamTls(authority) : undefined },
          }),
        });
        runner = new CaseRunner(upstream, hasClient ? textOf(authority.certFile) : undefined);
      });

      afterAll(() => stand.close());

      if (hasClient && hasUpstream) {
        for (const subject of someOf(dataPathCases, 2)) {
          const known = subject.knownDifference?.[path.name];
          it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, () =>
            plain.play(subject, stand.port, path, runner),
          );
        }
        return;
      }

      // The code is the same for one end or both.
      it('a part of the cases', EVERY_SPLIT_LIMIT, async () => {
        const part = dataPathCases.filter(({ deadlineMs }, index) => deadlineMs === undefined && index % 6 === 0);
        await plain.playAll(part, stand.port, path, { runner });
      });

      // Cut elsewhere, TLS delivers one record or two.
      it.each(splitCases.slice(0, 1))('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
        await plain.playEverySplit(subject, stand.port, path, runner);
      });
    });
  }
}
