/** The tables of `npm run fleet`, as Markdown. */
import { renderTable } from '../bench/load/report.ts';
import type { QueryReading, StageReading } from './stage.ts';

const NAMES = { prometheus: 'Prometheus', victoria: 'VictoriaMetrics' };

type Column = readonly [title: string, cell: (stage: StageReading) => string];

const COLUMNS: readonly Column[] = [
  ['Store', ({ store }) => NAMES[store]],
  ['Sidecars', ({ count, size }) => `${count.toLocaleString('en')} ${size}`],
  ['Minutes', ({ minutes }) => String(minutes)],
  ['Series', ({ series }) => series.toLocaleString('en')],
  ['Samples/s', ({ samplesPerSecond }) => Math.round(samplesPerSecond).toLocaleString('en')],
  ['Memory', ({ peakBytes }) => `${Math.round(peakBytes / 2 ** 20).toLocaleString('en')} MiB`],
  ['Cores', ({ cores, ownCores }) => `${cores.toFixed(2)} + ${ownCores.toFixed(2)}`],
  ['Failed', ({ failedScrapes, scrapes }) => `${failedScrapes} of ${scrapes.scrapes.toLocaleString('en')}`],
  ['Late', ({ scrapes }) => String(scrapes.late)],
  ['Longest scrape', ({ longestScrapeS }) => toTime(longestScrapeS)],
];

export function renderReport(stages: readonly StageReading[]): string {
  const main = renderTable(
    COLUMNS.map(([title]) => title),
    stages.map((stage) => COLUMNS.map(([, cell]) => cell(stage))),
  );
  const names = stages[0]?.groups.map(({ name, intervalS }) => [name, intervalS] as const) ?? [];
  const rules = renderTable(
    ['Rule group (interval)', ...stages.map(toTitle)],
    names.map(([name, intervalS]) => [
      `\`${name}\` (${intervalS} s)`,
      ...stages.map(({ groups }) => toTime(groups.find((group) => group.name === name)?.seconds ?? Number.NaN)),
    ]),
  );
  const queries = stages[0]?.queries.map(({ dashboard, name }) => `${dashboard}: ${name}`) ?? [];
  const times = renderTable(
    ['Query', ...stages.map(toTitle)],
    queries.map((query) => [query, ...stages.map((stage) => toTime(timeOf(stage, query)))]),
  );
  const summary = renderTable(
    ['Dashboard', ...stages.map(toTitle)],
    ['fleet', 'site'].map((dashboard) => [dashboard, ...stages.map((stage) => toSummary(stage.queries, dashboard))]),
  );
  const missed = stages.reduce((sum, stage) => sum + stage.missedEvaluations, 0);
  const evaluations = `Missed evaluations: ${missed}`;
  return [main, rules, evaluations, 'Slowest query, and all one after the other:', summary, `${times}\n`].join('\n\n');
}

/** What is wrong with a stage; empty if nothing is. */
export function faultsOf(stage: StageReading): readonly string[] {
  const late = stage.groups.filter(({ seconds, intervalS }) => seconds > intervalS).map(({ name }) => name);
  return [
    ...(stage.failedScrapes === 0 ? [] : [`${stage.failedScrapes} scrapes failed`]),
    ...(stage.scrapes.late === 0 ? [] : [`${stage.scrapes.late} scrapes were late`]),
    ...late.map((name) => `the rules of ${name} took longer than their interval`),
    ...(stage.missedEvaluations === 0 ? [] : [`${stage.missedEvaluations} evaluations of rules were missed`]),
  ].map((fault) => `${toTitle(stage)}: ${fault}`);
}

const toTitle = ({ store, count, size }: StageReading) => `${NAMES[store]}, ${count.toLocaleString('en')} ${size}`;

function timeOf({ queries }: StageReading, query: string): number {
  return queries.find(({ dashboard, name }) => `${dashboard}: ${name}` === query)?.seconds ?? Number.NaN;
}

function toSummary(queries: readonly QueryReading[], dashboard: string): string {
  const seconds = queries.filter((one) => one.dashboard === dashboard).map((one) => one.seconds);
  if (seconds.length === 0) return '';
  return `${toTime(Math.max(...seconds))}, ${toTime(seconds.reduce((sum, one) => sum + one, 0))}`;
}

function toTime(seconds: number): string {
  if (Number.isNaN(seconds)) return '';
  return seconds >= 1 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds * 1_000)} ms`;
}
