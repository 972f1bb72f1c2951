/**
 * Parses `sun.rt.javaCommand`, e.g. `org.apache.catalina.startup.Bootstrap start`. The arguments may contain passwords:
 * only the kind and the short name of the class or archive leave this file.
 */
export interface JavaCommand {
  readonly kind: 'application-server' | 'tool' | 'other';
  /** E.g. `org.apache.catalina.startup.Bootstrap`, `jboss-modules.jar`. */
  readonly name: string;
}

const MAX_NAME_LENGTH = 80;
const TOMCAT = 'org.apache.catalina.startup.Bootstrap';
const WILDFLY = 'jboss-modules.jar';

/** Other programs in WildFly's archive: its command line, its account tool, and the parents of a domain. */
const WILDFLY_TOOLS = [
  'org.jboss.as.cli',
  'org.jboss.as.domain-add-user',
  'org.jboss.as.process-controller',
  'org.jboss.as.host-controller',
  'org.jboss.as.vault-tool',
  'org.jboss.as.appclient',
  'org.wildfly.security.elytron-tool',
];

/** jcmd, jps, jstat, javac and similar tools, with or without a module name before the class. */
const JDK_TOOLS =
  /^(?:jdk\.[a-z.]+|java\.[a-z.]+)\/|^(?:sun\.tools|sun\.jvmstat|com\.sun\.tools|jdk\.jshell|jdk\.jfr|jdk\.tools)\./;

export function parseJavaCommand(text: string): JavaCommand {
  const [first = '', ...rest] = text.split(' ');
  const path = first.slice(first.lastIndexOf('/') + 1);
  const name = path.replace(/[^\w.$-]/g, '').slice(0, MAX_NAME_LENGTH) || 'unnamed';
  return { kind: classifyCommand(first, path, rest), name };
}

function classifyCommand(first: string, path: string, rest: readonly string[]): JavaCommand['kind'] {
  if (first === TOMCAT) return rest.at(-1) === 'start' ? 'application-server' : 'tool';
  if (path === WILDFLY) return rest.some((word) => WILDFLY_TOOLS.includes(word)) ? 'tool' : 'application-server';
  return JDK_TOOLS.test(first) ? 'tool' : 'other';
}
