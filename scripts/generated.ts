/** The files, and the parts of files, that `npm run generate` writes. test/unit/generated.test.ts fails when one differs. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CALL_FIELDS, DEFINITIONS, type Definition, NOTES, SESSION_FIELDS } from '../src/base/definitions.ts';
import { DEFAULT_REST_RULES } from '../src/measure/classify/default-rest-rules.ts';
import { configurationFiles } from './configuration-files.ts';
import { metricFiles } from './metric-files.ts';
import { dashboardCopies, ruleFiles } from './prometheus-files.ts';

export interface Generated {
  /** Path in the project: `config/schema.json`. */
  readonly file: string;
  /**
   * The text replaces the lines between `<!-- generated: MARKER -->` and `<!-- end of MARKER -->`. Absent: it is the
   * whole file.
   */
  readonly marker?: string;
  readonly text: string;
}

/** To add a file, return it from a function here. `root` is the project's folder. */
export async function listGenerated(root: string): Promise<readonly Generated[]> {
  return [
    ...configurationFiles(),
    ...metricFiles(root),
    restRulesTable(),
    pageList(),
    fieldsList('session-fields', SESSION_FIELDS),
    fieldsList('call-fields', CALL_FIELDS),
    ...ruleFiles(root),
    ...dashboardCopies(root),
  ];
}

/** The content of each generated file by name. Files with markers keep the text outside them. */
export async function toContents(root: string): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>();
  for (const { file, marker, text } of await listGenerated(root)) {
    const before = contents.get(file) ?? (marker === undefined ? '' : readFileSync(path.join(root, file), 'utf8'));
    contents.set(file, marker === undefined ? text : replaceBetween(before, file, marker, text));
  }
  return contents;
}

function replaceBetween(content: string, file: string, marker: string, text: string): string {
  const [begin, end] = [`<!-- generated: ${marker} -->\n`, `<!-- end of ${marker} -->\n`];
  const [from, to] = [content.indexOf(begin), content.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file}: expected the lines ${begin.trim()} and ${end.trim()}`);
  return `${content.slice(0, from)}${begin}\n${text.trim()}\n\n${content.slice(to)}`;
}

function restRulesTable(): Generated {
  const rows = DEFAULT_REST_RULES.map(
    ({ methods, path: pattern, kind, name }) =>
      `| ${(methods ?? []).join(', ')} | \`${pattern}\` | \`${kind}\` | \`${name}\` |`,
  );
  const text = ['| Method | Path | Counts as | Name |', '|---|---|---|---|', ...rows].join('\n');
  return { file: 'docs/statistics.md', marker: 'rest-rules', text };
}

/** /openapi.json describes the same fields with the same sentences (document.ts). */
function fieldsList(marker: string, fields: Readonly<Record<string, string>>): Generated {
  const lines = Object.entries(fields).map(([name, text]) => `- \`${name}\`: ${text}`);
  return { file: 'docs/statistics.md', marker, text: lines.join('\n') };
}

const FIELDS = 'as [sessions](#the-session-list) and [calls](#the-calls-that-run-and-the-slowest)';
/** Numbers of the page that other parts of docs/statistics.md define, by their keys. */
const ELSEWHERE: readonly (readonly [keys: RegExp, text: string])[] = [
  [
    /^(?:call\.(?:count|rate|p50|p99|errors)|timer\.\w+)$/,
    'of the call, as [the fields of a timer](#fields-of-a-timer)',
  ],
  [/^past\.(?!before|change|slower)/, 'as [the tables of the history](history.md#tables)'],
  [/^caller\./, 'calls of this name in the session, and their share'],
  [/^object\./, 'as [the numbers of an object](#what-is-there)'],
  [/^(?:session\.(?:connection|address)|single\.name)$/, FIELDS],
  [/^target\./, 'see [Targets](#targets)'],
];

/** Terms whose sentence is that of a field are listed together, since the lists of fields have it. */
function pageList(): Generated {
  const fields = [...Object.values<string>(SESSION_FIELDS), ...Object.values<string>(CALL_FIELDS)];
  const isField = ({ text }: Definition) => fields.some((field) => text.includes(field));
  const groups = new Map<string, string[]>();
  const rows: string[] = [];
  for (const [key, definition] of Object.entries<Definition>(DEFINITIONS)) {
    const { term, text, notes = [] } = definition;
    const [, elsewhere] = ELSEWHERE.find(([keys]) => keys.test(key)) ?? [];
    const place = isField(definition) ? FIELDS : elsewhere;
    if (place !== undefined) groups.set(place, [...(groups.get(place) ?? []), term]);
    else {
      const shorts = notes.map((note) => NOTES[note].short).filter((short) => short !== '');
      rows.push(`- **${term}**: ${[text, ...shorts].join(' ')}`);
    }
  }
  const last = [...groups].map(([place, terms]) => `- **${[...new Set(terms)].join('; ')}**: ${place}.`);
  return { file: 'docs/statistics.md', marker: 'page', text: [...rows, ...last].join('\n') };
}
