import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningSidecar, startSidecar } from '../support/wire/data-paths.ts';
import { turns } from '../support/wire/split-writer.ts';
import { toUnusedPort } from '../support/wire/unused-port.ts';
import { dataPathCases } from './data-path.cases.ts';
import { type RefusedRequest, refusedRequests } from './wire/cases/refused-requests.ts';
import { expectProblem, forwardedCase } from './wire/cases/sidecar-only.ts';
import { splitCases, splitHandoverCases } from './wire/cases/splits.ts';
import { request, requestWith, WEBSOCKET } from './wire/compose.ts';
import type { DataPathCase } from './wire/data-path-case.ts';
import { EVERY_SPLIT_LIMIT, playEverySplit } from './wire/every-split.ts';
import { type Exactness, type Observation, toComparable } from './wire/observation.ts';
import { CaseRunner } from './wire/run-case.ts';
import { ScriptedUpstream } from './wire/scripted-upstream.ts';

interface DataPathUnderTest {
  readonly name: string;
  readonly kind: 'relay' | 'gateway';
  readonly exactness: Exactness;
  readonly start: (upstreamPort: number) => Promise<RunningSidecar>;
}

const dataPaths: readonly DataPathUnderTest[] = [
  {
    name: 'relay',
    kind: 'relay',
    exactness: 'fields',
    start: (upstreamPort) => startSidecar({ dataPath: 'auto', upstreamPort }),
  },
  {
    name: 'relay that adds no fields',
    kind: 'relay',
    exactness: 'bytes',
    start: (upstreamPort) => startSidecar({ dataPath: 'auto', upstreamPort, forwarded: 'off' }),
  },
  {
    name: 'gateway',
    kind: 'gateway',
    exactness: 'meaning',
    start: (upstreamPort) => startSidecar({ dataPath: 'gateway', upstreamPort }),
  },
];

let upstream: ScriptedUpstream;
let runner: CaseRunner;
const direct = new Map<DataPathCase, Promise<Observation>>();

/** What both ends see without a sidecar; played once for each case. */
function directly(subject: DataPathCase): Promise<Observation> {
  const known = direct.get(subject) ?? runner.run(subject, upstream.port);
  direct.set(subject, known);
  return known;
}

function expectFacts(subject: DataPathCase, seen: Observation): void {
  expect(seen.responses.map(({ startLine }) => Number(startLine.split(' ')[1]))).toEqual(subject.statuses);
  subject.verify?.(seen);
}

function expectSame(seen: Observation, straight: Observation, exactness: Exactness): void {
  expect(toComparable(seen, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
}

beforeAll(async () => {
  upstream = await ScriptedUpstream.listen();
  runner = new CaseRunner(upstream);
});

afterAll(() => upstream.close());

it('the cases have distinct names', () => {
  const names = dataPathCases.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

describe('directly', () => {
  for (const subject of dataPathCases.filter(({ sidecarOnly }) => sidecarOnly === undefined)) {
    it(subject.name, async () => expectFacts(subject, await directly(subject)));
  }

  for (const subject of [...splitCases, ...splitHandoverCases]) {
    it(`in two segments: ${subject.name}`, EVERY_SPLIT_LIMIT, async () => {
      const straight = await directly(subject);
      expectFacts(subject, straight);
      await playEverySplit(subject, runner, upstream.port, straight, (seen) => expectSame(seen, straight, 'bytes'));
    });
  }
});

for (const path of dataPaths) {
  describe(`through the ${path.name}`, () => {
    let sidecar: RunningSidecar;
    beforeAll(async () => {
      sidecar = await path.start(upstream.port);
    });
    afterAll(() => sidecar.close());

    const exactnessOf = (subject: DataPathCase) => (subject.isIrregular === true ? 'meaning' : path.exactness);

    for (const subject of dataPathCases) {
      const known = subject.knownDifference?.[path.kind];
      it.skipIf(known !== undefined)(known === undefined ? subject.name : `${subject.name} (${known})`, async () => {
        const seen = await runner.run(subject, sidecar.port);
        if (subject.sidecarOnly === undefined) expectSame(seen, await directly(subject), exactnessOf(subject));
        expectFacts(subject, seen);
      });
    }

    if (path.exactness !== 'bytes') {
      it(forwardedCase.name, async () => expectFacts(forwardedCase, await runner.run(forwardedCase, sidecar.port)));
    }

    for (const subject of [...splitCases, ...splitHandoverCases]) {
      it(`in two segments: ${subject.name}`, EVERY_SPLIT_LIMIT, async () => {
        const straight = await directly(subject);
        await playEverySplit(subject, runner, sidecar.port, straight, (seen) =>
          expectSame(seen, straight, exactnessOf(subject)),
        );
      });
    }
  });

  describe(`through the ${path.name}, a request that is refused`, () => {
    let watched: ScriptedUpstream;
    let sidecar: RunningSidecar;
    beforeAll(async () => {
      watched = await ScriptedUpstream.listen();
      sidecar = await path.start(watched.port);
    });
    afterAll(async () => {
      await sidecar.close();
      await watched.close();
    });

    for (const refused of refusedRequests) {
      it(`as the first message: ${refused.name}`, () => expectRefused(watched, sidecar.port, refused, ''));
      it(`after another request: ${refused.name}`, () =>
        expectRefused(watched, sidecar.port, refused, request('GET /before')));
    }
  });

  it(`through the ${path.name}: a missing upstream gives 502`, async () => {
    const sidecar = await path.start(await toUnusedPort());
    try {
      const seen = await runner.run(notThere, sidecar.port);
      expectFacts(notThere, seen);
    } finally {
      await sidecar.close();
    }
  });
}

const notThere: DataPathCase = {
  name: 'an upstream that is not there',
  statuses: [502, 502, 502],
  upstream: async () => undefined,
  client: async (client) => {
    await client.send(request('GET /calls/1'));
    await client.finals(1);
    await client.send(requestWith('content', 'POST /calls/2'));
    await client.finals(2);
    await client.send(request('GET /live', ...WEBSOCKET));
    await client.finals(3);
  },
  verify: ({ responses }) => {
    for (const answer of responses) expectProblem(answer, 502, 'connection_refused');
  },
};

/** Sends `before` (answered) and then the refused message; the upstream receives only the first. */
async function expectRefused(
  watched: ScriptedUpstream,
  port: number,
  refused: RefusedRequest,
  before: string,
): Promise<void> {
  const subject: DataPathCase = {
    name: refused.name,
    statuses: before === '' ? [refused.status ?? 400] : [200, refused.status ?? 400],
    upstream: async (connection) => {
      while ((await connection.request()) !== undefined)
        await connection.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    },
    client: async (client) => {
      if (before !== '') {
        await client.send(before);
        await client.finals(1);
      }
      const bytesBefore = watched.bytesRead;
      await client.send(refused.bytes);
      await client.ended();
      // Everything written by the sidecar has been read by then: both ends share one event loop.
      await turns(3);
      if (refused.isFaultInContent !== true) expect(watched.bytesRead).toBe(bytesBefore);
    },
  };
  const seen = await new CaseRunner(watched).run(subject, port);
  const answered = before === '' ? 0 : 1;
  expect(seen.requests.filter(({ isComplete }) => isComplete).length).toBe(answered);
  if (refused.isFaultInContent === true && seen.responses.length === answered) return;
  expectFacts(subject, seen);
}
