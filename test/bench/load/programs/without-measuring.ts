/**
 * Loaded before the sidecar (`node --import`): the same program with its observer doing nothing, so that the difference is the
 * cost of measuring. Exchanges are still begun and ended, with the clock read for each; only nobody looks at them.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT_FOLDER } from '../folders.ts';

/** What is needed of src/measure/record/recorder.ts. */
interface RecorderModule {
  readonly Recorder: { readonly prototype: { onBegin: unknown; onEnd: unknown } };
}

const url = pathToFileURL(path.join(ROOT_FOLDER, 'dist-bench/sidecar/measure/record/recorder.js')).href;
const { Recorder } = (await import(url)) as RecorderModule;
for (const name of ['onBegin', 'onEnd'] as const) {
  // Else measuring would go on under another name, and its cost come out as nothing.
  if (typeof Recorder.prototype[name] !== 'function') throw new Error(`Recorder.${name} is gone`);
  Recorder.prototype[name] = () => undefined;
}
