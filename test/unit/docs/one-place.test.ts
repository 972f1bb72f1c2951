/** Numbers that the documents repeat equal those of their source: package.json, the chart, config/sidecar.yaml. */
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { listDocuments, ROOT, readProject } from '../../support/docs/documents.ts';

const { version, engines } = JSON.parse(readProject('package.json')) as { version: string; engines: { node: string } };
/** The past has its own numbers. */
const documents = listDocuments().filter(({ file }) => file !== 'CHANGELOG.md');
const configuration = ['config', 'scripts', '.ci']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  .concat('Dockerfile')
  .filter((file) => statSync(path.join(ROOT, file)).isFile())
  .map((file) => ({ file, text: readProject(file) }));

/** The versions that `pattern` finds, with their places. */
function find(pattern: RegExp) {
  return [...documents, ...configuration].flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].map(([, said = '']) => ({ file, said })),
  );
}

it.each([
  // package.json has the oldest version of each line; the documents name the last.
  ['Node.js', 2, engines.node.replace(/^.*>=/, ''), /\bNode\.js (\d+\.\d+\.\d+) or later/g],
  [
    'the image and the chart',
    8,
    version,
    /(?:d2-sidecar:|newTag: |^appVersion: |image\.version="|repository: file.*\n|^version: )(\d+\.\d+\.\d+)/gm,
  ],
])('the versions of %s equal those of package.json', (_, least, wanted, pattern) => {
  const found = find(pattern);
  expect(found.length).toBeGreaterThan(least);
  expect(found.filter(({ said }) => said !== wanted)).toEqual([]);
});

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, min: 6e4, m: 6e4, KiB: 1024, MiB: 1024 ** 2, '': 1 };

/** `64 KiB` is 65536, as `65536` is; `5 min` is as much as `5m`. */
function toNumber(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,.]+) ?([A-Za-z]*)$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? Number.NaN);
}

/** Each key with its default, as config/documents.test.ts checks. */
const defaults = parseDocument(readProject('config/sidecar.yaml'));

it.each([
  ['a sentence', 8, documents, /`([a-z]\w*(?:\.\w+)+)` \((?:default )?([\d,.]+ ?[A-Za-z]*)\)/g],
  [
    'a table of docs/limits.md',
    15,
    documents.filter(({ file }) => file === 'docs/limits.md'),
    /^\| [^|]+ \| `([a-z]\w*(?:\.\w+)+)` \| ([\d,.]+ ?[A-Za-z]*|no limit) \|/gm,
  ],
])('a default that %s repeats is the one of config/sidecar.yaml', (_, least, texts, pattern) => {
  const repeated = texts.flatMap(({ file, text }) => [...text.matchAll(pattern)].map((match) => ({ file, match })));
  expect(repeated.length).toBeGreaterThan(least);
  const wrong = repeated.filter(({ match: [, key = '', said = ''] }) => {
    const number = said === 'no limit' ? 0 : toNumber(said);
    return number !== toNumber(String(defaults.getIn(key.split('.'))));
  });
  expect(wrong.map(({ file, match: [whole] }) => `${file}: ${whole}`)).toEqual([]);
});
