import { afterAll, describe, expect, it } from 'vitest';
import { startStand } from '../support/wire/stand.ts';
import { dataPathCases } from './data-path.cases.ts';
import { splitCases } from './wire/cases/connections.ts';
import { forwardedCase } from './wire/cases/sidecar-only.ts';
import { Comparison, EVERY_SPLIT_LIMIT, EXACT_RELAY, expectFacts, GATEWAY, RELAY } from './wire/comparison.ts';

const underTest = [
  { name: 'relay', path: RELAY, forwarded: 'append' },
  { name: 'relay that adds no fields', path: EXACT_RELAY, forwarded: 'off' },
  { name: 'gateway', path: GATEWAY, forwarded: 'append' },
] as const;

const comparison = await Comparison.start();
afterAll(() => comparison.close());

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
    await comparison.playEverySplit(subject, comparison.upstream.port, EXACT_RELAY);
  });
});

for (const { name, path, forwarded } of underTest) {
  const config = () => ({ dataPath: path.dataPath, forwarded });
  const stand = await startStand({ upstreamPort: comparison.upstream.port, config });
  afterAll(() => stand.close());

  describe(`through the ${name}`, () => {
    for (const subject of [...dataPathCases, ...(forwarded === 'append' ? [forwardedCase] : [])]) {
      const known = subject.knownDifference?.[path.name];
      it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, () =>
        comparison.play(subject, stand.port, path),
      );
    }

    it.each(splitCases)('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
      await comparison.playEverySplit(subject, stand.port, path);
    });
  });
}
