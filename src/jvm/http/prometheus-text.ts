/** Parses the parts needed here of Prometheus's text format (version 0.0.4; OpenMetrics does not differ in them). */
import type { JvmSourceError } from '../jvm-source.ts';
import { formatError } from './json.ts';

/** One line, e.g. `jvm_memory_used_bytes{area="heap"} 1.3E8`; the value is NaN if the server says so. */
export type Sample = ReturnType<typeof parseSample>;

export type Samples = ReadonlyMap<string, readonly Sample[]>;

/** Total of all wanted names. 64 pools with four numbers in two forms, and their collectors, need far fewer. */
const MAX_SAMPLES = 4096;
const MAX_LABELS = 32;

/**
 * Reads the samples whose name `isWanted`; of other lines only the first character is checked. Throws
 * `D2S_ERR_JVM_FORMAT` for another format, for a wanted line that is unreadable or repeated, and for too many of them.
 */
export function parsePrometheusText(text: string, isWanted: (name: string) => boolean): Samples {
  const samples = new Map<string, Sample[]>();
  const seen = new Set<string>();
  // A truncated body ends in the middle of a line, and a truncated number is a wrong one.
  if (!text.endsWith('\n')) throw unreadable('its last line has no line feed');
  for (const line of text.split('\n')) {
    // A name, `{` before a quoted name (Prometheus 3), a comment, or blank.
    if (!/^[a-zA-Z_:{#\s]|^$/.test(line)) throw unreadable('a line has an invalid first character');
    const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line)?.[0];
    if (name === undefined || !isWanted(name)) continue;
    const series = line.slice(0, line.lastIndexOf('}') + 1) || name;
    if (seen.has(series)) throw unreadable(`${name} appears twice with the same labels`);
    if (seen.size === MAX_SAMPLES) throw unreadable(`there are more than ${MAX_SAMPLES} lines on the JVM`);
    seen.add(series);
    const list = samples.get(name) ?? [];
    list.push(parseSample(name, line.slice(name.length)));
    samples.set(name, list);
  }
  return samples;
}

/** `rest` follows the name: labels, value, and a timestamp or exemplar, which are skipped. */
function parseSample(name: string, rest: string) {
  const labels = new Map<string, string>();
  const label = /[\s,]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?=[,}])/y;
  let at = rest.startsWith('{') ? 1 : 0;
  while (at > 0) {
    label.lastIndex = at;
    const [, key, value] = label.exec(rest) ?? [];
    if (key === undefined || value === undefined) break;
    if (labels.size === MAX_LABELS || labels.has(key))
      throw unreadable(`the labels of ${name} are too many or repeated`);
    const plain = value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
    labels.set(key, plain);
    at = label.lastIndex;
  }
  const value = /^(?:[ \t]*,?[ \t]*\})?[ \t]*([^\s{}]+)(?:[ \t].*)?\r?$/.exec(rest.slice(at))?.[1];
  const isClosed = at === 0 || /^[ \t]*,?[ \t]*\}/.test(rest.slice(at));
  if (value === undefined || !isClosed) throw unreadable(`a line of ${name} is incomplete`);
  return { labels, value: parseNumber(name, value) };
}

/** A double in the format of Go's ParseFloat or Java's Double.toString. */
function parseNumber(name: string, text: string): number {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return Number.NaN;
  if (/^[+-]?inf(?:inity)?$/i.test(text))
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  throw unreadable(`a value of ${name} is not a number`);
}

function unreadable(why: string): JvmSourceError {
  return formatError(
    `The answer is not Prometheus text: ${why}. jvm.http.url should be that of a metrics page, e.g. http://127.0.0.1:9404/metrics.`,
  );
}
