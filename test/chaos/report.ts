/** The report of a run. */
import { renderTable } from '../bench/load/report.ts';
import type { Book } from './accounts/book.ts';
import type { Differences } from './accounts/differences.ts';
import { ENTRY_KINDS, OUTCOMES } from './accounts/entry.ts';
import { type Equation, holds } from './accounts/equations.ts';
import type { ChaosRun, QuietPoint } from './run/chaos-run.ts';
import type { Storm } from './run/storm.ts';

const MEGABYTE = 1024 * 1024;

export interface Reported {
  readonly seed: number;
  readonly book: Book;
  readonly run: ChaosRun;
  readonly storm: Storm;
  readonly differences: Differences;
}

export function renderReport({ seed, book, run, storm, differences }: Reported): string {
  const { ends, life } = run;
  const faults = [...storm.counts].map(([kind, count]) => `${kind} ${count}`).join(', ');
  return [
    `seed ${seed}: ${life} starts of the sidecar; stretches that ended in quiet ${ends.quiet}, by SIGTERM ${ends.term}, by SIGKILL ${ends.kill}`,
    `upstream as a whole: ${faults}`,
    '',
    'Calls at the clients; sent = the sum of all endings:',
    renderKinds(book),
    '',
    'Endings, by planned fault:',
    renderFaults(book),
    '',
    renderMessages(book),
    `Unplanned endings, by fault in progress: ${renderExcused(book)}`,
    '',
    'Equations at the last quiet point of each life (clients = sidecar):',
    renderPoints(run.points),
    '',
    renderMemory(run),
    '',
    renderVerdict(differences, seed),
    '',
  ].join('\n');
}

function renderKinds({ counts }: Book): string {
  const rows = ENTRY_KINDS.map((kind) => {
    const { sent, seen, outcomes } = counts.get(kind) ?? { sent: 0, seen: 0, outcomes: undefined };
    return [kind, String(sent), ...OUTCOMES.map((outcome) => String(outcomes?.[outcome] ?? 0)), String(seen)];
  });
  const total = rows.reduce(
    (sums, row) => sums.map((sum, i) => sum + Number(row[i + 1])),
    Array.from({ length: OUTCOMES.length + 2 }, () => 0),
  );
  return renderTable(['', 'sent', ...OUTCOMES, 'upstream saw'], [...rows, ['all', ...total.map(String)]]);
}

function renderFaults({ faults }: Book): string {
  const rows = [...faults]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([fault, counts]) => [fault, ...OUTCOMES.map((outcome) => String(counts[outcome]))]);
  return renderTable(['', ...OUTCOMES], rows);
}

function renderMessages({ messages: { sent, seen, echoed, lost } }: Book): string {
  return `Messages of WebSockets: ${sent} sent, ${seen} seen by the upstream, ${echoed} echoed, ${lost} without an echo when theirs ended.`;
}

function renderExcused({ excused }: Book): string {
  return [...excused].map(([what, count]) => `${what} ${count}`).join(', ') || 'none';
}

function renderPoints(points: readonly QuietPoint[]): string {
  const last = new Map(points.map((point) => [point.life, point]));
  const columns = [...last.values()];
  const names = columns[0]?.equations.map(({ what }) => what) ?? [];
  const rows = names.map((what, i) => [what, ...columns.map(({ equations }) => renderEquation(equations[i]))]);
  const memory = ['resident MB', ...columns.map(({ figures }) => (figures.residentBytes / MEGABYTE).toFixed(0))];
  const descriptors = ['descriptors', ...columns.map(({ figures }) => String(figures.descriptors))];
  const titles = columns.map(({ life, dataPath }) => `life ${life}, ${dataPath}`);
  return renderTable(['', ...titles], [...rows, memory, descriptors]);
}

function renderEquation(equation: Equation | undefined): string {
  if (equation === undefined) return '';
  const { least, most, counted } = equation;
  const known = least === most ? `${least}` : `${least}..${most}`;
  return `${known} ${holds(equation) ? '=' : '≠'} ${counted}`;
}

function renderMemory({ memory }: ChaosRun): string {
  if (memory === undefined) return 'Memory was not compared.';
  const { before, after } = memory;
  const text = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`;
  return (
    `Memory in calm, before and behind the chaos of the last life: ${text(before.residentBytes)}, ${text(after.residentBytes)}; ` +
    `descriptors ${before.descriptors}, ${after.descriptors}.`
  );
}

function renderVerdict(differences: Differences, seed: number): string {
  if (differences.count === 0) return 'good: every byte right, every call accounted for';
  const counts = [...differences.counts].map(([sort, count]) => `${sort} ${count}`).join(', ');
  return [`BAD, with seed ${seed}: ${counts}`, ...differences.first.map((line) => `  ${line}`)].join('\n');
}
