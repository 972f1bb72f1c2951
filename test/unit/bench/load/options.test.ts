import { expect, it } from 'vitest';
import { parseOptions } from '../../../bench/load/options.ts';

const DEFAULTS = { rounds: 7, seconds: 3, only: undefined, workloads: undefined, old: undefined, short: false };
const SHORT = { rounds: 3, seconds: 2, only: ['sidecar', 'http-proxy'], workloads: ['rpc'], short: true };
const LISTS = { rounds: 2, only: ['nginx', 'sidecar'], workloads: ['rpc'], markdown: 'a.md' };

it.each([
  ['measures everything in seven rounds by default', '', DEFAULTS],
  ['means the sidecar and plain http-proxy, small RPCs only, with --short', '--short', SHORT],
  ['takes lists of names', '--only=nginx,\tsidecar --workload rpc --rounds 2 --markdown a.md', LISTS],
])('the command line of the benchmark %s', (_, args, options) => {
  expect(parseOptions(args.split(' ').filter(Boolean))).toMatchObject(options);
});

it.each(['--seconds=0', '--seconds=1.5', '--seconds=-1', '--seconds=x', '--seconds=', '--second=3'])(
  'a number that wrk would not take, or an unknown option, is refused: %s',
  (argument) => {
    expect(() => parseOptions([argument])).toThrow();
  },
);
