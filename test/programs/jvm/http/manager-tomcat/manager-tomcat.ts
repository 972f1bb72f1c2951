/**
 * A real Tomcat 10 with its manager web application, from the Debian packages `tomcat10` and `tomcat10-admin`, in a process of
 * its own with its own CATALINA_BASE. Beside the manager: the same with Digest instead of Basic at `/digest`, and `/beans/now`,
 * which tells what the JVM's own MXBeans say.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import type { Beans } from '../../../../support/jvm/truth/beans.ts';
import { exitOf, stopProcess } from '../../../../support/sidecar-process.ts';
import { isTomcatInstalled } from '../../../../support/tomcat/tomcat.ts';

/** Where the Debian packages put them. */
const CATALINA_HOME = '/usr/share/tomcat10';
const MANAGER = '/usr/share/tomcat10-admin/manager';
const HERE = fileURLToPath(new URL('.', import.meta.url));
const START_TIMEOUT_MS = 50_000;

export interface ManagerTomcat {
  /** E.g. `http://127.0.0.1:41234`. */
  readonly origin: string;
  beans(): Promise<Beans>;
  stop(): Promise<void>;
}

export function isManagerInstalled(): boolean {
  return isTomcatInstalled() && existsSync(join(MANAGER, 'WEB-INF/web.xml'));
}

/** `options` of the JVM, e.g. `-XX:+UseG1GC`. Ready for requests when it resolves. */
export async function startManagerTomcat(options: readonly string[]): Promise<ManagerTomcat> {
  const base = await createBase();
  const child = spawn('java', javaArguments(base, options), { cwd: base, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = exitOf(child);
  const stop = async () => {
    await stopProcess(child, exited, 'SIGTERM');
    await rm(base, { recursive: true, force: true });
  };
  try {
    const origin = `http://127.0.0.1:${await portOf(child, exited)}`;
    const beans = async () => (await (await request(`${origin}/beans/now`)).body.json()) as Beans;
    // The first look loads classes of its own; the ones after it find them there.
    await beans();
    await beans();
    return { origin, beans, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
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

function javaArguments(base: string, options: readonly string[]): string[] {
  const bin = join(CATALINA_HOME, 'bin');
  return [
    ...options,
    '-Xms64m',
    '-Xmx192m',
    // The log lines that say when it is ready are translated in some locales.
    '-Duser.language=en',
    `-Dcatalina.home=${CATALINA_HOME}`,
    `-Dcatalina.base=${base}`,
    `-Djava.io.tmpdir=${join(base, 'temp')}`,
    '-classpath',
    `${join(bin, 'bootstrap.jar')}:${join(bin, 'tomcat-juli.jar')}`,
    'org.apache.catalina.startup.Bootstrap',
    'start',
  ];
}

function portOf(child: ChildProcess, exited: Promise<number>): Promise<number> {
  return new Promise((resolve, reject) => {
    let log = '';
    let port = 0;
    const fail = (why: string) => reject(new Error(`Tomcat did not start: ${why}\n${log}`));
    const timer = setTimeout(() => fail(`not ready after ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    child.once('error', (cause) => fail(String(cause)));
    exited.then((code) => fail(`ended with exit code ${code}`), reject);
    if (child.stderr === null) return;
    // Read to the end of the process: an unread pipe would stop it once it is full.
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (port === -1) return;
      log += `${line}\n`;
      // "Starting ProtocolHandler ["http-nio-127.0.0.1-auto-1-41234"]", then "Server startup in [1234] milliseconds".
      const taken = /Starting ProtocolHandler \["http-nio-127\.0\.0\.1-auto-\d+-(\d+)"\]/.exec(line);
      if (taken !== null) port = Number(taken[1]);
      if (!line.includes('Server startup in [')) return;
      clearTimeout(timer);
      resolve(port);
      port = -1;
    });
  });
}
