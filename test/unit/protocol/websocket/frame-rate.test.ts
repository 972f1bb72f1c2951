import { expect, it } from 'vitest';
import { DirectionRate, FrameRate } from '../../../../src/protocol/websocket/frame-rate.ts';
import { ManualClock } from '../../../support/clock.ts';
import { compressed, deflated, text } from '../../../support/protocol/websocket/frames.ts';
import { Listener, WITH_TAKEOVER } from '../../../support/protocol/websocket/listener.ts';

it('limits no direction below the total, and above it only the fastest', () => {
  const clock = new ManualClock();
  const rate = new FrameRate(clock, { all: 1_000, ofOne: 100 });
  const [fast, slow] = [new DirectionRate(), new DirectionRate()];
  expect([rate.isTooFast(fast, 900), rate.isTooFast(slow, 100)]).toEqual([false, false]);
  expect([rate.isTooFast(slow, 0), rate.isTooFast(fast, 1), rate.isTooFast(slow, 0)]).toEqual([false, true, false]);
  clock.advanceMs(1_000);
  expect(rate.isTooFast(fast, 1_000)).toBe(false);
});

it('a direction that is too fast is read no further, and the others are', () => {
  const frameRate = new FrameRate(new ManualClock(), { all: 5_000, ofOne: 2_000 });
  const [flood, calm] = [new Listener({ frameRate }), new Listener({ frameRate })];
  const chunk = Buffer.concat(Array.from({ length: 1_000 }, () => text('[]')));
  for (let i = 0; i < 10; i += 1) {
    flood.push(chunk);
    calm.push(text('value'));
  }
  expect([flood.texts.length, flood.told.at(-1), flood.reader.isUnread]).toEqual([4_999, { unread: 'time' }, true]);
  expect([calm.texts.length, calm.reader.isUnread]).toEqual([10, false]);
});

it('a read with thousands of tiny frames ends the reading of its direction', () => {
  const frameRate = new FrameRate(new ManualClock(), { all: 50_000, ofOne: 20_000 });
  const of = (count: number, payload: string) => {
    const listener = new Listener({ frameRate });
    return listener.push(Buffer.concat(Array.from({ length: count }, () => text(payload))));
  };
  const flood = of(8_000, '[]');
  expect(flood.texts.length).toBeLessThan(3_000);
  expect([flood.told.at(-1), flood.reader.isUnread]).toEqual([{ unread: 'time' }, true]);
  expect(of(900, '[]').texts).toHaveLength(900);
  expect(of(5_000, '[{"channel":"/meta/connect"}]').texts).toHaveLength(5_000);
});

it('a message without room to wait is skipped, and the next is read', () => {
  let hasRoom = false;
  const listener = new Listener({ hasRoom: () => hasRoom });
  listener.push(text('lost'), text('lost, too'));
  hasRoom = true;
  listener.push(text('read'));
  expect(listener.told).toEqual([{ unread: 'time' }, { unread: 'time' }, { text: 'read' }]);
});

it('a skipped message that later ones refer to ends the reading of its direction', () => {
  let hasRoom = false;
  const listener = new Listener({ hasRoom: () => hasRoom, deflate: WITH_TAKEOVER });
  listener.push(compressed(deflated('lost')));
  hasRoom = true;
  listener.push(compressed(deflated('unread')));
  expect([listener.told, listener.reader.isUnread, listener.budget.usedBytes]).toEqual([[{ unread: 'time' }], true, 0]);
});
