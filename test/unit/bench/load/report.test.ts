import { describe, expect, it } from 'vitest';
import { isReached, renderTable, renderTargets, renderWorkload } from '../../../bench/load/report.ts';
import { figure, type Result, ratio } from '../../../bench/load/results.ts';
import { CPU } from '../../../bench/load/workloads/columns.ts';
import type { Workload } from '../../../bench/load/workloads/workload.ts';

const TO_NGINX = ratio(figure('sidecar', 'cpuUs'), figure('nginx', 'cpuUs'));

const WORKLOAD: Workload = {
  name: 'rpc',
  title: 'Small RPC',
  how: 'As small as it gets.',
  upstream: 'nginx',
  contestants: ['sidecar', 'nginx', 'caddy', 'haproxy'].map((name) => ({ name, title: name, peer: undefined })),
  columns: [CPU],
  targets: [
    { text: 'to nginx', bound: 'at most', limit: 1.5, digits: 2, read: TO_NGINX },
    { text: 'start', bound: 'at most', limit: 400, digits: 0, read: figure('sidecar', 'startMs') },
  ],
  measure: async () => ({}),
};

const RESULT: Result = {
  rounds: [30, 34, 32].map((cpuUs) => new Map(Object.entries({ sidecar: { cpuUs }, nginx: { cpuUs: 20 } }))),
  missing: new Map([['caddy', 'not installed: apt-get install caddy']]),
  notes: ['nginx: 3 errors in round 1.'],
};

describe('the report', () => {
  const workload = renderWorkload({ workload: WORKLOAD, result: RESULT });
  const targets = renderTargets([{ workload: WORKLOAD, result: RESULT }]);

  it.each([
    ['has the median with lowest and highest', workload, /^\| sidecar +\| +32\.0 \(30\.0–34\.0\) \|$/m],
    ['names the peers that could not take part', workload, /^\| caddy: see below +\| +\|$/m],
    ['has the reason below', workload, /^- caddy: not installed: apt-get install caddy$/m],
    ['keeps the notes', workload, /\n- nginx: 3 errors in round 1\.$/],
    ['judges the median', targets, /^\| to nginx +\| at most 1\.5 \| 1\.60 \(1\.50–1\.70\) \| \*\*no\*\* \|$/m],
    ['says when nothing was measured', targets, /^\| start +\| at most 400 \| +not measured \| +\|$/m],
  ])('%s', (_, text, line) => {
    expect(text).toMatch(line);
  });

  it('omits the peers that were excluded on request', () => {
    expect(workload).not.toContain('haproxy');
  });

  it('has columns as wide as their widest cell, and numbers on the right', () => {
    const lines = ['|       |   µs |', '| ----- | ---: |', '| nginx |    9 |', '| a     | 1234 |'];
    expect(
      renderTable(
        ['', 'µs'],
        [
          ['nginx', '9'],
          ['a', '1234'],
        ],
      ),
    ).toBe(lines.join('\n'));
  });
});

it.each([
  ['at most', 0.5, true],
  ['at least', 0.5, true],
  ['at most', 0.49, false],
  ['at least', 0.51, false],
] as const)('a median of 0.5 reaches the target "%s %d": %s', (bound, limit, isMet) => {
  expect(isReached(bound, limit, { median: 0.5, min: 0, max: 1, count: 3 })).toBe(isMet);
});
