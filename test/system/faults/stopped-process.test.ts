/** A real process that is stopped for a while: a suspended container, a machine without processor time. */
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';
import { listening, portOf } from '../../support/net.ts';
import { type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';
import { Peer } from '../../support/wire/peer.ts';
import { OK } from './fault-stand.ts';

const GET = 'GET /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\n\r\n';
const LIMIT_MS = 400;

let sidecar: SidecarProcess | undefined;
let upstream: net.Server | undefined;
const sockets: net.Socket[] = [];

afterEach(async () => {
  if (sidecar !== undefined) process.kill(sidecar.pid, 'SIGCONT');
  for (const socket of sockets.splice(0)) socket.destroy();
  upstream?.close();
  await sidecar?.stop('SIGKILL');
  sidecar = undefined;
});

interface Ends {
  readonly client: Peer;
  readonly toUpstream: net.Socket;
}

/** Starts the process, and a request through it. */
async function start(dataPath: string, env: Readonly<Record<string, string>>): Promise<Ends> {
  upstream = net.createServer({ noDelay: true });
  const port = await listening(upstream);
  const addresses = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
  sidecar = await startSidecarProcess(['--upstream', `http://127.0.0.1:${port}/smartWeb`, ...addresses], {
    ...{ D2_SIDECAR_DATA_PATH: dataPath, D2_SIDECAR_JVM_SOURCE: 'none' },
    ...env,
  });
  const client = new Peer(net.connect(portOf(sidecar.listen), '127.0.0.1'));
  const connected = once(upstream, 'connection');
  client.send(GET);
  sockets.push(client.socket);
  const [toUpstream] = (await connected) as [net.Socket];
  toUpstream.on('error', () => undefined);
  sockets.push(toUpstream);
  await once(toUpstream, 'data');
  return { client, toUpstream };
}

async function stopProcess(meanwhile: () => void): Promise<void> {
  const { pid } = sidecar as SidecarProcess;
  process.kill(pid, 'SIGSTOP');
  meanwhile();
  await new Promise((resolve) => setTimeout(resolve, LIMIT_MS + 300));
  process.kill(pid, 'SIGCONT');
}

describe.each(['auto', 'gateway'])('dataPath %s: a process that was stopped for a while', (dataPath) => {
  it('does not time out an upstream that answered in time', async () => {
    const { client, toUpstream } = await start(dataPath, { D2_SIDECAR_UPSTREAM_RESPONSE_TIMEOUT: `${LIMIT_MS}ms` });
    await stopProcess(() => toUpstream.write(OK));
    await client.until('fine');
    expect(client.received).toBe(OK);
  });

  it('times out an upstream that did not answer', async () => {
    const { client } = await start(dataPath, { D2_SIDECAR_UPSTREAM_RESPONSE_TIMEOUT: `${LIMIT_MS}ms` });
    await stopProcess(() => undefined);
    await client.until('"code":"D2S_ERR_UPSTREAM_TIMEOUT"');
  });

  it('shows the stop in the delay of its event loop, and answers again', async () => {
    const { client, toUpstream } = await start(dataPath, {});
    await stopProcess(() => toUpstream.write(OK));
    await client.until('fine');
    const { monitor } = sidecar as SidecarProcess;
    expect((await fetch(`http://${monitor}/livez`)).status).toBe(200);
    const samples = samplesOf(await (await fetch(`http://${monitor}/metrics`)).text());
    const within = (le: string) => samples.get(`d2_sidecar_loop_delay_seconds_bucket{le="${le}"}`) ?? 0;
    expect(within('+Inf') - within('0.5')).toBeGreaterThanOrEqual(1);
  });
});
