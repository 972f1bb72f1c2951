/**
 * Decodes the counters that this program needs from the bytes of HotSpot's counters file. The list is closed:
 * `java.rt.vmArgs` and other texts that may contain passwords are never decoded.
 */
import type { MemoryUsage } from '../jvm-source.ts';
import { type Entry, parseLayout, type Unusable } from './entries.ts';

export interface Counters {
  /** E.g. `sun.gc.metaspace.used` => 1180464n. Ticks stay BigInt until they are divided. */
  readonly numbers: ReadonlyMap<string, bigint>;
  /** E.g. `sun.gc.policy.name` => `GarbageFirst`. */
  readonly texts: ReadonlyMap<string, string>;
  readonly command: ReturnType<typeof parseJavaCommand> | undefined;
  /** E.g. 17; undefined if the file's two version counters are missing or disagree. */
  readonly jdkMajor: number | undefined;
  /** When the JVM started, in milliseconds since 1970. Identifies a JVM together with the file's inode. */
  readonly startedEpochMs: number | undefined;
}

const NONE = 1;
const BYTES = 2;
const TICKS = 3;
const EVENTS = 4;
const STRING = 5;
const HERTZ = 6;

const NUMBER_UNITS: ReadonlyMap<string, number> = new Map([
  ['java.cls.loadedClasses', EVENTS],
  ['java.threads.daemon', NONE],
  ['java.threads.live', NONE],
  ['java.threads.livePeak', NONE],
  ['java.cls.sharedLoadedClasses', EVENTS],
  ['java.cls.unloadedClasses', EVENTS],
  ['java.cls.sharedUnloadedClasses', EVENTS],
  ['sun.gc.metaspace.used', BYTES],
  ['sun.gc.metaspace.capacity', BYTES],
  ['sun.gc.compressedclassspace.used', BYTES],
  ['sun.gc.compressedclassspace.capacity', BYTES],
  ['sun.gc.compressedclassspace.maxCapacity', BYTES],
  ['sun.os.hrt.frequency', HERTZ],
  ['sun.os.hrt.ticks', TICKS],
  ['sun.rt.createVmBeginTime', NONE],
  ['sun.rt.jvmVersion', NONE],
]);

const GENERATION = /^sun\.gc\.generation\.[01]\.(?:minCapacity|maxCapacity|capacity)$/;
const SPACE = /^sun\.gc\.generation\.[01]\.space\.[0-4]\.(?:used|capacity|maxCapacity|initCapacity)$/;
const COLLECTOR = /^sun\.gc\.collector\.[0-7]\.(?:invocations|time)$/;
const COLLECTOR_NAME = /^sun\.gc\.collector\.[0-7]\.name$/;
const SPECIFICATION = 'java.property.java.vm.specification.version';
const COMMAND = 'sun.rt.javaCommand';

const MAX_TEXT_BYTES = 64;

/** The unit that a wanted number must have; undefined for other numbers. */
function unitOf(name: string): number | undefined {
  if (GENERATION.test(name) || SPACE.test(name)) return BYTES;
  if (COLLECTOR.test(name)) return name.endsWith('.time') ? TICKS : EVENTS;
  return NUMBER_UNITS.get(name);
}

/** Reads the wanted counters. Never throws; a file that contradicts itself is `invalid`, with the reason. */
export function decodeCounters(bytes: Buffer): { readonly kind: 'counters'; readonly counters: Counters } | Unusable {
  const result = parseLayout(bytes);
  if (result.kind !== 'layout') return result;
  const { entries, isLittleEndian } = result;
  const numbers = new Map<string, bigint>();
  const texts = new Map<string, string>();
  let command: ReturnType<typeof parseJavaCommand> | undefined;
  for (const entry of entries) {
    const { name, type, dataOffset } = entry;
    const unit = unitOf(name);
    if (numbers.has(name) || texts.has(name)) return { kind: 'invalid', reason: `it has the counter ${name} twice` };
    if (unit !== undefined) {
      if (type !== 'J' || unit !== entry.unit)
        return { kind: 'invalid', reason: `its counter ${name} is of another kind` };
      numbers.set(name, isLittleEndian ? bytes.readBigInt64LE(dataOffset) : bytes.readBigInt64BE(dataOffset));
    } else if (name === 'sun.gc.policy.name' || name === SPECIFICATION || COLLECTOR_NAME.test(name)) {
      if (!isText(entry)) return { kind: 'invalid', reason: `its counter ${name} is of another kind` };
      texts.set(name, readText(bytes, entry, MAX_TEXT_BYTES));
    } else if (name === COMMAND && isText(entry)) {
      command = parseJavaCommand(readText(bytes, entry, entry.dataBytes));
    }
  }
  const jdkMajor = parseJdkMajor(texts.get(SPECIFICATION), numbers.get('sun.rt.jvmVersion'));
  const startedEpochMs = within(numbers.get('sun.rt.createVmBeginTime'), MAX_COUNT) || undefined;
  return { kind: 'counters', counters: { numbers, texts, command, jdkMajor, startedEpochMs } };
}

function isText({ type, unit }: Entry): boolean {
  return type === 'B' && unit === STRING;
}

function readText(bytes: Buffer, { dataOffset, dataBytes }: Entry, maxBytes: number): string {
  const end = dataOffset + Math.min(dataBytes, maxBytes);
  const nul = bytes.indexOf(0, dataOffset);
  return bytes.toString('latin1', dataOffset, nul >= 0 && nul < end ? nul : end);
}

/** From `17` (`1.8` before JDK 9) and the number whose highest byte is the major version; both must agree. */
function parseJdkMajor(specification: string | undefined, jvmVersion: bigint | undefined): number | undefined {
  const [, digits] = /^(?:1\.)?(\d{1,3})$/.exec(specification ?? '') ?? [];
  if (digits === undefined || jvmVersion === undefined) return undefined;
  const major = Number(digits);
  // Before JDK 9 that byte counts HotSpot's own versions.
  return major <= 8 || BigInt(major) === jvmVersion >> 24n ? major : undefined;
}

const MAX_NAME_LENGTH = 80;
const TOMCAT = 'org.apache.catalina.startup.Bootstrap';
const WILDFLY = 'jboss-modules.jar';

/** Other programs in WildFly's archive: its command line, its account tool, and the parents of a domain. */
const WILDFLY_TOOLS = [
  'org.jboss.as.cli',
  'org.jboss.as.domain-add-user',
  'org.jboss.as.process-controller',
  'org.jboss.as.host-controller',
  'org.jboss.as.vault-tool',
  'org.jboss.as.appclient',
  'org.wildfly.security.elytron-tool',
];

/** jcmd, jps, jstat, javac and similar tools, with or without a module name before the class. */
const JDK_TOOLS =
  /^(?:jdk\.[a-z.]+|java\.[a-z.]+)\/|^(?:sun\.tools|sun\.jvmstat|com\.sun\.tools|jdk\.jshell|jdk\.jfr|jdk\.tools)\./;

/**
 * Parses `sun.rt.javaCommand`, e.g. `org.apache.catalina.startup.Bootstrap start`. The arguments may contain passwords:
 * only the kind and the short name of the class or archive are kept, e.g. `jboss-modules.jar`.
 */
export function parseJavaCommand(text: string) {
  const [first = '', ...rest] = text.split(' ');
  const path = first.slice(first.lastIndexOf('/') + 1);
  const name = path.replace(/[^\w.$-]/g, '').slice(0, MAX_NAME_LENGTH) || 'unnamed';
  return { kind: classifyCommand(first, path, rest), name };
}

function classifyCommand(first: string, path: string, rest: readonly string[]) {
  if (first === TOMCAT) return rest.at(-1) === 'start' ? 'application-server' : 'tool';
  if (path === WILDFLY) return rest.some((word) => WILDFLY_TOOLS.includes(word)) ? 'tool' : 'application-server';
  return JDK_TOOLS.test(first) ? 'tool' : 'other';
}

/*
 * Impossible numbers of the counters file are dropped, and never corrected.
 * - Bytes are between 0 and 128 TiB, a process's address space; counts and milliseconds between 0 and 2^53.
 * - In one space: used <= committed <= max. 45,000 readings during collections never violated this.
 *   A violation means that one of the two is damaged, but not which, so both are left out.
 * - Not more classes unloaded than loaded; not both survivor spaces in use at once.
 */
const MAX_BYTES = 2n ** 47n;
const MAX_COUNT = BigInt(Number.MAX_SAFE_INTEGER);

/** Values of `os::elapsed_frequency` in HotSpot on Linux: nanoseconds, or microseconds in old versions. */
const FREQUENCIES: readonly bigint[] = [1_000_000_000n, 1_000_000n];

export function bytesOf({ numbers }: Counters, name: string): number | undefined {
  return within(numbers.get(name), MAX_BYTES);
}

export function countOf({ numbers }: Counters, name: string): number | undefined {
  return within(numbers.get(name), MAX_COUNT);
}

/** Ticks as whole milliseconds, rounded down like the MXBean's. */
export function millisecondsOf({ numbers }: Counters, name: string): number | undefined {
  const ticks = numbers.get(name);
  const frequency = numbers.get('sun.os.hrt.frequency');
  if (ticks === undefined || ticks < 0n || frequency === undefined || !FREQUENCIES.includes(frequency))
    return undefined;
  return within((ticks * 1000n) / frequency, MAX_COUNT);
}

/** Undefined if any value is, or if the sum is beyond 2^53. */
export function sum(...values: readonly (number | undefined)[]): number | undefined {
  const total = values.reduce<number>((all, value) => all + (value ?? Number.NaN), 0);
  return Number.isSafeInteger(total) ? total : undefined;
}

/** The usage without the values that contradict each other; a `max` of -1 means no limit. */
export function dropImplausible(usage: MemoryUsage): MemoryUsage {
  const { used, committed, max } = usage;
  const isUsedTooLarge = exceeds(used, committed);
  const isCommittedTooLarge = exceeds(committed, max);
  const isUsedBeyondMax = exceeds(used, max);
  return {
    init: exceeds(usage.init, max) ? undefined : usage.init,
    used: isUsedTooLarge || isUsedBeyondMax ? undefined : used,
    committed: isUsedTooLarge || isCommittedTooLarge ? undefined : committed,
    max: isCommittedTooLarge || isUsedBeyondMax || exceeds(usage.init, max) ? undefined : max,
  };
}

function exceeds(value: number | undefined, limit: number | undefined): boolean {
  return value !== undefined && limit !== undefined && limit !== -1 && value > limit;
}

function within(value: bigint | undefined, limit: bigint): number | undefined {
  return value === undefined || value < 0n || value > limit ? undefined : Number(value);
}
