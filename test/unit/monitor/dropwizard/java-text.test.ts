import { expect, it } from 'vitest';
import { formatJavaDouble, formatJavaInteger, formatJsonText } from '../../../../src/monitor/dropwizard/render.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { readFixture } from '../../metrics/read-fixture.ts';

/** Digits that JDK 17, which wrote the fixture, writes longer than needed; later ones write these. */
const SHORTER_SINCE_JDK_19: Readonly<Record<string, string>> = {
  '4.9E-324': '5.0E-324',
  '9.999999999999999E22': '1.0E23',
  '1.9999999999999998E23': '2.0E23',
};

const samples = JSON.parse(readFixture('double-format.json')) as { bits: string; jackson: string }[];

it.each(samples)('formatJavaDouble writes the double $bits as $jackson', ({ bits, jackson }) => {
  const value = Buffer.from(bits, 'hex').readDoubleBE();
  expect(formatJavaDouble(value)).toBe(SHORTER_SINCE_JDK_19[jackson] ?? jackson);
  expect(Object.is(Number(formatJavaDouble(value)), value)).toBe(true);
});

it('formatJavaDouble quotes NaN and the infinities, which JSON does not have', () => {
  expect([Number.NaN, Infinity, -Infinity].map(formatJavaDouble)).toEqual(['"NaN"', '"Infinity"', '"-Infinity"']);
});

it('formatJavaDouble always writes a fraction and reads back as the same double', () => {
  const random = new Random(1);
  const bytes = Buffer.alloc(8);
  let compared = 0;
  while (compared < 20_000) {
    for (let i = 0; i < 8; i += 1) bytes[i] = random.below(256);
    const value = bytes.readDoubleBE();
    if (!Number.isFinite(value)) continue;
    compared += 1;
    const text = formatJavaDouble(value);
    expect(text).toMatch(/^-?(\d{1,7}\.\d+|\d\.\d+E-?\d+)$/);
    expect(Number(text)).toBe(value);
  }
});

it('formatJavaInteger writes all digits and never a fraction, and quotes NaN and the infinities', () => {
  const written = [0, -5, 9_007_201_402_224_640, 1e21, -0, Number.NaN, -Infinity].map(formatJavaInteger);
  expect(written).toEqual(['0', '-5', '9007201402224640', '1000000000000000000000', '0', '"NaN"', '"-Infinity"']);
});

it.each([
  ['escapes quotes, backslashes and controls', '"\\\b\f\n\r\t\0\x1f', '\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F'],
  ['leaves all others of the basic plane', "/<b>&'\x7f äß€\u2028\ufeff\uffff", "/<b>&'\x7f äß€\u2028\ufeff\uffff"],
  ['writes astral ones as two escapes, as Jackson does into a stream', 'a😀b', 'a\\uD83D\\uDE00b'],
])('formatJsonText %s', (_, text, json) => {
  expect(formatJsonText(text)).toBe(`"${json}"`);
});

it('formatJsonText writes JSON that reads back as the same text', () => {
  const text = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit)).join('');
  expect(JSON.parse(formatJsonText(text))).toBe(text);
});
