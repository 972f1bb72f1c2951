/** The event loop is blocked, or the process stopped, for longer than a time limit that the other side has met; the wall clock steps. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { readSamples } from '../../support/monitor/prometheus/samples.ts';
import { portOf } from '../../support/net.ts';
import { startSidecarBefore } from '../../support/sidecar-process.ts';
import { Peer } from '../../support/wire/peer.ts';
import { RawUpstream } from '../../support/wire/raw-upstream.ts';
import { turns } from '../../support/wire/split-writer.ts';
import { atHeads, GET, OK, sound, startFaultStand } from './fault-stand.ts';

const LIMIT_MS = 150;

/** The kernel meanwhile takes connections, and what has been sent on them. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * LIMIT_MS);
}

it('a blocked event loop does not time out a connection that was established in time', async () => {
  const { client } = await startFaultStand({
    ...{ script: sound },
    config: ({ upstream }) => ({ upstream: { ...upstream, connectTimeoutMs: LIMIT_MS } }),
  });
  const peer = client();
  await turns(3);
  const { connect } = net.Socket.prototype;
  onTestFinished(() => void vi.restoreAllMocks());
  const connecting = vi.spyOn(net.Socket.prototype, 'connect');
  connecting.mockImplementationOnce(function (this: net.Socket, ...parameters) {
    // In the turn of the connect call, so that the connection is established when the loop looks again.
    setImmediate(block);
    return connect.apply(this, parameters);
  });
  peer.send(GET);
  expect(await peer.until(/fine|code/)).toBe(OK);
  expect(connecting).toHaveBeenCalledOnce();
});

it('a blocked event loop does not time out a head that arrived in time', async () => {
  const { client } = await startFaultStand({
    ...{ script: sound },
    config: ({ timeouts }) => ({ timeouts: { ...timeouts, headMs: LIMIT_MS } }),
  });
  const peer = client(GET);
  await peer.take(OK);
  peer.send(GET.slice(0, 20));
  // The beginning of the head has been read and its time runs: the other side has nothing left to send.
  await turns(50);
  peer.send(GET.slice(20));
  block();
  expect(await peer.until(/fine|code/)).toBe(OK);
});

/** A real process that is stopped for a while: a suspended container, a machine without processor time. */
const STOPPED_LIMIT_MS = 400;

it('a process that was stopped for a while does not time out an upstream that answered in time, and shows the stop in its delay', async () => {
  const upstream = new RawUpstream();
  await upstream.comeUp();
  untilTestEnds(() => upstream.goDown());
  const env = { D2_SIDECAR_UPSTREAM_RESPONSE_TIMEOUT: `${STOPPED_LIMIT_MS}ms` };
  const { pid, listen, monitor } = await startSidecarBefore(upstream.port, env, [], untilTestEnds);
  const client = new Peer(net.connect(portOf(listen), '127.0.0.1'));
  untilTestEnds(() => client.socket.destroy());
  const connected = upstream.nextConnection();
  client.send(GET);
  const toUpstream = await connected;
  await once(toUpstream, 'data');
  process.kill(pid, 'SIGSTOP');
  untilTestEnds(() => process.kill(pid, 'SIGCONT'));
  toUpstream.write(OK);
  await delay(STOPPED_LIMIT_MS + 300);
  process.kill(pid, 'SIGCONT');
  expect(await client.until('fine')).toBe(OK);
  expect((await fetch(`http://${monitor}/livez`)).status).toBe(200);
  const samples = await readSamples(monitor);
  const within = (le: string) => samples.get(`d2_sidecar_loop_delay_seconds_bucket{le="${le}"}`) ?? 0;
  expect(within('+Inf') - within('0.5')).toBeGreaterThanOrEqual(1);
});

const DAY_MS = 86_400_000;

const rpc = (user: string) => {
  const credentials = Buffer.from(`${user}:secret`).toString('base64');
  const lines = ['POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Test HTTP/1.1', 'Host: a', 'Content-Length: 0'];
  return `${[...lines, `Authorization: Basic ${credentials}`].join('\r\n')}\r\n\r\n`;
};

type Session = Readonly<Record<'userName' | 'createTime' | 'lastActivityTime', string>>;
type Timer = Readonly<Record<'count' | 'max' | 'mean_rate', number>>;

it('a step of the wall clock changes no duration, rate, session or counter', async () => {
  let offsetMs = 0;
  const clock: Clock = { nowNs: () => systemClock.nowNs(), epochMs: () => systemClock.epochMs() + offsetMs };
  let release: (() => void) | undefined;
  const harness = await startFaultStand({
    ...{ clock },
    script: (upstream, nth) =>
      atHeads(upstream, () => {
        if (nth === 1) release = () => upstream.write(OK);
        else upstream.write(OK);
      }),
  });
  const held = harness.client(rpc('first'));
  await expect.poll(() => release).toBeDefined();
  offsetMs = DAY_MS;
  release?.();
  await held.until('fine');
  await harness.client(rpc('second')).until('fine');
  const ahead = await harness.read<Session[]>('d2/sessions');

  offsetMs = -DAY_MS;
  await harness.client(rpc('third')).until('fine');
  const behind = await harness.read<Session[]>('d2/sessions');

  const { timers } = await harness.read<{ readonly timers: Record<string, Timer> }>('metrics/d2/rpc');
  expect(timers.rpc?.count).toBe(3);
  expect(timers.rpc?.max).toBeLessThan(60);
  expect(timers.rpc?.mean_rate).toBeGreaterThan(0);
  expect(Object.values(timers.rpc ?? {}).filter((value) => typeof value === 'number' && value < 0)).toEqual([]);

  // Oldest first by when they began, not by the clock; no session has been idle for a day.
  expect(behind.map(({ userName }) => userName)).toEqual(['first', 'second', 'third']);
  expect(behind.slice(0, 2).map(({ createTime }) => createTime)).toEqual(ahead.map(({ createTime }) => createTime));
  for (const { createTime, lastActivityTime } of behind) {
    expect(Date.parse(lastActivityTime)).toBeGreaterThanOrEqual(Date.parse(createTime));
  }
  const third = Date.parse(behind[2]?.createTime ?? '');
  expect(Math.abs(third - clock.epochMs())).toBeLessThan(60_000);

  const samples = await harness.samples();
  expect([...samples].filter(([, value]) => value < 0)).toEqual([]);
  expect(samples.get('d2_sidecar_loop_delay_seconds_bucket{le="1.0"}')).toBe(
    samples.get('d2_sidecar_loop_delay_seconds_count'),
  );
});
