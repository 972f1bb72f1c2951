import { expect, it } from 'vitest';
import { PairedSource } from '../../../src/jvm/create-source.ts';
import type { JvmReading, JvmSource } from '../../../src/jvm/jvm-source.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

const NEVER = new AbortController().signal;
const EMPTY = { classes: {}, nonHeap: {}, pools: new Map(), collectors: new Map() };
const PAGE: JvmReading = { ...EMPTY, heap: { used: 1 }, memory: 'live', server: { connectors: [] } };
const COUNTERS: JvmReading = { ...EMPTY, heap: { used: 2 }, classes: { loaded: 3 }, memory: 'after-gc' };

type Answer = JvmReading | Error | 'hang';

function pairOf(answers: { page: Answer; counters: Answer }) {
  const { logger, logged } = recordingLogger();
  const sourceOf = (name: 'page' | 'counters'): JvmSource => ({
    name,
    read: (signal) => {
      const answer = answers[name];
      if (answer === 'hang')
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    close: () => undefined,
  });
  const source = new PairedSource(sourceOf('page'), sourceOf('counters'), { timeoutMs: 40, logger });
  return { source, logged };
}

it('memory and connectors come from the page, everything else from the counters', async () => {
  const { source, logged } = pairOf({ page: PAGE, counters: COUNTERS });
  const reading = await source.read(NEVER);
  expect(reading).toMatchObject({
    heap: { used: 1 },
    classes: { loaded: 3 },
    memory: 'live',
    server: { connectors: [] },
  });
  expect(source.name).toBe('page+counters');
  expect(logged).toEqual([]);
});

it('without one of the sources, the reading is that of the other', async () => {
  const answers: { page: Answer; counters: Answer } = { page: new Error('refused'), counters: COUNTERS };
  const { source, logged } = pairOf(answers);
  expect(await source.read(NEVER)).toBe(COUNTERS);
  expect(source.name).toBe('counters');
  await source.read(NEVER);
  expect(logged).toMatchObject([{ details: { source: 'page', reason: 'refused' } }]);
  Object.assign(answers, { page: PAGE, counters: new Error('no JVM') });
  expect(await source.read(NEVER)).toBe(PAGE);
  expect(source.name).toBe('page');
  answers.page = new Error('refused');
  await expect(source.read(NEVER)).rejects.toThrow('refused');
});

it('a page that does not answer leaves time for the counters', async () => {
  const { source, logged } = pairOf({ page: 'hang', counters: COUNTERS });
  expect(await source.read(NEVER)).toBe(COUNTERS);
  expect(logged).toMatchObject([{ details: { reason: 'no answer within 30 ms' } }]);
});
