/** A real process that is stopped for a while: a suspended container, a machine without processor time. */
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { readSamples } from '../../support/monitor/prometheus/samples.ts';
import { listening, portOf } from '../../support/net.ts';
import { type SidecarProcess, startSidecarBefore } from '../../support/sidecar-process.ts';
import { Peer } from '../../support/wire/peer.ts';
import { GET, OK } from './fault-stand.ts';

const LIMIT_MS = 400;

const defer = deferTo(afterEach);
let sidecar: SidecarProcess;

interface Ends {
  readonly client: Peer;
  readonly toUpstream: net.Socket;
}

async function start(dataPath: string, env: Readonly<Record<string, string>>): Promise<Ends> {
  const upstream = net.createServer({ noDelay: true });
  defer(() => upstream.close());
  sidecar = await startSidecarBefore(await listening(upstream), { D2_SIDECAR_DATA_PATH: dataPath, ...env });
  defer(() => sidecar.stop('SIGKILL'));
  const client = new Peer(net.connect(portOf(sidecar.listen), '127.0.0.1'));
  const connected = once(upstream, 'connection');
  client.send(GET);
  defer(() => client.socket.destroy());
  const [toUpstream] = (await connected) as [net.Socket];
  toUpstream.on('error', () => undefined);
  defer(() => toUpstream.destroy());
  await once(toUpstream, 'data');
  return { client, toUpstream };
}

async function stopProcess(meanwhile: () => void): Promise<void> {
  const { pid } = sidecar;
  process.kill(pid, 'SIGSTOP');
  defer(() => process.kill(pid, 'SIGCONT'));
  meanwhile();
  await new Promise((resolve) => setTimeout(resolve, LIMIT_MS + 300));
  process.kill(pid, 'SIGCONT');
}

describe.each(['auto', 'gateway'])('dataPath %s: a process that was stopped for a while', (dataPath) => {
  it('does not time out an upstream that answered in time, and shows the stop in its delay', async () => {
    const { client, toUpstream } = await start(dataPath, { D2_SIDECAR_UPSTREAM_RESPONSE_TIMEOUT: `${LIMIT_MS}ms` });
    await stopProcess(() => toUpstream.write(OK));
    await client.until('fine');
    expect(client.received).toBe(OK);
    const { monitor } = sidecar;
    expect((await fetch(`http://${monitor}/livez`)).status).toBe(200);
    const samples = await readSamples(monitor);
    const within = (le: string) => samples.get(`d2_sidecar_loop_delay_seconds_bucket{le="${le}"}`) ?? 0;
    expect(within('+Inf') - within('0.5')).toBeGreaterThanOrEqual(1);
  });

  it('times out an upstream that did not answer', async () => {
    const { client } = await start(dataPath, { D2_SIDECAR_UPSTREAM_RESPONSE_TIMEOUT: `${LIMIT_MS}ms` });
    await stopProcess(() => undefined);
    await client.until('"code":"D2S_ERR_UPSTREAM_TIMEOUT"');
  });
});
