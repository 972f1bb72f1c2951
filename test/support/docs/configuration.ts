import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load-config.ts';

/** The sidecar's complaint about a configuration, or a part of one; undefined if valid. A part gets an upstream. */
export async function faultOfConfiguration(text: string): Promise<string | undefined> {
  const written = parse(text) as Readonly<Record<string, unknown>>;
  const upstream = { url: 'http://127.0.0.1:8080/smartWeb', ...(written.upstream as object | undefined) };
  return await loadConfig({
    flags: { config: 'example.yaml' },
    env: {},
    // JSON is YAML as well.
    readFile: () => JSON.stringify({ ...written, upstream }),
  }).then(
    () => undefined,
    (error: Error) => error.message,
  );
}
