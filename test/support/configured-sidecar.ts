import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Defer, temporaryFolder } from './deferred.ts';
import { type SidecarProcess, startSidecarProcess } from './sidecar-process.ts';

/** A sidecar of the build on free ports, with a file of configuration, before the application at `url`. `command` runs the program. */
export async function startConfigured(
  defer: Defer,
  url: string,
  config: object = {},
  env: Readonly<Record<string, string>> = {},
  command?: readonly string[],
): Promise<SidecarProcess> {
  const file = path.join(temporaryFolder(defer), 'sidecar.yaml');
  const ports = { listen: { host: '127.0.0.1', port: 0 }, monitor: { port: 0 } };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(merged({ upstream: { url }, ...ports }, config)), { mode: 0o600 });
  const sidecar = await startSidecarProcess(['--config', file], env, command);
  defer(() => sidecar.stop());
  return sidecar;
}

/** Its answer as JSON, e.g. `jsonOf<Live>(`http://${sidecar.monitor}/live`)`. */
export async function jsonOf<Shape>(url: string): Promise<Shape> {
  return (await (await fetch(url)).json()) as Shape;
}

function merged(base: Readonly<Record<string, object>>, config: object): object {
  const sections = Object.entries(config).map(([name, own]) => [
    name,
    typeof own === 'object' && !Array.isArray(own) ? { ...base[name], ...own } : own,
  ]);
  return { ...base, ...Object.fromEntries(sections) };
}
