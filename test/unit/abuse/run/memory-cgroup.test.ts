import { expect, it } from 'vitest';
import { toParents } from '../../../abuse/run/memory-cgroup.ts';

const V1 = '35 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n';
const OTHER = '33 31 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n';
const V2 = '31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';

it.each([
  [
    'below our own memory group, then the top one (v1)',
    OTHER + V1,
    '4:memory:/docker/ab\n1:cpu:/other\n0::/\n',
    ['/memory/docker/ab', '/memory'],
  ],
  ['below our own, then the top one (v2)', V2, '0::/user.slice\n', ['/user.slice', '']],
  ['the top one once, when it is our own', V2, '0::/\n', ['']],
  ['nowhere without a memory controller', OTHER, '1:cpu:/\n', []],
])('a cgroup can be made %s', (_, mounts, memberships, parents) => {
  expect(toParents(mounts, memberships)).toEqual(parents.map((parent) => `/sys/fs/cgroup${parent}`));
});
