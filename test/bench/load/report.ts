/** The tables, as Markdown: one for each workload, and one of the targets. */
import { type Result, valuesOf } from './results.ts';
import { type Spread, spreadOf, toText } from './statistics.ts';
import type { Measured, Target, Workload } from './workloads/workload.ts';

/** Lines of a table about the machine and the programs: `Node.js: v20.19.0`. */
export type Machine = readonly (readonly [what: string, value: string])[];

export interface Settings {
  readonly rounds: number;
  readonly seconds: number;
}

export function renderReport(all: readonly Measured[], machine: Machine, settings: Settings): string {
  const parts = [renderIntroduction(machine, settings), renderTargets(all), ...all.map(renderWorkload)];
  return `${parts.join('\n\n')}\n`;
}

function renderIntroduction(machine: Machine, { rounds, seconds }: Settings): string {
  return [
    '# Benchmarks',
    '',
    'What the sidecar costs beside other ways to stand between clients and a server. `npm run bench` measures it anew, and',
    '`npm run bench -- --markdown FILE` writes such a file. wrk has to be installed; each peer that is takes part',
    '(`apt-get install wrk nginx libnginx-mod-http-lua haproxy caddy`). `npm run bench -- --help` tells how to measure less.',
    '',
    `All peers were loaded in turn, in one run: ${rounds} rounds, ${seconds} s for each measurement. A value is the median of the`,
    'rounds, with lowest and highest in brackets. Processor time is that of the peer with its children, user and system, from',
    '/proc; memory is what is resident after the measurement. **Sidecar to it** is the processor time of the sidecar to that of',
    'the peer in the same round: below 1 the sidecar needs less. Where there are two cores or more, the peer has one for itself,',
    'and wrk, the upstream and the harness share the rest. Programs of Node are started with what the image sets',
    '(`MALLOC_ARENA_MAX=1 NODE_OPTIONS="--v8-pool-size=1 --max-semi-space-size=8"`, and `--no-memory-reducer`). Relations travel to other machines,',
    'absolute numbers do not.',
    '',
    renderTable(['', ''], machine),
  ].join('\n');
}

export function renderTargets(all: readonly Measured[]): string {
  const rows = all.flatMap(({ workload, result }) => workload.targets.map((target) => targetRow(target, result)));
  return ['## What is to be reached', '', renderTable(['', 'bound', 'reached', ''], rows)].join('\n');
}

function targetRow({ text, bound, limit, digits, read }: Target, result: Result): string[] {
  const spread = spreadOf(valuesOf(result, read));
  const limits = `${bound} ${limit}`;
  if (spread === undefined) return [text, limits, 'not measured', ''];
  return [text, limits, toText(spread, digits), isReached(bound, limit, spread) ? 'yes' : '**no**'];
}

export function isReached(bound: Target['bound'], limit: number, { median }: Spread): boolean {
  return bound === 'at most' ? median <= limit : median >= limit;
}

export function renderWorkload({ workload, result }: Measured): string {
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
  const all = [...reasons, ...notes];
  return all.length === 0 ? [] : ['', ...all.map((note) => `- ${oneLine(note)}`)];
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '/').slice(0, 200);
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
