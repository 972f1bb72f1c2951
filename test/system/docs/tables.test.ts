/** Tables in the documents that repeat other sources: figures, endpoints, dependencies. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DESCRIPTION } from '../../../src/monitor/openapi/openapi.yaml';
import { ROOT } from '../../support/docs/documents.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const readme = read('README.md');

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

/** `34.1 (30.9–54.7)` to `34.1`. */
const toMedian = (cell = '') => cell.replace(/ \(.*\)$/, '');

/** The rows of `shown` as in `source`, matched by the names of rows and columns. */
function rowsOf(source: readonly Row[], shown: readonly Row[]): readonly Row[] {
  const [columns = []] = source;
  const [head = []] = shown;
  const rowOf = (name = '') => source.find(([first]) => first === name) ?? [];
  return [
    head.map((name) => (columns.includes(name) ? name : `docs/benchmarks.md has no column ${name}`)),
    ...shown
      .slice(1)
      .map(([name = '']) =>
        head.map((column, i) =>
          i === 0 ? (rowOf(name)[0] ?? 'no such row') : toMedian(rowOf(name)[columns.indexOf(column)]),
        ),
      ),
  ];
}

describe('the performance in README.md', () => {
  const benchmarks = read('docs/benchmarks.md');
  const [calls = [], costs = []] = tablesOf(readme, 'Performance');

  it('equals the medians of docs/benchmarks.md', () => {
    const [measured = []] = tablesOf(benchmarks, 'Small RPC');
    expect(calls).toEqual(rowsOf(measured, calls));
    expect(calls.map(([name]) => name)).toContain('sidecar, everything on');
    expect(calls.length).toBeGreaterThan(5);
  });

  it('equals the bounds in docs/benchmarks.md', () => {
    const [bounds = []] = tablesOf(benchmarks, 'What is to be reached');
    expect(costs).toEqual(rowsOf(bounds, costs));
    expect(costs.length).toBeGreaterThan(3);
  });
});

describe('the endpoints in README.md', () => {
  it('are all that exist, except those of the live page', () => {
    const [, ...rows] = tablesOf(readme, 'What it answers')[0] ?? [];
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
    expect([...shown].sort(), 'each endpoint needs a place in the table "What it answers"').toEqual(
      [...new Set(real)].sort(),
    );
  });
});

describe('the unit in docs/install.md', () => {
  const [, exposure, version] = /rates its exposure ([\d.]+) of 10 \(systemd (\d+)/.exec(read('docs/install.md')) ?? [];
  const ask = (...args: readonly string[]) =>
    spawnSync('systemd-analyze', args, { cwd: ROOT, encoding: 'utf8' }).stdout ?? '';
  // Other versions rate differently.
  const isSame = ask('--version').startsWith(`systemd ${version} `);

  it.runIf(isSame)('has the documented exposure', () => {
    const told = ask('security', '--offline=true', '--no-pager', 'config/systemd/d2-sidecar.service');
    expect(/exposure level for .*: ([\d.]+)/.exec(told)?.[1]).toBe(exposure);
  });

  it('has both documented values', () => {
    expect([exposure, version]).toEqual([expect.stringMatching(/^\d\.\d$/), expect.stringMatching(/^\d+$/)]);
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
  const { dependencies, devDependencies, overrides } = JSON.parse(read('package.json')) as Record<
    string,
    Record<string, string>
  >;

  it('are first those that the program is built from', () => {
    const [, ...rows] = tablesOf(text, 'Dependencies')[0] ?? [];
    expect(rows.map(([name = '']) => name.replaceAll('`', '')).sort()).toEqual(importedPackages());
    expect(rows.filter(([, use = '', reason = '']) => use.length < 3 || reason.length < 10)).toEqual([]);
  });

  it('are dependencies of package.json if the program or the page is built from them', () => {
    const listed = tablesOf(text, 'Dependencies')
      .slice(0, 2)
      .flatMap(([, ...rows]) => rows.map(([name = '']) => name.replaceAll('`', '')));
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
