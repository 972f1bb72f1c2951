/** Tables in the documents that repeat other sources: endpoints, dependencies. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DESCRIPTION } from '../../../src/monitor/openapi/openapi.yaml';
import { ROOT } from '../../support/docs/documents.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

type Row = readonly string[];

/** The tables below a heading, each starting with its head, without the line of dashes. */
function tablesOf(text: string, heading: string): readonly (readonly Row[])[] {
  const [, section = ''] = new RegExp(`\\n## ${heading}\\n(.*?)(?=\\n## |$)`, 's').exec(text) ?? [];
  const cellsOf = (line: string) => line.split(/ *\| */).slice(1, -1);
  return (section.match(/(?:^\|.*\n?)+/gm) ?? []).map((table) => {
    const [head = '', , ...rows] = table.trim().split('\n');
    return [head, ...rows].map(cellsOf);
  });
}

it('README.md lists all endpoints that exist, except those of the live page', () => {
  const [, ...rows] = tablesOf(read('README.md'), 'What it answers')[0] ?? [];
  let folder = '';
  const shown = rows.flatMap(([cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => {
      const whole = text.startsWith('…') ? `${folder}${text.slice(1)}` : text;
      // Later paths in the same row share the prefix of the first: `{base}/metrics/d2`, `{base}/metrics/jvm`.
      if (!text.startsWith('…')) folder = whole.replace(/\/rpc\/<name>$/, '');
      return whole.replace('{base}', '').replace(/<(\w+)>/, '{$1}');
    }),
  );
  const described = Object.keys(DESCRIPTION.paths).map((where) => where.replace('{base}', ''));
  const wanted = new Set(described.filter((where) => !/^\/(?:live|page)(?:\/|$)/.test(where)));
  expect(shown.sort(), 'each endpoint needs a place in the table "What it answers"').toEqual([...wanted].sort());
});

/** `@opentelemetry/*` for each of its packages. */
const projectOf = (name: string) => name.replace(/^(@opentelemetry)\/.*/, '$1/*');

it('docs/architecture.md lists the packages that the program and the page are built from, and all others of package.json', () => {
  const text = read('docs/architecture.md');
  const { dependencies, devDependencies, overrides } = JSON.parse(read('package.json'));
  const rows = tablesOf(text, 'Dependencies').flatMap((table) => table.slice(1));
  const listed = rows.map(([name = '']) => name.replaceAll('`', ''));
  expect(listed.sort()).toEqual([...new Set(Object.keys(dependencies).map(projectOf))].sort());
  const names = Object.keys({ ...devDependencies, ...overrides }).filter((name) => !name.startsWith('@types/'));
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
