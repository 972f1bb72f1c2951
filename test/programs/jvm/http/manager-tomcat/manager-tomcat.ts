/**
 * A real Tomcat 10 of ten request threads, with its manager (Debian's `tomcat10-admin`), the same with Digest instead
 * of Basic at `/digest`, and `/beans/now`, which reports the JVM's own MXBeans.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Defer } from '../../../../support/deferred.ts';
import type { Beans } from '../../../../support/jvm/truth/beans.ts';
import type { Folder } from '../../../../support/monitor/access/access-files.ts';
import { isAvailable } from '../../../../support/programs.ts';
import { jsonOf } from '../../../../support/sidecar-process.ts';
import { createTomcatBase, hasTomcat, startTomcatIn } from '../../../../support/tomcat/tomcat.ts';

const MANAGER = '/usr/share/tomcat10-admin/manager';
const HERE = fileURLToPath(new URL('.', import.meta.url));

export interface ManagerTomcat {
  readonly origin: string;
  readonly pid: number;
  beans(): Promise<Beans>;
}

export const hasManager = hasTomcat() && isAvailable('Tomcat’s manager', existsSync(join(MANAGER, 'WEB-INF/web.xml')));

/** With G1 or another collector; `java` is the JVM's program. Ready for requests when it resolves. */
export async function startManagerTomcat(defer: Defer, collector = 'G1', java?: string): Promise<ManagerTomcat> {
  const { port, pid } = await startTomcatIn(defer, await createBase(defer), [`-XX:+Use${collector}GC`], java);
  const origin = `http://127.0.0.1:${port}`;
  const beans = () => jsonOf<Beans>(`${origin}/beans/now`);
  // The first reading loads classes; later readings do not.
  await beans();
  await beans();
  return { origin, pid, beans };
}

/** What the manager's roles allow: `status` or `jmx`, with the password that the sidecar reads from `folder`. */
export function managerKeys({ origin }: ManagerTomcat, folder: Folder, user: 'status' | 'jmx') {
  const passwordFile = folder.write(`password-${user}`, `word of ${user}\n`);
  const kind = user === 'status' ? 'tomcat-status' : 'tomcat-jmxproxy';
  return { source: 'http', http: { kind, url: `${origin}/manager`, username: user, passwordFile } };
}

/** Leaves a JVM one processor, and prefers it there to other tests. Only root may do the latter; for others the machine has to be quiet. */
export function pinToOneProcessor(pid: number, until: Defer): void {
  execFileSync('taskset', ['-a', '-cp', '0', String(pid)]);
  until(() => execFileSync('taskset', ['-a', '-cp', '0-63', String(pid)]));
  // Priorities count within a session of processes only (sched(7), autogroup).
  const session = `/proc/${pid}/autogroup`;
  try {
    if (existsSync(session)) {
      writeFileSync(session, '-15');
      until(() => writeFileSync(session, '0'));
    }
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), -15);
  } catch {
    // A thread has ended, or it may not be done.
  }
}

async function createBase(defer: Defer): Promise<string> {
  const base = await createTomcatBase(defer, [{ webapp: join(HERE, 'beans'), context: 'beans' }], '', HERE);
  await mkdir(join(base, 'conf/Catalina/localhost'), { recursive: true });
  await cp(MANAGER, join(base, 'digest'), { recursive: true, dereference: true });
  const descriptor = join(base, 'digest/WEB-INF/web.xml');
  const basic = '<auth-method>BASIC</auth-method>';
  const text = await readFile(descriptor, 'utf8');
  if (!text.includes(basic)) throw new Error('the manager no longer logs in by Basic');
  await writeFile(descriptor, text.replace(basic, '<auth-method>DIGEST</auth-method>'));
  for (const [name, folder] of [
    ['manager', MANAGER],
    ['digest', join(base, 'digest')],
  ] as const) {
    // Like the package's own file, which names a folder that the package does not install.
    const valve = '<Valve className="org.apache.catalina.valves.RemoteCIDRValve" allow="127.0.0.0/8" />';
    const context = `<Context docBase="${folder}" privileged="true">${valve}</Context>`;
    await writeFile(join(base, `conf/Catalina/localhost/${name}.xml`), context);
  }
  return base;
}
