/** Numbers that the documents repeat equal those of their source: package.json, the schema, docs/benchmarks.md. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { listDocuments, ROOT } from '../../support/docs/documents.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const { version, engines } = JSON.parse(read('package.json')) as { version: string; engines: { node: string } };
/** The past has its own numbers. */
const documents = listDocuments().filter(({ file }) => file !== 'CHANGELOG.md');
const configuration = ['config', 'scripts', '.ci']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [path.relative(ROOT, path.join(entry.parentPath ?? entry.path, entry.name))] : [],
    ),
  )
  .concat('Dockerfile')
  .map((file) => ({ file, text: read(file) }));

interface Said {
  readonly place: string;
  readonly said: string;
}

function find(pattern: RegExp, texts: readonly { readonly file: string; readonly text: string }[]): readonly Said[] {
  return texts.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].map(({ 0: whole, 1: first, 2: said = first ?? whole, index }) => ({
      place: `${file}:${text.slice(0, index).split('\n').length}`,
      said,
    })),
  );
}

const othersThan = (wanted: string, found: readonly Said[]) => found.filter(({ said }) => said !== wanted);

describe('versions', () => {
  it('of Node.js equal those of package.json', () => {
    const found = find(
      /(?:\bNode(?:\.js)? |`nodejs` of )(\d+\.\d+)(?= or later|[.,] What|\. `package\.json`)|nodejs \(>= ([\d.]+)\)/g,
      [...documents, ...configuration],
    );
    expect(found.length).toBeGreaterThan(4);
    expect(othersThan(engines.node.replace('>=', ''), found)).toEqual([]);
  });

  it('of the image and of the chart equal those of package.json', () => {
    const found = find(
      /(?:d2-sidecar:|newTag: |^appVersion: |image\.version="|repository: file.*\n|^version: )(\d+\.\d+\.\d+)/gm,
      [...documents, ...configuration],
    );
    expect(found.length).toBeGreaterThan(8);
    expect(othersThan(version, found)).toEqual([]);
  });
});

it('the documents name the oldest Kubernetes that the chart allows', () => {
  const [, oldest = ''] = /^kubeVersion: ">=(\d+\.\d+)\.0-0"$/m.exec(read('config/kubernetes/chart/Chart.yaml')) ?? [];
  const found = find(/\bKubernetes (\d\.\d+) (?:or|and) later/g, [...documents, ...configuration]);
  // A single setting may need a newer version.
  expect(found.filter(({ said }) => said === oldest).length).toBeGreaterThan(1);
  expect(found.filter(({ said }) => Number(said.slice(2)) < Number(oldest.slice(2)))).toEqual([]);
});

interface Schema {
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
}

/** By the path of the key, e.g. `stop.delay` to `2s`. */
function defaultsOf(schema: Schema, at = ''): readonly (readonly [string, unknown])[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([key, one]) =>
    defaultsOf(one, at === '' ? key : `${at}.${key}`),
  );
  const own: readonly (readonly [string, unknown])[] = schema.default === undefined ? [] : [[at, schema.default]];
  return [...own, ...inner, ...(schema.anyOf ?? []).flatMap((one) => defaultsOf(one, at))];
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, min: 6e4, m: 6e4, KiB: 1024, MiB: 1024 ** 2, '': 1 };

/** `64 KiB` is 65536, as `65536` is; `5 min` is as much as `5m`. */
function toNumber(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,.]+) ?([A-Za-z]*)$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);
}

it('defaults that a sentence repeats equal those of the schema', () => {
  const defaults = new Map(defaultsOf(JSON.parse(read('config/schema.json'))));
  const repeated = documents.flatMap(({ file, text }) =>
    [...text.matchAll(/`([a-z]\w*(?:\.\w+)+)` \((?:default )?([\d,.]+ ?[A-Za-z]*)\)/g)].map(
      ([whole, key = '', said = '']) => ({
        whole: `${file}: ${whole}`,
        isRight: toNumber(said) === toNumber(String(defaults.get(key))),
      }),
    ),
  );
  expect(repeated.length).toBeGreaterThan(12);
  expect(repeated.filter(({ isRight }) => !isRight).map(({ whole }) => whole)).toEqual([]);
});

it('defaults in the tables of docs/limits.md are those of the schema', () => {
  const defaults = new Map(defaultsOf(JSON.parse(read('config/schema.json'))));
  const row = /^\| [^|]+ \| `([a-z]\w*(?:\.\w+)+)` \| ([\d,.]+ ?[A-Za-z]*|no limit) \|/gm;
  const rows = [...read('docs/limits.md').matchAll(row)].map(([, key = '', said = '']) => ({ key, said }));
  expect(rows.length).toBeGreaterThan(15);
  const wanted = ({ key }: { key: string }) => toNumber(String(defaults.get(key)));
  expect(rows.filter((one) => (one.said === 'no limit' ? 0 : toNumber(one.said)) !== wanted(one))).toEqual([]);
});

/** Measured or counted values, which change unnoticed: one document has each, the others link to it. */
const SAID_ONCE: readonly (readonly [string, RegExp])[] = [
  [
    'memory after some traffic, or with full tables',
    /\d MB (?:after|with) (?:[\d,]+ (?:requests|RPCs)|(?:all )?(?:full )?tables)/g,
  ],
  ['memory of an idle connection', /[\d.]+ KB (?:for|of) each (?:idle )?connection/g],
  ['processor time of calls', /[\d.]+ (?:s of processor time for|µs for a) [\w,]* ?(?:small )?(?:calls|RPCs?)/g],
  ['how long a start takes', /starts? (?:with)?in [\d.]+ (?:ms|s)\b/g],
  ['size of the image', /image (?:is|has|of|takes) (?:about )?[\d.]+ M/g],
  ['how many endpoints there are', /\b(?:thirteen|fourteen|fifteen|\d\d) (?:\w+[- ])?(?:monitoring )?endpoints\b/gi],
  ['how many alerts there are', /\b\d\d+ (?:alerts|recording rules)\b/g],
  ['how many tests there are', /\b\d[\d,]+ tests\b/g],
  ['how many series, codes or keys there are', /\b\d[\d,]+ (?:families|error codes|configuration keys|panels)\b/g],
];

describe('a measured number stands in one document at most', () => {
  const placesOf = (pattern: RegExp, texts: typeof documents) => [
    ...new Set(find(pattern, texts).map(({ place }) => place.split(':')[0])),
  ];

  it.each(SAID_ONCE)('%s', (_, pattern) => {
    expect(placesOf(pattern, documents).length).toBeLessThanOrEqual(1);
  });

  it('kubernetes.md leaves all of them to benchmarks.md', () => {
    const kubernetes = documents.filter(({ file }) => file === 'docs/kubernetes.md');
    expect(SAID_ONCE.flatMap(([, pattern]) => find(pattern, kubernetes))).toEqual([]);
  });
});
