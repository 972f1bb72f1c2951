import { describe, expect, it } from 'vitest';
import { isReached, renderTable, renderTargets, renderWorkload } from '../../../bench/load/report.ts';
import { figure, type Result, ratio } from '../../../bench/load/results.ts';
import { CPU } from '../../../bench/load/workloads/columns.ts';
import type { Workload } from '../../../bench/load/workloads/workload.ts';

const WORKLOAD: Workload = {
  name: 'rpc',
  title: 'Small RPC',
  how: 'As small as it gets.',
  upstream: 'nginx',
  contestants: ['sidecar', 'nginx', 'caddy', 'haproxy'].map((name) => ({ name, title: name, peer: undefined })),
  columns: [CPU],
  targets: [
    {
      text: 'to nginx',
      bound: 'at most',
      limit: 1.5,
      digits: 2,
      read: ratio(figure('sidecar', 'cpuUs'), figure('nginx', 'cpuUs')),
    },
    { text: 'start', bound: 'at most', limit: 400, digits: 0, read: figure('sidecar', 'startMs') },
  ],
  measure: async () => ({}),
};

const RESULT: Result = {
  rounds: [30, 34, 32].map(
    (cpuUs) =>
      new Map([
        ['sidecar', { cpuUs }],
        ['nginx', { cpuUs: 20 }],
      ]),
  ),
  missing: new Map([['caddy', 'not installed: apt-get install caddy']]),
  notes: ['nginx: 3 errors in round 1.'],
};

describe('the table of a workload', () => {
  const lines = renderWorkload({ workload: WORKLOAD, result: RESULT }).split('\n');

  it('has the median with lowest and highest', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^\| sidecar +\| +32\.0 \(30\.0–34\.0\) \|$/));
  });

  it('names the peers that could not take part, with the reason', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^\| caddy: see below +\| +\|$/));
    expect(lines).toContain('- caddy: not installed: apt-get install caddy');
  });

  it('omits the peers that were excluded on request', () => {
    expect(lines.filter((line) => line.includes('haproxy'))).toEqual([]);
  });

  it('keeps the notes', () => {
    expect(lines.at(-1)).toBe('- nginx: 3 errors in round 1.');
  });
});

describe('the table of targets', () => {
  const lines = renderTargets([{ workload: WORKLOAD, result: RESULT }]).split('\n');

  it('judges the median', () => {
    expect(lines).toContainEqual(
      expect.stringMatching(/^\| to nginx +\| at most 1\.5 \| 1\.60 \(1\.50–1\.70\) \| \*\*no\*\* \|$/),
    );
  });

  it('says when nothing was measured', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^\| start +\| at most 400 \| +not measured \| +\|$/));
  });
});

describe('a target', () => {
  const spread = { median: 0.5, min: 0, max: 1, count: 3 };

  it('is met at its exact limit, from either side', () => {
    expect(isReached('at most', 0.5, spread)).toBe(true);
    expect(isReached('at least', 0.5, spread)).toBe(true);
  });

  it('is missed beyond its limit', () => {
    expect(isReached('at most', 0.49, spread)).toBe(false);
    expect(isReached('at least', 0.51, spread)).toBe(false);
  });
});

describe('a printed table', () => {
  it('has columns as wide as their widest cell, and numbers on the right', () => {
    expect(
      renderTable(
        ['', 'µs'],
        [
          ['nginx', '9'],
          ['a', '1234'],
        ],
      ),
    ).toBe(['|       |   µs |', '| ----- | ---: |', '| nginx |    9 |', '| a     | 1234 |'].join('\n'));
  });
});
