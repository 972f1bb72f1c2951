import { describe, expect, it } from 'vitest';
import { drain } from '../../../src/cli/drain.ts';
import { ControlStand, NotingTarget, Printed } from '../../support/cli/control/stand.ts';

const stand = new ControlStand();

describe('drain --wait', () => {
  /** Drains with `exchanges` and `webSockets` open; `onLook` is called at each look, the first of which is the answer to drain. */
  async function drained(
    open: { exchanges?: number; webSockets?: number },
    waitMs: number,
    onLook: (look: number, target: NotingTarget, server: { destroy(): void }) => void,
    clock?: Parameters<typeof drain>[3],
  ): Promise<string[]> {
    const target = new NotingTarget();
    target.openExchanges = open.exchanges ?? 0;
    target.openWebSockets = open.webSockets ?? 0;
    const server = await stand.open('4711.sock', target);
    let look = 0;
    target.onStatus = () => onLook(++look, target, server);
    const printed = new Printed();
    expect(await drain({ flags: { control: server.path }, waitMs }, {}, printed, clock)).toBe(0);
    return printed.stdout.trimEnd().split('\n');
  }

  it('waits until neither exchanges nor WebSockets are open', async () => {
    let looks = 0;
    const lines = await drained({ webSockets: 2 }, 60_000, (look, target) => {
      looks = look;
      if (look === 3) target.openWebSockets = 0;
    });
    expect(looks).toBe(3);
    expect(lines).toEqual([
      'd2-sidecar 4711 is draining: no longer ready, 0 exchanges and 2 WebSockets open',
      'drained',
    ]);
  });

  it('prints every 2 s how many are open, and times out without failing', async () => {
    let nowNs = 0;
    const leap = () => {
      nowNs += 1.5e9;
    };
    expect(await drained({ exchanges: 1 }, 5_000, leap, { nowNs: () => nowNs, epochMs: () => 0 })).toEqual([
      'd2-sidecar 4711 is draining: no longer ready, 1 exchange open',
      '1 exchange open, waiting 2 s more',
      'timed out, 1 exchange still open',
    ]);
  });

  it('ends when the sidecar does', async () => {
    const lines = await drained({ exchanges: 1 }, 60_000, (look, _target, server) => {
      if (look === 2) server.destroy();
    });
    expect(lines.at(-1)).toBe('the sidecar has ended');
  });
});
