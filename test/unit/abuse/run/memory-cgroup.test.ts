import { describe, expect, it } from 'vitest';
import { toParents } from '../../../abuse/run/memory-cgroup.ts';

const V1 = '35 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory';
const OTHER = '33 31 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu';
const V2 = '31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate';

describe('toParents', () => {
  it('lists the group below our own memory group, then the top one (cgroup v1)', () => {
    expect(toParents(`${OTHER}\n${V1}\n`, '4:memory:/docker/ab\n1:cpu:/other\n0::/\n')).toEqual([
      '/sys/fs/cgroup/memory/docker/ab',
      '/sys/fs/cgroup/memory',
    ]);
  });

  it('lists the group below our own, then the top one (cgroup v2)', () => {
    expect(toParents(`${V2}\n`, '0::/user.slice\n')).toEqual(['/sys/fs/cgroup/user.slice', '/sys/fs/cgroup']);
  });

  it('lists the top group once when it is our own', () => {
    expect(toParents(`${V2}\n`, '0::/\n')).toEqual(['/sys/fs/cgroup']);
  });

  it('lists none without a memory controller', () => {
    expect(toParents(`${OTHER}\n`, '1:cpu:/\n')).toEqual([]);
  });
});
