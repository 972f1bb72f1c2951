/**
 * A real sidecar with a state file is killed at random moments, under load: the next process never counts more than has
 * happened, and lacks no more than the interval and the save in progress.
 */
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { playsAll } from '../support/effort.ts';
import { Random } from '../support/fuzz/random.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const KILLS = playsAll ? 20 : 3;
const SEED = 20_260_301;
const INTERVAL_MS = 200;
/** For the save itself, on a busy machine. */
const SLACK_MS = 3_000;
const CLIENTS = 8;
const RPCS = ['TestIn', 'TestOut', 'TestInOut'];
const BASE = '/smartWeb/api/rest/v0';

interface Answered {
  /** Since 1970. */
  readonly atMs: number;
  readonly rpc: string;
}

let folder: string;
let file: string;
let upstream: Server;
/** Calls that clients have begun in one life, by RPC: an upper bound. */
const begun = new Map<string, number>();
/** Calls that clients have complete answers for. */
const answered: Answered[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'd2-sidecar-restarts-'));
  file = path.join(folder, 'state');
  upstream = createServer((incoming, response) => {
    incoming.resume().on('end', () => response.end('{"value":1}'));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
});

afterAll(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await rm(folder, { recursive: true, force: true });
});

function start(): Promise<SidecarProcess> {
  const { port } = upstream.address() as AddressInfo;
  const args = flagsFor(port);
  return startSidecarProcess(args, {
    ...{ D2_SIDECAR_STATE_FILE: file, D2_SIDECAR_STATE_INTERVAL: `${INTERVAL_MS}ms`, D2_SIDECAR_JVM_SOURCE: 'none' },
  });
}

/** One call by one of three users; resolves to false when the sidecar is down. */
function call(address: string, rpc: string, user: string): Promise<boolean> {
  begun.set(rpc, (begun.get(rpc) ?? 0) + 1);
  return new Promise((resolve) => {
    const [host, port] = address.split(':');
    const asked = request({ host, port, method: 'POST', path: `${BASE}/d2/rpc/E.Demo/${rpc}`, auth: `${user}:pass` });
    asked.on('error', () => resolve(false));
    asked.on('response', (response) => {
      response.on('error', () => resolve(false));
      response.resume().on('end', () => {
        if (response.complete) answered.push({ atMs: Date.now(), rpc });
        resolve(response.complete);
      });
    });
    asked.end('{}');
  });
}

async function load(address: string, random: Random): Promise<void> {
  const one = async (i: number) => {
    while (await call(address, random.pick(RPCS), `user${i % 3}`));
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => one(i)));
}

interface Shown {
  readonly counts: Readonly<Record<string, number>>;
  readonly total: number;
  readonly byOutcome: number;
  readonly sessions: readonly { readonly id: string; readonly userName: string; readonly requests: number }[];
  readonly text: string;
}

async function shownBy(sidecar: SidecarProcess): Promise<Shown> {
  const get = async (at: string) => (await fetch(`http://${sidecar.monitor}${at}`)).text();
  const admin = '/smartWeb/api/rest/v0/admin';
  const [rpc, sessions, text] = await Promise.all([
    get(`${admin}/metrics/d2/rpc`),
    get(`${admin}/d2/sessions`),
    get('/metrics'),
  ]);
  const { timers } = JSON.parse(rpc) as { timers: Record<string, { count: number }> };
  const counts = Object.fromEntries(RPCS.map((name) => [name, timers[`rpc.E.Demo.${name}`]?.count ?? 0]));
  const outcomes = [...text.matchAll(/^d2_calls_total\{.*kind="rpc".*\} (\d+)$/gm)].map(([, count]) => Number(count));
  return {
    counts,
    total: timers.rpc?.count ?? 0,
    byOutcome: outcomes.reduce((sum, count) => sum + count, 0),
    sessions: JSON.parse(sessions) as Shown['sessions'],
    text,
  };
}

/** When the last known save began, in ms since 1970; polled until the sidecar is gone. */
async function watchSaves(sidecar: SidecarProcess): Promise<number> {
  let lastMs = 0;
  for (;;) {
    const text = await fetch(`http://${sidecar.monitor}/metrics`)
      .then((response) => response.text())
      .catch(() => undefined);
    if (text === undefined) return lastMs;
    const [, seconds] = /^d2_sidecar_state_last_save_timestamp_seconds (\S+)$/m.exec(text) ?? [];
    if (seconds !== undefined) lastMs = Number(seconds) * 1_000;
    await wait(20);
  }
}

/** Completed calls of each RPC before `beforeMs`. */
function countsOf(calls: readonly Answered[], beforeMs = Number.POSITIVE_INFINITY): Record<string, number> {
  return Object.fromEntries(
    RPCS.map((name) => [name, calls.filter((c) => c.rpc === name && c.atMs < beforeMs).length]),
  );
}

describe('a sidecar that is killed', () => {
  it(
    `${KILLS} times at random moments continues its counts: never too high, and too low by at most the interval`,
    async () => {
      const random = new Random(SEED);
      let base: Shown | undefined;
      let lacking = 0;
      let counted = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        begun.clear();
        answered.length = 0;
        const sidecar = await start();
        const loading = load(sidecar.listen, random);
        const saving = watchSaves(sidecar);
        await wait(100 + random.below(900));
        const killedMs = Date.now();
        const [code, lastSaveMs] = await Promise.all([sidecar.stop('SIGKILL'), saving, loading]);
        expect(code).toBe(128);

        const next = await start();
        try {
          const shown = await shownBy(next);
          const where = `kill ${kill} of seed ${SEED}`;
          // Includes every call whose answer had arrived before the last save began.
          const saved = countsOf(answered, lastSaveMs);
          for (const rpc of RPCS) {
            const before = base?.counts[rpc] ?? 0;
            expect(shown.counts[rpc], `${where}: ${rpc}`).toBeLessThanOrEqual(before + (begun.get(rpc) ?? 0));
            expect(shown.counts[rpc], `${where}: ${rpc}`).toBeGreaterThanOrEqual(before + (saved[rpc] ?? 0));
          }
          if (lastSaveMs > 0) expect(killedMs - lastSaveMs, where).toBeLessThan(INTERVAL_MS + SLACK_MS);
          const sum = Object.values(shown.counts).reduce((all, count) => all + count, 0);
          expect([shown.total, shown.byOutcome], where).toEqual([sum, sum]);
          expect(shown.sessions.length, where).toBeLessThanOrEqual(3);
          // A saved session survives.
          const ids = (of: Shown | undefined) => (of?.sessions ?? []).map(({ id }) => id);
          expect(ids(shown), where).toEqual(expect.arrayContaining(ids(base)));
          expect(next.logs.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
          counted += shown.total - (base?.total ?? 0);
          lacking += answered.length - (shown.total - (base?.total ?? 0));
          base = shown;
        } finally {
          await next.stop('SIGKILL');
        }
      }
      process.stdout.write(`${KILLS} kills: ${counted} calls counted, ${lacking} answered and lost\n`);
      expect(counted).toBeGreaterThan(playsAll ? lacking : 0);
      // One file, and at most one that a kill left half written.
      expect((await readdir(folder)).filter((name) => name !== 'state' && name !== 'state.saving')).toEqual([]);
    },
    60_000 + KILLS * 10_000,
  );

  it('loses nothing when it is stopped in order', async () => {
    const sidecar = await start();
    const before = await shownBy(sidecar);
    for (let i = 0; i < 30; i += 1) await call(sidecar.listen, 'TestIn', 'user0');
    expect(await sidecar.stop()).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const next = await start();
    try {
      const after = await shownBy(next);
      expect(after.total).toBe(before.total + 30);
      expect(after.counts.TestIn).toBe((before.counts.TestIn ?? 0) + 30);
      expect(after.text).toContain('d2_sidecar_state_start_info{result="restored"} 1');
      expect(next.logs.some(({ msg }) => msg === 'state restored')).toBe(true);
    } finally {
      await next.stop();
    }
  });

  it('continues to serve when the state cannot be saved, and says so', async () => {
    const { port } = upstream.address() as AddressInfo;
    const sidecar = await startSidecarProcess(flagsFor(port), {
      D2_SIDECAR_STATE_FILE: path.join(folder, 'none', 'state'),
      D2_SIDECAR_STATE_INTERVAL: '100ms',
    });
    try {
      expect(await call(sidecar.listen, 'TestIn', 'user0')).toBe(true);
      await expect
        .poll(async () => (await shownBy(sidecar)).text)
        .toMatch(/d2_sidecar_state_save_failures_total [1-9]/);
      expect(sidecar.logs.filter(({ code }) => code === 'D2S_ERR_STATE_FILE').map(({ reason }) => reason)).toEqual([
        expect.stringContaining('does not exist'),
        'ENOENT',
      ]);
    } finally {
      expect(await sidecar.stop()).toBe(0);
    }
  });
});
