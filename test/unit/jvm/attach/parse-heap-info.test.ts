/** Texts that differ from the samples. Those of the samples: live-values.test.ts. */
import { expect, it } from 'vitest';
import { parseHeapInfo } from '../../../../src/jvm/attach/parse-heap-info.ts';
import { answerOf, KIB, MIB } from '../../../support/jvm/attach/samples.ts';
import { beansOf } from '../../../support/jvm/truth/beans.ts';

const parsed = (name: string) => parseHeapInfo(answerOf(name, 'heap_info'));

it.each(['jdk25-g1', 'jdk17-z', 'jdk25-z'])('%s: the text has the maximum', (name) => {
  expect(parsed(name)).toMatchObject({ max: beansOf(name).heap.max });
});

it.each([
  ['all that is exact', '316M committed, 16384K used', '4096 K', { committed: 316 * MIB, used: 16 * MIB }],
  ['no used size from 100 MiB on, cut to whole MiB', '316M committed, 214M used', '4096 K', { committed: 316 * MIB }],
])('Shenandoah’s text has %s', (_, sizes, region, rest) => {
  const heap = parseHeapInfo(shenandoah(`12288M max, 12288M soft max, ${sizes}`, region));
  expect(heap).toEqual({ kind: 'Shenandoah', max: 12_288 * MIB, pools: {}, ...rest });
});

it('Shenandoah’s text has no maximum and no committed size where regions of less than a MiB may be rounded', () => {
  expect(parsed('jdk17-shenandoah')).toMatchObject({ max: undefined });
  const heap = parseHeapInfo(shenandoah('192M max, 192M soft max, 101M committed, 23153K used', '256 K'));
  expect(heap).toEqual({ kind: 'Shenandoah', used: 23_153 * KIB, pools: {} });
});

it('a heap above 4 GiB and addresses of 57 bits are read exactly', () => {
  const text = answerOf('jdk25-serial', 'heap_info').replaceAll('0x00000000', '0x01ffffff');
  expect(parseHeapInfo(text)).toEqual(parsed('jdk25-serial'));
});

it.each([
  ['nothing', ''],
  ['another collector', 'Epsilon Heap\nAllocation space:\n 192M max\n'],
  ['a space that ends before its top', swap('jdk25-serial', '0x00000000f42d83a0', '0x00000000f4d00000')],
  ['a top before its space', swap('jdk25-serial', '0x00000000f42d83a0', '0x00000000f3000000')],
  ['a size that is not that of the addresses', swap('jdk25-serial', 'eden space 13248K', 'eden space 13249K')],
  ['a generation that is not the sum of its spaces', swap('jdk25-parallel', 'total 51200K', 'total 53248K')],
  ['a space missing', swap('jdk25-serial', ' the  space', ' some space')],
  ['a space twice', swap('jdk25-serial', ' from space', ' eden space')],
  ['more in use than committed in G1', swap('jdk25-g1', 'used 20399K', 'used 61441K')],
  ['more committed than reserved in G1', swap('jdk25-g1', 'reserved 196608K', 'reserved 61439K')],
  ['another unit in ZGC', swap('jdk25-z', 'capacity 66M,', 'capacity 66G,')],
  ['a number that is too long', swap('jdk25-z', 'used 24M', 'used 24000000000M')],
])('%s is not read', (_, text) => {
  expect(parseHeapInfo(text)).toBeUndefined();
});

function swap(name: string, from: string, to: string): string {
  const text = answerOf(name, 'heap_info');
  if (!text.includes(from)) throw new Error(`${from} is not in ${name}`);
  return text.replace(from, to);
}

function shenandoah(sizes: string, region: string): string {
  return answerOf('jdk25-shenandoah', 'heap_info')
    .replace(/^ .* used$/m, ` ${sizes}`)
    .replace('256 K regions', `${region} regions`);
}
