import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { HangUps } from '../../src/cli/hang-ups.ts';

it('SIGHUP is heard from the start on, also before anybody can do anything about it, and until the end', () => {
  const signals = new EventEmitter();
  const hangUps = new HangUps(signals);
  let count = 0;
  signals.emit('SIGHUP');
  signals.emit('SIGHUP');
  hangUps.handle(() => {
    count += 1;
  });
  expect(count, 'once for all that came before').toBe(1);
  signals.emit('SIGHUP');
  expect(count).toBe(2);
  hangUps.dispose();
  expect(signals.listenerCount('SIGHUP')).toBe(0);
});
