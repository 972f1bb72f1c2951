/** The container `tomcat` of a manifest: Debian's Tomcat instead of the image, in the Pod's network, on its own /tmp, as the Pod's user. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { at, containerOf, type Json } from '../../../support/kubernetes/manifests.ts';
import { javaArguments } from '../../../support/tomcat/tomcat.ts';

const SERVER = `<Server port="-1"><Service name="Catalina">
<Connector port="8080" address="127.0.0.1" />
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps" /></Engine>
</Service></Server>`;

export interface PodParts {
  readonly folder: string;
  readonly network: number;
  readonly volumes: ReadonlyMap<string, string>;
}

/** `pod`: the spec. The first process of its namespace is the JVM, as in a container. */
export function startTomcat(pod: Json, { folder, network, volumes }: PodParts): ChildProcess {
  const user = at(pod, 'securityContext', 'runAsUser') as number;
  const group = at(pod, 'securityContext', 'runAsGroup') as number;
  const base = mkdtempSync(path.join(folder, 'tomcat-'));
  for (const name of ['conf', 'webapps', 'work', 'temp', 'logs', 'lib']) mkdirSync(path.join(base, name));
  writeFileSync(path.join(base, 'conf/server.xml'), SERVER);
  for (const name of ['', ...readdirSync(base)]) chownSync(path.join(base, name), user, group);
  const mounts = (at(containerOf(pod, 'tomcat'), 'volumeMounts') as readonly Record<string, string>[]).map(
    ({ name = '', mountPath }) => `mount --bind '${volumes.get(name)}' '${mountPath}'`,
  );
  // The base is below /tmp, which is replaced.
  const script = [`mount --bind '${base}' /mnt`, ...mounts, 'cd /mnt', 'exec "$@"'].join('\n');
  const asUser = ['setpriv', `--reuid=${user}`, `--regid=${group}`, '--clear-groups', '--no-new-privs'];
  const namespaces = ['--mount', '--pid', '--fork', '--mount-proc', '--propagation', 'private'];
  const enter = [`--net=/proc/${network}/ns/net`, '--', 'unshare', ...namespaces, 'sh', '-euc', script, 'sh'];
  return spawn('nsenter', [...enter, ...asUser, 'java', ...javaArguments('/mnt')], { stdio: 'ignore' });
}
