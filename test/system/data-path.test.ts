import { afterAll, describe, expect, it } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { startStand } from '../support/wire/stand.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { forwardedCase } from './wire/cases/interim-and-sidecar-only.ts';
import { Comparison, EVERY_SPLIT_LIMIT, expectFacts } from './wire/comparison.ts';

/** Without fields of the sidecar's own, all passes byte for byte. */
const underTest = [
  { name: 'the sidecar', exactness: 'fields', forwarded: 'append' },
  { name: 'a sidecar that adds no fields', exactness: 'bytes', forwarded: 'off' },
] as const;

const comparison = await Comparison.start();
const defer = deferTo(afterAll);
defer(() => comparison.close());

it('the cases have distinct names', () => {
  const names = dataPathCases.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

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
