/** Configurations that are refused, with a secret at or near the error. */
import type { Markers } from './markers.ts';

export interface BadConfiguration {
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** What the refusal must name. */
  readonly named: string;
}

export function createBadConfigurations(markers: Markers): readonly BadConfiguration[] {
  const at = (place: string) => markers.at(`configuration: ${place}`);
  const pem = (place: string) => `-----BEGIN PRIVATE KEY-----\\n${at(place)}\\n-----END PRIVATE KEY-----`;
  const number = (place: string) => {
    const digits = '9081726354';
    markers.know(`configuration: number in place of ${place}`, digits);
    return digits;
  };
  return [
    // All errors of a schema are reported at once.
    {
      yaml: [
        'upstream:',
        `  url: http://user:${at('password in upstream.url')}@plant:8080/app?q=${at('query in upstream.url')}`,
        `  tls: { keyFile: "${pem('upstream.tls.keyFile')}" }`,
        'listen:',
        `  tls: { certFile: cert.pem, keyFile: "${pem('listen.tls.keyFile')}" }`,
        'monitor:',
        `  tls: { certFile: "${pem('monitor.tls.certFile')}" }`,
        `  auth: { usersFile: "reader:metrics:scrypt$1$1$1$${at('line of users in place of its path')}", password: ${at('unknown key in monitor.auth')} }`,
        'sessions:',
        '  apiKeys:',
        `    - { user: a, key: [${at('list in place of a key')}] }`,
        `    - { ${at('key in place of a name')}: a }`,
        `    - ${at('key in place of a pair')}`,
        'jvm:',
        `  url: ${at('unknown key in jvm')}`,
        '  http:',
        '    kind: jolokia',
        `    url: https://user:${at('password in jvm.http.url')}@plant/jolokia?q=${at('query in jvm.http.url')}`,
        `    password: ${at('jvm.http.password, which is no key')}`,
        `    passwordFile: [${at('list in place of jvm.http.passwordFile')}]`,
        `    passwordEnv: { secret: ${at('group in place of jvm.http.passwordEnv')} }`,
        `password: ${at('unknown key')}`,
      ].join('\n'),
      named: 'sessions.apiKeys',
    },
    // A scalar instead of a group, and a number instead of a path.
    {
      yaml: [
        `sessions: ${at('sessions')}`,
        `monitor: { auth: ${at('monitor.auth')} }`,
        `jvm: { http: "user:${at('jvm.http')}" }`,
        `listen: { tls: "${pem('listen.tls')}" }`,
      ].join('\n'),
      named: 'monitor.auth',
    },
    {
      yaml: `monitor: ${at('monitor')}\njvm: { http: { passwordFile: ${number('jvm.http.passwordFile')} } }`,
      named: 'jvm.http.passwordFile',
    },
    { yaml: `jvm: ${at('jvm')}`, named: 'jvm' },
    {
      yaml: `sessions:\n  apiKeys:\n   - user: a\n     key: "${at('key without its quote')}\n  max: 1`,
      named: 'not YAML',
    },
    { yaml: `sessions: { apiKeys: &${at('anchor')} [*${at('alias')}] }`, named: 'not YAML' },
    {
      env: {
        D2_SIDECAR_UPSTREAM_URL: `http://u:${at('password in D2_SIDECAR_UPSTREAM_URL')}@h/`,
        D2_SIDECAR_SESSIONS_API_KEYS: `[{user: a, key: "${at('D2_SIDECAR_SESSIONS_API_KEYS without its quote')}}]`,
      },
      named: 'D2_SIDECAR_SESSIONS_API_KEYS',
    },
    {
      env: { D2_SIDECAR_SESSIONS_API_KEYS: at('D2_SIDECAR_SESSIONS_API_KEYS') },
      args: ['--upstream', `http://u:${at('password in --upstream')}@h/`],
      named: 'sessions.apiKeys',
    },
    { args: [`--password=${at('unknown flag')}`], named: '--password' },
  ];
}
