import { beforeEach, expect, it } from 'vitest';
import { StartError } from '../../../src/base/errors.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { type Reloadable, Reloader, Reloads } from '../../../src/sidecar/reload.ts';
import { type RecordingLogger, recordingLogger } from '../../support/wire/recording-logger.ts';

let epochMs: number;
let recording: RecordingLogger;
let file: object;
let told: string[];
let held: Config | undefined;
/** What is in the way of the next preparation. */
let obstacle: unknown;
/** Holds the next preparation until it is called. */
let gate: Promise<void> | undefined;
let target: Reloadable;

const clock = { nowNs: () => 0, epochMs: () => epochMs };

beforeEach(() => {
  epochMs = 1_000;
  recording = recordingLogger();
  file = {};
  told = [];
  held = undefined;
  obstacle = undefined;
  gate = undefined;
  target = {
    reloads: new Reloads(clock),
    async prepareReload(config) {
      told.push('prepare');
      await gate;
      if (obstacle !== undefined) throw obstacle;
      return () => {
        told.push('take over');
        held = config;
      };
    },
  };
});

const load = () => {
  told.push('load');
  const written = { upstream: { url: 'http://127.0.0.1:8080/smartWeb' }, ...file };
  return loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => JSON.stringify(written) });
};

async function open(): Promise<{ reloader: Reloader; applied: Config[] }> {
  const applied: Config[] = [];
  const { parsed } = await load();
  told = [];
  const onApplied = (config: Config) => void applied.push(config);
  const parts = { running: parsed, load, reloadable: target, logger: recording.logger, onApplied };
  return { reloader: new Reloader(parts), applied };
}

/** Begins a reload, which stays in its preparation until `open` is called. */
async function heldReload(reloader: Reloader) {
  let open: () => void = () => {};
  gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const running = reloader.reload('SIGHUP');
  while (!told.includes('prepare')) await new Promise(setImmediate);
  return { running, open };
}

it('a reload reads and prepares everything, then takes over, logs the keys, counts, and records the time', async () => {
  const { reloader, applied } = await open();
  file = { limits: { connections: 7 }, log: { level: 'warn' } };
  epochMs = 5_000;
  const outcome = await reloader.reload('SIGHUP');
  expect(outcome).toEqual({ kind: 'applied', changed: ['limits.connections', 'log.level'], waiting: [] });
  expect(told).toEqual(['load', 'prepare', 'take over']);
  expect(held?.limits.connections).toBe(7);
  expect(applied).toEqual([held]);
  const details = { reason: 'SIGHUP', changed: ['limits.connections', 'log.level'] };
  expect(recording.logged).toEqual([{ level: 'info', details, message: 'the configuration was reloaded' }]);
  const { results, lastAppliedEpochMs, isLastApplied, waiting } = target.reloads;
  expect([results, lastAppliedEpochMs, isLastApplied, waiting]).toEqual([{ applied: 1, refused: 0 }, 5_000, true, 0]);
});

it('a reload with unusable files changes nothing, and the next one is compared with the configuration in force', async () => {
  const { reloader } = await open();
  file = { limits: { connections: 7 } };
  obstacle = new StartError('D2S_ERR_TLS_FILE', 'listen.tls.certFile: /c cannot be read: ENOENT');
  expect(await reloader.reload('SIGHUP')).toMatchObject({ kind: 'refused', code: 'D2S_ERR_TLS_FILE' });
  expect([told, held]).toEqual([['load', 'prepare'], undefined]);
  obstacle = undefined;
  expect(await reloader.reload('SIGHUP')).toMatchObject({ kind: 'applied', changed: ['limits.connections'] });
});

it('a reload survives a bug without logging its message', async () => {
  const { reloader } = await open();
  obstacle = new TypeError('s3cr3t');
  const outcome = await reloader.reload('SIGHUP');
  expect(outcome).toEqual({ kind: 'refused', code: undefined, problems: ['an unexpected error: TypeError'] });
  expect(JSON.stringify(recording.logged)).not.toContain('s3cr3t');
});

it('a reload is shared by all requests during another one, and reads later changes', async () => {
  const { reloader } = await open();
  file = { limits: { connections: 7 } };
  const first = await heldReload(reloader);
  file = { limits: { connections: 8 } };
  const waiting = [reloader.reload('SIGHUP'), reloader.reload('reload'), reloader.reload('SIGHUP')];
  first.open();
  expect(await first.running).toMatchObject({ changed: ['limits.connections'] });
  expect(new Set(await Promise.all(waiting)).size, 'one outcome').toBe(1);
  expect(told).toEqual(['load', 'prepare', 'take over', 'load', 'prepare', 'take over']);
  expect(held?.limits.connections).toBe(8);
  await reloader.reload('SIGHUP');
  expect(target.reloads.results.applied).toBe(3);
});
