#!/usr/bin/env node
/** `npm run generate`: updates all generated files. scripts/generated.ts lists them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
// Inside the project, so that Node.js finds its packages.
const folder = mkdtempSync(path.join(ROOT, 'node_modules/.generate-'));
try {
  const file = path.join(folder, 'generated.mjs');
  const input = path.join(ROOT, 'scripts/generated.ts');
  await build({ input, platform: 'node', external: /^[^./]/, output: { file, codeSplitting: false } });
  const { toContents } = await import(pathToFileURL(file).href);
  for (const [name, content] of await toContents(ROOT)) {
    const target = path.join(ROOT, name);
    if (existsSync(target) && readFileSync(target, 'utf8') === content) continue;
    writeFileSync(target, content);
    process.stdout.write(`${name}\n`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
