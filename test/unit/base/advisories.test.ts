/** Which versions of Node.js have known holes, and that the project names one without. */
import { expect, it } from 'vitest';
import {
  describeHoles,
  findOpen,
  hasSafeBrotli,
  listSafeRuntimes,
  NODE_ADVISORIES,
} from '../../../src/base/advisories.ts';
import { readProject } from '../../support/docs/documents.ts';

it.each([
  ['20.99.99', false],
  ['22.23.3', false],
  ['22.23.4', true],
  ['22.23.10', true],
  ['24.100.0', true],
  ['25.99.99', false],
  ['26.12.1', true],
  ['100.0.0', true],
  ['26.12.1-rc.1', false],
  ['27.0.0-nightly20261001', false],
  ['v26.12.1', false],
  ['26.12', false],
])('the brotli decoder of Node.js of %j is safe: %s', (version, isSafe) => {
  expect(hasSafeBrotli(version)).toBe(isSafe);
});

it('a version without a known hole is described by nothing, another by each of its holes and what to use', () => {
  expect(['22.23.4', '24.22.1', '26.12.1', '27.0.0'].map(describeHoles)).toEqual(Array(4).fill(undefined));
  const told = describeHoles('26.10.0');
  expect(told).toMatch(/^Node\.js 26\.10\.0 has known vulnerabilities: CVE-2026-111497 \(.+\), CVE-2026-106074 \(/);
  expect(told).toMatch(/; expected 22\.23\.4, 24\.22\.1, 26\.12\.1, or later in these lines$/);
  expect(told).not.toContain('CVE-2026-58044');
  for (const { id } of NODE_ADVISORIES) expect(describeHoles('20.19.0')).toContain(id);
});

it('the oldest safe versions have no known hole, and the versions right before them have', () => {
  expect(listSafeRuntimes().length).toBeGreaterThan(0);
  for (const version of listSafeRuntimes()) {
    expect(findOpen(NODE_ADVISORIES, version)).toEqual([]);
    const [line, minor = 0, patch = 0] = version.split('.').map(Number);
    const before = patch > 0 ? `${line}.${minor}.${patch - 1}` : `${line}.${minor - 1}.0`;
    expect(findOpen(NODE_ADVISORIES, before)).not.toEqual([]);
  }
});

it('package.json and docs/install.md name exactly the safe versions, and the image is made of one', () => {
  const safe = listSafeRuntimes();
  const { engines } = JSON.parse(readProject('package.json')) as { engines: { node: string } };
  const ranges = safe.map((version, i) => (i === safe.length - 1 ? `>=${version}` : `^${version}`));
  expect(engines.node).toBe(ranges.join(' || '));
  const [, sentence = ''] = /It needs (Node\.js \d.*)\n/.exec(readProject('docs/install.md')) ?? [];
  expect(sentence.match(/\d+\.\d+\.\d+/g)?.toReversed()).toEqual(safe);
  const [, image = ''] = /^ARG NODE_IMAGE=node:(\d+\.\d+\.\d+)-/m.exec(readProject('Dockerfile')) ?? [];
  expect(findOpen(NODE_ADVISORIES, image)).toEqual([]);
});
