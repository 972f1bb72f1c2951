import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  deflateMessage,
  doubleGzipBomb,
  manyMessages,
  nestedArrays,
  subscription,
} from '../../../abuse/floods/bombs.ts';

describe('bombs', () => {
  it('inflate 124 bytes in two codings, or a WebSocket message of 16 kB, to 4.2 MB', () => {
    const bomb = doubleGzipBomb();
    // Versions of zlib differ by a few bytes.
    expect(Math.abs(bomb.length - 124)).toBeLessThan(8);
    expect(Math.abs(deflateMessage(nestedArrays()).length - 16_300)).toBeLessThan(1_000);
    expect(zlib.gunzipSync(zlib.gunzipSync(bomb)).toString('latin1')).toBe(nestedArrays());
    expect(nestedArrays().length).toBeGreaterThan(4_100_000);
    expect(nestedArrays().length).toBeLessThan(4 * 1024 * 1024);
  });

  it('fit 200,000 channels into 4 MiB, and 9,900 calls into 1 MiB', () => {
    expect(subscription(200_000).length).toBeLessThan(4 * 1024 * 1024);
    expect(JSON.parse(subscription(200_000))[0].subscription).toHaveLength(200_000);
    expect(manyMessages(9_900).length).toBeLessThan(1024 * 1024);
    expect(JSON.parse(manyMessages(9_900))).toHaveLength(9_900);
  });
});
