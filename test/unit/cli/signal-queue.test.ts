import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { queueSignals } from '../../../src/cli/serve.ts';

it('a queue passes on the signals of the start, SIGHUP once, and then each one until the end', () => {
  const source = new EventEmitter();
  const signals = queueSignals(source, ['SIGTERM', 'SIGHUP']);
  const handled: string[] = [];
  for (const signal of ['SIGHUP', 'SIGHUP', 'SIGTERM', 'SIGTERM']) source.emit(signal);
  signals.handle((signal) => handled.push(signal));
  expect(handled.splice(0)).toEqual(['SIGHUP', 'SIGTERM', 'SIGTERM']);
  for (const signal of ['SIGHUP', 'SIGHUP']) source.emit(signal);
  expect(handled).toEqual(['SIGHUP', 'SIGHUP']);
  signals.dispose();
  expect([source.listenerCount('SIGTERM'), source.listenerCount('SIGHUP')]).toEqual([0, 0]);
});
