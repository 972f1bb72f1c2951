/** A real sidecar is killed under load: the next one counts no call too many, and lacks an interval and a save at most. */
import { readdirSync, statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { until } from '../support/comet/until.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { playsAll } from '../support/effort.ts';
import { Random } from '../support/fuzz/random.ts';
import { portOf, restCall, send, startApplication } from '../support/net.ts';
import { type SidecarProcess, startSidecarBefore } from '../support/sidecar-process.ts';

const KILLS = playsAll ? 20 : 3;
const SEED = 20_260_301;
const CLIENTS = 8;
const RPCS = ['TestIn', 'TestOut', 'TestInOut'];
const ADMIN = '/smartWeb/api/rest/v0/admin';

type Counts = Readonly<Record<string, number>>;

const defer = deferTo(afterAll);
const folder = temporaryFolder(defer);
const upstream = await startApplication((_, response) => response.end('{"value":1}'), defer);
/** Calls that clients have begun in one life: an upper bound. */
const begun: string[] = [];
/** Calls that clients have complete answers for, with the time since 1970. */
const answered: { readonly atMs: number; readonly rpc: string }[] = [];

const env = { D2_SIDECAR_STATE_FILE: `${folder}/state`, D2_SIDECAR_STATE_INTERVAL: '200ms' };
const start = () => startSidecarBefore(upstream.port, env, [], defer);

/** One call; resolves to false when the sidecar is down. */
async function call({ listen }: SidecarProcess, rpc: string, user: string): Promise<boolean> {
  begun.push(rpc);
  const answer = await restCall(portOf(listen), `rpc/E.Demo/${rpc}`, user, { body: '{}' }).catch(() => undefined);
  if (answer !== undefined) answered.push({ atMs: Date.now(), rpc });
  return answer !== undefined;
}

async function load(sidecar: SidecarProcess, random: Random): Promise<void> {
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    while (await call(sidecar, random.pick(RPCS), `user${i % 3}`));
  });
  await Promise.all(clients);
}

async function shownBy({ monitor }: SidecarProcess) {
  const get = async (at: string) => (await fetch(`http://${monitor}${at}`)).text();
  const paths = [`${ADMIN}/metrics/d2/rpc`, `${ADMIN}/d2/sessions`, '/metrics'];
  const [rpc = '', sessions = '', text = ''] = await Promise.all(paths.map(get));
  const { timers } = JSON.parse(rpc) as { timers: Record<string, { count: number }> };
  const counts: Counts = Object.fromEntries(RPCS.map((name) => [name, timers[`rpc.E.Demo.${name}`]?.count ?? 0]));
  const outcomes = [...text.matchAll(/^d2_calls_total\{.*kind="rpc".*\} (\d+)$/gm)].map(([, count]) => Number(count));
  return {
    counts,
    total: timers.rpc?.count ?? 0,
    byOutcome: outcomes.reduce((sum, count) => sum + count, 0),
    sessions: (JSON.parse(sessions) as { id: string }[]).map(({ id }) => id),
    text,
  };
}

/** Notes when the last known save began, in ms since 1970, until the sidecar is gone. */
async function watchSaves({ monitor }: SidecarProcess, last: { saveMs: number }): Promise<void> {
  for (; ; await wait(20)) {
    const answer = await send(portOf(monitor), '/metrics').catch(() => undefined);
    if (answer === undefined) return;
    const [, seconds] = /^d2_sidecar_state_last_save_timestamp_seconds (\S+)$/m.exec(answer.body) ?? [];
    if (seconds !== undefined) last.saveMs = Number(seconds) * 1_000;
  }
}

const countOf = (calls: readonly string[], rpc: string) => calls.filter((each) => each === rpc).length;

describe('a sidecar', () => {
  it(
    `that is killed ${KILLS} times at random moments continues its counts: never too high, and no save is lost`,
    async () => {
      const random = new Random(SEED);
      let base: Awaited<ReturnType<typeof shownBy>> | undefined;
      let counted = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        begun.length = 0;
        answered.length = 0;
        const sidecar = await start();
        const loading = load(sidecar, random);
        const last = { saveMs: 0 };
        const watching = watchSaves(sidecar, last);
        await until('the first save', () => last.saveMs > 0);
        await wait(random.below(900));
        const killedMs = Date.now();
        const [code] = await Promise.all([sidecar.stop('SIGKILL'), watching, loading]);
        expect(code).toBe(128);

        const next = await start();
        const shown = await shownBy(next);
        const where = `kill ${kill} of seed ${SEED}`;
        // Includes every call whose answer had arrived before the last save began.
        const saved = answered.filter(({ atMs }) => atMs < last.saveMs).map(({ rpc }) => rpc);
        for (const rpc of RPCS) {
          const before = base?.counts[rpc] ?? 0;
          expect(shown.counts[rpc], `${where}: ${rpc}`).toBeLessThanOrEqual(before + countOf(begun, rpc));
          expect(shown.counts[rpc], `${where}: ${rpc}`).toBeGreaterThanOrEqual(before + countOf(saved, rpc));
        }
        // The interval, and time for the save itself on a busy machine.
        expect(killedMs - last.saveMs, where).toBeLessThan(3_200);
        const sum = Object.values(shown.counts).reduce((all, count) => all + count, 0);
        expect([shown.total, shown.byOutcome], where).toEqual([sum, sum]);
        expect(shown.sessions.length, where).toBeLessThanOrEqual(3);
        // A saved session survives.
        expect(shown.sessions, where).toEqual(expect.arrayContaining(base?.sessions ?? []));
        expect(next.logs.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
        await next.stop('SIGKILL');
        counted += shown.total - (base?.total ?? 0);
        base = shown;
      }
      expect(counted).toBeGreaterThan(0);
      // One file, and at most one that a kill left half written.
      expect(readdirSync(folder).filter((name) => name !== 'state' && name !== 'state.saving')).toEqual([]);
    },
    60_000 + KILLS * 10_000,
  );

  it('that is stopped in order loses nothing', async () => {
    const sidecar = await start();
    const { total, counts } = await shownBy(sidecar);
    for (let i = 0; i < 30; i += 1) await call(sidecar, 'TestIn', 'user0');
    expect(await sidecar.stop()).toBe(0);
    expect(statSync(`${folder}/state`).mode & 0o777).toBe(0o600);
    const after = await shownBy(await start());
    expect([after.total, after.counts.TestIn]).toEqual([total + 30, (counts.TestIn ?? 0) + 30]);
    expect(after.text).toContain('d2_sidecar_state_start_info{result="restored"} 1');
  });
});
