import { describe, expect, it } from 'vitest';
import { toParents } from './memory-cgroup.ts';

const V1 = '35 31 0:29 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory';
const OTHER = '33 31 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu';
const V2 = '31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate';

describe('toParents', () => {
  it('cgroup v1: below our own of the controller for memory, then at the top', () => {
    expect(toParents(`${OTHER}\n${V1}\n`, '4:memory:/docker/ab\n1:cpu:/other\n0::/\n')).toEqual([
      '/sys/fs/cgroup/memory/docker/ab',
      '/sys/fs/cgroup/memory',
    ]);
  });

  it('cgroup v2: below our own, then at the top', () => {
    expect(toParents(`${V2}\n`, '0::/user.slice\n')).toEqual(['/sys/fs/cgroup/user.slice', '/sys/fs/cgroup']);
  });

  it('our own at the top is named once', () => {
    expect(toParents(`${V2}\n`, '0::/\n')).toEqual(['/sys/fs/cgroup']);
  });

  it('none without a controller for memory', () => {
    expect(toParents(`${OTHER}\n`, '1:cpu:/\n')).toEqual([]);
  });
});
