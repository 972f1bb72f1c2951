import { describe, expect, it } from 'vitest';
import { type HeapInfo, parseHeapInfo } from '../../../../src/jvm/attach/parse-heap-info.ts';
import { answerOf, beansOf, DRIFT, KIB, MIB, poolOf, SAMPLES } from '../../../support/jvm/attach/samples.ts';

function parsed(name: string): HeapInfo {
  const heap = parseHeapInfo(answerOf(name, 'heap_info'));
  if (heap === undefined) throw new Error(`${name} cannot be read`);
  return heap;
}

function expectWithin(value: number | undefined, from: number, to: number): void {
  expect(value).toBeGreaterThanOrEqual(from);
  expect(value).toBeLessThanOrEqual(to);
}

const KINDS = {
  Serial: 'Serial',
  Parallel: 'Parallel',
  G1: 'G1',
  ZGC: 'Z',
  GenerationalZGC: 'Z',
  Shenandoah: 'Shenandoah',
  unknown: '',
};

describe('parseHeapInfo', () => {
  it.each(SAMPLES)('$name: reads the collector and the committed size, to the byte', ({ name, collector }) => {
    const heap = parsed(name);
    expect(heap.kind).toBe(KINDS[collector]);
    expect(heap.committed).toBe(beansOf(name).heap.committed);
  });

  it.each(SAMPLES)('$name: the used size is the beans’, plus later allocations', ({ name, collector }) => {
    const { used } = beansOf(name).heap;
    const drift = collector === 'G1' ? DRIFT.g1HeapUsed : DRIFT.heapUsed;
    // Shenandoah's text is cut to whole KiB.
    expectWithin(parsed(name).used, used - KIB, used + drift);
  });

  it.each(SAMPLES.filter(({ collector }) => collector === 'Serial' || collector === 'Parallel'))(
    '$name: tells eden, the survivor space in use and the old generation apart',
    ({ name, collector }) => {
      const heap = parsed(name);
      if (heap.kind !== 'Serial' && heap.kind !== 'Parallel') throw new Error(heap.kind);
      const names =
        collector === 'Serial'
          ? ['Eden Space', 'Survivor Space', 'Tenured Gen']
          : ['PS Eden Space', 'PS Survivor Space', 'PS Old Gen'];
      for (const [index, space] of [heap.eden, heap.survivor, heap.old].entries()) {
        const bean = poolOf(beansOf(name), names[index] as string);
        expect(space.committed).toBe(bean.committed);
        expectWithin(space.used, bean.used, bean.used + DRIFT.heapUsed);
      }
      expect(heap.old.used).toBe(poolOf(beansOf(name), names[2] as string).used);
    },
  );

  it.each(['jdk25-g1', 'jdk17-z', 'jdk25-z'])('%s: reads the maximum', (name) => {
    expect(parsed(name)).toMatchObject({ max: beansOf(name).heap.max });
  });

  it('leaves out Shenandoah’s maximum where MiB may be rounded', () => {
    // Regions of 256 KiB.
    expect(parsed('jdk17-shenandoah')).toMatchObject({ max: undefined });
    expect(parseHeapInfo(shenandoah('12288M max, 12288M soft max, 316M committed, 16384K used', '4096 K'))).toEqual({
      kind: 'Shenandoah',
      max: 12_288 * MIB,
      committed: 316 * MIB,
      used: 16 * MIB,
    });
  });

  it('leaves out Shenandoah’s used size from 100 MiB on, where it is cut to whole MiB', () => {
    const heap = parseHeapInfo(shenandoah('12288M max, 12288M soft max, 316M committed, 214M used', '4096 K'));
    expect(heap).toEqual({ kind: 'Shenandoah', max: 12_288 * MIB, committed: 316 * MIB });
  });

  it('leaves out Shenandoah’s committed size where MiB may be rounded', () => {
    const heap = parseHeapInfo(shenandoah('192M max, 192M soft max, 101M committed, 23153K used', '256 K'));
    expect(heap).toEqual({ kind: 'Shenandoah', used: 23_153 * KIB });
  });

  it('reads a heap above 4 GiB and addresses of 57 bits exactly', () => {
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
  ])('does not read %s', (_, text) => {
    expect(parseHeapInfo(text)).toBeUndefined();
  });
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
