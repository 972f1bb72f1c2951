import { expect, it } from 'vitest';
import { formatTop } from '../../../src/cli/top.ts';
import { WatchedTls } from '../../../src/tls/watched-tls.ts';
import { ManualClock } from '../../support/clock.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import type { Wanted } from '../../support/tls/certificates.ts';
import { get, listenerTls, upstreamTls, useCertificates } from '../../support/tls/ends.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';
import { type StandOptions, startStand } from '../../support/wire/stand.ts';

const folder = useCertificates();
const authority = folder.authority();
const signed = (wanted: Partial<Wanted>) => folder.signed(authority, { name: 'plant', ...wanted });

const start = (config: NonNullable<StandOptions['config']>) => startStand({ config }, untilTestEnds);

it('certificates that expire soon are in the log, in /live, on the page’s data and in top, by section', async () => {
  const [soon, later, client] = [signed({ days: 13 }), signed({ days: 30 }), signed({ days: 2, usage: 'clientAuth' })];
  const stand = await start(({ listen, monitor, upstream }) => ({
    listen: { ...listen, tls: listenerTls(soon) },
    monitor: { ...monitor, tls: listenerTls(later) },
    upstream: { ...upstream, tls: upstreamTls(authority, client) },
  }));
  const warnings = stand.logged.filter(({ level }) => level === 'warn').map(({ details }) => details);
  expect(warnings).toEqual([
    expect.stringMatching(/^listen\.tls\.certFile: \S+: it expires in 12 days, on \d{4}-\d\d-\d\d$/),
    expect.stringMatching(/^upstream\.tls\.certFile: \S+: it expires in 1 day, on /),
  ]);
  const live = JSON.parse((await get(stand.monitorPort, '/live', { ca: authority })).body) as { certificates: unknown };
  expect(live.certificates).toEqual([
    { section: 'listen.tls', expires: expect.any(String), days: 12, warning: expect.stringContaining('in 12 days') },
    { section: 'monitor.tls', expires: expect.any(String), days: 29, warning: null },
    { section: 'upstream.tls', expires: expect.any(String), days: 1, warning: expect.stringContaining('in 1 day') },
  ]);
  const top = formatTop(JSON.parse(stand.sidecar.top()), 200).filter((line) => line.startsWith('Certificate'));
  expect(top).toEqual([
    expect.stringContaining('Certificate of listen.tls: it expires in 12 days'),
    expect.stringContaining('Certificate of upstream.tls: it expires in 1 day'),
  ]);
});

it('a certificate for clients that has expired is the verdict; that of the monitoring port is not', async () => {
  const tls = listenerTls(signed({ days: -1 }));
  const verdictWith = async (port: 'listen' | 'monitor') =>
    (await start((base) => ({ [port]: { ...base[port], tls } }))).sidecar.verdicts.of('smartWeb');
  const text = expect.stringContaining('it expired on');
  expect(await verdictWith('listen')).toMatchObject({ code: 'own-certificate', subject: 'sidecar', text });
  expect((await verdictWith('monitor')).code).toBe('quiet');
});

it('the warning comes at the start, once a day, and with a replacement', async () => {
  const clock = new ManualClock();
  const { logger, logged } = recordingLogger();
  const today = (clock.epochMs() - Date.now()) / 86_400_000;
  const pair = signed({ fromDays: today - 1, days: today + 5.5 });
  const files = { section: 'listen.tls', ...pair, caFile: undefined, caKey: 'clientCaFile' } as const;
  const watched = await WatchedTls.open(files, { clock, logger });
  const warned = () => logged.map(({ details }) => String(details).replace(/^.*: it/, 'it'));
  const first = warned();
  for (let hour = 0; hour < 49; hour += 1) {
    clock.advanceS(3_600);
    await watched.poll();
  }
  expect(first).toEqual([expect.stringContaining('in 5 days')]);
  expect(warned().slice(1)).toEqual([expect.stringContaining('in 4 days'), expect.stringContaining('in 3 days')]);
});
