/** Peers that are programs of Node, the sidecar among them. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADMIN_PATH } from '../answers.ts';
import { ROOT_FOLDER } from '../folders.ts';
import type { Command } from '../processes.ts';
import type { Peer, Spot } from './peer.ts';

const PROGRAMS_FOLDER = path.resolve(import.meta.dirname, '../programs');
const MAIN = path.join(ROOT_FOLDER, 'dist/main.js');
/** The same program, each source a file of its own, so that one of them can be reached. */
const MODULES_MAIN = path.join(ROOT_FOLDER, 'dist-bench/sidecar/main.js');

/** What the image and the systemd unit start the sidecar with, and so for the other programs of Node too. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  NODE_OPTIONS: '--v8-pool-size=1',
};

/** What they name in the first line of the program. */
export const NODE_ARGS: readonly string[] = ['--no-memory-reducer'];

/** A program of programs/, listening on `port`. */
export function nodeProgram(name: string, port: number, upstreamPort = 0): Command {
  const args = [...NODE_ARGS, path.join(PROGRAMS_FOLDER, `${name}.js`), `${port}`, `${upstreamPort}`];
  return { file: process.execPath, args, env: NODE_ENVIRONMENT };
}

function createNodePeer(name: string, title: string): Peer {
  return {
    name,
    title,
    packages: [],
    needs: [],
    command: ({ port, upstreamPort }) => nodeProgram(name, port, upstreamPort),
  };
}

interface SidecarVariant {
  readonly name: string;
  readonly title: string;
  /** Program of programs/ that is loaded before it. */
  readonly preload?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly isMeasuring: boolean;
}

function createSidecar({ name, title, preload, env = {}, isMeasuring }: SidecarVariant): Peer {
  const main = isMeasuring ? MAIN : MODULES_MAIN;
  const before = preload === undefined ? [] : ['--import', pathToFileURL(`${PROGRAMS_FOLDER}/${preload}.js`).href];
  return {
    name,
    title,
    packages: [],
    needs: [main],
    isMeasuring,
    command: ({ port, monitorPort, upstreamPort }) => {
      const upstream = `http://127.0.0.1:${upstreamPort}/smartWeb`;
      const addresses = ['--listen', `127.0.0.1:${port}`, '--monitor', `127.0.0.1:${monitorPort}`];
      const args = [...NODE_ARGS, ...before, main, '--upstream', upstream, ...addresses];
      return {
        file: process.execPath,
        args,
        env: { ...NODE_ENVIRONMENT, ...env },
        hasChannel: preload === 'loop-probe',
      };
    },
    countCalls: countOf,
  };
}

async function countOf({ monitorPort }: Spot): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${monitorPort}${ADMIN_PATH}/metrics/d2/rpc`);
  const { timers } = (await response.json()) as { timers: { rpc: { count: number } } };
  return timers.rpc.count;
}

export const RAW_RELAY = createNodePeer('raw-relay', 'raw TCP relay in Node');
export const HTTP_PROXY = createNodePeer('http-proxy', 'plain http-proxy');
export const UNDICI_PROXY = createNodePeer('undici-proxy', 'http.Server + undici');

export const SIDECAR = createSidecar({ name: 'sidecar', title: 'sidecar, everything on', isMeasuring: true });
export const UNMEASURED_SIDECAR = createSidecar({
  name: 'sidecar-unmeasured',
  title: 'sidecar, measuring off',
  preload: 'without-measuring',
  isMeasuring: false,
});
export const GATEWAY_SIDECAR = createSidecar({
  name: 'sidecar-gateway',
  title: 'sidecar, all through its gateway',
  env: { D2_SIDECAR_DATA_PATH: 'gateway' },
  isMeasuring: true,
});
/** With the probe of its event loop, which costs it a timer; so only where that is looked at. */
export const PROBED_SIDECAR = createSidecar({
  name: 'sidecar',
  title: 'sidecar',
  preload: 'loop-probe',
  isMeasuring: true,
});
