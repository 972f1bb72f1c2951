/** `d2-sidecar check --connect`: tries the upstream with one GET of each application's path, the JVM over HTTP, and the receivers of messages. */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, NS_PER_MS, systemClock } from '../base/clock.ts';
import { ERROR_CODES, SidecarError } from '../base/errors.ts';
import { SILENT } from '../base/logger.ts';
import { showProgress } from '../base/progress.ts';
import { hasReceivers } from '../config/alerts-schema.ts';
import type { Config } from '../config/config.ts';
import { formatHostPort } from '../config/host-port.ts';
import type { Channel } from '../export/alerts/outbox.ts';
import { createJvmSource } from '../jvm/create-source.ts';
import { classifyUpstreamFailure, reasonOf, tlsReasonOf } from '../proxy/exchange/upstream-failure.ts';
import { SharedLookup } from '../proxy/upstream/shared-lookup.ts';
import { speaksTls, UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { daysLeft } from '../tls/own-certificate.ts';
import { describeTlsFault } from '../tls/tls-fault.ts';
import { EXIT_FAILED, type Output } from './output.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const MAX_LOCATION = 200;

/** The message says what fails, after its key. */
class ConnectionFault extends Error {}

/** Prints what it found, failures to standard error. Returns the exit code: 1 if something failed. */
export async function checkConnection(config: Config, output: Output, clock: Clock = systemClock): Promise<number> {
  let exitCode = 0;
  const printAll = async (findings: AsyncIterable<string>) => {
    for await (const text of findings) output.out(`# ${text}\n`);
  };
  const attempt = async (findings: AsyncIterable<string>): Promise<boolean> => {
    try {
      await showProgress(output.err, 'trying the upstream', printAll(findings));
      return true;
    } catch (cause) {
      if (!(cause instanceof ConnectionFault)) throw cause;
      output.err(`d2-sidecar: ${cause.message}\n`);
      exitCode = EXIT_FAILED;
      return false;
    }
  };
  if (await attempt(tryUpstream(config, clock))) {
    for (const application of config.applications) await attempt(tryApplication(config, application, clock));
  }
  if (config.jvm.source !== 'none' && config.jvm.http !== undefined) await attempt(tryJvm(config, clock));
  if (hasReceivers(config.alerts)) {
    const { createChannels } = await import('../export/alerts/alerts.ts');
    for (const channel of await createChannels(config.alerts, SILENT)) await attempt(tryReceiver(channel));
  }
  return exitCode;
}

/** Without a message: `d2-sidecar alerts test` sends one. */
async function* tryReceiver({ name, verify }: Channel): AsyncGenerator<string> {
  try {
    const answer = await verify(AbortSignal.timeout(ANSWER_TIMEOUT_MS));
    yield `alerts.${name}: the receiver can be reached, and answers: ${answer}`;
  } catch (cause) {
    throw new ConnectionFault(`alerts.${name}: ${cause instanceof Error ? cause.message : codeOf(cause)}`);
  }
}

async function* tryUpstream(config: Config, clock: Clock): AsyncGenerator<string> {
  const { upstream } = config;
  const { host } = upstream;
  if (net.isIP(host) === 0) {
    const addresses = await lookup(host, { all: true }).catch((cause: unknown) => {
      throw new ConnectionFault(`upstream.url: no address is found for the name ${host} (${codeOf(cause)})`);
    });
    yield `upstream.url: ${host} is ${addresses.map(({ address }) => address).join(', ')}`;
  }
  const startNs = clock.nowNs();
  const socket = await open(config, clock);
  const tookMs = Math.round((clock.nowNs() - startNs) / NS_PER_MS);
  yield `upstream.url: ${formatHostPort(upstream)} accepts a connection, in ${tookMs} ms`;
  if (socket instanceof TLSSocket) yield describeTls(socket, clock);
  socket.destroy();
}

async function open({ upstream }: Config, clock: Clock): Promise<net.Socket> {
  const { host, port, tls, connectTimeoutMs } = upstream;
  const dialOptions = new SharedLookup(clock).dialOptions(connectTimeoutMs);
  const secured = tls && (await UpstreamTls.open(upstream, tls, { clock, logger: SILENT }));
  const socket = secured?.connect(dialOptions) ?? net.connect({ host, port, ...dialOptions });
  let phase: 'connect' | 'handshake' = 'connect';
  // A late error also breaks the request.
  socket.on('error', () => undefined);
  socket.on('connect', () => {
    phase = 'handshake';
  });
  const timeout = AbortSignal.timeout(connectTimeoutMs);
  try {
    await once(socket, secured === undefined ? 'connect' : 'secureConnect', { signal: timeout });
    return socket;
  } catch (cause) {
    socket.destroy();
    if (!timeout.aborted) throw new ConnectionFault(describeFailure(cause, phase));
    const text = ERROR_CODES.D2S_ERR_UPSTREAM_CONNECT_TIMEOUT;
    throw new ConnectionFault(`upstream.url: ${text} (upstream.connectTimeout)`);
  }
}

function describeFailure(cause: unknown, phase: 'connect' | 'handshake' | 'wait'): string {
  const failure = classifyUpstreamFailure(cause, phase);
  if (failure.code === 'D2S_ERR_UPSTREAM_TLS') {
    const reason = tlsReasonOf(cause);
    const { text, see } = describeTlsFault(reason);
    return `upstream.tls: TLS with the upstream fails: ${text} (${reason}); see ${see}`;
  }
  return `upstream.url: ${ERROR_CODES[failure.code]} (${reasonOf(failure) ?? failure.code})`;
}

function describeTls(socket: TLSSocket, clock: Clock): string {
  const certificate = socket.getPeerX509Certificate();
  const end = certificate && Date.parse(certificate.validTo);
  const left = end === undefined ? '' : `; its certificate expires in ${daysLeft(end, clock.epochMs())} days`;
  return `upstream.tls: ${socket.getProtocol()}, ${socket.getCipher().name}${left}`;
}

/** One GET; any answer below 500 is one of an application. */
async function* tryApplication(config: Config, application: string, clock: Clock): AsyncGenerator<string> {
  const { host, port } = config.upstream;
  const path = application === '' ? '/' : `/${application}/`;
  const socket = await open(config, clock);
  const answer = await new Promise<http.IncomingMessage | Error>((resolve) => {
    const request = http.get({ host, port, path, timeout: ANSWER_TIMEOUT_MS, createConnection: () => socket });
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    request.on('error', resolve);
    request.on('response', resolve);
  });
  const isPlain = !(socket instanceof TLSSocket);
  socket.destroy();
  const isAnswer = !(answer instanceof Error);
  const mayBeTls = isPlain && (isAnswer ? answer.statusCode === 400 : codeOf(answer) !== 'ETIMEDOUT');
  if (mayBeTls && (await speaksTls(config.upstream, config.upstream.connectTimeoutMs))) {
    const expected = `expected https://${formatHostPort(config.upstream)}`;
    throw new ConnectionFault(`upstream.url: the upstream speaks TLS on that port, ${expected}`);
  }
  const what = `upstream.url: GET ${path}`;
  if (!isAnswer) throw new ConnectionFault(describeSilence(what, answer));
  const { statusCode = 0, headers } = answer;
  const text = `${what} is answered with ${statusCode}${describeStatus(statusCode, headers.location)}`;
  if (statusCode >= 500) throw new ConnectionFault(text);
  yield text;
}

function describeSilence(what: string, cause: Error): string {
  const code = codeOf(cause);
  if (code === 'ETIMEDOUT') return `${what} is not answered within ${ANSWER_TIMEOUT_MS / 1_000} s`;
  if (code.startsWith('HPE_')) return `${what}: ${ERROR_CODES.D2S_ERR_UPSTREAM_PROTOCOL}`;
  return describeFailure(cause, 'wait');
}

function describeStatus(status: number, location: string | undefined): string {
  if (status === 404) return ': nothing is there; is the path right, in upper and lower case, too?';
  if (status === 401 || status === 403) return ': it wants a login';
  // The query may hold a secret.
  if (location !== undefined) return `, to ${location.split(/[?#;]/, 1)[0]?.slice(0, MAX_LOCATION)}`;
  return '';
}

async function* tryJvm(config: Config, clock: Clock): AsyncGenerator<string> {
  const source = await createJvmSource({ config, clock, logger: SILENT, env: process.env });
  try {
    await source?.read(AbortSignal.timeout(config.jvm.timeoutMs));
    yield `jvm: read from ${source?.name}`;
  } catch (cause) {
    throw new ConnectionFault(`jvm: ${cause instanceof SidecarError ? cause.message : codeOf(cause)}`);
  } finally {
    source?.close();
  }
}

function codeOf(cause: unknown): string {
  const { code, name } = cause as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
