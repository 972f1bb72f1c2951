import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADMIN_PATH } from '../answers.ts';
import { ROOT_FOLDER } from '../folders.ts';
import type { Command } from '../processes.ts';
import { certificateIn, type Peer, type Spot } from './peer.ts';

const PROGRAMS_FOLDER = path.resolve(import.meta.dirname, '../programs');

/** The environment that the image and the systemd unit give the sidecar; the other Node programs get it, too. */
export const NODE_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '1',
  NODE_OPTIONS: '--v8-pool-size=1 --max-semi-space-size=8',
};

/** The options on the first line of the program. */
export const NODE_ARGS: readonly string[] = ['--no-memory-reducer'];

/** What the sidecar sets itself (src/program.ts). */
const OWN_FLAGS = [
  '--no-allocation-site-pretenuring',
  ...(process.version.startsWith('v20.') ? [] : ['--no-maglev-destroy-on-background']),
];

/** A program of programs/, listening on `port`. */
export function nodeProgram(name: string, port: number, upstreamPort = 0): Command {
  const args = [...NODE_ARGS, ...OWN_FLAGS, path.join(PROGRAMS_FOLDER, `${name}.js`), `${port}`, `${upstreamPort}`];
  return { file: process.execPath, args, env: NODE_ENVIRONMENT };
}

function createNodePeer(name: string, title: string): Peer {
  return { name, title, command: ({ port, upstreamPort }) => nodeProgram(name, port, upstreamPort) };
}

interface SidecarVariant {
  readonly name?: string;
  readonly title?: string;
  /** A program of programs/ that is loaded first. */
  readonly preload?: string;
  env?(spot: Spot): Readonly<Record<string, string>>;
  readonly isMeasuring?: boolean;
  readonly main?: string;
}

function createSidecar(variant: SidecarVariant): Peer {
  const { name = 'sidecar', title = 'sidecar, everything on', preload, env, isMeasuring = true } = variant;
  const main = path.resolve(ROOT_FOLDER, variant.main ?? 'dist/main.js');
  const before = preload === undefined ? [] : ['--import', pathToFileURL(`${PROGRAMS_FOLDER}/${preload}.js`).href];
  return {
    ...{ name, title, needs: [main], isMeasuring, countCalls: countOf },
    command: (spot) => {
      const addresses = ['--listen', `127.0.0.1:${spot.port}`, '--monitor', `127.0.0.1:${spot.monitorPort}`];
      const words = ['--upstream', `http://127.0.0.1:${spot.upstreamPort}/smartWeb`, ...addresses];
      return {
        ...(main.endsWith('.js')
          ? { file: process.execPath, args: [...NODE_ARGS, ...before, main, ...words] }
          : { file: main, args: words }),
        env: { ...NODE_ENVIRONMENT, ...env?.(spot) },
        hasChannel: preload === 'loop-probe',
      };
    },
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

export const SIDECAR = createSidecar({});

/** With TLS 1.3 to clients; its certificate is made when it starts. */
const TLS: SidecarVariant = {
  env: ({ folder }) => {
    const { certFile, keyFile } = certificateIn(folder);
    return { D2_SIDECAR_LISTEN_TLS_CERT_FILE: certFile, D2_SIDECAR_LISTEN_TLS_KEY_FILE: keyFile };
  },
};
export const TLS_SIDECAR = createSidecar(TLS);

/** Another build of the sidecar, e.g. of an earlier commit, to be compared with this one; it takes part only if it is named. */
function createOthers(variant: SidecarVariant): readonly Peer[] {
  const main = process.env.BENCH_AGAINST;
  if (main === undefined) return [];
  return [createSidecar({ ...variant, name: 'other-build', title: 'sidecar, the other build', main })];
}
export const OTHER_BUILD = createOthers({});
export const OTHER_TLS_BUILD = createOthers(TLS);

export const UNMEASURED_SIDECAR = createSidecar({
  name: 'sidecar-unmeasured',
  title: 'sidecar, measuring off',
  preload: 'without-measuring',
  isMeasuring: false,
  // The same program with one file per module, so that a single one can be replaced.
  main: 'dist-bench/sidecar/main.js',
});
export const UNREADING_SIDECAR = createSidecar({
  name: 'sidecar-unreading',
  env: () => ({ D2_SIDECAR_COMET_ENABLED: 'false' }),
});
/** With the probe of its event loop, which costs a timer; so only where its result is used. */
export const PROBED_SIDECAR = createSidecar({ preload: 'loop-probe' });
