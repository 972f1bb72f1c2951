/** Bundled as the sidecar is: its OpenAPI document and the thread of its history are made when it is built. */
import { description, workerSource } from '../../rolldown.config.js';

export default {
  input: { main: 'test/fleet/main.ts', sites: 'test/fleet/sites/main.ts' },
  platform: 'node',
  external: /^[^./]/,
  checks: { eval: false },
  plugins: [description, workerSource],
  output: { dir: 'dist-fleet', format: 'esm', chunkFileNames: '[name]-[hash].js' },
};
