var __rewriteRelativeImportExtension = (this && this.__rewriteRelativeImportExtension) || function (path, preserveJsx) {
    if (typeof path === "string" && /^\.\.?\//.test(path)) {
        return path.replace(/\.(tsx)$|((?:\.d)?)((?:\.[^./]+?)?)\.([cm]?)ts$/i, function (m, tsx, d, ext, cm) {
            return tsx ? preserveJsx ? ".jsx" : ".js" : d && (!ext || !cm) ? m : (d + ext + "." + cm.toLowerCase() + "js");
        });
    }
    return path;
};
/**
 * Loaded before the sidecar (`node --import`): the same program with its observer doing nothing, so that the difference is the
 * cost of measuring. Exchanges are still begun and ended, with the clock read for each; only nobody looks at them.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT_FOLDER } from '../folders.js';
const url = pathToFileURL(path.join(ROOT_FOLDER, 'dist/record/recorder.js')).href;
const { Recorder } = (await import(__rewriteRelativeImportExtension(url)));
for (const name of ['onBegin', 'onEnd']) {
    // Else measuring would go on under another name, and its cost come out as nothing.
    if (typeof Recorder.prototype[name] !== 'function')
        throw new Error(`Recorder.${name} is gone`);
    Recorder.prototype[name] = () => undefined;
}
