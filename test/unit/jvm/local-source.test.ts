import { describe, expect, it } from 'vitest';
import type { AttachOverlay } from '../../../src/jvm/attach/attach-overlay.ts';
import type { HsperfdataSource } from '../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { LocalSource } from '../../../src/jvm/local-source.ts';
import type { ServerProcess } from '../../../src/jvm/server-reading.ts';

const whole: ServerProcess = { id: '812 5', cpuSeconds: 1, residentBytes: 1, openDescriptors: 1, maxDescriptors: 1 };

describe('the process of the server', () => {
  /** The reasons in the log after readings of these processes, one after the other. */
  async function reasonsAfter(...processes: readonly (ServerProcess | undefined)[]): Promise<readonly string[]> {
    const left = [...processes];
    const counters = { read: async () => ({ server: { process: left.shift() } }), found: undefined };
    const reasons: string[] = [];
    const silent = () => undefined;
    const info = ({ reason }: { readonly reason: string }) => void reasons.push(reason);
    const logger = { debug: silent, warn: silent, error: silent, info };
    const source = new LocalSource(counters as unknown as HsperfdataSource, {} as AttachOverlay, logger as never);
    for (const _ of processes) await source.read(AbortSignal.timeout(1_000));
    return reasons;
  }

  it('needs no line in the log while it is known', async () => {
    expect(await reasonsAfter(whole)).toEqual([]);
  });

  it.each([
    ['is not visible', undefined, /"ProtectProc=default"/],
    ['keeps its descriptors to itself', { ...whole, openDescriptors: undefined }, /"PrivateUsers=no".*"Capability/],
  ])('that %s has its missing lines in the log, once, and again after it was known', async (_, process, lines) => {
    const [first, again, ...more] = await reasonsAfter(process, process, whole, process);
    expect(first).toMatch(lines);
    expect([again, more]).toEqual([first, []]);
  });
});
