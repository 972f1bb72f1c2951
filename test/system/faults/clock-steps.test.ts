/** The wall clock is set forwards and backwards while calls run: only labels may change. */
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { atHeads, OK, startFaultStand } from './fault-stand.ts';

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
