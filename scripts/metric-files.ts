/**
 * The table of metrics in docs/prometheus.md, and the list that it takes versions from. The list has each metric as users
 * know it: a changed or missing one stays in the list, and fails the tests, until a [CHANGE] of CHANGELOG.md names it.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Family } from '../src/base/metric-description.ts';
import { METRICS } from '../src/sidecar/metrics.ts';
import type { Generated } from './generated.ts';

export const LIST_FILE = 'scripts/metrics.json';

/** What queries depend on. */
export interface Form {
  readonly type: string;
  /** `seconds` or `bytes`; empty for a number. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly bounds?: readonly number[];
}

/** By name. */
export type MetricList = Readonly<Record<string, Form & { readonly since: string }>>;

export function metricFiles(root: string): readonly Generated[] {
  const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const list = updateList(JSON.parse(read(LIST_FILE)), FAMILIES, { version, changelog: read('CHANGELOG.md') });
  const lines = Object.entries(list).map((entry) => entry.map((part) => JSON.stringify(part)).join(': '));
  const file = 'docs/prometheus.md';
  return [
    { file: LIST_FILE, text: `{\n${lines.join(',\n')}\n}\n` },
    { file, marker: 'metrics', text: metricsTable(list) },
    { file, marker: 'bounds', text: boundsTable() },
  ];
}

export const FAMILIES: readonly Family[] = Object.values(METRICS).flat();

export function formOf({ name, type, labels, bounds }: Family): Form {
  const [, unit = ''] = /_(seconds|bytes)(?:_total)?$/.exec(name) ?? [];
  return { type, unit, labels, ...(bounds === undefined ? {} : { bounds }) };
}

/** New metrics are since `version`. Others change only if CHANGELOG.md says so. */
export function updateList(
  list: MetricList,
  families: readonly Family[],
  { version, changelog }: { version: string; changelog: string },
): MetricList {
  const changes = changesOf(changelog);
  const now = families.map((family) => {
    const [form, known] = [formOf(family), list[family.name]];
    const isSaid = known === undefined || isNamed(changes, family.name, wordsOf(known, form));
    return [family.name, isSaid ? { ...form, since: known?.since ?? version } : known] as const;
  });
  const names = new Set(families.map(({ name }) => name));
  const gone = Object.entries(list).filter(([name]) => !names.has(name) && !isNamed(changes, name, []));
  return Object.fromEntries([...now, ...gone]);
}

/** The lines [CHANGE] of the version that is not released: the first section. */
function changesOf(changelog: string): readonly string[] {
  const [, section = ''] = changelog.split(/^## /m);
  return section.split('\n').filter((line) => line.startsWith('- [CHANGE] '));
}

function isNamed(changes: readonly string[], name: string, words: readonly string[]): boolean {
  const hasWord = (line: string, word: string) =>
    new RegExp(`(?<![\\w.])${word.replace('.', '\\.')}(?![\\w.]*\\w)`).test(line);
  return changes.some((line) => [name, ...words].every((word) => hasWord(line, word)));
}

/** What a line on this change has to name, so that an older line on the same metric does not do: labels, the new type, bounds. */
function wordsOf(before: Form, after: Form): readonly string[] {
  const changed = <Value extends string | number>(one: readonly Value[] = [], other: readonly Value[] = []) =>
    [...one.filter((value) => !other.includes(value)), ...other.filter((value) => !one.includes(value))].map(String);
  const type = before.type === after.type ? [] : [after.type];
  return [...type, ...changed(before.labels, after.labels), ...changed(before.bounds, after.bounds)];
}

function metricsTable(list: MetricList): string {
  const rows = FAMILIES.map((family) => {
    const { name, labels, help, type } = family;
    const names = labels.length === 0 ? '' : `{${labels.join(',')}}`;
    const form = [type, formOf(family).unit, list[name]?.since].filter(Boolean).join(', ');
    return `| \`${name}${names}\` | ${form} | ${help} |`;
  });
  return ['| Metric | Type, unit, since | Meaning |', '|---|---|---|', ...rows].join('\n');
}

/** Histograms with the same bounds share a row. */
function boundsTable(): string {
  const names = new Map<string, string[]>();
  for (const { name, bounds } of FAMILIES) {
    if (bounds === undefined) continue;
    const text = bounds.join(', ');
    names.set(text, [...(names.get(text) ?? []), `\`${name}\``]);
  }
  const rows = [...names].map(([text, sharing]) => `| ${sharing.join(', ')} | ${text} |`);
  return ['| Histogram | Bounds in seconds |', '|---|---|', ...rows].join('\n');
}
