import { renderTable } from '../bench/load/report.ts';
import type { Book } from './accounts/book.ts';
import type { Differences } from './accounts/differences.ts';
import { ENTRY_KINDS, OUTCOMES } from './accounts/entry.ts';
import { type Equation, holds, knownOf } from './accounts/equations.ts';
import type { ChaosRun } from './run/chaos-run.ts';
import type { Storm } from './run/storm.ts';

export function renderReport(seed: number, book: Book, run: ChaosRun, storm: Storm): string {
  const { ends, life } = run;
  const { sent, seen, echoed, lost } = book.messages;
  return [
    `seed ${seed}: ${life} starts of the sidecar; stretches that ended in quiet ${ends.quiet}, by SIGTERM ${ends.term}, by SIGKILL ${ends.kill}`,
    `upstream as a whole: ${toCounts(storm.counts)}`,
    '',
    'Calls at the clients; sent = the sum of all endings:',
    renderKinds(book),
    '',
    `Messages of WebSockets: ${sent} sent, ${seen} seen by the upstream, ${echoed} echoed, ${lost} without an echo when theirs ended.`,
    `Unplanned endings, by fault in progress: ${toCounts(book.excused) || 'none'}`,
    '',
    'Equations at the last quiet point of each life (clients = sidecar):',
    renderPoints(run),
    '',
    renderMemory(run),
    '',
    renderVerdict(book.differences, seed),
    '',
  ].join('\n');
}

function toCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([what, count]) => `${what} ${count}`).join(', ');
}

function renderKinds({ counts }: Book): string {
  const rows = ENTRY_KINDS.map((kind) => {
    const { sent, seen, outcomes } = counts[kind];
    return [kind, ...[sent, ...OUTCOMES.map((outcome) => outcomes[outcome]), seen].map(String)];
  });
  const titles = ['', 'sent', ...OUTCOMES, 'upstream saw'];
  const sums = titles.slice(1).map((_, i) => String(rows.reduce((sum, row) => sum + Number(row[i + 1]), 0)));
  return renderTable(titles, [...rows, ['all', ...sums]]);
}

function renderPoints({ points }: ChaosRun): string {
  const columns = [...new Map(points.map((point) => [point.life, point])).values()];
  const row = (what: string, read: (point: (typeof columns)[number]) => string) => [what, ...columns.map(read)];
  const equations = columns[0]?.equations.map(({ what }, i) => row(what, (point) => toSides(point.equations[i]))) ?? [];
  const figures = [
    row('resident MB', (point) => toMegabytes(point.figures.residentBytes, 0)),
    row('descriptors', (point) => String(point.figures.descriptors)),
  ];
  return renderTable(
    row('', ({ life }) => `life ${life}`),
    [...equations, ...figures],
  );
}

function toSides(equation: Equation | undefined): string {
  return equation === undefined ? '' : `${knownOf(equation)} ${holds(equation) ? '=' : '≠'} ${equation.counted}`;
}

function renderMemory({ memory }: ChaosRun): string {
  if (memory === undefined) return 'Memory was not compared.';
  const [before, after] = [memory.before, memory.after];
  const sizes = `${toMegabytes(before.residentBytes, 1)} MB, ${toMegabytes(after.residentBytes, 1)} MB`;
  const descriptors = `descriptors ${before.descriptors}, ${after.descriptors}`;
  return `Memory in calm, before and behind the chaos of the last life: ${sizes}; ${descriptors}.`;
}

function toMegabytes(bytes: number, digits: number): string {
  return (bytes / 2 ** 20).toFixed(digits);
}

function renderVerdict(differences: Differences, seed: number): string {
  if (differences.count === 0) return 'good: every byte right, every call accounted for';
  const all = differences.first.map((line) => `  ${line}`);
  // The last line has all of it in short: CI keeps only the end of the output.
  return [...all, `BAD, with seed ${seed}: ${toCounts(differences.counts)}; ${differences.examples.join('; ')}`].join(
    '\n',
  );
}
