/** The text that the demo prints: where to look, and what to type. */
import { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS } from './plant.ts';

export interface GuideAddresses {
  /** Where clients call the application, e.g. `http://127.0.0.1:8081/smartWeb`. */
  readonly clientUrl: string;
  /** The monitoring server, e.g. `http://127.0.0.1:9280`. */
  readonly monitorUrl: string;
  /** Path of the application on both, e.g. `smartWeb`. */
  readonly application: string;
  /** A lasting session; undefined: the lines about one session are left out. */
  readonly sessionId: string | undefined;
  /** Why no JVM is shown, e.g. `no java was found`; undefined if one is read. */
  readonly noJvm: string | undefined;
}

interface Sight {
  readonly title: string;
  /** Below `.../api/rest/v0/admin/`. */
  readonly path: string;
}

const SIGHTS: readonly Sight[] = [
  { title: 'Who is connected', path: 'd2/sessions' },
  { title: 'All statistics', path: 'metrics/d2' },
  { title: 'Sessions created and active', path: 'metrics/d2/sessions' },
  { title: 'RPC calls, all and each', path: 'metrics/d2/rpc' },
  { title: 'One RPC', path: 'metrics/d2/rpc/E.Boiler.ReadState' },
  { title: 'SBA calls (binary content), all and each', path: 'metrics/d2/sba' },
  { title: 'One SBA call', path: 'metrics/d2/rpc/E.Files.Download' },
  { title: 'Objects, all and each', path: 'metrics/d2/object' },
  { title: 'One object', path: 'metrics/d2/object/H.Boiler.Temperature' },
];

const JVM_SIGHT: Sight = { title: 'The Java virtual machine', path: 'metrics/jvm' };

/** The whole text, with its last line feed. After the users' opening, every address in it answers with 200. */
export function toGuide(addresses: GuideAddresses): string {
  const { clientUrl, monitorUrl, application, sessionId, noJvm } = addresses;
  const admin = `${monitorUrl}/${application}/api/rest/v0/admin/`;
  const lines = [
    `A sample control system, ${SAMPLE_ACCOUNTS.length} users of its REST interface and ${SAMPLE_BROWSERS.length} browsers (WebSocket and long-polling) on it,`,
    'and d2-sidecar in front. Ctrl-C ends all of it.',
    '',
    `  The live page is     ${monitorUrl}/`,
    `  The users call       ${clientUrl}`,
    `  The statistics are   ${admin}...`,
    '',
  ];
  if (noJvm !== undefined) lines.push(...toMissingJvm(noJvm, admin));
  const sights = noJvm === undefined ? [...SIGHTS, JVM_SIGHT] : SIGHTS;
  for (const sight of sights) lines.push(...toLines(sight.title, admin + sight.path, '?'));
  if (sessionId !== undefined) {
    lines.push(...toLines('The same statistics for one session', `${admin}metrics/d2?session=${sessionId}`, '&'));
  }
  lines.push('Health of the sidecar', `  curl -i '${monitorUrl}/readyz'`, '');
  lines.push('A call of your own, to be found in all of the above', `  ${toCallLine(clientUrl)}`, '');
  return `${lines.join('\n')}\n`;
}

function toMissingJvm(reason: string, admin: string): string[] {
  return [
    `There is no JVM to look at: ${reason.replace(/\.$/, '')}.`,
    'Where java is installed, the demo starts a small JVM, the page shows its heap and its collector pauses,',
    `and ${admin}metrics/jvm answers.`,
    '',
  ];
}

function toLines(title: string, address: string, separator: '?' | '&'): string[] {
  return [title, `  ${address}`, `  curl '${address}${separator}pretty=true'`, ''];
}

function toCallLine(clientUrl: string): string {
  return `curl -u anna:anna -H 'Content-Type: application/json' -d '[1]' '${clientUrl}/api/rest/v0/d2/rpc/E.Boiler/ReadState'`;
}
