/** `d2-sidecar check --connect`: tries the upstream with one GET of each application's path, and the JVM over HTTP. */
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import net from 'node:net';
import { TLSSocket } from 'node:tls';
import { type Clock, NS_PER_MS, systemClock } from '../base/clock.ts';
import { ERROR_CODES, SidecarError } from '../base/errors.ts';
import type { Config } from '../config/config.ts';
import { toHostPortText } from '../config/host-port.ts';
import { createJvmSource } from '../jvm/create-source.ts';
import { reasonOf, tlsReasonOf, toUpstreamFailure } from '../proxy/exchange/upstream-failure.ts';
import { SharedLookup } from '../proxy/upstream/shared-lookup.ts';
import { UpstreamTls } from '../proxy/upstream/upstream-tls.ts';
import { daysLeft } from '../tls/own-certificate.ts';
import { describeTlsFault } from '../tls/tls-fault.ts';
import { EXIT_FAILED, type Output } from './output.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const MAX_LOCATION = 200;

const silent = () => undefined;
const NO_LOG = { debug: silent, info: silent, warn: silent, error: silent };

/** What the upstream did; `isGood: false` fails the check. */
interface Finding {
  readonly isGood: boolean;
  readonly text: string;
}

const good = (text: string): Finding => ({ isGood: true, text });
const bad = (text: string): Finding => ({ isGood: false, text });

/** Prints what it found, failures to standard error. Returns the exit code: 1 if something failed. */
export async function checkConnection(config: Config, output: Output, clock: Clock = systemClock): Promise<number> {
  let isGood = true;
  for await (const found of tryAll(config, clock)) {
    if (found.isGood) output.out(`# ${found.text}\n`);
    else output.err(`d2-sidecar: ${found.text}\n`);
    isGood &&= found.isGood;
  }
  return isGood ? 0 : EXIT_FAILED;
}

async function* tryAll(config: Config, clock: Clock): AsyncGenerator<Finding, void, undefined> {
  const name = await resolveName(config.upstream.host);
  if (name !== undefined) yield name;
  if (name?.isGood !== false) yield* tryUpstream(config, clock);
  if (config.jvm.source !== 'none' && config.jvm.http !== undefined) yield await tryJvm(config, clock);
}

async function resolveName(host: string): Promise<Finding | undefined> {
  if (net.isIP(host) !== 0) return undefined;
  try {
    const addresses = await lookup(host, { all: true });
    return good(`upstream.url: ${host} is ${addresses.map(({ address }) => address).join(', ')}`);
  } catch (cause) {
    return bad(`upstream.url: no address is found for the name ${host} (${codeOf(cause)})`);
  }
}

async function* tryUpstream(config: Config, clock: Clock): AsyncGenerator<Finding, void, undefined> {
  const { upstream } = config;
  const beganNs = clock.nowNs();
  const opened = await open(config, clock);
  if ('isGood' in opened) {
    yield opened;
    return;
  }
  const tookMs = Math.round((clock.nowNs() - beganNs) / NS_PER_MS);
  yield good(`upstream.url: ${toHostPortText(upstream)} accepts a connection, in ${tookMs} ms`);
  if (opened instanceof TLSSocket) yield describeTls(opened, clock);
  opened.destroy();
  for (const application of config.applications) {
    const socket = await open(config, clock);
    if ('isGood' in socket) yield socket;
    else yield await ask(config, socket, application === '' ? '/' : `/${application}/`, clock);
  }
}

/** A connection, with TLS if it is configured. */
async function open({ upstream }: Config, clock: Clock): Promise<net.Socket | Finding> {
  const { host, port, tls, connectTimeoutMs } = upstream;
  const dialOptions = new SharedLookup(clock).dialOptions(connectTimeoutMs);
  const secured = tls && (await UpstreamTls.open(upstream, tls, { clock, logger: NO_LOG }));
  return await new Promise((resolve) => {
    const socket = secured?.connect(dialOptions) ?? net.connect({ host, port, ...dialOptions });
    let phase: 'connect' | 'handshake' = 'connect';
    const timer = setTimeout(() => {
      socket.destroy();
      resolve(bad(`upstream.url: ${ERROR_CODES.D2S_ERR_UPSTREAM_CONNECT_TIMEOUT} (upstream.connectTimeout)`));
    }, connectTimeoutMs);
    const finish = (result: net.Socket | Finding) => {
      clearTimeout(timer);
      resolve(result);
    };
    socket.on('connect', () => {
      phase = 'handshake';
    });
    socket.on(secured === undefined ? 'connect' : 'secureConnect', () => finish(socket));
    socket.on('error', (cause) => finish(bad(describeFailure(cause, phase))));
  });
}

function describeFailure(cause: unknown, phase: 'connect' | 'handshake' | 'wait'): string {
  const failure = toUpstreamFailure(cause, phase);
  if (failure.code === 'D2S_ERR_UPSTREAM_TLS') {
    const reason = tlsReasonOf(cause);
    const { text, see } = describeTlsFault(reason);
    return `upstream.tls: TLS with the upstream fails: ${text} (${reason}); see ${see}`;
  }
  return `upstream.url: ${ERROR_CODES[failure.code]} (${reasonOf(failure) ?? failure.code})`;
}

function describeTls(socket: TLSSocket, clock: Clock): Finding {
  const certificate = socket.getPeerX509Certificate();
  const end = certificate && Date.parse(certificate.validTo);
  const left = end === undefined ? '' : `; its certificate expires in ${daysLeft(end, clock.epochMs())} days`;
  return good(`upstream.tls: ${socket.getProtocol()}, ${socket.getCipher().name}${left}`);
}

/** One GET; any answer below 500 is one of an application. */
async function ask(config: Config, socket: net.Socket, path: string, clock: Clock): Promise<Finding> {
  const { upstream } = config;
  const answer = await new Promise<http.IncomingMessage | Error>((resolve) => {
    const request = http.get({
      ...{ host: upstream.host, port: upstream.port, path, timeout: ANSWER_TIMEOUT_MS },
      createConnection: () => socket,
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    request.on('error', resolve);
    request.on('response', (response) => resolve(response));
  });
  const isPlain = !(socket instanceof TLSSocket);
  const what = `upstream.url: GET ${path}`;
  const isAnswer = !(answer instanceof Error);
  const mayBeTls = isPlain && (isAnswer ? answer.statusCode === 400 : codeOf(answer) !== 'ETIMEDOUT');
  socket.destroy();
  if (mayBeTls && (await speaksTls(config, clock))) {
    return bad(`upstream.url: the upstream speaks TLS on that port, expected https://${toHostPortText(upstream)}`);
  }
  if (!isAnswer) return bad(describeSilence(what, answer));
  const { statusCode = 0, headers } = answer;
  const text = `${what} is answered with ${statusCode}${describeStatus(statusCode, headers.location)}`;
  return statusCode < 500 ? good(text) : bad(text);
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

/** Whether a port that is configured without TLS has it. No certificate is verified, and nothing is sent. */
async function speaksTls(config: Config, clock: Clock): Promise<boolean> {
  const none = { caFile: undefined, certFile: undefined, keyFile: undefined, passphraseFile: undefined };
  const tls = { ...none, pfxFile: undefined, serverName: undefined, verify: false };
  const socket = await open({ ...config, upstream: { ...config.upstream, tls } }, clock);
  if ('isGood' in socket) return false;
  socket.destroy();
  return true;
}

async function tryJvm(config: Config, clock: Clock): Promise<Finding> {
  const source = await createJvmSource({ config, clock, logger: NO_LOG, env: process.env });
  try {
    await source?.read(AbortSignal.timeout(config.jvm.timeoutMs));
    return good(`jvm: read from ${source?.name}`);
  } catch (cause) {
    if (cause instanceof SidecarError) return bad(`jvm: ${cause.message}`);
    return bad(`jvm: ${codeOf(cause)}`);
  } finally {
    source?.close();
  }
}

function codeOf(cause: unknown): string {
  const { code, name } = cause as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
