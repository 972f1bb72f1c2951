/** Loaded before the sidecar (`node --import`): the same with an idle observer; exchanges still begin and end by the clock. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT_FOLDER } from '../folders.ts';

const url = pathToFileURL(path.join(ROOT_FOLDER, 'dist-bench/sidecar/measure/record/recorder.js')).href;
const { Recorder } = (await import(url)) as { Recorder: { prototype: { onBegin: unknown; onEnd: unknown } } };
for (const name of ['onBegin', 'onEnd'] as const) {
  // Otherwise measuring would continue under another name, and appear to cost nothing.
  if (typeof Recorder.prototype[name] !== 'function') throw new Error(`Recorder.${name} is gone`);
  Recorder.prototype[name] = () => undefined;
}
