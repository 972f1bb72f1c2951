/**
 * A real Tomcat 10 with its manager web application, from the Debian packages `tomcat10` and `tomcat10-admin`, in a process of
 * its own with its own CATALINA_BASE. Beside the manager: the same with Digest instead of Basic at `/digest`, and `/beans/now`,
 * which tells what the JVM's own MXBeans say.
 */
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { Beans } from '../../../../support/jvm/truth/beans.ts';
import { CATALINA_HOME, isTomcatInstalled, startTomcatIn } from '../../../../support/tomcat/tomcat.ts';

/** The Debian package's path. */
const MANAGER = '/usr/share/tomcat10-admin/manager';
const HERE = fileURLToPath(new URL('.', import.meta.url));

export interface ManagerTomcat {
  /** E.g. `http://127.0.0.1:41234`. */
  readonly origin: string;
  readonly pid: number;
  beans(): Promise<Beans>;
  stop(): Promise<void>;
}

export function isManagerInstalled(): boolean {
  return isTomcatInstalled() && existsSync(join(MANAGER, 'WEB-INF/web.xml'));
}

/** `options` of the JVM, e.g. `-XX:+UseG1GC`; `java` is its program. Ready for requests when it resolves. */
export async function startManagerTomcat(options: readonly string[], java?: string): Promise<ManagerTomcat> {
  const tomcat = await startTomcatIn(await createBase(), options, java);
  const origin = `http://127.0.0.1:${tomcat.port}`;
  const beans = async () => (await (await request(`${origin}/beans/now`)).body.json()) as Beans;
  try {
    // The first look loads classes of its own; the ones after it find them there.
    await beans();
    await beans();
  } catch (cause) {
    await tomcat.stop();
    throw cause;
  }
  return { origin, pid: tomcat.pid, beans, stop: tomcat.stop };
}

async function createBase(): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), 'd2s-manager-'));
  for (const folder of ['conf/Catalina/localhost', 'webapps', 'work', 'temp', 'logs', 'lib', 'digest'])
    await mkdir(join(base, folder), { recursive: true });
  await cp(join(CATALINA_HOME, 'etc/web.xml'), join(base, 'conf/web.xml'));
  for (const file of ['server.xml', 'tomcat-users.xml']) await cp(join(HERE, file), join(base, 'conf', file));
  await cp(join(HERE, 'beans'), join(base, 'webapps/beans'), { recursive: true });
  await cp(MANAGER, join(base, 'digest'), { recursive: true, dereference: true });
  const descriptor = join(base, 'digest/WEB-INF/web.xml');
  const basic = '<auth-method>BASIC</auth-method>';
  const text = await readFile(descriptor, 'utf8');
  if (!text.includes(basic)) throw new Error('the manager no longer logs in by Basic');
  await writeFile(descriptor, text.replace(basic, '<auth-method>DIGEST</auth-method>'));
  await writeContext(base, 'manager', MANAGER);
  await writeContext(base, 'digest', join(base, 'digest'));
  return base;
}

/** As the package's own, which names another folder than the one it installs. */
async function writeContext(base: string, name: string, folder: string): Promise<void> {
  const text = `<Context docBase="${folder}" privileged="true">
  <Valve className="org.apache.catalina.valves.RemoteCIDRValve" allow="127.0.0.0/8" />
</Context>
`;
  await writeFile(join(base, `conf/Catalina/localhost/${name}.xml`), text);
}
