/** Configuration from command line flags. */
import type { Problem } from './explain.ts';
import { HOST_PORT_FORMS, parseHostPort } from './host-port.ts';
import { hideUrlSecrets } from './upstream-url.ts';
import { createGroup, type Layer, setAt } from './written.ts';

export interface ConfigFlags {
  /** `http://127.0.0.1:8080/smartWeb` */
  readonly upstream?: string;
  /** `0.0.0.0:8081`, `:8081`, `[::]:8081` or `8081` */
  readonly listen?: string;
  /** The same forms as `listen`. */
  readonly monitor?: string;
  readonly config?: string;
}

export function readFlags(flags: ConfigFlags): { layer: Layer; mistakes: readonly Problem[] } {
  const group = createGroup();
  const mistakes: Problem[] = [];
  if (flags.upstream !== undefined) setAt(group, ['upstream', 'url'], flags.upstream);
  for (const name of ['listen', 'monitor'] as const) {
    const text = flags[name];
    if (text === undefined) continue;
    const address = parseHostPort(text);
    if (address === undefined) {
      const line = `--${name}: got ${JSON.stringify(hideUrlSecrets(text).slice(0, 80))}, expected ${HOST_PORT_FORMS}`;
      mistakes.push({ path: [name], line });
      continue;
    }
    if (address.host !== undefined) setAt(group, [name, 'host'], address.host);
    setAt(group, [name, 'port'], address.port);
  }
  return { layer: { group, origin: ([section]) => `--${section}` }, mistakes };
}
