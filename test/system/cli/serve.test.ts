import { EventEmitter } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { StartError } from '../../../src/base/errors.ts';
import { sendCommand } from '../../../src/cli/control/control-client.ts';
import { drain } from '../../../src/cli/drain.ts';
import { type Servable, serve } from '../../../src/cli/serve.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { Lifecycle, type Stoppable } from '../../../src/sidecar/lifecycle.ts';
import { ControlStand, NotingTarget } from '../../support/cli/control/stand.ts';

let stand: ControlStand;
beforeEach(() => {
  stand = new ControlStand();
});
afterEach(() => stand.dispose());

const NOTHING = { exchanges: 0, heldPolls: 0, webSockets: 0, connections: 0 };

/** Ends when the test says so. */
class HeldSidecar implements Servable, Stoppable {
  readonly told: string[] = [];
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

  isReady = async () => this.lifecycle.state === 'serving';
  underway = () => NOTHING;
  announceEnd = () => void this.told.push('drain');
  letWebSocketsGo = () => {};
  stopListening = async () => {};
  closeIdle = () => {};

  async end(): Promise<void> {
    this.told.push('stop');
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
  }
}

/** What was asked to be read again, and by whom. */
let reloads: string[];
const createReloader = () => ({
  reload: (reason: string) => {
    reloads.push(reason);
    return Promise.resolve({ kind: 'applied' as const, changed: ['log.level'], waiting: [] });
  },
});
beforeEach(() => {
  reloads = [];
});

async function start(sidecar: Servable, socket: string, signals = new EventEmitter(), listen = '127.0.0.1:2') {
  const flags = { upstream: 'http://127.0.0.1:1', listen, config: 'f' };
  const { config } = await loadConfig({ flags, env: {}, readFile: () => JSON.stringify({ control: { socket } }) });
  const ended = serve({
    config,
    logger: stand.log.logger,
    signals,
    createSidecar: async () => sidecar,
    createReloader,
  });
  return { ended, signals };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe('serve', () => {
  it('logs its addresses, and stops at a signal with exit code 0', async () => {
    const sidecar = new HeldSidecar();
    const { ended, signals } = await start(sidecar, stand.at('a.sock'));
    await until(() => stand.log.lines.includes('info listening'));
    signals.emit('SIGTERM');
    await until(() => sidecar.told.includes('stop'));
    sidecar.release();
    expect(await ended).toBe(0);
    const lines = ['listening', 'asked to stop', 'draining', 'stopping', 'stopped'];
    expect(stand.log.lines).toEqual(lines.map((line) => `info ${line}`));
    expect(signals.listenerCount('SIGTERM') + signals.listenerCount('SIGINT')).toBe(0);
    expect(existsSync(stand.at('a.sock'))).toBe(false);
  });

  it('warns once that remote clients reach the application server from loopback', async () => {
    const sidecar = new HeldSidecar();
    const { ended, signals } = await start(sidecar, stand.at('a.sock'), undefined, '0.0.0.0:2');
    await until(() => stand.log.lines.includes('info listening'));
    signals.emit('SIGTERM');
    await until(() => sidecar.told.includes('stop'));
    sidecar.release();
    expect(await ended).toBe(0);
    const warnings = stand.log.lines.filter((line) => line.startsWith('warn '));
    expect(warnings).toEqual([expect.stringMatching(/sees all clients come from loopback.*rest\.deny/)]);
  });

  it('ends at once at a second signal', async () => {
    const { ended, signals } = await start(new HeldSidecar(), stand.at('a.sock'));
    signals.emit('SIGTERM');
    signals.emit('SIGINT');
    expect(await ended).toBe(0);
    expect(stand.log.lines.at(-1)).toBe('info stopped at once');
  });

  it('handles a signal that arrives during the start', async () => {
    const signals = new EventEmitter();
    const sidecar = new HeldSidecar();
    sidecar.start = async () => {
      signals.emit('SIGTERM');
      sidecar.lifecycle.started();
      return { listen: '', monitor: '' };
    };
    const { ended } = await start(sidecar, stand.at('a.sock'), signals);
    await until(() => sidecar.told.includes('stop'));
    sidecar.release();
    expect(await ended).toBe(0);
  });

  it('fails to start without its configured control socket, and closes everything', async () => {
    writeFileSync(stand.at('a.sock'), '');
    const sidecar = new HeldSidecar();
    const { ended } = await start(sidecar, stand.at('a.sock'));
    const outcome = ended.catch((cause: unknown) => cause);
    await until(() => sidecar.told.includes('stop'));
    sidecar.release();
    const error = await outcome;
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringMatching(/^control\.socket: .* not a socket$/),
    });
  });

  it('starts with a warning without its default control socket', async () => {
    const before = process.env.TMPDIR;
    process.env.TMPDIR = stand.at('absent');
    try {
      const { config } = await loadConfig({ flags: { upstream: 'http://127.0.0.1:1' }, env: {} });
      const signals = new EventEmitter();
      const sidecar = new HeldSidecar();
      const ended = serve({
        config,
        logger: stand.log.logger,
        signals,
        createSidecar: async () => sidecar,
        createReloader,
      });
      await until(() => stand.log.lines.includes('info listening'));
      expect(stand.log.lines[0]).toMatch(/^warn no control socket/);
      signals.emit('SIGTERM');
      signals.emit('SIGTERM');
      expect(await ended).toBe(0);
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    }
  });

  it('drains once, keeps serving, then stops, by commands over its socket', async () => {
    const sidecar = new HeldSidecar();
    const socket = stand.at('a.sock');
    const { ended } = await start(sidecar, socket);
    await until(() => stand.log.lines.includes('info listening'));
    const lines: string[] = [];
    const output = { out: (text: string) => void lines.push(text), err: (text: string) => void lines.push(text) };
    expect(await drain({ flags: { control: socket }, waitMs: 0 }, {}, output)).toBe(0);
    expect(await drain({ flags: { control: socket }, waitMs: 0 }, {}, output)).toBe(0);
    expect(sidecar.told).toEqual(['start', 'drain']);
    // Not the shutdown command, which waits for the end of this very process.
    await sendCommand(socket, 'shutdown');
    await until(() => sidecar.told.includes('stop'));
    sidecar.release();
    expect(await ended).toBe(0);
    expect(lines).toEqual(Array(2).fill(`d2-sidecar ${process.pid} drains: no longer ready, 0 exchanges open\n`));
  });
});

describe('drain --wait', () => {
  const toOutput = (lines: string[]) => ({ out: (text: string) => void lines.push(text.trim()), err: () => {} });

  it('waits until no exchange is open', async () => {
    const target = new NotingTarget();
    target.openExchanges = 2;
    let looks = 0;
    target.onStatus = () => {
      looks += 1;
      if (looks === 3) target.openExchanges = 0;
    };
    const server = await stand.open('4711.sock', target);
    const lines: string[] = [];
    expect(await drain({ flags: { control: server.path }, waitMs: 60_000 }, {}, toOutput(lines))).toBe(0);
    expect(lines).toEqual(['d2-sidecar 4711 drains: no longer ready, 2 exchanges open', 'drained']);
  });

  it('waits for WebSockets as well, and prints how many are left', async () => {
    const target = new NotingTarget();
    target.openWebSockets = 2;
    let looks = 0;
    target.onStatus = () => {
      looks += 1;
      if (looks === 2) target.openWebSockets = 0;
    };
    const server = await stand.open('4711.sock', target);
    const lines: string[] = [];
    expect(await drain({ flags: { control: server.path }, waitMs: 60_000 }, {}, toOutput(lines))).toBe(0);
    expect(lines).toEqual(['d2-sidecar 4711 drains: no longer ready, 0 exchanges and 2 WebSockets open', 'drained']);
  });

  it('prints every 2 s how many are open, and times out without failing', async () => {
    const target = new NotingTarget();
    target.openExchanges = 1;
    const server = await stand.open('4711.sock', target);
    const lines: string[] = [];
    let nowNs = 0;
    const clock = { nowNs: () => nowNs, epochMs: () => 0 };
    target.onStatus = () => {
      nowNs += 1.5e9;
    };
    // The clock leaps 1.5 s with every look, the first of which is the answer to drain itself.
    expect(await drain({ flags: { control: server.path }, waitMs: 5_000 }, {}, toOutput(lines), clock)).toBe(0);
    expect(lines).toEqual([
      'd2-sidecar 4711 drains: no longer ready, 1 exchange open',
      '1 exchange open, waiting 2 s more',
      'time is over, 1 exchange still open',
    ]);
  });

  it('ends when the sidecar does', async () => {
    const target = new NotingTarget();
    target.openExchanges = 1;
    const server = await stand.open('4711.sock', target);
    let looks = 0;
    target.onStatus = () => {
      looks += 1;
      if (looks === 2) server.destroy();
    };
    const lines: string[] = [];
    expect(await drain({ flags: { control: server.path }, waitMs: 60_000 }, {}, toOutput(lines))).toBe(0);
    expect(lines.at(-1)).toBe('the sidecar has ended');
  });
});
