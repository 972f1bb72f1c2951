/** Tables in the documents that repeat other sources: endpoints, dependencies. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DESCRIPTION } from '../../../src/monitor/openapi/openapi.yaml';
import { ROOT } from '../../support/docs/documents.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

type Row = readonly string[];

/** The tables below a heading, each starting with its head, without the line of dashes. */
function tablesOf(text: string, heading: string): readonly (readonly Row[])[] {
  const [, section = ''] = new RegExp(`\\n## ${heading}\\n(.*?)(?=\\n## |$)`, 's').exec(text) ?? [];
  return [...section.matchAll(/(?:^\|.*\n?)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .filter((_, i) => i !== 1)
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  );
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

describe('the unit in docs/install.md', () => {
  const [, exposure, version] = /rates its exposure (\d\.\d) of 10 \(systemd (\d+)/.exec(read('docs/install.md')) ?? [];
  const ask = (...args: readonly string[]) =>
    spawnSync('systemd-analyze', args, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '';

  it('names its exposure and the version of systemd that rates it so', () => {
    expect([exposure, version]).not.toContain(undefined);
  });

  // Other versions rate differently.
  it.runIf(ask('--version').startsWith(`systemd ${version} `))('has the documented exposure', () => {
    const told = ask('security', '--offline=true', '--no-pager', 'config/systemd/d2-sidecar.service');
    expect(/exposure level for .*: ([\d.]+)/.exec(told)?.[1]).toBe(exposure);
  });
});

/** Packages that the program imports, without the live page's; those of one project as `@opentelemetry/*`. */
function importedPackages(): readonly string[] {
  const files = readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.startsWith('page/'),
  );
  const names = files.flatMap((file) =>
    [...read(`src/${file}`).matchAll(/(?:\bfrom|\bimport\() ?'((?:@[\w-]+\/)?\w[\w.-]*)(?:\/[^']*)?'/g)].map(
      ([, name = '']) => name.replace(/^(@opentelemetry)\/.*/, '$1/*'),
    ),
  );
  return [...new Set(names)].sort();
}

describe('the packages in docs/architecture.md', () => {
  const text = read('docs/architecture.md');
  const { dependencies, devDependencies, overrides } = JSON.parse(read('package.json'));
  const namesIn = (table: readonly Row[] = []) => table.slice(1).map(([name = '']) => name.replaceAll('`', ''));
  const tables = tablesOf(text, 'Dependencies');

  it('are first those that the program is built from', () => {
    expect(namesIn(tables[0]).sort()).toEqual(importedPackages());
    expect(tables[0]?.slice(1).filter(([, use = '', reason = '']) => use.length < 3 || reason.length < 10)).toEqual([]);
  });

  it('are dependencies of package.json if the program or the page is built from them', () => {
    const listed = tables.slice(0, 2).flatMap((table) => namesIn(table));
    const names = Object.keys(dependencies ?? {}).map((name) => name.replace(/^(@opentelemetry)\/.*/, '$1/*'));
    expect(listed.sort()).toEqual([...new Set(names)].sort());
  });

  it('are all of package.json, except for types', () => {
    const others = Object.keys({ ...dependencies, ...devDependencies, ...overrides }).filter(
      (name) => !/^@(?:types|opentelemetry)\//.test(name),
    );
    expect(others.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});
