/** The text that the demo prints: where to look, and what to type. */
import { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS } from './plant.ts';

interface GuideAddresses {
  readonly clientUrl: string;
  readonly monitorUrl: string;
  readonly application: string;
  /** A lasting session; undefined: the lines about one session are left out. */
  readonly sessionId: string | undefined;
  /** Why no JVM is shown, e.g. `no java was found`; undefined if one is read. */
  readonly noJvm: string | undefined;
}

/** Paths below `.../api/rest/v0/admin/`. */
const LINKS = [
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

const JVM_LINK = { title: 'The Java virtual machine', path: 'metrics/jvm' };

export function formatGuide(addresses: GuideAddresses): string {
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
  if (noJvm !== undefined) lines.push(...describeMissingJvm(noJvm, admin));
  const sights = noJvm === undefined ? [...LINKS, JVM_LINK] : LINKS;
  for (const sight of sights) lines.push(...formatLink(sight.title, admin + sight.path, '?'));
  if (sessionId !== undefined) {
    lines.push(...formatLink('The same statistics for one session', `${admin}metrics/d2?session=${sessionId}`, '&'));
  }
  lines.push('Health of the sidecar', `  curl -i '${monitorUrl}/readyz'`, '');
  const call = `${clientUrl}/api/rest/v0/d2/rpc/E.Boiler/ReadState`;
  lines.push('A call of your own, which then shows in all of the above');
  lines.push(`  curl -u anna:anna -H 'Content-Type: application/json' -d '[1]' '${call}'`, '');
  return `${lines.join('\n')}\n`;
}

function describeMissingJvm(reason: string, admin: string): string[] {
  return [
    `No JVM is shown: ${reason.replace(/\.$/, '')}.`,
    'Where java is installed, the demo starts a small JVM, the page shows its heap and its collector pauses,',
    `and ${admin}metrics/jvm answers.`,
    '',
  ];
}

function formatLink(title: string, address: string, separator: '?' | '&'): string[] {
  return [title, `  ${address}`, `  curl '${address}${separator}pretty=true'`, ''];
}
