/** Peers that are programs of Node, the sidecar among them. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ADMIN_PATH } from '../answers.js';
import { ROOT_FOLDER } from '../folders.js';
const PROGRAMS_FOLDER = path.resolve(import.meta.dirname, '../programs');
const MAIN = path.join(ROOT_FOLDER, 'dist/main.js');
/** A program of programs/, listening on `port`. */
export function nodeProgram(name, port, upstreamPort = 0) {
    return { file: process.execPath, args: [path.join(PROGRAMS_FOLDER, `${name}.js`), `${port}`, `${upstreamPort}`] };
}
function createNodePeer(name, title) {
    return {
        name,
        title,
        packages: [],
        needs: [],
        command: ({ port, upstreamPort }) => nodeProgram(name, port, upstreamPort),
    };
}
function createSidecar({ name, title, preload, env = {}, isMeasuring }) {
    const before = preload === undefined ? [] : ['--import', pathToFileURL(`${PROGRAMS_FOLDER}/${preload}.js`).href];
    return {
        name,
        title,
        packages: [],
        needs: [MAIN],
        isMeasuring,
        command: ({ port, monitorPort, upstreamPort }) => {
            const upstream = `http://127.0.0.1:${upstreamPort}/smartWeb`;
            const addresses = ['--listen', `127.0.0.1:${port}`, '--monitor', `127.0.0.1:${monitorPort}`];
            const args = [...before, MAIN, '--upstream', upstream, ...addresses];
            return { file: process.execPath, args, env, hasChannel: preload === 'loop-probe' };
        },
        countCalls: countOf,
    };
}
async function countOf({ monitorPort }) {
    const response = await fetch(`http://127.0.0.1:${monitorPort}${ADMIN_PATH}/metrics/d2/rpc`);
    const { timers } = (await response.json());
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
