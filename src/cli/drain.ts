/** `d2-sidecar drain` and `d2-sidecar shutdown`, for preStop hooks and people. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, NS_PER_MS, NS_PER_S, systemClock } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import { platform } from '../base/platform/platform.ts';
import { PROGRESS_MS, showProgress } from '../base/progress.ts';
import type { Environment } from '../config/environment.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf, Run } from './command-line.ts';
import { requestCommand, requestShutdown, requestStatus } from './control/control-client.ts';
import type { ControlStatus } from './control/protocol.ts';
import { EXIT_FAILED, type Output } from './output.ts';

const POLL_MS = 200;
/** Slack after stop.deadline, when the sidecar destroys everything that is left. */
const SHUTDOWN_GRACE_MS = 10_000;

/** Throws like `askSidecar`. A timeout is not a failure: exit code 0. */
export async function drain(
  { flags, waitMs }: FlagsOf<'drain'>,
  env: Environment,
  output: Output,
  clock: Clock = systemClock,
): Promise<number> {
  let { socket, status } = await askSidecar(flags, env, output, async (socket) => {
    return { socket, status: await requestCommand(socket, '/drain') };
  });
  output.out(`d2-sidecar ${status.pid} is draining: no longer ready, ${describeOpen(status)} open\n`);
  const startedNs = clock.nowNs();
  let reportedMs = 0;
  for (;;) {
    const elapsedMs = (clock.nowNs() - startedNs) / NS_PER_MS;
    if (isEmpty(status) || elapsedMs >= waitMs) break;
    if (elapsedMs - reportedMs >= PROGRESS_MS) {
      reportedMs = elapsedMs;
      const leftS = Math.round(((waitMs - elapsedMs) * NS_PER_MS) / NS_PER_S);
      output.out(`${describeOpen(status)} open, waiting ${leftS} s more\n`);
    }
    await delay(Math.min(POLL_MS, waitMs - elapsedMs));
    // The sidecar answered a moment ago, so it has exited since.
    const next = await requestStatus(socket).catch((error: unknown) => {
      if (!(error instanceof SidecarError)) throw error;
    });
    if (next === undefined) {
      output.out('the sidecar has ended\n');
      return 0;
    }
    status = next;
  }
  if (waitMs > 0) output.out(isEmpty(status) ? 'drained\n' : `timed out, ${describeOpen(status)} still open\n`);
  return 0;
}

/** Exit code 1 if the sidecar did not end in time. */
export const shutdown: Run<'shutdown'> = async ({ flags }, env, output) => {
  const { status, gone } = await askSidecar(flags, env, output, (socket) => requestShutdown(socket, SHUTDOWN_GRACE_MS));
  output.out(`d2-sidecar ${status.pid} is stopping, ${describeOpen(status)} open\n`);
  const limit = `${Math.round((status.stopDeadlineMs + SHUTDOWN_GRACE_MS) / 1_000)} s`;
  if (await showProgress(output.err, `waiting until it has stopped, at most ${limit}`, gone)) {
    output.out('stopped\n');
    return 0;
  }
  const advice = `its log says why; ${platform.killCommand(status.pid)} ends it at once`;
  output.err(`d2-sidecar: D2S_ERR_CONTROL: process ${status.pid} has not ended within ${limit}: ${advice}\n`);
  return EXIT_FAILED;
};

function isEmpty({ openExchanges, openWebSockets }: ControlStatus): boolean {
  return openExchanges === 0 && openWebSockets === 0;
}

function describeOpen({ openExchanges, openWebSockets }: ControlStatus): string {
  const exchanges = formatNumber(openExchanges, 'exchange');
  return openWebSockets === 0 ? exchanges : `${exchanges} and ${formatNumber(openWebSockets, 'WebSocket')}`;
}

function formatNumber(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
