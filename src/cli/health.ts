/**
 * `d2-sidecar health`: the probe for a container that has neither a shell nor curl. It asks over the control socket,
 * which works with any flags, ports, certificates and users; with `--monitor` it asks over HTTP, as any client would.
 */
import http from 'node:http';
import { attemptTimeoutMs } from '../base/dial.ts';
import { showProgress } from '../base/progress.ts';
import type { HostPort } from '../config/config.ts';
import { formatHostPort } from '../config/host-port.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { Run } from './command-line.ts';
import { requestHealth } from './control/control-client.ts';
import { ControlError } from './control/protocol.ts';
import { EXIT_FAILED } from './output.ts';

/** The same timeout as for the control socket; probes of containers give up earlier. */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Exit code 0 if the sidecar is alive, or with `checksReadiness` if it is ready, as `/livez` and `/readyz` do;
 * otherwise 1. A starting sidecar is not found.
 */
export const health: Run<'health'> = async ({ flags, monitor, checksReadiness }, env, output) => {
  const answer =
    monitor === undefined
      ? await askSidecar(flags, env, output, askSocket)
      : await showProgress(output.err, 'waiting for an answer', askMonitor(monitor, checksReadiness));
  if (checksReadiness && !answer.isReady) {
    output.err(`d2-sidecar: ${answer.who} is not ready: ${answer.state}\n`);
    return EXIT_FAILED;
  }
  output.out(`${answer.who} ${checksReadiness ? 'is ready' : 'is alive'}: ${answer.state}\n`);
  return 0;
};

interface Answer {
  readonly who: string;
  readonly state: string;
  readonly isReady: boolean;
}

async function askSocket(socket: string): Promise<Answer> {
  const { status, isReady } = await requestHealth(socket);
  const { pid, state } = status;
  // Serving but not ready: monitor.readyWithUpstream is on.
  const isWaiting = state === 'serving' && !isReady;
  return { who: `d2-sidecar ${pid}`, state: isWaiting ? 'its upstream cannot be reached' : state, isReady };
}

function askMonitor(address: HostPort, checksReadiness: boolean): Promise<Answer> {
  const who = formatHostPort(address);
  const path = checksReadiness ? '/readyz' : '/livez';
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown) => reject(new ControlError(`${who}${path}: ${reason}`, cause));
    const options = { timeout: ANSWER_TIMEOUT_MS, autoSelectFamilyAttemptTimeout: attemptTimeoutMs(ANSWER_TIMEOUT_MS) };
    const request = http.get({ ...address, path, agent: false, ...options }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      if (statusCode === 200 || statusCode === 503)
        resolve({ who, state: String(statusCode), isReady: statusCode === 200 });
      else fail(`answered ${statusCode}, expected 200 or 503`);
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', (error) => {
      const reason = 'code' in error ? error.code : error.message;
      fail(`cannot be reached: ${reason}; is a sidecar running, and is this its address for monitoring?`, error);
    });
  });
}
