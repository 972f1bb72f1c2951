/** The text format of Prometheus (version 0.0.4; OpenMetrics differs in nothing that matters here), as far as it is asked for. */
import { JvmSourceError } from '../jvm-source.ts';
import { KEYS } from './keys.ts';

/** One line, e.g. `jvm_memory_used_bytes{area="heap"} 1.3E8`. */
export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  /** NaN where the server says so. */
  readonly value: number;
}

/** Samples by metric name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

/** Of the wanted names together: 64 pools with four numbers in two shapes, and their collectors, fit in many times over. */
const MAX_SAMPLES = 4096;
const MAX_LABELS = 32;

/**
 * Reads the samples whose name `isWanted`; all else is looked at no closer than its first character. Throws
 * `D2S_ERR_JVM_FORMAT` for what is not this format, a wanted line that cannot be read, one that comes twice, and too many.
 */
export function parsePrometheusText(text: string, isWanted: (name: string) => boolean): Samples {
  const samples = new Map<string, Sample[]>();
  const seen = new Set<string>();
  // A body cut off ends in the middle of a line, and half a number is a wrong one.
  if (!text.endsWith('\n')) throw unreadable('it does not end with the end of a line');
  for (const line of text.split('\n')) {
    // A name, one in quotes of Prometheus 3, a comment, or nothing.
    if (!/^[a-zA-Z_:{#\s]|^$/.test(line)) throw unreadable('a line begins with what cannot begin one');
    const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line)?.[0];
    if (name === undefined || !isWanted(name)) continue;
    const series = line.slice(0, line.lastIndexOf('}') + 1) || name;
    if (seen.has(series)) throw unreadable(`${name} is there twice with the same labels`);
    if (seen.size === MAX_SAMPLES) throw unreadable(`there are more than ${MAX_SAMPLES} lines on the JVM`);
    seen.add(series);
    const list = samples.get(name) ?? [];
    list.push(toSample(name, line.slice(name.length)));
    samples.set(name, list);
  }
  return samples;
}

/** `rest` is what follows the name: labels, value, and a time stamp or exemplar, which are passed over. */
function toSample(name: string, rest: string): Sample {
  const labels = new Map<string, string>();
  const label = /[\s,]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?=[,}])/y;
  let at = rest.startsWith('{') ? 1 : 0;
  while (at > 0) {
    label.lastIndex = at;
    const [, key, value] = label.exec(rest) ?? [];
    if (key === undefined || value === undefined) break;
    if (labels.size === MAX_LABELS || labels.has(key))
      throw unreadable(`the labels of ${name} are too many or repeated`);
    labels.set(key, unescapeLabel(value));
    at = label.lastIndex;
  }
  const value = /^(?:[ \t]*,?[ \t]*\})?[ \t]*([^\s{}]+)(?:[ \t].*)?\r?$/.exec(rest.slice(at))?.[1];
  const isClosed = at === 0 || /^[ \t]*,?[ \t]*\}/.test(rest.slice(at));
  if (value === undefined || !isClosed) throw unreadable(`a line of ${name} is incomplete`);
  return { labels, value: toNumber(name, value) };
}

/** A double as Go's ParseFloat and Java's Double.toString write it. */
function toNumber(name: string, text: string): number {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return Number.NaN;
  if (/^[+-]?inf(?:inity)?$/i.test(text))
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  throw unreadable(`a value of ${name} is not a number`);
}

function unescapeLabel(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

function unreadable(why: string): JvmSourceError {
  return new JvmSourceError(
    'D2S_ERR_JVM_FORMAT',
    `What answered is not Prometheus text: ${why}. ${KEYS.url} should be that of a metrics page, e.g. http://127.0.0.1:9404/metrics.`,
  );
}
