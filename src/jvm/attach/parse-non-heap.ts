/** Parses the answers to `VM.metaspace`, `Compiler.codecache` and `VM.flags`, as strictly as `parse-heap-info.ts`. */
import { onlyMatch } from './parse-heap-info.ts';

export interface MetaspaceInfo {
  /** Bytes, including class space. */
  readonly used: number;
  readonly committed: number;
  /** -1: unlimited. Absent if the text does not say. */
  readonly max: number | undefined;
  /** Absent without compressed class pointers. */
  readonly classSpace?: { readonly used: number; readonly committed: number; readonly max: number | undefined };
}

export interface CodeHeapInfo {
  /** The MXBean's name, e.g. `CodeHeap 'non-nmethods'`, or `CodeCache` for an undivided cache. */
  readonly name: string;
  /** Bytes. `used` is truncated to whole KiB, the others are exact. */
  readonly used: number;
  readonly committed: number;
  readonly max: number;
}

export interface FlagsInfo {
  readonly initialHeapSize?: number | undefined;
  readonly maxHeapSize?: number | undefined;
  /** Only if it differs from the platform's default. */
  readonly initialCodeCacheSize?: number | undefined;
  /** E.g. `generational`, or `default` if no mode was set. Absent with other collectors. */
  readonly shenandoahMode?: string | undefined;
  /** Code heaps then grow by larger pages than usual. */
  readonly hasLargePages: boolean;
}

const KIB = 1024;
/** Each line is counted separately, while classes are loaded and code is compiled. */
const MAX_DRIFT_BYTES = 1_048_576;
/** HotSpot has at most three. */
const MAX_CODE_HEAPS = 8;
const UNLIMITED = -1;

/** For `VM.metaspace basic scale=1`. Undefined for text that is not understood. */
export function parseMetaspace(text: string): MetaspaceInfo | undefined {
  if (onlyMatch(text, '^No class space$') !== undefined) {
    const whole = parsePart(text, '', '');
    return whole && { used: whole.used, committed: whole.committed, max: maxOf(text, whole.committed) };
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
  if (!isKnownSet(heaps)) return undefined;
  return total === undefined || isSumOf(heaps, Number(total[1]), Number(total[2])) ? heaps : undefined;
}

function parseCodeHeap(match: RegExpMatchArray): CodeHeapInfo | undefined {
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

/** HotSpot has one undivided code cache, or code heaps that always include the one for its own code. */
function isKnownSet(heaps: readonly CodeHeapInfo[]): boolean {
  const hasWhole = heaps.some(({ name }) => name === 'CodeCache');
  return hasWhole ? heaps.length === 1 : heaps.some(({ name }) => name === "CodeHeap 'non-nmethods'");
}

function isSumOf(heaps: readonly CodeHeapInfo[], sizeKib: number, usedKib: number): boolean {
  const sum = (key: 'used' | 'max') => heaps.reduce((all, heap) => all + heap[key], 0);
  // Each heap is truncated to whole KiB separately.
  const cutBytes = heaps.length * KIB;
  return Math.abs(sum('max') - sizeKib * KIB) <= cutBytes && Math.abs(sum('used') - usedKib * KIB) <= MAX_DRIFT_BYTES;
}

/** For `VM.flags`, which lists on one line all flags that differ from their defaults. */
export function parseFlags(text: string): FlagsInfo {
  // A flag that occurs twice is ignored. A flag is a whole word.
  const bytes = (name: string) => numberIn(text, `(?<=^|\\s)-XX:${name}=(\\d{1,15})(?=\\s|$)`);
  const [initialHeapSize, maxHeapSize] = [bytes('InitialHeapSize'), bytes('MaxHeapSize')];
  const isPossible =
    initialHeapSize !== undefined && maxHeapSize !== undefined && initialHeapSize <= maxHeapSize && maxHeapSize > 0;
  return {
    initialHeapSize: isPossible ? initialHeapSize : undefined,
    maxHeapSize: isPossible ? maxHeapSize : undefined,
    initialCodeCacheSize: bytes('InitialCodeCacheSize'),
    shenandoahMode: shenandoahModeIn(text),
    hasLargePages: /-XX:\+Use(?:LargePages|TransparentHugePages)(?=\s|$)/.test(text),
  };
}

/** Flags are sorted by name: if the collector's flag is there, its mode cannot have been cut off. */
function shenandoahModeIn(text: string): string | undefined {
  if (!/(?<=^|\s)-XX:\+UseShenandoahGC(?=\s|$)/m.test(text)) return undefined;
  // Several modes are joined to a name that does not exist.
  const modes = [...text.matchAll(/-XX:ShenandoahGCMode=(\S*)/g)].map((match) => match[1] as string);
  return modes.length === 0 ? 'default' : modes.join(' ');
}

function numberIn(text: string, pattern: string): number | undefined {
  const match = onlyMatch(text, pattern);
  const value = Number(match?.[1]);
  return match !== undefined && Number.isSafeInteger(value) ? value : undefined;
}
