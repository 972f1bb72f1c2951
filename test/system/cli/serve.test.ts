import { EventEmitter } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { StartError } from '../../../src/base/errors.ts';
import { drain } from '../../../src/cli/drain.ts';
import { type Servable, serve } from '../../../src/cli/serve.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { Lifecycle, type Stoppable } from '../../../src/sidecar/lifecycle.ts';
import { ControlStand, NotingTarget, Printed } from '../../support/cli/control/stand.ts';

const stand = new ControlStand();

/** Ends when the test says so. */
class HeldSidecar extends NotingTarget implements Servable, Stoppable {
  readonly lifecycle = new Lifecycle(this, {
    times: () => ({ delayMs: 0, windowMs: 0, deadlineMs: 60_000 }),
    clock: systemClock,
    logger: stand.log.logger,
  });
  release: () => void = () => {};

  async start() {
    this.told.push('start');
    this.lifecycle.started();
    return { listen: '127.0.0.1:1', monitor: '127.0.0.1:2' };
  }

  async stop(): Promise<void> {
    this.lifecycle.stop('test', true);
    await this.lifecycle.ended;
  }

  outlivesProcess = () => false;
  inProgress = () => ({ exchanges: 0, heldPolls: 0, webSockets: 0, connections: 0 });
  announceEnd = () => void this.told.push('drain');
  closeWebSockets = () => {};
  stopListening = async () => {};
  closeIdle = () => {};

  async end(): Promise<void> {
    this.told.push('stop');
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
  }
}

/** Serves until the end, with the signals that the test sends. */
async function start(sidecar: Servable, options: { signals?: EventEmitter; control?: object; listen?: string } = {}) {
  const { signals = new EventEmitter(), control = { socket: stand.at('a.sock') }, listen = '127.0.0.1:2' } = options;
  const flags = { upstream: 'http://127.0.0.1:1', listen, config: 'f' };
  const { config } = await loadConfig({ flags, env: {}, readFile: () => JSON.stringify({ control }) });
  const reload = () => Promise.resolve({ kind: 'applied' as const, changed: [], waiting: [] });
  const ended = serve({
    ...{ config, signals, logger: stand.log.logger },
    createSidecar: async () => sidecar,
    createReloader: () => ({ reload }),
  });
  return { ended, signals };
}

const until = (isSo: () => boolean) => vi.waitUntil(isSo, { interval: 1, timeout: 10_000 });
const listening = () => until(() => stand.log.lines.includes('info listening'));

/** Lets the sidecar go once it has been told to stop. */
async function release(sidecar: HeldSidecar): Promise<void> {
  await until(() => sidecar.told.includes('stop'));
  sidecar.release();
}

describe('serve', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('logs its addresses, warns once that clients come from loopback, and stops at a signal with exit code 0', async () => {
    const sidecar = new HeldSidecar();
    const { ended, signals } = await start(sidecar, { listen: '0.0.0.0:2' });
    await listening();
    signals.emit('SIGTERM');
    await release(sidecar);
    expect(await ended).toBe(0);
    const warning = expect.stringMatching(/^warn .*now sees every client as loopback.*rest\.deny/);
    const lines = ['listening', 'stop requested', 'draining', 'stopping', 'stopped'].map((line) => `info ${line}`);
    expect(stand.log.lines.filter((line) => line.startsWith('info'))).toEqual(lines);
    expect(stand.log.lines.filter((line) => !line.startsWith('info'))).toEqual([warning]);
    expect(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT')).toBe(0);
    expect(existsSync(stand.at('a.sock'))).toBe(false);
  });

  it('handles a signal that arrives during the start', async () => {
    const signals = new EventEmitter();
    const sidecar = new HeldSidecar();
    sidecar.start = async () => {
      signals.emit('SIGTERM');
      sidecar.lifecycle.started();
      return { listen: '', monitor: '' };
    };
    const { ended } = await start(sidecar, { signals });
    await release(sidecar);
    expect(await ended).toBe(0);
  });

  it('fails to start without its configured control socket, and closes everything', async () => {
    writeFileSync(stand.at('a.sock'), '');
    const sidecar = new HeldSidecar();
    const { ended } = await start(sidecar);
    const outcome = ended.catch((cause: unknown) => cause);
    await release(sidecar);
    const error = await outcome;
    expect(error).toBeInstanceOf(StartError);
    const message = expect.stringMatching(/^control\.socket: .* not a socket$/);
    expect(error).toMatchObject({ code: 'D2S_ERR_CONTROL', message });
  });

  it('starts with a warning without its default control socket', async () => {
    vi.stubEnv('TMPDIR', stand.at('absent'));
    const { ended, signals } = await start(new HeldSidecar(), { control: {} });
    await listening();
    expect(stand.log.lines[0]).toMatch(/^warn no control socket/);
    signals.emit('SIGTERM');
    signals.emit('SIGTERM');
    expect(await ended).toBe(0);
  });
});

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
    const lines = await drained({ webSockets: 2 }, 60_000, (look, target) => {
      if (look === 3) target.openWebSockets = 0;
    });
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
