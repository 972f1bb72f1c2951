import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningSidecar, startSidecar } from '../support/wire/data-paths.ts';
import { turns } from '../support/wire/split-writer.ts';
import { toUnusedPort } from '../support/wire/unused-port.ts';
import { dataPathCases } from './data-path.cases.ts';
import { type RefusedRequest, refusedRequests } from './wire/cases/refused-requests.ts';
import { expectProblem, forwardedCase } from './wire/cases/sidecar-only.ts';
import { splitCases, splitHandoverCases } from './wire/cases/splits.ts';
import { Comparison, EXACT_RELAY, expectFacts, GATEWAY, RELAY } from './wire/comparison.ts';
import { answering, asking, request, requestWith, response, WEBSOCKET } from './wire/compose.ts';
import type { DataPathCase } from './wire/data-path-case.ts';
import { EVERY_SPLIT_LIMIT } from './wire/every-split.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';

const underTest = [
  { name: 'relay', path: RELAY, forwarded: 'append' },
  { name: 'relay that adds no fields', path: EXACT_RELAY, forwarded: 'off' },
  { name: 'gateway', path: GATEWAY, forwarded: 'append' },
] as const;

const allSplitCases = [...splitCases, ...splitHandoverCases];

let comparison: Comparison;

beforeAll(async () => {
  comparison = await Comparison.start();
});

afterAll(() => comparison.close());

it('the cases have distinct names', () => {
  const names = dataPathCases.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe('directly', () => {
  for (const subject of dataPathCases.filter(({ sidecarOnly }) => sidecarOnly === undefined)) {
    it(subject.name, async () => expectFacts(subject, await comparison.directly(subject)));
  }

  it.each(allSplitCases)('in two segments: $name', EVERY_SPLIT_LIMIT, async (given) => {
    const subject = { ...given, isIrregular: false };
    expectFacts(subject, await comparison.directly(subject));
    await comparison.playEverySplit(subject, comparison.upstream.port, EXACT_RELAY);
  });
});

for (const { name, path, forwarded } of underTest) {
  const start = (upstreamPort: number) => startSidecar({ dataPath: path.dataPath, upstreamPort, forwarded });

  describe(`through the ${name}`, () => {
    let sidecar: RunningSidecar;
    beforeAll(async () => {
      sidecar = await start(comparison.upstream.port);
    });
    afterAll(() => sidecar.close());

    for (const subject of [...dataPathCases, ...(forwarded === 'append' ? [forwardedCase] : [])]) {
      const known = subject.knownDifference?.[path.name];
      it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, () =>
        comparison.play(subject, sidecar.port, path),
      );
    }

    it.each(allSplitCases)('in two segments: $name', EVERY_SPLIT_LIMIT, async (subject) => {
      await comparison.playEverySplit(subject, sidecar.port, path);
    });
  });

  describe(`through the ${name}, a request that is refused`, () => {
    let watched: ScriptedUpstream;
    let sidecar: RunningSidecar;
    beforeAll(async () => {
      watched = await ScriptedUpstream.listen();
      sidecar = await start(watched.port);
    });
    afterAll(async () => {
      await sidecar.close();
      await watched.close();
    });

    for (const refused of refusedRequests) {
      it(`as the first message: ${refused.name}`, () => expectRefused(watched, sidecar.port, refused, []));
      it(`after another request: ${refused.name}`, () =>
        expectRefused(watched, sidecar.port, refused, [request('GET /before')]));
    }
  });

  it(`through the ${name}: a missing upstream gives 502`, async () => {
    const sidecar = await start(await toUnusedPort());
    try {
      await comparison.play(notThere, sidecar.port, path);
    } finally {
      await sidecar.close();
    }
  });
}

const notThere: DataPathCase = {
  name: 'an upstream that is not there',
  statuses: [502, 502, 502],
  sidecarOnly: 'nobody answers without it',
  upstream: [],
  client: asking(
    request('GET /calls/1'),
    requestWith('content', 'POST /calls/2'),
    request('GET /live', ...WEBSOCKET),
  ).slice(0, -1),
  verify: ({ responses }) => {
    for (const answer of responses) expectProblem(answer, 502, 'connection_refused');
  },
};

/** Sends `before` (answered) and then the refused message; the upstream receives only the first. */
async function expectRefused(
  watched: ScriptedUpstream,
  port: number,
  { name, bytes, status = 400, isFaultInContent = false }: RefusedRequest,
  before: readonly string[],
): Promise<void> {
  const subject: DataPathCase = {
    name,
    statuses: [...before.map(() => 200), status],
    upstream: answering(response('200 OK', 'Content-Length: 0')),
    client: [
      ...asking(...before),
      async (client) => {
        const bytesBefore = watched.bytesRead;
        await client.send(bytes);
        await client.ended();
        // Everything written by the sidecar has been read by then: both ends share one event loop.
        await turns(3);
        if (!isFaultInContent) expect(watched.bytesRead).toBe(bytesBefore);
      },
    ],
  };
  const seen = await new CaseRunner(watched).run(subject, port);
  expect(seen.requests.filter(({ isComplete }) => isComplete).length).toBe(before.length);
  if (isFaultInContent && seen.responses.length === before.length) return;
  expectFacts(subject, seen);
}
