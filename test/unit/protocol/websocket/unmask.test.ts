import { expect, it } from 'vitest';
import { copyUnmasked } from '../../../../src/protocol/websocket/frame-head.ts';

it('unmasks like RFC 6455 §5.3, at every alignment, phase and length, and leaves the source as it is', () => {
  const key = [0x37, 0xfa, 0x21, 0xbd];
  const mask = Buffer.from(key).readInt32BE();
  const source = Buffer.from(Array.from({ length: 400 }, (_, i) => (i * 37) & 0xff));
  const before = Buffer.from(source);
  for (const bytes of [0, 1, 2, 3, 4, 5, 63, 95, 96, 97, 98, 99, 128, 301]) {
    for (let phase = 0; phase < 5; phase += 1) {
      for (let from = 0; from < 5; from += 1) {
        const target = Buffer.alloc(bytes + 3);
        copyUnmasked(source, { from, to: from + bytes }, target, mask, phase);
        const expected = source.subarray(from, from + bytes).map((byte, i) => byte ^ (key[(phase + i) % 4] as number));
        const whole = Buffer.concat([expected, Buffer.alloc(3)]);
        if (!target.equals(whole)) expect.fail(`${bytes} bytes, phase ${phase}, from ${from}`);
      }
    }
  }
  expect(source).toEqual(before);
});
