import { createRequire } from 'node:module';
import util from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';

const require = createRequire(import.meta.url);

afterEach(() => {
  vi.resetModules();
});

// Guard: loadHttpProxy; Node 22 and later print DEP0060 at the first call of util._extend.
it('http-proxy as it is loaded here never calls util._extend, and leaves it as it was', async () => {
  const original = Object.getOwnPropertyDescriptor(util, '_extend')!;
  const deprecated = vi.fn(Object.assign);
  for (const file of Object.keys(require.cache)) if (file.includes('http-proxy')) delete require.cache[file];
  Object.defineProperty(util, '_extend', { ...original, value: deprecated });
  try {
    const { createProxy } = await import('../../../../src/proxy/websocket/proxy.ts');
    const proxy = createProxy();
    // Options and fields are merged before it looks at the method, which Node refuses.
    expect(() => proxy.web({ method: 'NOT A METHOD', headers: {} } as never, {} as never, {})).toThrow(/method/i);
    expect(deprecated).not.toHaveBeenCalled();
    expect((util as unknown as { _extend: unknown })._extend).toBe(deprecated);
  } finally {
    Object.defineProperty(util, '_extend', original);
  }
});
