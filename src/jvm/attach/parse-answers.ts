/**
 * Parses the answers to `GC.heap_info`, `VM.metaspace`, `Compiler.codecache` and `VM.flags`: texts for people that
 * differ between collectors and releases. Text that does not match a known form exactly, or does not add up, is
 * ignored: no number is better than a wrong one.
 */
import type { MemoryUsage } from '../jvm-source.ts';

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
function parseGeneration(text: string, name: string) {
  const match = onlyMatch(text, `^ *${name} +total (\\d{1,12})K, used (\\d{1,12})K \\[`);
  return match && { totalKib: Number(match[1]), usedKib: Number(match[2]) };
}

/** ` eden space 13248K,  21% used [start, top, end)`; Serial's old generation in JDK 17 has one more address. */
function parseSpace(text: string, name: string) {
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
function onlyMatch(text: string, pattern: string): RegExpMatchArray | undefined {
  const matches = [...text.matchAll(new RegExp(pattern, 'gm'))];
  return matches.length === 1 ? matches[0] : undefined;
}

export type MetaspaceInfo = NonNullable<ReturnType<typeof parseMetaspace>>;
export type CodeHeapInfo = NonNullable<ReturnType<typeof parseCodeHeap>>;
export type FlagsInfo = Partial<ReturnType<typeof parseFlags>>;

/** Each line is counted separately, while classes are loaded and code is compiled. */
const MAX_DRIFT_BYTES = 1_048_576;
/** HotSpot has at most three. */
const MAX_CODE_HEAPS = 8;
const UNLIMITED = -1;

/**
 * For `VM.metaspace basic scale=1`, in bytes, class space included; `max` is -1 without a limit, and undefined if the text
 * does not say. Undefined for text that is not understood.
 */
export function parseMetaspace(text: string) {
  if (onlyMatch(text, '^No class space$') !== undefined) {
    // Without compressed class pointers.
    const whole = parsePart(text, '', '');
    return whole && { ...whole, max: maxOf(text, whole.committed), classSpace: undefined };
  }
  const nonClass = parsePart(text, 'Non-class: +', 'Non-class space: +');
  const classSpace = parsePart(text, 'Class: +', 'Class space: +');
  const both = parsePart(text, 'Both: +', 'Both: +');
  if (!nonClass || !classSpace || !both) return undefined;
  const addsUp = (['used', 'committed'] as const).every(
    (key) => Math.abs(nonClass[key] + classSpace[key] - both[key]) <= MAX_DRIFT_BYTES,
  );
  if (!addsUp) return undefined;
  const { used, committed } = classSpace;
  const max = numberIn(text, '^CompressedClassSpaceSize: (\\d{1,15}) bytes$');
  // The whole class space is reserved, so more than `max` cannot be committed.
  const fits = max === undefined || max >= committed;
  return {
    used: both.used,
    committed: both.committed,
    max: maxOf(text, both.committed),
    classSpace: { used, committed, max: fits ? max : undefined },
  };
}

/** A line with the used bytes, and one with the reserved and the committed ones. */
function parsePart(text: string, usedLabel: string, sizesLabel: string) {
  const used = numberIn(text, `^ *${usedLabel}(\\d{1,15}) bytes used\\.$`);
  const sizes = '(\\d{1,15}) bytes reserved, +(\\d{1,15}) bytes \\( *<?\\d{1,3}%\\) committed[.,]';
  const match = onlyMatch(text, `^ *${sizesLabel}${sizes}`);
  if (used === undefined || match === undefined) return undefined;
  const [reserved, committed] = [Number(match[1]), Number(match[2])];
  return used <= committed && committed <= reserved ? { used, committed } : undefined;
}

function maxOf(text: string, committed: number): number | undefined {
  const value = onlyMatch(text, '^MaxMetaspaceSize: (unlimited|\\d{1,15} bytes)$')?.[1];
  const max = value === 'unlimited' ? UNLIMITED : Number(value?.split(' ')[0]);
  return max === UNLIMITED || max >= committed ? max : undefined;
}

/** For `Compiler.codecache`. All code heaps or undefined: if one were missing, the sums over them would be wrong. */
export function parseCodeCache(text: string): readonly CodeHeapInfo[] | undefined {
  const sizes = 'size=(\\d{1,12})Kb used=(\\d{1,12})Kb max_used=(\\d{1,12})Kb free=(\\d{1,12})Kb';
  const bounds = ' bounds \\[(0x[0-9a-f]{8,16}), (0x[0-9a-f]{8,16}), (0x[0-9a-f]{8,16})\\]';
  const pattern = `^(CodeHeap '[a-z][a-z -]{0,40}'|CodeCache): ${sizes}\\n${bounds}$`;
  const matches = [...text.matchAll(new RegExp(pattern, 'gm'))];
  // JDK 25 adds a line for the total, with commas and without bounds.
  const total = onlyMatch(text, '^CodeCache: size=(\\d{1,12})Kb, used=(\\d{1,12})Kb, ');
  const named = [...text.matchAll(/^.*Code(?:Heap|Cache).*$/gim)].length - (total === undefined ? 0 : 1);
  const pieces = [...text.matchAll(/^.*bounds.*$/gm)].length;
  const isComplete = matches.length === named && matches.length === pieces && /^.*total_blobs=\d/m.test(text);
  if (!isComplete || matches.length === 0 || matches.length > MAX_CODE_HEAPS) return undefined;
  const heaps: CodeHeapInfo[] = [];
  for (const match of matches) {
    const heap = parseCodeHeap(match);
    if (heap === undefined || heaps.some(({ name }) => name === heap.name)) return undefined;
    heaps.push(heap);
  }
  // HotSpot has one undivided code cache, or code heaps that always include the one for its own code.
  const isUndivided = heaps.some(({ name }) => name === 'CodeCache');
  const isKnownSet = isUndivided ? heaps.length === 1 : heaps.some(({ name }) => name === "CodeHeap 'non-nmethods'");
  if (!isKnownSet) return undefined;
  return total === undefined || isSumOf(heaps, Number(total[1]), Number(total[2])) ? heaps : undefined;
}

/**
 * In bytes; `used` is truncated to whole KiB, the others are exact. `name` is the MXBean's, e.g. `CodeHeap 'non-nmethods'`,
 * or `CodeCache` for an undivided cache.
 */
function parseCodeHeap(match: RegExpMatchArray) {
  const kib = (index: number) => Number(match[index]) * KIB;
  const [size, used, peak, free] = [kib(2), kib(3), kib(4), kib(5)];
  const [low, high, end] = [6, 7, 8].map((index) => BigInt(match[index] as string)) as [bigint, bigint, bigint];
  const [committed, max] = [Number(high - low), Number(end - low)];
  const fits =
    Math.floor(max / KIB) * KIB === size &&
    Math.abs(size - used - free) <= MAX_DRIFT_BYTES &&
    used <= peak &&
    peak <= size &&
    used <= committed &&
    committed <= max;
  return fits ? { name: match[1] as string, used, committed, max } : undefined;
}

function isSumOf(heaps: readonly CodeHeapInfo[], sizeKib: number, usedKib: number): boolean {
  const sum = (key: 'used' | 'max') => heaps.reduce((all, heap) => all + heap[key], 0);
  // Each heap is truncated to whole KiB separately.
  const cutBytes = heaps.length * KIB;
  return Math.abs(sum('max') - sizeKib * KIB) <= cutBytes && Math.abs(sum('used') - usedKib * KIB) <= MAX_DRIFT_BYTES;
}

/** For `VM.flags`, which lists on one line all flags that differ from their defaults. */
export function parseFlags(text: string) {
  // A flag that occurs twice is ignored. A flag is a whole word.
  const bytes = (name: string) => numberIn(text, `(?<=^|\\s)-XX:${name}=(\\d{1,15})(?=\\s|$)`);
  const [initialHeapSize, maxHeapSize] = [bytes('InitialHeapSize'), bytes('MaxHeapSize')];
  const isPossible =
    initialHeapSize !== undefined && maxHeapSize !== undefined && initialHeapSize <= maxHeapSize && maxHeapSize > 0;
  // Flags are sorted by name: if the collector's flag is there, its mode cannot have been cut off.
  const hasShenandoah = /(?<=^|\s)-XX:\+UseShenandoahGC(?=\s|$)/m.test(text);
  // Several modes are joined to a name that does not exist.
  const modes = [...text.matchAll(/-XX:ShenandoahGCMode=(\S*)/g)].map((match) => match[1] as string);
  const mode = modes.length === 0 ? 'default' : modes.join(' ');
  return {
    initialHeapSize: isPossible ? initialHeapSize : undefined,
    maxHeapSize: isPossible ? maxHeapSize : undefined,
    /** Only if it differs from the platform's default. */
    initialCodeCacheSize: bytes('InitialCodeCacheSize'),
    /** E.g. `generational`, or `default` if no mode was set. Undefined with other collectors. */
    shenandoahMode: hasShenandoah ? mode : undefined,
    /** Code heaps then grow by larger pages than usual. */
    hasLargePages: /-XX:\+Use(?:LargePages|TransparentHugePages)(?=\s|$)/.test(text),
  };
}

function numberIn(text: string, pattern: string): number | undefined {
  const match = onlyMatch(text, pattern);
  const value = Number(match?.[1]);
  return match !== undefined && Number.isSafeInteger(value) ? value : undefined;
}
