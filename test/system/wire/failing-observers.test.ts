import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Exchange } from '../../../src/proxy/exchange/exchange.ts';
import { someOf } from '../../support/effort.ts';
import { ObservedPlane } from '../../support/wire/observed-plane.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { splitCases, splitHandoverCases } from './cases/splits.ts';
import type { DataPathCase } from './data-path-case.ts';
import { type Exactness, type Observation, toComparable } from './observation.ts';
import { expectFacts } from './observed-cases.ts';
import { MOMENTS, type Moment, RecordingObserver } from './recording-observer.ts';
import { CaseRunner } from './run-case.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

const AT_ONCE = 16;

/** Cases that measure a stillness cannot be played beside others; they are once more alone, with what fails at each chunk. */
const isQuick = ({ deadlineMs }: DataPathCase) => deadlineMs === undefined;
const quick = someOf([...dataPathCases, ...splitCases, ...splitHandoverCases].filter(isQuick), 5);
const slow = dataPathCases.filter((subject) => !isQuick(subject));

const paths: readonly { readonly name: string; readonly exactness: Exactness; readonly isGateway: boolean }[] = [
  { name: 'relay', exactness: 'bytes', isGateway: false },
  { name: 'gateway', exactness: 'meaning', isGateway: true },
];

/** Throws at one kind of moment, and takes down what it is told of an exchange afterwards. */
class FailingObserver extends RecordingObserver {
  thrown = 0;
  readonly toldAfterwards: string[] = [];

  constructor(failing: Moment) {
    const failed = new Set<Exchange>();
    // Always told: the ending, and of a tunnel that it is over. And the tunnel is another matter than what came before it.
    const isStillTold = (moment: Moment) =>
      failing === 'end' || moment === (failing === 'clientBytes' || failing === 'upstreamBytes' ? 'closed' : 'end');
    super((moment, exchange) => {
      if (failed.has(exchange) && !isStillTold(moment)) this.toldAfterwards.push(`${moment} after ${failing}`);
      if (moment !== failing) return;
      failed.add(exchange);
      this.thrown += 1;
      throw new TypeError('secret of a request');
    });
  }
}

let upstream: ScriptedUpstream;
let runner: CaseRunner;
const direct = new Map<DataPathCase, Promise<Observation>>();

function directly(subject: DataPathCase): Promise<Observation> {
  const known = direct.get(subject) ?? runner.run(subject, upstream.port);
  direct.set(subject, known);
  return known;
}

beforeAll(async () => {
  upstream = await ScriptedUpstream.listen();
  runner = new CaseRunner(upstream);
});

afterAll(() => upstream.close());

for (const path of paths) {
  const kind = path.isGateway ? 'gateway' : 'relay';

  async function play(subject: DataPathCase, plane: ObservedPlane): Promise<void> {
    if (subject.knownDifference?.[kind] !== undefined) return;
    const seen = await runner.run(subject, plane.port);
    try {
      expectFacts(subject, seen);
      if (subject.sidecarOnly !== undefined) return;
      const straight = await directly(subject);
      const exactness = subject.isIrregular === true ? 'meaning' : path.exactness;
      expect(toComparable(seen, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
    } catch (cause) {
      throw new Error(`${subject.name}: ${String(cause)}`, { cause });
    }
  }

  async function playAll(failing: Moment, subjects: readonly DataPathCase[], atOnce: number): Promise<void> {
    const observer = new FailingObserver(failing);
    const dataPath = path.isGateway ? 'gateway' : 'auto';
    // Without fields of the sidecar's own, the relay passes all on byte for byte.
    const plane = await ObservedPlane.start({ dataPath, upstreamPort: upstream.port, forwarded: 'off' }, observer);
    const next = subjects.values();
    try {
      const worker = async () => {
        for (const subject of next) await play(subject, plane);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      await plane.allClosed();
    } finally {
      plane.close();
    }
    expect(observer.thrown).toBeGreaterThan(0);
    expect(plane.reporter.observerErrors).toBe(observer.thrown);
    expect(plane.errorsLogged).toEqual([{ error: 'TypeError' }]);
    expect(plane.reporter.open).toBe(0);
    expect(new Set(observer.toldAfterwards)).toEqual(new Set());
  }

  describe(`an observer of the ${path.name} that throws`, () => {
    for (const moment of Object.keys(MOMENTS) as Moment[]) {
      it(`at ${moment} changes no case`, () => playAll(moment, quick, AT_ONCE));
    }

    it.each(['requestBytes', 'responseBytes'] as const)(
      'at %s changes no large body and no back pressure',
      (moment) => playAll(moment, slow, 1),
      60_000,
    );
  });
}
