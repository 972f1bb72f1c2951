/** The tables, as Markdown: one for each workload, and one of the targets. */
import type { Options } from './options.ts';
import { type Result, valuesOf } from './results.ts';
import { type Spread, spreadOf, toText } from './statistics.ts';
import type { Measured, Target, Workload } from './workloads/workload.ts';

/** Lines of a table about the machine and the programs: `Node.js: v20.19.0`. */
export type Machine = readonly (readonly [what: string, value: string])[];

/** docs/benchmarks.md says what the figures mean. */
export function renderReport(all: readonly Measured[], machine: Machine, { rounds, seconds }: Options): string {
  const machineTable = renderTable(['', ''], [...machine, ['measured', `${rounds} rounds of ${seconds} s`]]);
  return `${['# Benchmarks', machineTable, renderTargets(all), ...all.map(renderWorkload)].join('\n\n')}\n`;
}

function renderTargets(all: readonly Measured[]): string {
  const rows = all.flatMap(({ workload, result }) => workload.targets.map((target) => targetRow(target, result)));
  return ['## What is to be reached', '', renderTable(['', 'bound', 'reached'], rows)].join('\n');
}

/** What misses its bound is bold. */
function targetRow({ text, bound, limit, digits, read }: Target, result: Result): string[] {
  const spread = spreadOf(valuesOf(result, read));
  const limits = `${bound} ${limit}`;
  if (spread === undefined) return [text, limits, 'not measured'];
  const reached = toText(spread, digits);
  return [text, limits, isReached(bound, limit, spread) ? reached : `**${reached}**`];
}

export function isReached(bound: Target['bound'], limit: number, { median }: Spread): boolean {
  return bound === 'at most' ? median <= limit : median >= limit;
}

function renderWorkload({ workload, result }: Measured): string {
  const { title, how, columns } = workload;
  const rows = workload.contestants.flatMap((contestant) => {
    const cells = columns.map(({ digits, read }) => {
      const spread = spreadOf(valuesOf(result, read(contestant.name)));
      return spread === undefined ? '' : toText(spread, digits);
    });
    const reason = result.missing.get(contestant.name);
    // Excluded on request: no row at all.
    if (reason === undefined && cells.every((cell) => cell === '')) return [];
    return [[reason === undefined ? contestant.title : `${contestant.title}: see below`, ...cells]];
  });
  const table = renderTable(['', ...columns.map((column) => column.title)], rows);
  return [`## ${title}`, '', how, '', table, ...notesOf(workload, result)].join('\n');
}

function notesOf({ contestants }: Workload, { missing, notes }: Result): string[] {
  const reasons = contestants.flatMap(({ name, title }) => {
    const reason = missing.get(name);
    return reason === undefined ? [] : [`${title}: ${reason}`];
  });
  const all = [...reasons, ...notes].map((note) => note.replaceAll(/\s+/g, ' ').replaceAll('|', '/').slice(0, 200));
  return all.length === 0 ? [] : ['', ...all.map((note) => `- ${note}`)];
}

/** Columns as wide as their widest cell, the first to the left and numbers to the right, so that it reads well as text too. */
export function renderTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, at) => Math.max(3, title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const toLine = (cells: readonly string[]) => {
    const padded = widths.map((width, at) =>
      at === 0 ? (cells[at] ?? '').padEnd(width) : (cells[at] ?? '').padStart(width),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [toLine(titles), toLine(rule), ...rows.map(toLine)].join('\n');
}
