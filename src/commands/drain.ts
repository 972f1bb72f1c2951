/** `d2-sidecar drain` and `d2-sidecar shutdown`: from a preStop hook or a person to a running sidecar. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, NS_PER_MS, NS_PER_S, systemClock } from '../clock.ts';
import type { Environment } from '../config/environment.ts';
import { loadControlSocket } from '../config/load-config.ts';
import { requestShutdown, sendCommand } from '../control/control-client.ts';
import { findSidecar } from '../control/find-sidecar.ts';
import type { ControlStatus } from '../control/protocol.ts';
import { SidecarError } from '../errors.ts';
import type { TargetFlags } from './command-line.ts';
import type { Output } from './output.ts';

const POLL_MS = 200;
const PROGRESS_MS = 2_000;
/** After stop.deadline the sidecar destroys what is left, which takes no time; so long it may take all the same. */
const SHUTDOWN_GRACE_MS = 10_000;

/** Throws ConfigError if several sidecars run, D2S_ERR_CONTROL if none does. Time over is no failure: exit code 0. */
export async function drain(
  { flags, waitMs }: { readonly flags: TargetFlags; readonly waitMs: number },
  env: Environment,
  output: Output,
  clock: Clock = systemClock,
): Promise<number> {
  const socket = await find(flags, env);
  let status = await sendCommand(socket, 'drain');
  output.out(`d2-sidecar ${status.pid} drains: not ready any more, ${toExchanges(status)} open\n`);
  const startedNs = clock.nowNs();
  let reportedMs = 0;
  for (;;) {
    const elapsedMs = (clock.nowNs() - startedNs) / NS_PER_MS;
    if (status.openExchanges === 0 || elapsedMs >= waitMs) break;
    if (elapsedMs - reportedMs >= PROGRESS_MS) {
      reportedMs = elapsedMs;
      const leftS = Math.round(((waitMs - elapsedMs) * NS_PER_MS) / NS_PER_S);
      output.out(`${toExchanges(status)} open, waiting ${leftS} s more\n`);
    }
    await delay(Math.min(POLL_MS, waitMs - elapsedMs));
    const next = await statusOrGone(socket);
    if (next === undefined) {
      output.out('the sidecar has ended\n');
      return 0;
    }
    status = next;
  }
  if (waitMs > 0)
    output.out(status.openExchanges === 0 ? 'drained\n' : `time is over, ${toExchanges(status)} still open\n`);
  return 0;
}

/** Exit code 1 if the sidecar was asked and has not ended in its time. Throws as `drain`. */
export async function shutdown(
  { flags }: { readonly flags: TargetFlags },
  env: Environment,
  output: Output,
): Promise<number> {
  const { status, gone } = await requestShutdown(await find(flags, env), SHUTDOWN_GRACE_MS);
  output.out(`d2-sidecar ${status.pid} stops, ${toExchanges(status)} open\n`);
  if (await gone) {
    output.out('stopped\n');
    return 0;
  }
  output.err(`d2-sidecar: D2S_ERR_CONTROL: process ${status.pid} has not ended in time\n`);
  return 1;
}

async function find(flags: TargetFlags, env: Environment): Promise<string> {
  const { control, pid } = flags;
  if (control !== undefined) return control;
  // A process id on the command line says more than a socket's path that is set for everybody.
  return await findSidecar({ pid, socket: pid === undefined ? await loadControlSocket({ flags, env }) : undefined });
}

async function statusOrGone(socket: string): Promise<ControlStatus | undefined> {
  try {
    return await sendCommand(socket, 'status');
  } catch (error) {
    // It was there a moment ago: whoever waits for its exchanges has nothing more to wait for.
    if (error instanceof SidecarError) return undefined;
    throw error;
  }
}

function toExchanges({ openExchanges }: ControlStatus): string {
  return openExchanges === 1 ? '1 exchange' : `${openExchanges} exchanges`;
}
