/** The suite of `data-path.cases.ts`: both ends see the same with the sidecar, also with TLS on both sides. */
import { afterAll, describe, it } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { someOf } from '../support/effort.ts';
import { textOf } from '../support/tls/certificates.ts';
import { listenerTls, upstreamTls, useCertificates } from '../support/tls/ends.ts';
import { type StandOptions, startStand } from '../support/wire/stand.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { forwardedCase } from './wire/cases/interim-and-sidecar-only.ts';
import { Comparison, EVERY_SPLIT_LIMIT, expectFacts } from './wire/comparison.ts';
import { ScriptedUpstream } from './wire/ends.ts';
import { CaseRunner } from './wire/run-case.ts';

/** Without fields of the sidecar's own, all passes byte for byte. */
const underTest = [
  { name: 'the sidecar', exactness: 'fields', forwarded: 'append' },
  { name: 'a sidecar that adds no fields', exactness: 'bytes', forwarded: 'off' },
] as const;

const comparison = await Comparison.start();
const defer = deferTo(afterAll);
defer(() => comparison.close());

describe('directly', () => {
  for (const subject of dataPathCases.filter(({ sidecarOnly }) => sidecarOnly === undefined)) {
    it(subject.name, async () => expectFacts(subject, await comparison.directly(subject)));
  }

  it.each(splitCases)('in two segments: $name', EVERY_SPLIT_LIMIT, async (given) => {
    const subject = { ...given, isIrregular: false };
    expectFacts(subject, await comparison.directly(subject));
    await comparison.playEverySplit(subject, comparison.upstream.port, 'bytes');
  });
});

for (const { name, exactness, forwarded } of underTest) {
  const stand = await startStand({ upstreamPort: comparison.upstream.port, config: () => ({ forwarded }) }, defer);

  describe(`through ${name}`, () => {
    for (const subject of [...dataPathCases, ...(forwarded === 'append' ? [forwardedCase] : [])]) {
      it(subject.name, () => comparison.play(subject, stand.port, exactness));
    }

    it.each(splitCases)('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
      await comparison.playEverySplit(subject, stand.port, exactness);
    });
  });
}

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'localhost' });
const secure = await ScriptedUpstream.listen(own);
defer(() => secure.close());

const runner = new CaseRunner(secure, textOf(authority.certFile));
const config: StandOptions['config'] = (base) => ({
  forwarded: 'append',
  listen: { ...base.listen, tls: listenerTls(own) },
  upstream: { ...base.upstream, tls: upstreamTls(authority) },
});
const stand = await startStand({ upstreamPort: secure.port, config }, defer);

describe('TLS at both ends', () => {
  it.each(someOf(dataPathCases, 2))('$name', async (subject) => {
    await comparison.play(subject, stand.port, 'fields', runner);
  });

  // Cut elsewhere, TLS delivers one record or two.
  it.each(splitCases.slice(0, 1))('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
    await comparison.playEverySplit(subject, stand.port, 'fields', runner);
  });
});
