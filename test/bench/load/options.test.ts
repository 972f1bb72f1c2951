import { describe, expect, it } from 'vitest';
import { parseOptions } from './options.ts';

describe('the command line', () => {
  it('measures everything in seven rounds by default', () => {
    expect(parseOptions([])).toMatchObject({
      rounds: 7,
      seconds: 3,
      only: undefined,
      workloads: undefined,
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

  it('means the sidecar and plain http-proxy with --short, small RPCs only', () => {
    expect(parseOptions(['--short'])).toMatchObject({
      rounds: 3,
      seconds: 2,
      only: ['sidecar', 'http-proxy'],
      workloads: ['rpc'],
    });
  });

  it('refuses numbers that wrk would not take, and options that are none', () => {
    for (const seconds of ['0', '1.5', '-1', 'x', '']) {
      expect(() => parseOptions(['--seconds', seconds])).toThrow();
    }
    expect(() => parseOptions(['--second', '3'])).toThrow();
  });
});
