import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../../bench/load/options.ts';

describe('the command line of the benchmark', () => {
  it('measures everything in seven rounds by default', () => {
    expect(parseOptions([])).toMatchObject({
      rounds: 7,
      seconds: 3,
      only: undefined,
      workloads: undefined,
      old: undefined,
      short: false,
    });
  });

  it('takes lists of names', () => {
    const options = parseOptions([
      '--only',
      'nginx, sidecar',
      '--workload',
      'rpc',
      '--rounds',
      '2',
      '--markdown',
      'a.md',
    ]);
    expect(options).toMatchObject({ rounds: 2, only: ['nginx', 'sidecar'], workloads: ['rpc'], markdown: 'a.md' });
  });

  it('with --short means the sidecar and plain http-proxy, small RPCs only', () => {
    expect(parseOptions(['--short'])).toMatchObject({
      rounds: 3,
      seconds: 2,
      only: ['sidecar', 'http-proxy'],
      workloads: ['rpc'],
    });
  });

  it('refuses numbers that wrk would not take, and unknown options', () => {
    for (const seconds of ['0', '1.5', '-1', 'x', '']) {
      expect(() => parseOptions(['--seconds', seconds])).toThrow();
    }
    expect(() => parseOptions(['--second', '3'])).toThrow();
  });
});
