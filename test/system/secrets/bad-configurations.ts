/** Configurations that are refused, with a secret at or near the error. */
export interface BadConfiguration {
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly named: string;
}

const pem = (place: string) => `"-----BEGIN PRIVATE KEY-----\\n«${place}»\\n-----END PRIVATE KEY-----"`;

/** A secret in place of a path, which no marker can be. */
export const NUMBER = '9081726354';

export const BAD_CONFIGURATIONS: readonly BadConfiguration[] = [
  // All errors of a schema are reported at once.
  {
    yaml: `
upstream:
  url: http://user:«password in upstream.url»@plant:8080/app?q=«query in upstream.url»
  tls: { keyFile: ${pem('upstream.tls.keyFile')} }
listen:
  tls: { certFile: cert.pem, keyFile: ${pem('listen.tls.keyFile')} }
monitor:
  tls: { certFile: ${pem('monitor.tls.certFile')} }
  auth:
    usersFile: "reader:metrics:scrypt$1$1$1$«line of users in place of its path»"
    password: «unknown key in monitor.auth»
sessions:
  apiKeys:
    - { user: a, key: [«list in place of a key»] }
    - { «key in place of a name»: a }
    - «key in place of a pair»
jvm:
  url: «unknown key in jvm»
  http:
    kind: jolokia
    url: https://user:«password in jvm.http.url»@plant/jolokia?q=«query in jvm.http.url»
    password: «jvm.http.password, which is no key»
    passwordFile: [«list in place of jvm.http.passwordFile»]
    passwordEnv: { secret: «group in place of jvm.http.passwordEnv» }
password: «unknown key»
`,
    named: 'sessions.apiKeys',
  },
  // A scalar instead of a group, and a number instead of a path.
  {
    yaml: `
sessions: «sessions»
monitor: { auth: «monitor.auth» }
jvm: { http: "user:«jvm.http»" }
listen: { tls: ${pem('listen.tls')} }
`,
    named: 'monitor.auth',
  },
  { yaml: `monitor: «monitor»\njvm: { http: { passwordFile: ${NUMBER} } }`, named: 'jvm.http.passwordFile' },
  { yaml: 'jvm: «jvm»', named: 'jvm' },
  { yaml: 'sessions:\n  apiKeys:\n   - user: a\n     key: "«key without its quote»\n  max: 1', named: 'not YAML' },
  { yaml: 'sessions: { apiKeys: &«anchor» [*«alias»] }', named: 'unusable YAML' },
  {
    env: {
      D2_SIDECAR_UPSTREAM_URL: 'http://u:«password in D2_SIDECAR_UPSTREAM_URL»@h/',
      D2_SIDECAR_SESSIONS_API_KEYS: '[{user: a, key: "«D2_SIDECAR_SESSIONS_API_KEYS without its quote»}]',
    },
    named: 'D2_SIDECAR_SESSIONS_API_KEYS',
  },
  {
    env: { D2_SIDECAR_SESSIONS_API_KEYS: '«D2_SIDECAR_SESSIONS_API_KEYS»' },
    args: ['--upstream', 'http://u:«password in --upstream»@h/'],
    named: 'sessions.apiKeys',
  },
  { args: ['--password=«unknown flag»'], named: '--password' },
];
