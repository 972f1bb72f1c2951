/** The tables, as Markdown: one for each workload, and one of the targets. docs/benchmarks.md says what the figures mean. */
import type { Options } from './options.ts';
import { type Result, toText, valuesOf } from './results.ts';
import { medianOf } from './statistics.ts';
import type { Target, Workload } from './workloads/workload.ts';

export interface Measured {
  readonly workload: Workload;
  readonly result: Result;
}

export function renderReport(all: readonly Measured[], machine: string, { rounds, seconds }: Options): string {
  const targets = all.flatMap(({ workload, result }) => workload.targets.map((target) => targetRow(target, result)));
  return [
    ...['# Benchmarks', `${machine}; ${rounds} rounds of ${seconds} s.`],
    ...['## What is to be reached', renderTable(['', 'bound', 'reached'], targets), ...all.map(renderWorkload), ''],
  ].join('\n\n');
}

/** What misses its bound is bold. */
function targetRow(target: Target, result: Result): string[] {
  const { text, bound, limit, digits, read } = target;
  const values = valuesOf(result, read);
  const reached = toText(values, digits) || 'not measured';
  return [text, `${bound} ${limit}`, values.length === 0 || isReached(target, values) ? reached : `**${reached}**`];
}

export function isReached({ bound, limit }: Pick<Target, 'bound' | 'limit'>, values: readonly number[]): boolean {
  return bound === 'at most' ? medianOf(values) <= limit : medianOf(values) >= limit;
}

function renderWorkload({ workload, result }: Measured): string {
  const { title, how, columns, contestants } = workload;
  const rows = contestants
    .filter(({ name }) => result.rounds.some((round) => round.has(name)))
    .map(({ name, title }) => [
      title,
      ...columns.map(({ digits, read }) => toText(valuesOf(result, read(name)), digits)),
    ]);
  const table = renderTable(['', ...columns.map((column) => column.title)], rows);
  return [`## ${title}`, how, table, ...result.notes.map((note) => `- ${note}`)].join('\n\n');
}

function renderTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = titles.map((_, at) => (at === 0 ? '---' : '---:'));
  return [titles, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
