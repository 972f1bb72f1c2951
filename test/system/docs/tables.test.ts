/** Tables in the documents that repeat other sources: endpoints, dependencies. */
import { readdirSync, readFileSync } from 'node:fs';
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
  const real = described.filter((where) => !/^\/(?:live|page)(?:\/|$)/.test(where));
  const wanted = [...new Set(real)].sort();
  expect(shown.sort(), 'each endpoint needs a place in the table "What it answers"').toEqual(wanted);
});

/** Packages that the program imports, without the live page's. */
function importedPackages(): readonly string[] {
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('page/'),
  );
  const text = files.map((file) => read(`src/${file}`)).join('\n');
  const imports = text.matchAll(/(?:\bfrom|\bimport\() ?'((?:@[\w-]+\/)?\w[\w.-]*)(?:\/[^']*)?'/g);
  return [...new Set(Array.from(imports, ([, name = '']) => projectOf(name)))].sort();
}

/** `@opentelemetry/*` for each of its packages. */
const projectOf = (name: string) => name.replace(/^(@opentelemetry)\/.*/, '$1/*');

it('docs/architecture.md lists the packages that the program and the page are built from, and all others of package.json', () => {
  const text = read('docs/architecture.md');
  const { dependencies, devDependencies, overrides } = JSON.parse(read('package.json'));
  const [program = [], page = []] = tablesOf(text, 'Dependencies').map((table) => table.slice(1));
  const namesIn = (rows: readonly Row[]) => rows.map(([name = '']) => name.replaceAll('`', ''));
  expect(namesIn(program).sort()).toEqual(importedPackages());
  expect(program.filter(([, use = '', reason = '']) => use.length < 3 || reason.length < 10)).toEqual([]);
  const bundled = Object.keys(dependencies).map(projectOf);
  expect(namesIn([...program, ...page]).sort()).toEqual([...new Set(bundled)].sort());
  const names = Object.keys({ ...devDependencies, ...overrides }).filter((name) => !name.startsWith('@types/'));
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
