import { expect, it } from 'vitest';
import { parseOptions } from '../../../bench/load/options.ts';

const LISTS = { rounds: 2, only: ['nginx', 'sidecar'], workloads: ['rpc'], markdown: 'a.md' };

it.each([
  ['measures all peers in seven rounds by default', '', { rounds: 7, seconds: 3, only: undefined, isShort: false }],
  [
    'means the sidecar and plain http-proxy, small RPCs only, with --short',
    '--short',
    { only: ['sidecar', 'http-proxy'] },
  ],
  ['takes lists of names', '--only=nginx,\tsidecar --workload rpc --rounds 2 --markdown a.md', LISTS],
])('the command line of the benchmark %s', (_, args, options) => {
  expect(parseOptions(args.split(' ').filter(Boolean))).toMatchObject(options);
});

it.each(['--seconds=0', '--seconds=1.5', '--seconds=x', '--seconds=', '--second=3', '--only=x', '--workload=x'])(
  'a number that wrk would not take, or an unknown name, is refused: %s',
  (argument) => {
    expect(() => parseOptions([argument])).toThrow();
  },
);
