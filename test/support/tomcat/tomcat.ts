/** A real Tomcat 10 of Debian's package, with a CATALINA_BASE of its own: nothing of the installed service is read or written. */
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { hasProgram, isAvailable } from '../programs.ts';
import { startProgram } from '../running-program.ts';

const CATALINA_HOME = '/usr/share/tomcat10';
const HERE = fileURLToPath(new URL('.', import.meta.url));
const START_TIMEOUT_MS = 50_000;

export interface Tomcat {
  readonly port: number;
  readonly pid: number;
}

export function hasTomcat(): boolean {
  const isInstalled = existsSync(join(CATALINA_HOME, 'bin/bootstrap.jar'));
  return isAvailable('Tomcat', isInstalled && hasProgram('java'));
}

export interface Application {
  readonly webapp: string;
  /** Its path without the slash, e.g. `smartWeb`; `ROOT` for the application at the root. */
  readonly context: string;
}

const REST_APPLICATION: Application = { webapp: join(HERE, 'webapp'), context: 'smartWeb' };

/** Starts Tomcat with applications (default: `smartWeb`) on a free port; ready when it resolves. `valves`: XML for `<Engine>`. */
export async function startTomcat(
  defer: Defer,
  applications: Application | readonly Application[] = REST_APPLICATION,
  valves = '',
): Promise<Tomcat> {
  return startTomcatIn(defer, await createTomcatBase(defer, [applications].flat(), valves));
}

/** Starts Tomcat in `base`, a CATALINA_BASE. `options` of the JVM, e.g. `-XX:+UseG1GC`; `java` is its program. */
export async function startTomcatIn(
  defer: Defer,
  base: string,
  options: readonly string[] = [],
  java = 'java',
): Promise<Tomcat> {
  const { child, exited } = startProgram(defer, java, javaArguments(base, options), { cwd: base });
  return { port: await portOf(child, exited), pid: child.pid ?? 0 };
}

/** A CATALINA_BASE with the `server.xml` and `tomcat-users.xml` of a folder. */
export async function createTomcatBase(
  defer: Defer,
  applications: readonly Application[],
  valves: string,
  from = HERE,
): Promise<string> {
  const base = temporaryFolder(defer);
  for (const folder of ['conf', 'webapps', 'work', 'temp', 'logs', 'lib']) await mkdir(join(base, folder));
  await cp(join(CATALINA_HOME, 'etc/web.xml'), join(base, 'conf/web.xml'));
  const server = await readFile(join(from, 'server.xml'), 'utf8');
  await writeFile(
    join(base, 'conf/server.xml'),
    server.replace('</Engine>', () => `${valves}</Engine>`),
  );
  await cp(join(from, 'tomcat-users.xml'), join(base, 'conf/tomcat-users.xml'));
  for (const { webapp, context } of applications) {
    await cp(webapp, join(base, 'webapps', context), { recursive: true });
  }
  return base;
}

/** Starts Tomcat in `base` once it is given to a JVM. */
export function javaArguments(base: string, options: readonly string[] = []): string[] {
  const bin = join(CATALINA_HOME, 'bin');
  return [
    ...options,
    '-Xmx192m',
    // Some locales translate the log lines that announce readiness.
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
    // Read to the end: a full pipe would stop the process.
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
