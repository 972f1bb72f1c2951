import { describe, expect, it } from 'vitest';
import { AnswerLog } from '../../../src/metrics/answer-log.ts';
import { createStatistics, type Statistics } from '../../../src/metrics/statistics.ts';
import { ManualClock } from '../../support/clock.ts';

describe('the log of answers', () => {
  it('hands calls over in their order, when it is full or drained, each once', () => {
    const counted: string[] = [];
    const log = new AnswerLog<string>((call, durationNs, nowNs) => counted.push(`${call} ${durationNs} ${nowNs}`));
    for (let n = 1; n <= 31; n += 1) log.add(`call ${n}`, n, 100 + n);
    expect(counted).toEqual([]);
    log.add('call 32', 32, 132);
    expect(counted).toEqual(Array.from({ length: 32 }, (_, i) => `call ${i + 1} ${i + 1} ${101 + i}`));
    log.add('call 33', 33, 133);
    log.drain();
    log.drain();
    expect(counted.slice(32)).toEqual(['call 33 33 133']);
  });
});

describe('the statistics of a session', () => {
  function createSession(maxNamesPerSession = 200): Statistics {
    const maxNames = { rpc: 10, sba: 10, object: 10 };
    const options = { windowMs: 300_000, durationUnit: 'milliseconds', maxNames, maxNamesPerSession } as const;
    return createStatistics(options, new ManualClock()).createSessionStatistics();
  }

  it('show each answer at once, however few there were', () => {
    const session = createSession();
    session.recordAnswered({ kind: 'rpc', name: 'A' }, 200, 5, 1);
    session.recordAnswered({ kind: 'object', name: 'O' }, 200, 5, 2);
    session.recordAnswered({ kind: 'rpc', name: 'A' }, 503, 5, 3);
    expect(session.errorCount).toBe(1);
    expect(session.rpc.metricsOf('A')?.timers.get('rpc.A')?.count).toBe(2);
    expect(session.object.metricsOf('O')?.meters.get('object.O.newValues')?.count).toBe(1);
  });

  it('admit names in the order of the calls', () => {
    const session = createSession(2);
    session.recordAnswered({ kind: 'rpc', name: 'A' }, 200, 5, 1);
    session.recordAnswered({ kind: 'object', name: 'O' }, 200, 5, 2);
    session.object.recordValue('Later');
    expect(session.rpc.metricsOf('A')).toBeDefined();
    expect(session.object.metricsOf('O')).toBeDefined();
    expect(session.object.metricsOf('Later')).toBeUndefined();
  });
});
