/**
 * Parses the answer to `GC.heap_info`, a text for people that differs between collectors and releases. Text that does
 * not match a known form exactly, or does not add up, is ignored: no number is better than a wrong one.
 */

import type { MemoryUsage } from '../jvm-reading.ts';

interface SpaceInfo {
  readonly used: number;
  readonly committed: number;
}

/**
 * Serial, Parallel: exact bytes, of one survivor space only, as in the MXBean. G1: whole KiB, including the regions
 * being filled, which the MXBean leaves out. ZGC: whole MiB, as it allocates them. Shenandoah: whole KiB, and absent
 * where the text rounds to a larger unit.
 */
export interface HeapInfo extends Pick<MemoryUsage, 'used' | 'committed' | 'max'> {
  readonly kind: 'Serial' | 'Parallel' | 'G1' | 'ZGC' | 'Shenandoah';
  /** By MXBean name. */
  readonly pools: Readonly<Record<string, MemoryUsage>>;
}

const KIB = 1024;
const MIB = 1_048_576;
const ADDRESS = '(0x[0-9a-f]{8,16})';

export function parseHeapInfo(text: string): HeapInfo | undefined {
  if (/^\s*(?:def new generation|DefNew)\s/.test(text)) return parseGenerations(text, 'Serial');
  if (/^\s*PSYoungGen\s/.test(text)) return parseGenerations(text, 'Parallel');
  if (/^\s*garbage-first heap\s/.test(text)) return parseG1(text);
  if (/^\s*ZHeap\s/.test(text)) return parseZ(text);
  if (/^\s*Shenandoah Heap\s/.test(text)) return parseShenandoah(text);
  return undefined;
}

function parseGenerations(text: string, kind: 'Serial' | 'Parallel'): HeapInfo | undefined {
  const young = parseGeneration(text, kind === 'Serial' ? '(?:def new generation|DefNew)' : 'PSYoungGen');
  const tenured = parseGeneration(text, kind === 'Serial' ? '(?:tenured generation|Tenured)' : 'ParOldGen');
  const eden = parseSpace(text, 'eden');
  const survivor = parseSpace(text, 'from');
  const old = parseSpace(text, kind === 'Serial' ? 'the' : 'object');
  if (!young || !tenured || !eden || !survivor || !old) return undefined;
  // Used sizes are not compared: the program keeps allocating, so the next line may already show more.
  const fits =
    young.totalKib * KIB === eden.committed + survivor.committed &&
    tenured.totalKib * KIB === old.committed &&
    young.usedKib <= young.totalKib &&
    tenured.usedKib <= tenured.totalKib;
  if (!fits) return undefined;
  const used = eden.used + survivor.used + old.used;
  const committed = eden.committed + survivor.committed + old.committed;
  const pools =
    kind === 'Serial'
      ? { 'Eden Space': eden, 'Survivor Space': survivor, 'Tenured Gen': old }
      : {
          'PS Eden Space': eden,
          'PS Survivor Space': { ...survivor, max: survivor.committed },
          'PS Old Gen': old,
        };
  return { kind, used, committed, pools };
}

/** `DefNew     total 14848K, used 2912K [...`: verifies the spaces of the generation. */
function parseGeneration(
  text: string,
  name: string,
): { readonly totalKib: number; readonly usedKib: number } | undefined {
  const match = onlyMatch(text, `^ *${name} +total (\\d{1,12})K, used (\\d{1,12})K \\[`);
  return match && { totalKib: Number(match[1]), usedKib: Number(match[2]) };
}

/** ` eden space 13248K,  21% used [start, top, end)`; Serial's old generation in JDK 17 has one more address. */
function parseSpace(text: string, name: string): SpaceInfo | undefined {
  const addresses = `\\[${ADDRESS}, ?${ADDRESS}, ?(?:0x[0-9a-f]{8,16}, ?)?${ADDRESS}\\)`;
  const match = onlyMatch(text, `^ *${name} +space (\\d{1,12})K, +\\d{1,3}% used ${addresses}$`);
  if (match === undefined) return undefined;
  const [start, top, end] = [2, 3, 4].map((index) => BigInt(match[index] as string)) as [bigint, bigint, bigint];
  const used = Number(top - start);
  const committed = Number(end - start);
  return used >= 0 && used <= committed && committed === Number(match[1]) * KIB ? { used, committed } : undefined;
}

function parseG1(text: string): HeapInfo | undefined {
  const match = onlyMatch(
    text,
    '^ *garbage-first heap +total (?:reserved (\\d{1,12})K, committed )?(\\d{1,12})K, used (\\d{1,12})K \\[',
  );
  if (match === undefined) return undefined;
  const [max, committed, used] = [1, 2, 3].map((index) => parseBytes(match[index], KIB));
  return orderedHeap({ kind: 'G1', max, committed, used, pools: {} });
}

function parseZ(text: string): HeapInfo | undefined {
  const match = onlyMatch(text, '^ *ZHeap +used (\\d{1,9})M, capacity (\\d{1,9})M, max capacity (\\d{1,9})M$');
  if (match === undefined) return undefined;
  // All ZGC pages are multiples of 2 MiB.
  const [used, committed, max] = [1, 2, 3].map((index) => parseBytes(match[index], MIB));
  return orderedHeap({ kind: 'ZGC', max, committed, used, pools: { ZHeap: { used, committed } } });
}

function parseShenandoah(text: string): HeapInfo | undefined {
  const value = '(\\d{1,12}) ?([BKMG])';
  const match = onlyMatch(text, `^ *${value} max, ${value} soft max, ${value} committed, ${value} used$`);
  // `3072 x 4096 K regions`: reserved and committed sizes are whole regions, so M is exact if a region is whole MiB.
  const regions = onlyMatch(text, '^ *\\d{1,9} x (\\d{1,9}) ?([BKMG]) regions$');
  if (match === undefined || regions === undefined) return undefined;
  const regionBytes = parseBytes(regions[1], UNITS.get(regions[2] as string) ?? Number.NaN);
  const isWholeMib = regionBytes !== undefined && regionBytes > 0 && regionBytes % MIB === 0;
  const exact = (index: number, units: string) => {
    const unit = match[index + 1] as string;
    return units.includes(unit) ? parseBytes(match[index], UNITS.get(unit) ?? Number.NaN) : undefined;
  };
  const wholeRegions = isWholeMib ? 'BKM' : 'BK';
  // From 100 MiB on, `used` is truncated to whole MiB, from 100 GiB on to whole GiB.
  return orderedHeap({
    kind: 'Shenandoah',
    pools: {},
    max: exact(1, wholeRegions),
    committed: exact(5, wholeRegions),
    used: exact(7, 'BK'),
  });
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['K', KIB],
  ['M', MIB],
  ['G', KIB * MIB],
]);

/** Undefined if the sizes contradict each other. */
function orderedHeap(heap: HeapInfo): HeapInfo | undefined {
  const { used = 0, committed = used, max = committed } = heap;
  return used <= committed && committed <= max ? heap : undefined;
}

function parseBytes(digits: string | undefined, unit: number): number | undefined {
  const bytes = Number(digits) * unit;
  return digits !== undefined && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Undefined without a match and with several: a second match means an unknown form of the text. */
export function onlyMatch(text: string, pattern: string): RegExpMatchArray | undefined {
  const matches = [...text.matchAll(new RegExp(pattern, 'gm'))];
  return matches.length === 1 ? matches[0] : undefined;
}
