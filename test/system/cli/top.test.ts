/** `d2-sidecar top` beside a real sidecar: printed once, and in a simulated terminal. */
import { EventEmitter } from 'node:events';
import type http from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { type Terminal, top } from '../../../src/cli/top.ts';
import { Printed } from '../../support/cli/control/stand.ts';
import { deferTo } from '../../support/deferred.ts';
import { portOf, restCall, startApplication } from '../../support/net.ts';
import { runSidecar, startSidecarBefore } from '../../support/sidecar-process.ts';

const WAIT = { timeout: 10_000, interval: 20 };

const held: http.ServerResponse[] = [];
const defer = deferTo(afterAll);
const upstream = await startApplication(({ url = '' }, response) => {
  if (url.includes('Hold')) held.push(response);
  else response.writeHead(url.includes('Fail') ? 500 : 200).end('ok');
});
defer(() => upstream.close());
const sidecar = await startSidecarBefore(upstream.port);
defer(() => sidecar.stop('SIGKILL'));

const call = async (name: string, user: string) => (await restCall(portOf(sidecar.listen), `rpc/${name}`, user)).status;
const printed = async () => (await runSidecar(['top', '--once', '--pid', String(sidecar.pid)])).stdout;

/** A terminal that records its output. */
class Hand implements Terminal {
  readonly stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    isRaw: false,
    setRawMode: (isRaw: boolean) => {
      this.stdin.isRaw = isRaw;
      return process.stdin;
    },
    resume: () => process.stdin,
    pause: () => process.stdin,
  }) as unknown as Terminal['stdin'] & EventEmitter & { isRaw: boolean };
  readonly stdout = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 60,
    rows: 12,
  }) as unknown as Terminal['stdout'] & EventEmitter & { columns: number; rows: number };
  readonly output = new Printed();

  press(key: string): void {
    this.stdin.emit('data', Buffer.from(key));
  }

  get shown(): string {
    return this.output.stdout;
  }

  /** The lines of the last screen. */
  get lines(): readonly string[] {
    const picture = this.shown.slice(this.shown.lastIndexOf('\x1b[H') + 3).split('\x1b[J')[0] ?? '';
    return picture.split('\r\n').map((line) => line.replace('\x1b[K', ''));
  }
}

describe('d2-sidecar top', () => {
  it('prints the verdict and the sessions, without running calls', async () => {
    const text = await printed();
    expect(text).toMatch(/^d2-sidecar \S+, serving, upstream \w+, \d{4}-/);
    expect(text).toContain('smartWeb: Nothing to judge by');
    expect(text).toContain('No calls are running.');
    expect(text).toContain('No call has ended in the last hour.');
    expect(text).toContain('JVM          The condition of the JVM is not read');
  });

  it('prints the running calls, oldest first, and the slowest', async () => {
    expect(await call('E.Demo/First', 'ann')).toBe(200);
    expect(await call('E.Demo/Fail', 'ann')).toBe(500);
    void call('E.Hold/One', 'ann');
    await expect.poll(() => held.length, WAIT).toBe(1);
    void call('E.Hold/Two', 'nobody');
    await expect.poll(() => held.length, WAIT).toBe(2);
    const text = await printed();
    expect(text).toMatch(
      /Running now: 2\n .*rpc {5}E\.Hold\.One {2}ann from 127\.0\.0\.1 over REST\n .*E\.Hold\.Two {2}\(unknown user\)/,
    );
    expect(text).toMatch(/E\.Demo\.First {2}ann from .* ok 200, ended /);
    expect(text).toMatch(/E\.Demo\.Fail {2}.* error 500, ended /);
    expect(text).toContain('Sessions     1: REST 1, WebSocket 0, long polling 0');
    expect(text).not.toMatch(/secret|Basic/);
  });

  it('fits its output to the terminal, redraws it after a resize, and ends with q', async () => {
    const hand = new Hand();
    const ended = top({ flags: { pid: sidecar.pid }, isOnce: false }, process.env, hand.output, hand);
    await expect.poll(() => hand.lines.at(-1), WAIT).toBe('q quits');
    expect(hand.lines).toHaveLength(12);
    expect(hand.lines.every((line) => line.length <= 60)).toBe(true);
    Object.assign(hand.stdout, { columns: 200, rows: 40 }).emit('resize');
    expect(hand.lines.some((line) => line.includes('E.Demo.Fail') && line.length > 60)).toBe(true);
    hand.press('x');
    for (const response of held.splice(0)) response.end('ok');
    // The next update comes after two seconds.
    await expect.poll(() => hand.lines.includes('No calls are running.'), WAIT).toBe(true);
    hand.press('q');
    expect(await ended).toBe(0);
    expect(hand.shown.startsWith('\x1b[?1049h\x1b[?25l')).toBe(true);
    expect(hand.shown.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
    expect(hand.stdin.isRaw).toBe(false);
    expect(hand.stdin.listenerCount('data') + hand.stdout.listenerCount('resize')).toBe(0);
  });

  it('reports that the sidecar has ended, and restores the terminal', async () => {
    const hand = new Hand();
    const own = await startSidecarBefore(1);
    const ended = top({ flags: { pid: own.pid }, isOnce: false }, process.env, hand.output, hand);
    await expect.poll(() => hand.lines.at(-1), WAIT).toBe('q quits');
    await own.stop();
    await expect(ended).rejects.toThrow(/has ended/);
    expect(hand.shown.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
    const refused = await runSidecar(['top', '--once', '--pid', '999999999']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('D2S_ERR_CONTROL') });
  });
});
