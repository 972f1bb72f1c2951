/** The suite of `data-path.cases.ts` with TLS on either side and on both: both ends see the same as without sidecar and TLS. */
import { afterAll, describe, it } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { someOf } from '../support/effort.ts';
import { textOf } from '../support/tls/certificates.ts';
import { listenerTls, upstreamTls, useCertificates } from '../support/tls/ends.ts';
import { type StandOptions, startStand } from '../support/wire/stand.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { Comparison, EVERY_SPLIT_LIMIT } from './wire/comparison.ts';
import { ScriptedUpstream } from './wire/ends.ts';
import { CaseRunner } from './wire/run-case.ts';

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'localhost' });
const plain = await Comparison.start();
const secure = await ScriptedUpstream.listen(own);
const defer = deferTo(afterAll);
for (const end of [plain, secure]) defer(() => end.close());

const ends = [
  { name: 'TLS at the client', hasClient: true, hasUpstream: false },
  { name: 'TLS at the upstream', hasClient: false, hasUpstream: true },
  { name: 'TLS at both ends', hasClient: true, hasUpstream: true },
] as const;

for (const { name, hasClient, hasUpstream } of ends) {
  const upstream = hasUpstream ? secure : plain.upstream;
  const runner = new CaseRunner(upstream, hasClient ? textOf(authority.certFile) : undefined);
  const config: StandOptions['config'] = (base) => ({
    forwarded: 'append',
    listen: { ...base.listen, tls: hasClient ? listenerTls(own) : undefined },
    upstream: { ...base.upstream, tls: hasUpstream ? upstreamTls(authority) : undefined },
  });
  const stand = await startStand({ upstreamPort: upstream.port, config }, defer);

  describe(name, () => {
    if (hasClient && hasUpstream) {
      it.each(someOf(dataPathCases, 2))('$name', async (subject) => {
        await plain.play(subject, stand.port, 'fields', runner);
      });
      return;
    }

    // The code is the same for one end or both.
    it('a part of the cases', EVERY_SPLIT_LIMIT, async () => {
      const part = dataPathCases.filter(({ deadlineMs }, index) => deadlineMs === undefined && index % 6 === 0);
      await plain.playAll(part, stand.port, 'fields', runner);
    });

    // Cut elsewhere, TLS delivers one record or two.
    it.each(splitCases.slice(0, 1))('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
      await plain.playEverySplit(subject, stand.port, 'fields', runner);
    });
  });
}
